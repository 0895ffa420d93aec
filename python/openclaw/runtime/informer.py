"""Informers: one watched collection each, its cache in Rust, its deltas on the way to the queues."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, NamedTuple

from openclaw._core import Cache
from openclaw.api.kinds import ResourceKind
from openclaw.kube.listwatch import ListWatch, WatchState
from openclaw.kube.selection import Select, by_label, by_uid
from openclaw.kube.sink import Batch
from openclaw.kube.transport import Transport
from openclaw.runtime.inflight import InFlight
from openclaw.runtime.ownership import SLOT_LABEL
from openclaw.runtime.predicates import Predicate
from openclaw.runtime.queue import Key, Priority
from openclaw.runtime.reconciler import Index
from openclaw.telemetry.tracing import NO_TRACING, Tracer

__all__ = ["OWNER_INDEX", "Delta", "Informer", "Scope"]

Scope = Literal["everything", "roots", "children"]
"""What of a kind is read: all objects, or those of some slots, by roots or children; see `_core.Cache`."""

_SELECT: Final[dict[Scope, Select | None]] = {
    "everything": None,
    "roots": by_uid,
    "children": by_label(SLOT_LABEL),
}

OWNER_INDEX = "openclaw.dev/owner-uid"
"""The index that every informer has: from the uid of an owner to what it owns."""


class Delta(NamedTuple):
    """A change that matters to a subscriber."""

    key: Key
    reason: str
    """`added`, `updated` or `deleted`."""
    priority: Priority
    uid: str = ""
    """Of the object that changed, which is a child of `key`'s where the subscription leads to owners."""


Handler = Callable[[Delta], None]


class Informer:
    """Keeps a cache of one kind in step with the API server and hands out deltas.

    Subscriptions and indexes must be declared before `run`.

    With the scope of roots or children it reads the objects of some slots, of none at first: `gain` reads
    more of them, quietly; `start` hands out their objects and, from then on, their deltas, until `stop`;
    `lose` forgets them. With the scope of everything these do nothing, so that a shard need not tell its
    informers apart. Deltas that wait for the end of a write may still come after `stop`.

    Args:
        transport: how the API server is reached.
        kind: what is watched.
        field_manager: whose managedFields entry the cache keeps, for the drift check.
        scope: what of the kind is read.
        namespace: one namespace, or None for all.
        on_restart: told why a watch was begun again.
        tracer: records lists.
    """

    def __init__(
        self,
        transport: Transport,
        kind: ResourceKind,
        *,
        field_manager: str,
        scope: Scope = "everything",
        namespace: str | None = None,
        on_restart: Callable[[str], None] | None = None,
        tracer: Tracer = NO_TRACING,
    ) -> None:
        self.kind = kind
        self.scope = scope
        self.cache = Cache(manager=field_manager, scope=scope)
        self.cache.add_index(OWNER_INDEX, "metadata.ownerReferences[*].uid")
        self._indexes: dict[str, str] = {}
        self._handlers: dict[int, tuple[Handler, Priority]] = {}
        self._in_flight: InFlight[tuple[int, Key], Delta] = InFlight(self._hand_on)
        self.listwatch = ListWatch(
            transport,
            kind,
            self.cache,
            self._dispatch,
            namespace=namespace,
            select=_SELECT[scope],
            on_restart=on_restart,
            tracer=tracer,
        )

    def add_indexes(self, indexes: Iterable[Index]) -> None:
        """Index the objects by these fields.

        Raises:
            ValueError: a path is malformed, or a name stands for two paths.
        """
        for item in indexes:
            known = self._indexes.get(item.name)
            if known is None:
                self._indexes[item.name] = item.path
                self.cache.add_index(item.name, item.path)
            elif known != item.path:
                msg = (
                    f"{self.kind.kind}: index {item.name!r} is declared for both {known!r} and {item.path!r}"
                )
                raise ValueError(msg)

    def subscribe(self, predicate: Predicate, mapping: bytes, priority: Priority, handler: Handler) -> int:
        """Call `handler` with each delta that passes `predicate`, its key found by `mapping`.

        Raises:
            ValueError: predicate or mapping is malformed.
        """
        number = self.cache.subscribe(predicate.compiled(), mapping)
        self._handlers[number] = (handler, priority)
        return number

    async def run(self) -> None:
        """List and watch until cancelled."""
        await self.listwatch.run()

    async def gain(self, slots: Iterable[int]) -> None:
        """Read the objects of these slots, too; returns when they are all there, or were lost meanwhile."""
        if self.scope == "everything":
            await self.listwatch.synced.wait()
        else:
            await self.listwatch.gain(slots)

    def start(self, slots: Iterable[int]) -> None:
        """Hand out the objects of these slots as `added`, and from now on what matters of them.

        Raises:
            RuntimeError: a slot was not gained.
        """
        if self.scope != "everything":
            self._dispatch(self.cache.start(slots), initial=True)

    def stop(self, slots: Iterable[int]) -> None:
        """Hand out no more of these slots. Their objects stay, up to date, for the runs in flight."""
        if self.scope != "everything":
            self.cache.stop(slots)
            self.listwatch.catch_up()

    def lose(self, slots: Iterable[int]) -> None:
        """Forget these slots and their objects."""
        if self.scope != "everything":
            self.listwatch.lose(slots)
            self.listwatch.catch_up()

    @property
    def foreign(self) -> int:
        """Objects of other slots that the server sent, in lists and watches."""
        stats = self.cache.stats()
        return stats["events_foreign"] + stats["objects_foreign"]

    @property
    def server_filters(self) -> bool | None:
        """Whether the server sends this shard's slots only; None as long as one cannot tell."""
        foreign = self.listwatch.foreign_despite_selector
        return None if foreign is None else foreign == 0

    def _dispatch(self, batch: Batch, initial: bool) -> None:  # noqa: FBT001 - the signature of on_batch
        for number, namespace, name, reason, uid in batch.deltas:
            handler, priority = self._handlers[number]
            key = Key(namespace, name)
            delta = Delta(key, reason, Priority.INITIAL if initial else priority, uid)
            if not self._in_flight.hold((number, key), uid, delta):
                handler(delta)

    def _hand_on(self, place: tuple[int, Key], delta: Delta) -> None:
        self._handlers[place[0]][0](delta)

    @contextmanager
    def writing(
        self, number: int | None, root: Key, namespace: str, name: str
    ) -> Iterator[Callable[[bytes, dict[str, Any]], None]]:
        """Hold the deltas of a subscription for `root` while its child `name` is being written.

        Yields what is to be called with the answer, as bytes and parsed: it takes the answer into the cache,
        and the delta of the event of this very write is dropped.
        """
        if number is None:
            yield lambda body, _: self.put(body)
            return

        def version() -> str | None:
            return self.cache.resource_version(namespace, name)

        with self._in_flight.writing((number, root), version) as write:

            def answered(body: bytes, live: dict[str, Any]) -> None:
                self.put(body)
                # The event may be in the cache already while its delta is still on its way here.
                self.listwatch.catch_up()
                metadata = live["metadata"]
                write.answer = metadata["uid"], metadata["resourceVersion"]

            yield answered

    def put(self, body: bytes) -> None:
        """Take the answer to a write of our own, so that no later run decides on an older state.

        What others changed meanwhile still comes as a delta: the stream tells of it, and is compared with
        what it told before.
        """
        self.cache.put(body)

    @property
    def synced(self) -> bool:
        """Whether the first list is complete."""
        return self.listwatch.synced.is_set()

    def unready(self, grace: float) -> str | None:
        """Why decisions on this cache may be stale, or None; a watch may be away for `grace` seconds."""
        if self.listwatch.idle and self.listwatch.state is not WatchState.STOPPED:
            return None
        if not self.synced:
            error = self.listwatch.last_error
            return f"{self.kind.qualified}: not listed yet" + (f": {error}" if error else "")
        since = self.listwatch.disconnected_since
        if since is not None and time.monotonic() - since > grace:
            error = self.listwatch.last_error or self.listwatch.state.value
            return f"{self.kind.qualified}: no watch for {time.monotonic() - since:.0f} s: {error}"
        if self.listwatch.state is WatchState.STOPPED:
            return f"{self.kind.qualified}: the watch has stopped"
        return None
