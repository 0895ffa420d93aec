"""What reads a watch stream: ours, and what others do with the same bytes in Python.

Each takes chunks as they come from a socket, keeps the objects, and returns the keys of the objects to
reconcile: those whose generation changed, that are new or gone, or that began to be deleted; of a
ConfigMap, those whose controller is a Widget and whose content changed. What one does less is in its
`leaves_out`.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, Protocol

import msgspec
import orjson

from bench.inprocess import objects
from openclaw._core import Cache, slot

Key = tuple[str, str]

ROOT_PREDICATE: Final = b'{"any":[{"generation":{}},{"deletion":{}}]}'
CHILD_PREDICATE: Final = b'{"content":{}}'
EMPTY_PAGE: Final = b'{"metadata":{"resourceVersion":"1"},"items":[]}'
WIDGET_OWNER: Final = b'{"owner":{"group":"bench.example.com","kind":"Widget"}}'


class Contestant(Protocol):
    """Reads a watch on one kind."""

    title: ClassVar[str]
    leaves_out: ClassVar[str]

    def __init__(self, kind: str) -> None: ...

    def feed(self, chunks: Iterable[bytes]) -> int:
        """Read chunks; returns how many keys are to be reconciled."""

    def __len__(self) -> int: ...


class Ours:
    """openclaw's cache, subscribed as a Manager subscribes it."""

    title: ClassVar = "openclaw"
    leaves_out: ClassVar = "-"

    def __init__(self, kind: str, *, index: tuple[str, str] | None = None) -> None:
        self.cache = Cache(manager=objects.MANAGER)
        if index:
            self.cache.add_index(*index)
        if kind == "ConfigMap":
            self.cache.subscribe(CHILD_PREDICATE, WIDGET_OWNER)
        else:
            self.cache.subscribe(ROOT_PREDICATE, b'{"self":{}}')

    def feed(self, chunks: Iterable[bytes]) -> int:
        feed = self.cache.feed
        return sum(len(feed(chunk).deltas) for chunk in chunks)

    def __len__(self) -> int:
        return len(self.cache)


class OursOfSlots(Ours):
    """openclaw's cache of a shard's roots: it holds the objects of some slots, and drops the others."""

    def __init__(self, slots: frozenset[int]) -> None:
        self.cache = Cache(manager=objects.MANAGER, scope="roots")
        self.cache.subscribe(ROOT_PREDICATE, b'{"self":{}}')
        self.cache.begin_gain(slots)
        self.cache.feed_list(EMPTY_PAGE)
        self.cache.commit_relist()
        self.cache.start(slots)

    @property
    def foreign(self) -> int:
        """Objects of other slots that came."""
        return self.cache.stats()["events_foreign"]


class Lines:
    """Cuts chunks into lines and counts the keys to reconcile; what a line is, its subclasses say."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunks: Iterable[bytes]) -> int:
        keys: set[Key] = set()
        handle = self.handle
        for chunk in chunks:
            lines = (self._rest + chunk).split(b"\n")
            self._rest = lines.pop()
            for line in lines:
                key = handle(line)
                if key is not None:
                    keys.add(key)
        return len(keys)

    def handle(self, line: bytes) -> Key | None:
        """The key to reconcile after this event, if any."""
        raise TypeError(line)


class Dicts(Lines):
    """A cache of parsed dicts."""

    title: ClassVar = "dicts"
    leaves_out: ClassVar = "no indexes, no pruning, no own writes"

    def __init__(self, kind: str, loads: Callable[[bytes], Any]) -> None:
        super().__init__()
        self._loads = loads
        self.objects: dict[Key, dict[str, Any]] = {}
        self._child = kind == "ConfigMap"

    def __len__(self) -> int:
        return len(self.objects)

    def handle(self, line: bytes) -> Key | None:
        try:
            event = self._loads(line)
        except ValueError:
            return None
        if event["type"] in {"BOOKMARK", "ERROR"}:
            return None
        new = event["object"]
        metadata = new["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        if event["type"] == "DELETED":
            return key if self.objects.pop(key, None) else None
        old = self.objects.get(key)
        self.objects[key] = new
        if self._child:
            return _owner(metadata, key[0]) if old is None or _content(old) != _content(new) else None
        if old is None or _begins(old["metadata"], metadata):
            return key
        return None


class Orjson(Dicts):
    """orjson and a dict of dicts."""

    title: ClassVar = "orjson, dicts"

    def __init__(self, kind: str) -> None:
        super().__init__(kind, orjson.loads)


class OrjsonOfSlots(Orjson):
    """The same, which drops what is of other slots once it is parsed."""

    def __init__(self, slots: frozenset[int]) -> None:
        super().__init__("Widget")
        self._slots = slots
        self.foreign = 0

    def handle(self, line: bytes) -> Key | None:
        event = self._loads(line)
        if slot(event["object"]["metadata"].get("uid", "")) not in self._slots:
            self.foreign += 1
            return None
        return super().handle(line)


class Json(Dicts):
    """The standard library's json and a dict of dicts."""

    title: ClassVar = "json, dicts"

    def __init__(self, kind: str) -> None:
        super().__init__(kind, json.loads)


def _begins(old: dict[str, Any], new: dict[str, Any]) -> bool:
    changed = old.get("generation") != new.get("generation") or old["uid"] != new["uid"]
    return changed or ("deletionTimestamp" in new and "deletionTimestamp" not in old)


def _content(obj: dict[str, Any]) -> tuple[Any, ...]:
    metadata = obj["metadata"]
    return (
        obj.get("data"),
        metadata.get("labels"),
        metadata.get("annotations"),
        metadata.get("ownerReferences"),
    )


def _owner(metadata: dict[str, Any], namespace: str) -> Key | None:
    for reference in metadata.get("ownerReferences", ()):
        if reference.get("controller") and reference["kind"] == "Widget":
            return (namespace, reference["name"])
    return None


class _Owner(msgspec.Struct):
    kind: str
    name: str
    controller: bool = False


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str
    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    owner_references: list[_Owner] = msgspec.field(default_factory=list)


class _Object(msgspec.Struct):
    metadata: _Metadata


class _Event(msgspec.Struct):
    type: str
    object: _Object


class MetadataOnly(Lines):
    """msgspec, decoding the metadata that a predicate asks for and nothing else."""

    title: ClassVar = "msgspec, metadata only"
    leaves_out: ClassVar = "keeps no object: a reconcile would have to GET it; content changes are not seen"

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._decode = msgspec.json.Decoder(_Event).decode
        self._seen: dict[Key, tuple[str, int, str | None]] = {}
        self._child = kind == "ConfigMap"

    def __len__(self) -> int:
        return len(self._seen)

    def handle(self, line: bytes) -> Key | None:
        try:
            event = self._decode(line)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
            return None
        if event.type in {"BOOKMARK", "ERROR"}:
            return None
        metadata = event.object.metadata
        key = (metadata.namespace, metadata.name)
        if event.type == "DELETED":
            return key if self._seen.pop(key, None) else None
        seen = (metadata.uid, metadata.generation, metadata.deletion_timestamp)
        old = self._seen.get(key)
        self._seen[key] = seen
        if self._child:
            return next(
                (
                    (key[0], owner.name)
                    for owner in metadata.owner_references
                    if owner.controller and owner.kind == "Widget"
                ),
                None,
            )
        return key if seen != old else None


class AsyncioTyped(Lines):
    """kubernetes-asyncio's own watch: an event becomes an object of its generated model."""

    title: ClassVar = "kubernetes-asyncio, typed"
    leaves_out: ClassVar = "no indexes, no pruning, no own writes; has models of built-in kinds only"

    def __init__(self, kind: str) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from kubernetes_asyncio.client import ApiClient
            from kubernetes_asyncio.watch import Watch
        watch = Watch.__new__(Watch)
        # Its constructor would open an HTTP session, which needs an event loop; decoding does not.
        watch._api_client = ApiClient.__new__(ApiClient)
        self._unmarshal = watch.unmarshal_event
        self._model = f"V1{kind}"
        self._child = kind == "ConfigMap"
        self.objects: dict[Key, Any] = {}

    def __len__(self) -> int:
        return len(self.objects)

    def handle(self, line: bytes) -> Key | None:
        event = self._unmarshal(line.decode(), self._model)
        if event["type"] in {"BOOKMARK", "ERROR"}:
            return None
        new = event["object"]
        key = (new.metadata.namespace, new.metadata.name)
        if event["type"] == "DELETED":
            return key if self.objects.pop(key, None) else None
        old = self.objects.get(key)
        self.objects[key] = new
        if self._child:
            owners = new.metadata.owner_references or ()
            return next(((key[0], o.name) for o in owners if o.controller and o.kind == "Widget"), None)
        return key if old is None or old.metadata.generation != new.metadata.generation else None


CONTESTANTS: Final[dict[str, type[Contestant]]] = {
    "openclaw": Ours,
    "orjson": Orjson,
    "json": Json,
    "msgspec": MetadataOnly,
    "kubernetes-asyncio": AsyncioTyped,
}


OF_SLOTS: Final[dict[str, Callable[[frozenset[int]], OursOfSlots | OrjsonOfSlots]]] = {
    "openclaw": OursOfSlots,
    "orjson": OrjsonOfSlots,
}
"""Those that hold a shard's objects only."""


def made_of(kind: str) -> list[str]:
    """The contestants that can read this kind."""
    return [name for name in CONTESTANTS if name != "kubernetes-asyncio" or kind != "Widget"]


def damaged(line: bytes) -> bytes:
    """The same line, broken in the middle of its object, as a proxy might break it."""
    return re.sub(rb'"uid":"', b'"uid":', line, count=1)
