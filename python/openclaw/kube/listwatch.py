"""List and watch of one collection, as a state machine that feeds a sink with raw bytes.

    LISTING --all pages--> WATCHING --closed by the server--> WATCHING (from the newest position)
       ^                      |--410, or the same error three times--> LISTING
       |                      |--error--> WAITING (backoff of this watch alone) --> WATCHING
       '--- error: WAITING ---'

Only a watch that stayed open for a while resets the backoff.

A relist is staged in the sink and swapped in at once; until then readers see the old state.
"""

from __future__ import annotations

import asyncio
import enum
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import orjson

from openclaw.api.kinds import ResourceKind
from openclaw.kube.backoff import Backoff
from openclaw.kube.calls import traced_request
from openclaw.kube.errors import (
    ApiError,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    ResourceExpired,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    status_error,
)
from openclaw.kube.paths import collection_path
from openclaw.kube.transport import Transport
from openclaw.telemetry.logs import Log
from openclaw.telemetry.tracing import NO_TRACING, Tracer

__all__ = ["Batch", "ListPage", "ListWatch", "Sink", "WatchState"]

log = Log(__name__)

_STABLE_SECONDS = 10.0
_STUCK_AFTER_ERRORS = 3
_LONGEST_NAMED_WAIT_SECONDS = 300.0
_CLOSED_TOO_SOON_SECONDS = 1.0
_LIST_TIMEOUT_SECONDS = 120.0


class Batch(Protocol):
    """What a sink says of a chunk: see `openclaw._core.Batch`."""

    @property
    def deltas(self) -> Sequence[tuple[int, str, str, str, str]]:
        """What matters to subscribers."""

    @property
    def resource_version(self) -> str | None:
        """The newest position that was seen."""

    @property
    def error(self) -> bytes | None:
        """The `Status` of an ERROR event."""


class ListPage(Protocol):
    """What a sink says of a page of a list: see `openclaw._core.ListPage`."""

    @property
    def resource_version(self) -> str:
        """The position that the list stands for."""

    @property
    def continue_token(self) -> str:
        """How to ask for the next page; empty for the last one."""


class Sink(Protocol):
    """Where the bytes go: `openclaw._core.Cache`."""

    def feed(self, chunk: bytes) -> Batch:
        """Take bytes of a watch, cut anywhere."""

    def reset_stream(self) -> int:
        """A watch ended: forget a half line."""

    def begin_relist(self) -> None:
        """Pages of a list follow."""

    def feed_list(self, page: bytes) -> ListPage:
        """Take one page of a list."""

    def commit_relist(self) -> Batch:
        """Swap the list in."""

    def abort_relist(self) -> None:
        """Forget the pages."""


class WatchState(enum.Enum):
    """Where a list-watch stands."""

    LISTING = "listing"
    WATCHING = "watching"
    WAITING = "waiting"
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
        on_received: called when the server sent something, bookmarks included.
        on_restart: called with a reason (`closed`, `expired`, `error`) each time a watch is begun again.
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
        on_restart: Callable[[str], None] | None = None,
        on_received: Callable[[], None] | None = None,
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
        self._on_received = on_received
        self._tracer = tracer
        self._path = collection_path(kind, namespace)
        self._selectors = dict(selectors or {})
        self._page_size = page_size
        self._watch_seconds = watch_seconds
        self._idle_grace = idle_grace
        self._backoff = backoff or Backoff()
        self._clock = clock
        self._position: str | None = None
        self._connected_at: float | None = None
        self._errors_here = 0
        self.state = WatchState.STOPPED
        self.synced = asyncio.Event()
        self.last_received = self._clock()
        self.disconnected_since: float | None = self._clock()
        self.last_error: str | None = None

    async def run(self) -> None:
        """List, then watch, for ever. Never raises but when cancelled."""
        try:
            while True:
                self._connected_at = None
                try:
                    if self._position is None:
                        name = "relist" if self.synced.is_set() else "list"
                        with self._tracer.start(f"{name} {self.kind.kind}"):
                            await self._list()
                    await self._watch(self._position or "0")
                    self._restarted("closed")
                    if self._lived() < _CLOSED_TOO_SOON_SECONDS:
                        # A server that is going down accepts watches and closes them at once.
                        self.state = WatchState.WAITING
                        await asyncio.sleep(self._backoff.next())
                    elif self._was_stable():
                        self._backoff.reset()
                except ResourceExpired as error:
                    self._failed(error)
                    self._position = None
                    self._restarted("expired")
                    if self._was_stable():
                        self._backoff.reset()
                    else:
                        await self._wait(error)
                except KubeError as error:
                    self._failed(error)
                    if self._errors_here >= _STUCK_AFTER_ERRORS:
                        self._position = None  # the server cannot get past this position
                    self._restarted("error")
                    if self._was_stable():
                        self._backoff.reset()
                    await self._wait(error)
                except Exception as error:
                    # A fault of ours must not end the watch for good: begin again from a list.
                    log.exception("list-watch failed", kind=self.kind.kind)
                    self._failed(error)
                    self._position = None
                    self._restarted("error")
                    if self._was_stable():
                        self._backoff.reset()
                    await self._wait(error)
        finally:
            self.state = WatchState.STOPPED

    async def _list(self) -> None:
        self.state = WatchState.LISTING
        first = not self.synced.is_set()
        self._sink.begin_relist()
        try:
            version = await self._pages()
        except BaseException:
            self._sink.abort_relist()
            raise
        batch = self._sink.commit_relist()
        self._position = version
        self._errors_here = 0
        self._received()
        if batch.deltas:
            self._on_batch(batch, first)
        self.synced.set()

    async def _pages(self) -> str:
        """Feed all pages of one consistent list; the resourceVersion that they stand for."""
        token = ""
        while True:
            query = {**self._selectors, "limit": str(self._page_size)}
            if token:
                query["continue"] = token
            response = await traced_request(
                self._transport, "GET", self._path, query=query, timeout=_LIST_TIMEOUT_SECONDS
            )
            page = self._sink.feed_list(response.body)
            token = page.continue_token
            if not token:
                return page.resource_version

    async def _watch(self, position: str) -> None:
        seconds = self._watch_seconds * (1 + random.random() / 4)
        query = {
            **self._selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": position,
            "timeoutSeconds": str(int(seconds)),
        }
        self._sink.reset_stream()
        try:
            async with self._transport.stream(
                self._path, query=query, idle_timeout=seconds + self._idle_grace
            ) as chunks:
                self._connected()
                async for chunk in chunks:
                    self._received()
                    self._take(self._sink.feed(chunk))
        finally:
            self._sink.reset_stream()
            if self.disconnected_since is None:
                self.disconnected_since = self._clock()

    def _take(self, batch: Batch) -> None:
        if batch.resource_version is not None:
            self._position = batch.resource_version
            self._errors_here = 0
        if batch.deltas:
            self._on_batch(batch, False)
        if batch.error is not None:
            error = _watch_error(batch.error, f"WATCH {self._path}")
            if not isinstance(error, TooManyRequests):
                self._errors_here += 1
            raise error

    def _received(self) -> None:
        self.last_received = self._clock()
        if self._on_received is not None:
            self._on_received()

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
        delay = self._backoff.next()
        if isinstance(error, ApiError) and error.retry_after is not None:
            delay = max(delay, min(error.retry_after, _LONGEST_NAMED_WAIT_SECONDS))
        fields: dict[str, object] = {
            "kind": self.kind.kind,
            "error": str(error),
            "delay_seconds": round(delay, 3),
        }
        if isinstance(error, NotFound):
            fields["hint"] = f"the API server does not serve {self.kind.qualified}: install its CRD"
        elif isinstance(error, Forbidden):
            fields["hint"] = f"the role must allow list and watch of {self.kind.qualified}"
        elif isinstance(error, Unauthorized):
            fields["hint"] = (
                "the credentials are expired, or of another cluster: renew them, or see --context"
            )
        # One interruption is daily business: servers restart.
        lasts = self._backoff.failures > 1 or not self.synced.is_set()
        if lasts and isinstance(error, Unreachable):
            fields["hint"] = (
                f"is the API server up, and {self._transport.server} its address? See --kubeconfig, --context"
            )
        say = log.warning if lasts else log.info
        say("watch interrupted, trying again", **fields)
        await asyncio.sleep(delay)


def _watch_error(body: bytes, request: str) -> KubeError:
    """The error that an ERROR event carries."""
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = {}
    error = status_error(status if isinstance(status, dict) else {}, request=request)
    if isinstance(error, Invalid):
        # The server cannot serve this position any more; only a list helps.
        return ResourceExpired(error.code, error.reason, error.message, request=request)
    return error
