"""An event loop of virtual time on which several processes live, in an order drawn from a seed.

What one process does is in asyncio's own order: a loop is first in, first out. Which process goes on next is
drawn by lot, for that is what differs from run to run in reality. Time passes only when no process can go on.

A process may be paused, as by SIGSTOP: what falls due meanwhile waits for it. It may be killed, as by
SIGKILL: nothing of it runs any more, no `finally` either.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import logging
import random
import sys
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final

__all__ = ["Process", "RunsAway", "SimulatedLoop", "current_process"]

_MOST_STEPS_AT_ONCE: Final = 50_000
"""Steps without any time passing; more are a loop that spins."""


class RunsAway(AssertionError):
    """A run does not end: something spins, or takes more steps than a run may."""


class Process:
    """What shares one fate. Its clock may be off, and may run at another rate.

    Attributes:
        name: of the process.
        rate: seconds of its clock in one second.
        offset: seconds that its clock was ahead when the simulation began.
        steps: how often it was its turn.
        crash_at: it is killed before this step; None: it is not.
    """

    def __init__(self, name: str, *, rate: float = 1.0, offset: float = 0.0) -> None:
        self.name = name
        self.rate = rate
        self.offset = offset
        self.steps = 0
        self.crash_at: int | None = None
        self.on_crash: Callable[[], None] | None = None
        self.ready: deque[asyncio.Handle] = deque()
        self.tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self.paused = False
        self.dead = False

    def clock(self, now: float) -> float:
        """What its clock shows."""
        return now * self.rate + self.offset

    def set_rate(self, now: float, rate: float) -> None:
        """From now on its clock runs at another rate; it does not jump."""
        self.offset += now * (self.rate - rate)
        self.rate = rate

    def context(self) -> Context:
        """A context in which what is begun belongs to this process."""
        context = copy_context()
        context.run(_process.set, self)
        return context


_process: ContextVar[Process | None] = ContextVar("openclaw_simulated_process", default=None)


def current_process() -> Process | None:
    """The process that the current task belongs to; None outside of a simulation."""
    return _process.get()


class SimulatedLoop(asyncio.BaseEventLoop):
    """See the module. Sockets, subprocesses and signals are not there; threads run at once, in place.

    Args:
        chance: draws which process goes on.
        most_steps: a run that takes more runs away.
    """

    def __init__(self, chance: random.Random, *, most_steps: int = 400_000) -> None:
        super().__init__()
        self.now = 0.0
        self.steps = 0
        self.world = Process("world")
        self._processes = [self.world]
        self._chance = chance
        self._most_steps = most_steps
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timer_number = 0
        self._at_once = 0
        self._over = False
        self._graveyard: list[Any] = []
        self.failures: list[str] = []
        self.set_exception_handler(self._note_failure)

    def _note_failure(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Callbacks do not fail; that tasks of killed processes are destroyed while pending is no failure."""
        error = context.get("exception")
        if error is not None and not self._over:
            self.failures.append(f"{context.get('message')}: {error!r}")

    # Processes

    def add_process(self, name: str, *, rate: float = 1.0, offset: float = 0.0) -> Process:
        """A new one."""
        process = Process(name, rate=rate, offset=offset)
        self._processes.append(process)
        return process

    def kill(self, process: Process) -> None:
        """As SIGKILL: nothing of it runs any more."""
        process.dead = True
        self._graveyard.append([*process.tasks])
        self._graveyard.append(process.ready)
        process.ready = deque()
        self._processes.remove(process)

    def pause(self, process: Process) -> None:
        """As SIGSTOP."""
        process.paused = True

    def resume(self, process: Process) -> None:
        """As SIGCONT."""
        process.paused = False

    # What asyncio asks of a loop

    def time(self) -> float:
        """Seconds of simulated time."""
        return self.now

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """As asyncio's."""
        handle = asyncio.Handle(callback, args, self, context)
        self._put(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """As `call_soon`: there is one thread."""
        return self.call_soon(callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As asyncio's."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timer_number += 1
        heapq.heappush(self._timers, (when, self._timer_number, timer))
        return timer

    def create_task(
        self, coro: Any, *, name: object = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        """As asyncio's; the task belongs to the process of its context."""
        text = None if name is None else str(name)
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=text, context=context)
        process = _process.get() if context is None else context.get(_process)
        if process is not None:
            process.tasks.add(task)
        return task

    def run_in_executor(  # type: ignore[override]
        self,
        executor: Any,  # noqa: ARG002 - asyncio's signature
        func: Callable[..., Any],
        *args: Any,
    ) -> asyncio.Future[Any]:
        """Run it now."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - as an executor hands it on
            future.set_exception(error)
        return future

    def _put(self, handle: asyncio.Handle) -> None:
        process: Process | None = handle._context.get(_process)  # type: ignore[attr-defined]  # noqa: SLF001 - what asyncio's own loops read
        if process is None:
            process = self.world
        if not process.dead and not self._over:
            process.ready.append(handle)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Nothing to count: it is passed over when it falls due."""

    def _asyncgen_finalizer_hook(self, agen: Any) -> None:
        """One that nobody closed is not closed at a moment that the memory management picks."""
        self._graveyard.append(agen)

    def _process_events(self, event_list: Any) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """There is one thread."""

    def _run_once(self) -> None:
        able = [process for process in self._processes if process.ready and not process.paused]
        if not able:
            self._pass_time()
            return
        process = able[0] if len(able) == 1 else self._chance.choice(able)
        self.steps += 1
        self._at_once += 1
        if self._at_once > _MOST_STEPS_AT_ONCE or self.steps > self._most_steps:
            raise RunsAway(f"{process.name} does not come to rest: {self.steps} steps, at {self.now:.3f} s")
        process.steps += 1
        if process.crash_at is not None and process.steps >= process.crash_at:
            process.crash_at = None
            if process.on_crash is not None:
                process.on_crash()
            return
        handle = process.ready.popleft()
        if not handle.cancelled():
            handle._run()  # noqa: SLF001 - as asyncio's own loops do

    def _pass_time(self) -> None:
        while self._timers:
            when, _, timer = heapq.heappop(self._timers)
            if timer.cancelled():
                continue
            if when > self.now:
                self.now = when
                self._at_once = 0
            self._put(timer)
            return
        raise RunsAway(f"every task waits for something that never comes, at {self.now:.3f} s")

    def run(self, main: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end, then drop everything."""
        asyncio.set_event_loop(self)
        try:
            return self.run_until_complete(main)
        finally:
            self._over = True
            for task in asyncio.all_tasks(self):
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - they are meant to
            asyncio.set_event_loop(None)
            self.close()

    def dispose(self) -> None:
        """Let go of what never ended. Its `finally` blocks run now, in vain; nobody hears what they say."""
        for process in self._processes:
            process.ready.clear()
        self._timers.clear()
        hook, disabled = sys.unraisablehook, logging.root.manager.disable
        sys.unraisablehook = lambda _unraisable: None
        logging.disable(logging.CRITICAL)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # coroutines that were never begun
                self._graveyard.clear()
                gc.collect()
        finally:
            sys.unraisablehook = hook
            logging.disable(disabled)

    def _check_closed(self) -> None:
        """What is dropped at the end may still try to call back, in vain."""
