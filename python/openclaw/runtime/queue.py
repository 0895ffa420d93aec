"""The work queue of a controller: keyed, deduplicating, delayed, by priority and fair across namespaces.

- One entry a key; a key that is added again while it waits keeps the earliest time and the most
  urgent priority.
- Never two runs of one key at once: a key added while it runs waits until that run is done.
- Within a priority the namespaces take turns, so that one with thousands of objects does not keep the
  others waiting.
"""

from __future__ import annotations

import asyncio
import enum
import heapq
import itertools
import math
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from openclaw.kube.backoff import Backoff

__all__ = ["Key", "Priority", "Queue", "QueueClosed", "Work"]

_STALE_KEPT = 64
_CAUSES_KEPT = 16


class Key(NamedTuple):
    """The root object that a run is for; `namespace` is "" for a cluster-scoped one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Priority(enum.IntEnum):
    """Lower runs first."""

    CHANGE = 0
    """A root changed: somebody is waiting."""
    CHILD = 1
    """A child or a watched object changed."""
    RETRY = 2
    """A failed run, or one that asked to be run again."""
    INITIAL = 3
    """The first list after a start."""


class QueueClosed(Exception):
    """The queue was closed; no more work."""


@dataclass(slots=True)
class Work:
    """A key taken from the queue.

    Attributes:
        key: the root object.
        priority: the most urgent one with which it was added.
        reasons: why it was added: each different reason once, in order.
        waited: seconds from when it was due until now.
        causes: what the adders had to say for its trace; the first few.
    """

    key: Key
    priority: Priority
    reasons: tuple[str, ...]
    waited: float
    causes: tuple[object, ...] = ()


@dataclass(slots=True)
class _Entry:
    priority: Priority
    due: float
    ready: bool = False
    ticket: int = -1
    """The number of its place in the heap of delayed keys; -1 while it has none."""
    reasons: tuple[str, ...] = ()
    causes: tuple[object, ...] = ()

    def note(self, reason: str, cause: object) -> None:
        if reason not in self.reasons:  # few; after a start there are entries of everything
            self.reasons += (reason,)
        if cause is not None and len(self.causes) < _CAUSES_KEPT and cause not in self.causes:
            self.causes += (cause,)


_Lane = OrderedDict[Key, None]


class Queue:
    """See the module. Belongs to one event loop; not thread-safe.

    Args:
        retry_base: seconds before the first retry of a failing key; doubles with each failure.
        retry_cap: the longest such wait.
        clock: seconds, monotonic; the loop's by default.
    """

    def __init__(
        self,
        *,
        retry_base: float = 0.1,
        retry_cap: float = 300.0,
        clock: Callable[[], float] | None = None,
        on_add: Callable[[], None] | None = None,
        on_retry: Callable[[], None] | None = None,
    ) -> None:
        self._clock = clock or asyncio.get_running_loop().time
        self._retry_base = retry_base
        self._retry_cap = retry_cap
        self._on_add = on_add
        self._on_retry = on_retry
        self._entries: dict[Key, _Entry] = {}
        self._running: set[Key] = set()
        self._held: dict[Key, float] = {}
        self._backoffs: dict[Key, Backoff] = {}
        self._delayed: list[tuple[float, int, Key]] = []
        self._order = itertools.count()
        # OrderedDicts: a key leaves a lane from anywhere, and the first one is found, in constant time.
        self._lanes: dict[Priority, OrderedDict[str, _Lane]] = {
            priority: OrderedDict() for priority in Priority
        }
        self._ready = 0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def __len__(self) -> int:
        """Keys that are due and wait for a worker."""
        return self._ready

    @property
    def delayed(self) -> int:
        """Keys that wait for their time, or for their own run to end."""
        return len(self._entries) - self._ready

    @property
    def running(self) -> int:
        """Keys that were taken and are not done."""
        return len(self._running)

    def add(
        self, key: Key, priority: Priority, reason: str, *, delay: float = 0.0, cause: object = None
    ) -> None:
        """Ask for a run of `key` after `delay` seconds, or earlier where it already waits for less."""
        if self._closed:
            return
        if self._on_add is not None:
            self._on_add()
        now = self._clock()
        due = max(now + delay if delay > 0 else now, self._held.get(key, 0.0))
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(priority, due)
            entry.note(reason, cause)
            self._schedule(key, entry)
            return
        entry.note(reason, cause)
        if priority < entry.priority:
            if entry.ready:
                self._leave_lane(key, entry.priority)
                self._enter_lane(key, priority)
            entry.priority = priority
        if not entry.ready and due < entry.due:
            entry.due = due
            self._schedule(key, entry)

    def waiting(self, limit: int) -> list[tuple[Key, float]]:
        """Some keys that wait and the seconds until they are due, negative for those that have waited."""
        now = self._clock()
        return [(key, entry.due - now) for key, entry in itertools.islice(self._entries.items(), limit)]

    def retry(
        self,
        key: Key,
        reason: str,
        *,
        at_least: float = 0.0,
        at_most: float = math.inf,
        cause: object = None,
    ) -> float:
        """Ask for a run after the key's own backoff, which grows with each failure.

        Returns:
            The delay in seconds, within the bounds given.
        """
        backoff = self._backoffs.get(key)
        if backoff is None:
            backoff = self._backoffs[key] = Backoff(self._retry_base, self._retry_cap)
        delay = min(max(backoff.next(), at_least), at_most)
        if self._on_retry is not None:
            self._on_retry()
        self.add(key, Priority.RETRY, reason, delay=delay, cause=cause)
        return delay

    def hold(self, key: Key, seconds: float) -> None:
        """Let no run of `key`, which is running, begin again for `seconds`, whoever asks for one."""
        held = self._held[key] = self._clock() + seconds
        entry = self._entries.get(key)
        if entry is not None:
            entry.due = max(entry.due, held)

    def failures(self, key: Key) -> int:
        """Failures of the key since it last succeeded."""
        backoff = self._backoffs.get(key)
        return backoff.failures if backoff else 0

    def forget(self, key: Key) -> None:
        """The key succeeded, or is no more: its backoff begins anew."""
        self._backoffs.pop(key, None)

    def discard(self, unwanted: Callable[[Key], bool]) -> None:
        """Forget all about the keys that are `unwanted`, but for runs that are under way."""
        for key in [key for key in self._entries if unwanted(key)]:
            entry = self._entries.pop(key)
            if entry.ready:
                self._ready -= 1
                self._leave_lane(key, entry.priority)
        for known in (self._held, self._backoffs):
            for key in [key for key in known if unwanted(key)]:
                del known[key]

    async def get(self) -> Work:
        """The next key that is due; waits for one. Call `done` with it afterwards.

        Raises:
            QueueClosed: the queue was closed.
        """
        while True:
            if self._closed:
                raise QueueClosed
            if (work := self._take()) is not None:
                return work
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if not waiter.cancelled():
                    self._wake()  # it was its turn: the next one takes it
                elif waiter in self._waiters:
                    self._waiters.remove(waiter)
                raise

    def done(self, key: Key) -> None:
        """A run is over; a key that was added meanwhile becomes due."""
        self._running.discard(key)
        entry = self._entries.get(key)
        if entry is not None and not entry.ready:
            self._schedule(key, entry)

    def close(self) -> None:
        """No more work: waiting and future `get`s raise `QueueClosed`."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _enter_lane(self, key: Key, priority: Priority) -> None:
        lanes = self._lanes[priority]
        lane = lanes.get(key.namespace)
        if lane is None:
            lane = lanes[key.namespace] = OrderedDict()
        lane[key] = None

    def _leave_lane(self, key: Key, priority: Priority) -> None:
        lanes = self._lanes[priority]
        lane = lanes[key.namespace]
        del lane[key]
        if not lane:
            del lanes[key.namespace]

    def _schedule(self, key: Key, entry: _Entry) -> None:
        if key in self._running:
            return  # `done` looks at it again
        if entry.due <= self._clock():
            self._make_ready(key, entry)
        else:
            entry.ticket = next(self._order)
            heapq.heappush(self._delayed, (entry.due, entry.ticket, key))
            if len(self._delayed) > 2 * len(self._entries) + _STALE_KEPT:
                # A key that was asked for earlier leaves its later place behind.
                self._delayed = [item for item in self._delayed if self._is_current(*item)]
                heapq.heapify(self._delayed)
            self._arm()

    def _make_ready(self, key: Key, entry: _Entry) -> None:
        entry.ready = True
        entry.ticket = -1
        self._ready += 1
        self._enter_lane(key, entry.priority)
        self._wake()

    def _take(self) -> Work | None:
        for priority, lanes in self._lanes.items():
            if not lanes:
                continue
            namespace, lane = next(iter(lanes.items()))
            key, _ = lane.popitem(last=False)
            if lane:
                lanes.move_to_end(namespace)  # the next namespace has its turn
            else:
                del lanes[namespace]
            entry = self._entries.pop(key)
            self._ready -= 1
            self._running.add(key)
            self._held.pop(key, None)
            return Work(key, priority, entry.reasons, max(0.0, self._clock() - entry.due), entry.causes)
        return None

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _arm(self) -> None:
        while self._delayed and not self._is_current(*self._delayed[0]):
            heapq.heappop(self._delayed)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._delayed and not self._closed:
            delay = max(0.0, self._delayed[0][0] - self._clock())
            self._timer = asyncio.get_running_loop().call_later(delay, self._fire)

    def _is_current(self, _: float, ticket: int, key: Key) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.ticket == ticket

    def _fire(self) -> None:
        self._timer = None
        now = self._clock()
        while self._delayed and self._delayed[0][0] <= now:
            item = heapq.heappop(self._delayed)
            if self._is_current(*item):
                self._make_ready(item[2], self._entries[item[2]])
        self._arm()
