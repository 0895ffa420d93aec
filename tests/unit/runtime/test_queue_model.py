"""The queue against a model so simple that it is plainly right, under any order of calls."""

import asyncio
import math
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from openclaw.runtime.queue import Key, Priority, Queue, QueueClosed, Work
from tests.unit.kube.virtual_time import VirtualLoop

T = TypeVar("T")

KEYS = st.builds(Key, st.sampled_from(["", "one", "two"]), st.sampled_from(["a", "b"]))
PRIORITIES = st.sampled_from(list(Priority))
# Quarters are exact in binary, so that equal times are equal.
DELAYS = st.integers(0, 40).map(lambda quarters: quarters / 4)


class Wanted:
    """What the model knows of a key that was asked for."""

    def __init__(self, priority: Priority, due: float, reason: str) -> None:
        self.priority = priority
        self.due = due
        self.reasons = [reason]


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        self.queue = self._call(Queue, retry_base=1.0, retry_cap=8.0)
        self.wanted: dict[Key, Wanted] = {}
        self.running: set[Key] = set()
        self.waiting: list[asyncio.Task[Work]] = []
        self.closed = False

    def teardown(self) -> None:
        for task in self.waiting:
            task.cancel()
        self.queue.close()
        self._settle()
        self.loop.close()

    def _call(self, call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        async def inside() -> T:
            return call(*args, **kwargs)

        return self.loop.run_until_complete(inside())

    def _settle(self) -> None:
        """Give every task its turn, and collect what the waiting `get`s got."""

        async def turns() -> None:
            for _ in range(4):
                await asyncio.sleep(0)

        self.loop.run_until_complete(turns())
        for task in [task for task in self.waiting if task.done()]:
            self.waiting.remove(task)
            if task.cancelled():
                continue
            if isinstance(task.exception(), QueueClosed):
                assert self.closed
                continue
            self._got(task.result())

    def _due(self) -> dict[Key, Wanted]:
        now = self.loop.time()
        return {
            key: wanted
            for key, wanted in self.wanted.items()
            if key not in self.running and wanted.due <= now
        }

    def _got(self, work: Work) -> None:
        """What was handed out was allowed to be."""
        assert not self.closed
        assert work.key not in self.running, "two runs of one key at once"
        wanted = self.wanted.pop(work.key)
        assert wanted.due <= self.loop.time(), "too early"
        assert work.priority == wanted.priority
        assert list(work.reasons) == list(dict.fromkeys(wanted.reasons))
        self.running.add(work.key)

    def _asked(self, key: Key, priority: Priority, reason: str, due: float) -> None:
        if self.closed:
            return
        wanted = self.wanted.get(key)
        if wanted is None:
            self.wanted[key] = Wanted(priority, due, reason)
            return
        wanted.priority = min(wanted.priority, priority)
        wanted.due = min(wanted.due, due)
        wanted.reasons.append(reason)

    @rule(key=KEYS, priority=PRIORITIES, reason=st.sampled_from("xyz"), delay=DELAYS)
    def add(self, key: Key, priority: Priority, reason: str, delay: float) -> None:
        self._asked(key, priority, reason, self.loop.time() + delay)
        self._call(self.queue.add, key, priority, reason, delay=delay)
        self._settle()

    @rule(key=KEYS, least=st.sampled_from([0.0, 3.0]), most=st.sampled_from([math.inf, 0.0]))
    def retry(self, key: Key, least: float, most: float) -> None:
        before = self.queue.failures(key)
        now = self.loop.time()
        delay = self._call(self.queue.retry, key, "failed", at_least=least, at_most=most)
        step = min(8.0, 2.0**before)
        assert min(max(step / 2, least), most) <= delay <= min(max(step, least), most)
        assert self.queue.failures(key) == before + 1
        self._asked(key, Priority.RETRY, "failed", now + delay)
        self._settle()

    @rule(key=KEYS)
    def forget(self, key: Key) -> None:
        self.queue.forget(key)
        assert self.queue.failures(key) == 0

    @rule(keys=st.sets(KEYS))
    def discard(self, keys: set[Key]) -> None:
        self.queue.discard(keys.__contains__)
        for key in keys:
            self.wanted.pop(key, None)
            assert self.queue.failures(key) == 0
        self._settle()

    @precondition(lambda self: len(self.waiting) < 3)
    @rule()
    def begin_to_wait(self) -> None:
        due = self._due()
        most_urgent = min((wanted.priority for wanted in due.values()), default=None)
        task = self.loop.create_task(self.queue.get())
        self.waiting.append(task)
        self._settle()
        if most_urgent is not None and not self.closed:
            assert task.done(), "a key was due"
            assert task.result().priority == most_urgent

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def cancel_a_waiter(self, data: Any) -> None:
        data.draw(st.sampled_from(self.waiting)).cancel()
        self._settle()

    @precondition(lambda self: self.waiting and not self.closed)
    @rule(key=KEYS, data=st.data())
    def cancel_a_waiter_that_was_just_woken(self, key: Key, data: Any) -> None:
        self._asked(key, Priority.CHANGE, "woken", self.loop.time())
        task = data.draw(st.sampled_from(self.waiting))

        def add_and_cancel() -> None:
            self.queue.add(key, Priority.CHANGE, "woken")
            task.cancel()

        self._call(add_and_cancel)
        self._settle()

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def end_a_run(self, data: Any) -> None:
        key = data.draw(st.sampled_from(sorted(self.running)))
        self.running.remove(key)
        self._call(self.queue.done, key)
        self._settle()

    @rule(delay=DELAYS)
    def let_time_pass(self, delay: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(delay))
        self._settle()

    @precondition(lambda self: self.waiting)
    @rule()
    def close(self) -> None:
        self.closed = True
        self.queue.close()
        self._settle()
        assert not self.waiting

    @invariant()
    def nobody_waits_while_a_key_is_due(self) -> None:
        assert self.closed or not (self.waiting and self._due())

    @invariant()
    def the_numbers_are_true(self) -> None:
        if not self.closed:
            due = self._due()
            assert len(self.queue) == len(due)
            assert self.queue.delayed == len(self.wanted) - len(due)
        assert self.queue.running == len(self.running)

    @invariant()
    def nothing_piles_up(self) -> None:
        lanes = sum(len(lane) for lanes in self.queue._lanes.values() for lane in lanes.values())
        assert lanes == len(self.queue)
        assert len(self.queue._waiters) <= len(self.waiting)


TestQueueModel = QueueMachine.TestCase
TestQueueModel.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
