"""Watches: each change of a collection to everyone who asked for it, encoded once."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any, Final

import orjson

from openclaw.testing.cluster.backend import Backend
from openclaw.testing.cluster.faults import Faults, WatchFault
from openclaw.testing.cluster.forms import Form, accepted_form
from openclaw.testing.cluster.listoptions import check_watch_options, parse_position
from openclaw.testing.cluster.request import Request
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.selection import Selection, select
from openclaw.testing.cluster.statuses import StatusError, expired
from openclaw.testing.cluster.store import Change, Compacted, Entry
from openclaw.testing.cluster.tables import table

__all__ = ["Watch", "WatchBroken", "Watching"]

_BOOKMARK_SECONDS: Final = 60.0
_BEFORE_THE_END: Final = 2.0
_LONGEST_SECONDS: Final = 1800
_WAITING_MOST: Final = 100_000
"""Events that a client may be behind; the server then ends its watch."""

Object = dict[str, Any]
_Item = tuple[str, Entry, "Change | None"]


class WatchBroken(Exception):
    """The connection of a watch was cut, or nothing came through it for too long."""


class Watch:
    """One client's watch. Iterate `chunks`; then `close` it.

    Attributes:
        target: what is watched.
        user: the name of who watches.
        remote: whether it goes through a socket.
    """

    def __init__(
        self, backend: Backend, target: Target, request: Request, selection: Selection, faults: Faults
    ) -> None:
        self.target = target
        self.user = request.user.name
        self.remote = False
        self.user_agent = request.user_agent
        self._backend = backend
        self._selection = selection
        self._faults = faults
        self._form = accepted_form(request.accept)
        self._include = request.text("includeObject") or "Metadata"
        self._bookmarks = request.flag("allowWatchBookmarks")
        # A number among them is a moment: what comes after it is not sent before then.
        self._pending: deque[_Item | bytes | float] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        self._broken = False
        self._not_before = 0.0
        self._columns_sent = False
        self._floor = 0
        asked = request.number("timeoutSeconds")
        lasts = (
            float(asked) if asked else backend.chance.random.uniform(_LONGEST_SECONDS, 2 * _LONGEST_SECONDS)
        )
        began = backend.clock.now()
        self._deadline = began + lasts
        self._bookmark_at = self._next_bookmark(began)
        self._collection = backend.store.collection(target.resource.stored_as)

    def begin(self, request: Request) -> None:
        """Start where the client left off, or with what is there.

        A position that is no longer known gives an ERROR event, as the server's does.
        """
        initial = check_watch_options(request)
        revision = parse_position(request.text("resourceVersion"))
        if initial or (revision == 0 and request.query.get("sendInitialEvents") is None):
            for entry in self._collection.scan(self.target.namespace):
                if self._selection.holds(entry.obj):
                    self._pending.append(("ADDED", entry, None))
            if initial and self._bookmarks:
                self._pending.append(self._bookmark(initial=True))
        elif revision:
            try:
                missed = self._collection.since(revision)
            except Compacted as error:
                self.expire(f"too old resource version: {revision} ({error.oldest})")
                return
            for change in missed:
                self._take(change, floor=revision)
        self._floor = max(revision, self._backend.store.revision if revision == 0 else 0)
        self._collection.watchers[self._changed] = None

    # What may be done to it

    def cut(self) -> None:
        """Break the connection: what is under way is lost, the client sees an error."""
        self._broken = self._ended = True
        self._pending.clear()
        self._wake()

    def end(self) -> None:
        """End it orderly, after what is under way."""
        self._ended = True
        self._wake()

    def expire(self, message: str = "too old resource version") -> None:
        """Send the ERROR event of 410, and end."""
        self.fail(expired(message))

    def fail(self, error: StatusError) -> None:
        """Send an ERROR event, and end."""
        self._pending.append(_line(b"ERROR", orjson.dumps(error.to_dict())))
        self.end()

    def lag(self, seconds: float) -> None:
        """Hold back what is under way and what comes for so long."""
        self._not_before = max(self._not_before, self._backend.clock.now() + seconds)

    def close(self) -> None:
        """Forget it."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        self._collection.watchers.pop(self._changed, None)
        self._wake()

    # Events

    def _changed(self, change: Change) -> None:
        if self._ended:
            return
        if len(self._pending) > _WAITING_MOST:
            self.end()
        elif change.revision > self._floor:
            self._take(change)
            if self._pending:
                self._wake()

    def _take(self, change: Change, floor: int = 0) -> None:
        if change.revision <= floor:
            return
        item = self._seen(change)
        if item is None:
            return
        fault = self._faults.on_event(self, change, item[0]) if self._faults.watches_events else None
        if fault is None:
            self._pending.append(item)
        else:
            self._faulty(item, fault)

    def _faulty(self, item: _Item, fault: WatchFault) -> None:
        if fault.lag:
            self._pending.append(self._backend.clock.now() + fault.lag)
        if not fault.drop:
            self._pending.extend([item] * (1 + fault.repeat))
        if fault.expire:
            self.expire()
        elif fault.cut:
            self.cut()
        elif fault.end:
            self.end()

    def _seen(self, change: Change) -> _Item | None:
        """The change as this client's selection shows it: what leaves it is deleted, what enters it added."""
        selection = self._selection
        entry, before = change.entry, change.before
        if selection.matches is None and not selection.namespace:
            return change.type, entry, change
        holds = change.type != "DELETED" and selection.holds(entry.obj)
        held = before is not None and selection.holds(before.obj)
        if holds:
            return ("MODIFIED" if held else "ADDED"), entry, change
        if not held or before is None:
            return None
        if change.type == "DELETED":
            return "DELETED", entry, change
        # It left the selection: its last state there, with the position of the change.
        metadata = {**before.obj["metadata"], "resourceVersion": str(change.revision)}
        obj = {**before.obj, "metadata": metadata}
        return "DELETED", Entry(entry.key, change.revision, obj, orjson.dumps(obj)), None

    # Delivery

    async def chunks(self, idle_timeout: float = math.inf) -> AsyncGenerator[bytes, None]:
        """The lines, several in one chunk where they came together.

        Raises WatchBroken when it is cut, or when there was none for `idle_timeout` seconds.
        """
        clock = self._backend.clock
        idle_at = clock.now() + idle_timeout
        while True:
            now = clock.now()
            if self._broken:
                raise WatchBroken("connection reset by peer")
            if items := self._due(now):
                yield b"".join([await self._encoded(item) for item in items])
                idle_at = clock.now() + idle_timeout
                continue
            if now >= idle_at:
                raise WatchBroken("nothing was received for too long")
            if (self._ended and not self._pending) or now >= self._deadline:
                return
            if now >= self._bookmark_at:
                self._bookmark_at = self._next_bookmark(now)
                if self._bookmarks:
                    self._pending.append(self._bookmark())
                    continue
            until = min(self._deadline, self._bookmark_at, idle_at)
            if self._pending:
                until = min(until, self._not_before)
            await self._sleep(until)

    def _due(self, now: float) -> list[_Item | bytes]:
        """Take what may be sent now."""
        items: list[_Item | bytes] = []
        while self._pending and now >= self._not_before:
            item = self._pending.popleft()
            if isinstance(item, float):
                self._not_before = max(self._not_before, item)
            else:
                items.append(item)
        return items

    async def _sleep(self, until: float) -> None:
        loop = asyncio.get_running_loop()
        timer = self._timer
        # A timer that is due earlier wakes in vain once; most sleeps end by an event.
        if timer is None or timer.when() > until or timer.cancelled() or timer.when() <= loop.time():
            if timer is not None:
                timer.cancel()
            self._timer = loop.call_at(until, self._wake)
        waiter = self._waiter = loop.create_future()
        try:
            await waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _next_bookmark(self, now: float) -> float:
        """Each minute, and once shortly before the end; as the cacher of apiserver reckons."""
        last = self._deadline - _BEFORE_THE_END
        return min(now + _BOOKMARK_SECONDS, last) if last > now else self._deadline + 1

    async def _encoded(self, item: _Item | bytes) -> bytes:
        if isinstance(item, bytes):
            return item
        kind, entry, change = item
        backend, target = self._backend, self.target
        if self._form is Form.OBJECT:
            form: Any = kind if backend.as_stored(target) else (kind, target.api_version)
            if change is not None and form in change.encoded:
                return change.encoded[form]
            line = _line(kind.encode(), await backend.raw(target, entry))
            if change is not None:
                change.encoded[form] = line
            return line
        [obj] = await backend.in_version(target, [entry.obj])
        if self._form is Form.METADATA:
            seen: Object = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": obj["metadata"],
            }
        else:
            metadata = {"resourceVersion": str(entry.revision)}
            seen = table(target, [obj], metadata, now=backend.clock.date(), include=self._include)
            if self._columns_sent:
                seen["columnDefinitions"] = None
            self._columns_sent = True
        return _line(kind.encode(), orjson.dumps(seen))

    def _bookmark(self, *, initial: bool = False) -> bytes:
        metadata: Object = {"resourceVersion": str(self._backend.store.revision)}
        if initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        if self._form is Form.OBJECT:
            kind, api_version = self.target.resource.kind, self.target.api_version
        else:
            kind, api_version = "PartialObjectMetadata", "meta.k8s.io/v1"
        body: Object = {"kind": kind, "apiVersion": api_version, "metadata": metadata}
        if self._form is Form.TABLE:
            body = {
                "kind": "Table",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
                "columnDefinitions": None,
                "rows": [],
            }
        return _line(b"BOOKMARK", orjson.dumps(body))


class Watching:
    """Opens watches, and knows those that are open."""

    def __init__(self, backend: Backend, faults: Faults) -> None:
        self._backend = backend
        self._faults = faults
        self._open: dict[Watch, None] = {}

    @property
    def open(self) -> list[Watch]:
        """The watches that are open, oldest first."""
        return list(self._open)

    def watch(self, target: Target, request: Request) -> Watch:
        """Open a watch.

        Raises StatusError.
        """
        watch = Watch(self._backend, target, request, select(target, request), self._faults)
        watch.begin(request)
        self._open[watch] = None
        return watch

    def close(self, watch: Watch) -> None:
        """A client went away, or its watch is over."""
        watch.close()
        self._open.pop(watch, None)

    def end_all(self, chosen: Callable[[Watch], bool] = lambda _: True) -> None:
        """End the watches for which `chosen` is true, orderly."""
        for watch in self.open:
            if chosen(watch):
                watch.end()


def _line(kind: bytes, raw: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind, raw)
