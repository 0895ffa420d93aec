"""List and watch of one collection, as a state machine that feeds a sink with raw bytes.

    LISTING --all pages--> WATCHING --closed by the server--> WATCHING (from the newest position)
       ^                      |--410, or the same error three times--> LISTING
       |                      |--error--> WAITING (backoff of this watch alone) --> WATCHING
       '--- error: WAITING ---'

Only a watch that stayed open for a while resets the backoff.

A relist is staged in the sink and swapped in at once; until then readers see the old state.

Where objects are read by slots, the list-watch is IDLE while there are none. Slots that are gained later are
listed by themselves, beside the watch, which is then begun again, once, with a selector of all slots and from
where nothing is missed; a full list that is due anyway brings them along. Slots that are lost are dropped at
once, and the watch is begun again without them soon after; nothing is listed for that.
"""

from __future__ import annotations

import asyncio
import copy
import enum
import random
import time
from collections.abc import Callable, Iterable, Mapping

from openclaw._core import Cache
from openclaw.api.kinds import ResourceKind
from openclaw.kube.backoff import Backoff
from openclaw.kube.errors import KubeError, ResourceExpired, TooManyRequests
from openclaw.kube.feed import Feed
from openclaw.kube.gainer import Gainer
from openclaw.kube.interruption import delay_after, tell_interruption, watch_error
from openclaw.kube.lister import Lister
from openclaw.kube.paths import collection_path
from openclaw.kube.selection import Select
from openclaw.kube.sink import Batch, Sink
from openclaw.kube.transport import Transport
from openclaw.telemetry.logs import Log
from openclaw.telemetry.tracing import NO_TRACING, Tracer

__all__ = ["ListWatch", "WatchState"]

log = Log(__name__)

_STABLE_SECONDS = 10.0
_STUCK_AFTER_ERRORS = 3
_CLOSED_TOO_SOON_SECONDS = 1.0
_NARROW_SECONDS = 2.0


class WatchState(enum.Enum):
    """Where a list-watch stands."""

    LISTING = "listing"
    WATCHING = "watching"
    WAITING = "waiting"
    IDLE = "idle"
    """There is no slot to read."""
    STOPPED = "stopped"


class ListWatch:
    """Keeps a sink in step with one collection until cancelled.

    Args:
        transport: how the API server is reached.
        kind: what is watched.
        sink: gets every byte; its deltas go to `on_batch`.
        on_batch: called with each batch that has deltas, and whether it is of the first list.
        namespace: one namespace, or None for all.
        selectors: `labelSelector`, `fieldSelector` and the like, added to each request.
        select: read the objects of the slots that the sink keeps only, and this is how a request says so.
            None: everything is read.
        on_restart: called with a reason each time a watch is begun again: `closed`, `expired`, `error`, or
            `slots` where others are read now.
        page_size: objects a page of a list.
        watch_seconds: the time after which the server is asked to end a watch; the true one is drawn
            from 1 to 1.25 times this, so that watches do not end together.
        idle_grace: seconds beyond that without a byte after which a watch counts as dead.
        tracer: records lists; watches are no spans.
        backoff: how long to wait after failures.
        clock: seconds, monotonic; that of `last_received` and `disconnected_since`.
    """

    def __init__(
        self,
        transport: Transport,
        kind: ResourceKind,
        sink: Sink,
        on_batch: Callable[[Batch, bool], None],
        *,
        namespace: str | None = None,
        selectors: Mapping[str, str] | None = None,
        select: Select | None = None,
        on_restart: Callable[[str], None] | None = None,
        page_size: int = 500,
        watch_seconds: float = 240.0,
        idle_grace: float = 15.0,
        backoff: Backoff | None = None,
        tracer: Tracer = NO_TRACING,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.kind = kind
        self._transport = transport
        self._sink = sink
        self._on_batch = on_batch
        self._on_restart = on_restart
        self._tracer = tracer
        self._path = collection_path(kind, namespace)
        self._by_slots = select is not None
        self._watch_seconds = watch_seconds
        self._idle_grace = idle_grace
        self._backoff = backoff or Backoff()
        self._clock = clock
        self._position: str | None = None
        self._connected_at: float | None = None
        self._errors_here = 0
        self._wanted = asyncio.Event()
        self._running = False
        self._reading: asyncio.Task[None] | None = None
        self._narrowing: asyncio.TimerHandle | None = None
        self._lister = Lister(
            transport, self._path, sink, selectors=selectors or {}, select=select, page_size=page_size
        )
        self._gainer = Gainer(
            kind,
            sink,
            self._lister,
            self._gained,
            self._list_anew,
            tracer=tracer,
            backoff=copy.copy(self._backoff),
            server=lambda: transport.server,
        )
        self._feed: Feed | None = None
        self._received_at: float | None = None
        self.state = WatchState.STOPPED
        self.synced = asyncio.Event()
        self.disconnected_since: float | None = self._clock()
        self.last_error: str | None = None

    @property
    def idle(self) -> bool:
        """Whether there is nothing to read: no slot is kept or wanted."""
        return self._by_slots and not self._sink.kept and not self._gainer.wants.slots

    @property
    def foreign_despite_selector(self) -> int | None:
        """Objects of other slots that came although they were not asked for, counted from the last list on.

        0: it filters by slots. None: it was not asked yet, or for all slots, or it has no object to show.
        """
        return self._lister.server_filter.foreign

    async def gain(self, slots: Iterable[int]) -> None:
        """Read the objects of these slots, too. Returns when each is kept by the sink, or was lost meanwhile.

        Only what is not kept yet is listed; lists that fail are tried again, with a backoff of their own.
        Waits while `run` does not run. Cancelled, it wants those no longer that are not there yet.

        Raises:
            ValueError: everything is read here, there are no slots.
        """
        self._check_slots()
        missing = frozenset(slots) - self._sink.kept
        if not missing:
            return
        future = self._gainer.wants.add(missing)
        self._wanted.set()
        self._start_gaining()
        try:
            await future
        finally:
            self._gainer.wants.discard(future)

    def lose(self, slots: Iterable[int]) -> None:
        """Read the objects of these slots no longer, and drop them. Nothing is listed for that.

        Raises:
            ValueError: everything is read here, there are no slots.
        """
        self._check_slots()
        lost = frozenset(slots)
        self._lister.server_filter.slots_lost()
        self._sink.drop(lost)
        self._gainer.wants.settle(lost)
        if self.idle:
            self._gainer.cancel()
            self._list_anew()
        elif self._reading is not None and self._narrowing is None:
            # Not at once: slots tend to go one after the other.
            self._narrowing = asyncio.get_running_loop().call_later(_NARROW_SECONDS, self._cut)

    def _check_slots(self) -> None:
        if not self._by_slots:
            msg = f"{self.kind.qualified}: all objects are read here, whatever their slots"
            raise ValueError(msg)

    async def run(self) -> None:
        """List, then watch, for ever. Never raises but when cancelled."""
        self._running = True
        try:
            while True:
                self._connected_at = None
                if self.idle:
                    await self._rest()
                else:
                    await self._proceed()
        finally:
            self._running = False
            self.state = WatchState.STOPPED
            await self._gainer.stop()

    async def _proceed(self) -> None:
        """List when that is due, else watch; wait when that failed."""
        try:
            if self._position is None:
                name = "relist" if self.synced.is_set() else "list"
                with self._tracer.start(f"{name} {self.kind.kind}"):
                    await self._list()
                if self.idle:
                    return
            if not await self._watch(self._position or "0"):
                self._restarted("slots")
                return
            self._restarted("closed")
            if self._lived() < _CLOSED_TOO_SOON_SECONDS:
                # A server that is going down accepts watches and closes them at once.
                self.state = WatchState.WAITING
                await asyncio.sleep(self._backoff.next())
            elif self._was_stable():
                self._backoff.reset()
        except KubeError as error:
            await self._recover(error)
        except Exception as error:
            # A fault of ours must not end the watch for good: begin again from a list.
            log.exception("list-watch failed", kind=self.kind.kind)
            self._position = None
            await self._recover(error)

    async def _recover(self, error: Exception) -> None:
        """Wait, and forget the position where only a list helps."""
        self._failed(error)
        expired = isinstance(error, ResourceExpired)
        if expired or self._errors_here >= _STUCK_AFTER_ERRORS:
            self._position = None  # or the server cannot get past this position
        if self._position is None:
            await self._gainer.stop()  # the list that is due brings what is wanted
        self._restarted("expired" if expired else "error")
        stable = self._was_stable()
        if stable:
            self._backoff.reset()
        if not (stable and expired):
            await self._wait(error)

    async def _rest(self) -> None:
        """Wait for a slot to be wanted."""
        self.state = WatchState.IDLE
        self._position = None
        self.disconnected_since = None
        self.last_error = None
        self.synced.set()
        self._wanted.clear()
        await self._wanted.wait()

    async def _list(self) -> None:
        self.state = WatchState.LISTING
        first = not self.synced.is_set()
        await self._gainer.stop()
        slots = self._sink.kept | self._gainer.wants.slots
        self._sink.begin_relist(slots if self._by_slots else None)
        try:
            version = await self._lister.read(slots)
        except BaseException:
            self._sink.abort_relist()
            raise
        batch = self._sink.commit_relist()
        self._position = version
        self._errors_here = 0
        self._received_at = self._clock()
        if batch.deltas:
            self._on_batch(batch, first)
        self.synced.set()
        self._gainer.wants.settle(self._sink.kept)
        self._start_gaining()

    def _start_gaining(self) -> None:
        # Without a position a full list is due, which brings what is wanted.
        if self._running and self._position is not None:
            self._gainer.start()

    def _gained(self, commit: Callable[[], Batch]) -> None:
        # What the open watch would still bring is of before: it is begun again from here.
        self._cut()
        batch = commit()
        self._position = batch.resource_version
        self._received_at = self._clock()
        if batch.deltas:
            self._on_batch(batch, False)

    def _list_anew(self) -> None:
        self._cut()
        self._position = None

    def catch_up(self) -> None:
        """Hand out, now, what the watch has told the sink."""
        if self._feed is not None:
            self._feed.catch_up()

    def _cut(self) -> None:
        """Let the watch, if there is one, be begun again; nothing more is taken from it."""
        self._end_feed()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    async def _watch(self, position: str) -> bool:
        """Watch; True when the server has closed the watch, False when it was cut to be begun again."""
        if self._narrowing is not None:
            self._narrowing.cancel()
            self._narrowing = None
        reading = self._reading = asyncio.create_task(self._read(position))
        try:
            await asyncio.wait((reading,))
        finally:
            self._reading = None
            if not reading.done():
                reading.cancel()
                await asyncio.wait((reading,))
        if reading.cancelled():
            return False
        reading.result()
        return True

    async def _read(self, position: str) -> None:
        seconds = self._watch_seconds * (1 + random.random() / 4)
        selected = self._lister.selected(self._sink.kept)
        self._lister.server_filter.watch_begins(exact=selected.exact)
        query = {
            **selected.query,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": position,
            "timeoutSeconds": str(int(seconds)),
        }
        self._sink.reset_stream()
        try:
            await self._follow(query, seconds + self._idle_grace)
        finally:
            self._sink.reset_stream()
            if self.disconnected_since is None:
                self.disconnected_since = self._clock()

    async def _follow(self, query: Mapping[str, str], idle_timeout: float) -> None:
        """Take what a watch brings, to its end: past Python, where transport and sink can do that."""
        if not (isinstance(self._sink, Cache) and getattr(self._transport, "feeds", False)):
            async with self._transport.stream(self._path, query=query, idle_timeout=idle_timeout) as chunks:
                self._connected()
                async for chunk in chunks:
                    self._received_at = self._clock()
                    self._take(self._sink.feed(chunk))
            return
        async with self._transport.feed(
            self._path, self._sink, self._take, query=query, idle_timeout=idle_timeout
        ) as self._feed:
            self._connected()
            try:
                await self._feed.ended()
            finally:
                self._end_feed()

    def _end_feed(self) -> None:
        """Nothing more goes into the sink; what went there before is handed out, its position taken over."""
        feed = self._feed
        if feed is not None:
            feed.stop()
            self._received_at = self.last_received
            self._advance(feed.position)
            self._feed = None

    def _advance(self, position: str | None) -> None:
        if position is not None:
            self._position = position
            self._errors_here = 0

    def _take(self, batch: Batch) -> None:
        self._advance(batch.resource_version if self._feed is None else self._feed.position)
        if batch.deltas:
            self._on_batch(batch, False)
        if batch.error is not None:
            error = watch_error(batch.error, f"WATCH {self._path}")
            if not isinstance(error, TooManyRequests):
                self._errors_here += 1
            raise error

    @property
    def last_received(self) -> float | None:
        """When, by the clock, the server last sent something, bookmarks included; None before that."""
        silence = self._feed.silence if self._feed is not None else None
        return self._received_at if silence is None else self._clock() - silence

    def _lived(self) -> float:
        """Seconds that the last watch was open; 0 when it was not."""
        return 0.0 if self._connected_at is None else self._clock() - self._connected_at

    def _was_stable(self) -> bool:
        # A list that succeeds says little: what kills the watch after it would make us list without end.
        return self._lived() >= _STABLE_SECONDS

    def _connected(self) -> None:
        self.state = WatchState.WATCHING
        self._connected_at = self._clock()
        self.disconnected_since = None
        if self.last_error is not None:
            log.info("watch is back", kind=self.kind.kind)
        self.last_error = None

    def _failed(self, error: Exception) -> None:
        if self.disconnected_since is None:
            self.disconnected_since = self._clock()
        self.last_error = str(error)

    def _restarted(self, reason: str) -> None:
        if self._on_restart is not None:
            self._on_restart(reason)

    async def _wait(self, error: Exception) -> None:
        self.state = WatchState.WAITING
        delay = delay_after(error, self._backoff)
        # One interruption is daily business: servers restart.
        lasts = self._backoff.failures > 1 or not self.synced.is_set()
        message = "watch interrupted, trying again"
        server = self._transport.server
        tell_interruption(log, message, error, kind=self.kind, server=server, delay=delay, lasts=lasts)
        await asyncio.sleep(delay)
