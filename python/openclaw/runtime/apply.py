"""Applying intents: the drift check, the server-side apply, and the guard against endless updates."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from openclaw._core import diff
from openclaw.api.kinds import ResourceKind
from openclaw.api.resource import CustomResource
from openclaw.kube.client import Client
from openclaw.kube.errors import Conflict, NotFound
from openclaw.runtime.errors import NotControlled
from openclaw.runtime.informer import Informer
from openclaw.runtime.ownership import adopt, check_control, is_left_behind, is_ours
from openclaw.runtime.queue import Key
from openclaw.runtime.stamp import as_compared, note_changes, stamped
from openclaw.telemetry.logs import Log
from openclaw.telemetry.spans import TRACEPARENT_ANNOTATION, child_span

__all__ = ["Applied", "Applier"]

log = Log(__name__)

_SHOWN_PATHS = 20

# No object has this resourceVersion, so a server-side apply that names it can only create: where there is an
# object already, it is a conflict, and nothing of ours gets into what may be anybody's.
_NONE_YET: Final = "1"

_Place = tuple[ResourceKind, str, str]
"""Kind, namespace and name of a child."""


@dataclass(frozen=True, slots=True)
class _Settled:
    """What a server made of an intent that it keeps in another form: whose it is, and digests of both."""

    root: Key
    intent: bytes
    live: bytes


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of an intent.

    Attributes:
        live: the object as it is now.
        outcome: `unchanged`, `created`, `updated`, or `terminating` (nothing was sent: it is being deleted,
            or about to be, as it belongs to a former root of the same name).
        paths: what differed, as `openclaw._core.diff` tells it.
    """

    live: dict[str, Any]
    outcome: Literal["unchanged", "created", "updated", "terminating"]
    paths: tuple[str, ...] = ()


class Applier:
    """Applies and deletes the children of one controller's roots.

    Args:
        client: writes.
        informers: the caches of the kinds that are owned or watched.
        subscriptions: for each owned kind, the number of the subscription that runs the owner.
    """

    def __init__(
        self,
        client: Client,
        informers: Mapping[ResourceKind, Informer],
        subscriptions: Mapping[ResourceKind, int] | None = None,
    ) -> None:
        self._client = client
        self._informers = informers
        self._subscriptions = {} if subscriptions is None else subscriptions
        self._unsettled: dict[_Place, _Settled] = {}
        self._deleted: dict[_Place, str] = {}
        self._made: dict[_Place, tuple[Key, str | None]] = {}
        self._taken: dict[_Place, set[Key]] = {}
        self._unheard: set[Key] = set()

    async def apply(
        self, root: CustomResource, kind: ResourceKind, intent: dict[str, Any], exact: Sequence[str] = ()
    ) -> Applied:
        """Make the live object hold `intent`, which becomes a child of `root`; sends nothing if it does.

        Args:
            root: the owner.
            kind: the child's kind.
            intent: the desired state.
            exact: top-level maps, such as `data`, in which nothing but the intent may be.

        Raises:
            NotControlled: the name is taken by an object that is not ours.
            KubeError: the write failed.
        """
        adopt(intent, root)
        name = intent["metadata"].get("name") or ""
        namespace = intent["metadata"].get("namespace") or ""
        place = (kind, namespace, name)
        body = orjson.dumps(intent)
        informer = self._informers[kind]
        stored = informer.cache.get(namespace, name)
        unseen: bytes | None = None
        if stored is None:
            await self._check_root(root, place)
            try:
                live = await self._write(root, place, body, intent, {"resourceVersion": _NONE_YET})
                self._made[place] = _key_of(root), root.metadata.uid
                return Applied(live, "created")
            except Conflict:
                stored = unseen = await self._unseen(place)
        with child_span("diff") as span:
            live = _typed(kind, orjson.loads(stored))
            compared = as_compared(intent, live)
            compared_body = body if compared is intent else orjson.dumps(compared)
            if unseen is None:
                paths = tuple(informer.cache.diff(namespace, name, compared_body) or ())
            else:
                paths = tuple(diff(compared_body, unseen, self._client.field_manager))
            foreign = _foreign_keys(live, intent, exact)
            note_changes(span, kind, namespace, name, paths + _removed_paths(foreign))
        if not paths and not foreign:
            return Applied(live, "unchanged")
        if is_left_behind(live, root):
            if informer.scope != "everything":
                self._unheard.add(_key_of(root))
            return Applied(live, "terminating", paths)
        self._check_control(live, root, kind)
        if live["metadata"].get("deletionTimestamp"):
            return Applied(live, "terminating", paths)
        if foreign:
            live = await self._remove(informer, live, foreign)
            # What an earlier intent had put there is gone with it.
            left = tuple(diff(compared_body, orjson.dumps(live), self._client.field_manager))
            if not left:
                return Applied(live, "updated", _removed_paths(foreign))
            paths = left + _removed_paths(foreign)
        elif self._is_settled(place, body, live):
            return Applied(live, "unchanged", paths)
        # Where somebody has put another object under the name meanwhile, force must not take it over.
        live = await self._write(root, place, body, intent, {"uid": live["metadata"]["uid"]})
        return Applied(live, "updated", paths)

    async def _check_root(self, root: CustomResource, place: _Place) -> None:
        """Look, before a child is made a second time, whether its root is still there.

        The root's watch may be behind that of the child. Then it is the garbage collector who has deleted the
        child, and would again, and again, as fast as we make it.

        Raises:
            Conflict: the root is gone, or being deleted, which its watch is about to tell.
        """
        metadata = root.metadata
        if self._made.get(place) != (_key_of(root), metadata.uid):
            return
        try:
            body = await self._client.get(root.resource, metadata.namespace, metadata.name)
        except NotFound:
            now: dict[str, Any] = {}
        else:
            now = orjson.loads(body)["metadata"]
        deleting = bool(now.get("deletionTimestamp")) and metadata.deletion_timestamp is None
        if now.get("uid") != metadata.uid or deleting:
            where = f"{root.kind} {metadata.namespace or ''}/{metadata.name}".replace(" /", " ")
            raise Conflict(409, "Conflict", f"{where} is gone or being deleted: it gets no {place[0].kind}")

    async def _unseen(self, place: _Place) -> bytes:
        """The object that has a child's name although the cache does not know it.

        It may be younger than the cache, or lack the slot label that the shard's watch asks for.

        Raises:
            Conflict: it is gone again, so that the child is to be created after all.
        """
        kind, namespace, name = place
        try:
            return await self._client.get(kind, namespace or None, name)
        except NotFound as error:
            msg = f"{kind.kind} {namespace}/{name} was there and is gone again"
            raise Conflict(409, "Conflict", msg, request=error.request) from error

    async def _write(
        self,
        root: CustomResource,
        place: _Place,
        body: bytes,
        intent: dict[str, Any],
        only_if: dict[str, str],
    ) -> dict[str, Any]:
        """Send an intent, provided that the object has the metadata `only_if`; what it is then."""
        kind, namespace, name = place
        to_send = stamped(intent)
        to_send = {**to_send, "metadata": {**to_send["metadata"], **only_if}}
        sent = orjson.dumps(to_send)
        exists = "uid" in only_if
        number = self._subscriptions.get(kind)
        with self._informers[kind].writing(number, _key_of(root), namespace, name) as answered:
            answer = await self._client.apply(kind, namespace or None, name, sent, force=exists)
            live: dict[str, Any] = orjson.loads(answer)
            answered(answer, live)
        left = diff(sent, answer, self._client.field_manager)
        self._remember(place, left, _Settled(_key_of(root), _digest(body), _content(live)))
        return live

    def _check_control(self, live: dict[str, Any], root: CustomResource, kind: ResourceKind) -> None:
        metadata = live["metadata"]
        place = (kind, metadata.get("namespace") or "", metadata["name"])
        try:
            check_control(live, root, kind.kind, self._client.field_manager)
        except NotControlled:
            self._taken.setdefault(place, set()).add(_key_of(root))
            raise

    def waits_unheard(self, root: Key) -> bool:
        """Whether the root waits for a former root's child to go, and no event may tell; says so once.

        Such a child has the former root's slot, and its deletion may be told to another shard only.
        """
        waits = root in self._unheard
        self._unheard.discard(root)
        return waits

    def released(self, kind: ResourceKind, namespace: str, name: str) -> set[Key]:
        """The roots that were refused this name; asked when its object went, or changed its owner."""
        return self._taken.pop((kind, namespace, name), set())

    async def _remove(
        self, informer: Informer, live: dict[str, Any], foreign: dict[str, list[str]]
    ) -> dict[str, Any]:
        """Take away what others put into maps that are wholly ours; server-side apply cannot."""
        metadata = live["metadata"]
        patch: dict[str, Any] = {section: dict.fromkeys(keys) for section, keys in foreign.items()}
        patch["metadata"] = {"uid": metadata["uid"]}
        answer = await self._client.merge_patch(
            informer.kind, metadata.get("namespace"), metadata["name"], patch
        )
        informer.put(answer)
        after: dict[str, Any] = orjson.loads(answer)
        return after

    async def delete(
        self, root: CustomResource, kind: ResourceKind, namespace: str, name: str
    ) -> Literal["sent", "going", "none"]:
        """Delete a child of `root`: `going` when it is being deleted already, `none` when there is none.

        An object of that name which is not ours is left alone.

        Raises:
            Conflict: another object has the name by now, of which the watch is about to tell; or the API
                server met one of its own, and the object is there still.
            KubeError: the write failed.
        """
        stored = self._informers[kind].cache.get(namespace, name)
        place = (kind, namespace, name)
        if stored is None:
            self._deleted.pop(place, None)
            return "none"
        live = orjson.loads(stored)
        if not is_ours(live, root, self._client.field_manager):
            return "none"
        uid = live["metadata"]["uid"]
        if live["metadata"].get("deletionTimestamp") or self._deleted.get(place) == uid:
            return "going"
        try:
            await self._client.delete(kind, namespace or None, name, uid=uid)
        except NotFound:
            return "none"
        self._deleted[place] = uid
        return "sent"

    def forget(self, root: Key) -> None:
        """A root is gone: drop what is remembered of its children."""
        self._unheard.discard(root)
        for place in [place for place, known in self._unsettled.items() if known.root == root]:
            del self._unsettled[place]
        for place in [
            place for place in self._deleted if not self._informers[place[0]].cache.get(*place[1:])
        ]:
            del self._deleted[place]
        for place in [place for place, (key, _) in self._made.items() if key == root]:
            del self._made[place]
        for place, roots in list(self._taken.items()):
            roots.discard(root)
            if not roots:
                del self._taken[place]

    # The server may not keep an intent as it was stated: it drops an empty map, or writes a value in its
    # own way. Against that, what it made of an intent is remembered; as long as neither the intent nor the
    # live object's own content changes, applying it again would change nothing, for ever.

    def _remember(self, place: _Place, left: list[str], settled: _Settled) -> None:
        if not left:
            self._unsettled.pop(place, None)
            return
        if place not in self._unsettled:
            log.warning(
                "the API server keeps an intent in another form; it is not applied again before a change",
                child=f"{place[0].kind} {place[1]}/{place[2]}",
                paths=left[:_SHOWN_PATHS],
            )
        self._unsettled[place] = settled

    def _is_settled(self, place: _Place, body: bytes, live: dict[str, Any]) -> bool:
        known = self._unsettled.get(place)
        return known is not None and (known.intent, known.live) == (_digest(body), _content(live))


def _key_of(root: CustomResource) -> Key:
    return Key(root.metadata.namespace or "", root.metadata.name)


def _foreign_keys(live: dict[str, Any], intent: dict[str, Any], exact: Sequence[str]) -> dict[str, list[str]]:
    """The keys in the `exact` maps of `live` that `intent` does not have."""
    found = {
        section: sorted((live.get(section) or {}).keys() - (intent.get(section) or {}).keys())
        for section in exact
    }
    return {section: keys for section, keys in found.items() if keys}


def _removed_paths(foreign: dict[str, list[str]]) -> tuple[str, ...]:
    return tuple(f"- {section}.{key}" for section, keys in foreign.items() for key in keys)


def _typed(kind: ResourceKind, raw: dict[str, Any]) -> dict[str, Any]:
    """The stored form has no apiVersion and kind."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **raw}


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def _content(live: dict[str, Any]) -> bytes:
    """A digest of what an intent can be about: not status, not the server's bookkeeping."""
    metadata = live.get("metadata", {})
    kept = {
        key: metadata.get(key) for key in ("labels", "annotations", "ownerReferences", "finalizers", "uid")
    }
    # Who changed it last is no part of it.
    kept["annotations"] = {
        key: value for key, value in (kept["annotations"] or {}).items() if key != TRACEPARENT_ANNOTATION
    }
    rest = {
        key: value for key, value in live.items() if key not in ("status", "metadata", "apiVersion", "kind")
    }
    return _digest(orjson.dumps([kept, rest], option=orjson.OPT_SORT_KEYS))
