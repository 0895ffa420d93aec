"""An event loop on which time passes only when nothing else is left to do, for what uses sockets and threads.

While somebody works for us who does not live in this loop (a thread, the kernel between two sockets of ours),
time passes as it really does: no deadline falls due because it was skipped.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import aiobotocore.endpoint
import pytest

from tests.unit.kube.virtual_time import VirtualSelector

T = TypeVar("T")
P = ParamSpec("P")

_LONGEST_LOOK = 0.1  # seconds of real time
_MOST_IDLE = 100


class _Selector(VirtualSelector):
    def __init__(self) -> None:
        super().__init__()
        self.busy = 0
        self.idle = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = self.real.select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if timeout is not None and not self.busy:
            self.now += timeout
            return []
        began = time.monotonic()
        events = self.real.select(_LONGEST_LOOK if timeout is None else min(_LONGEST_LOOK, timeout))
        self.now += time.monotonic() - began
        if not events and timeout is None and not self.busy:
            self.idle += 1
            assert self.idle < _MOST_IDLE, "every task waits for something that never comes"
        else:
            self.idle = 0
        return events


class FastLoop(asyncio.SelectorEventLoop):
    """Sleeps take no time while nobody is `busy`, in the order in which they would end."""

    def __init__(self) -> None:
        self._fast = _Selector()
        super().__init__(self._fast)

    def time(self) -> float:
        return self._fast.now

    @contextmanager
    def busy(self) -> Iterator[None]:
        """While somebody else works for us."""
        self._fast.busy += 1
        try:
            yield
        finally:
            self._fast.busy -= 1

    def run_in_executor(  # type: ignore[override]  # the real one ties func to args
        self, executor: Any, func: Any, *args: Any
    ) -> asyncio.Future[Any]:
        future = super().run_in_executor(executor, func, *args)
        self._fast.busy += 1

        def ended(_: Any) -> None:
            self._fast.busy -= 1

        future.add_done_callback(ended)
        return future


def run_fast(monkeypatch: pytest.MonkeyPatch, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end on a `FastLoop`; calls of AWS clients take the time that they take."""
    make_request = aiobotocore.endpoint.AioEndpoint.make_request

    async def timed(self: Any, *args: Any, **options: Any) -> Any:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, FastLoop)
        with loop.busy():
            return await make_request(self, *args, **options)

    monkeypatch.setattr(aiobotocore.endpoint.AioEndpoint, "make_request", timed)
    with asyncio.Runner(loop_factory=FastLoop) as runner:
        return runner.run(main())


def fast_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make an async test with the fixture `monkeypatch` a plain one that runs on a `FastLoop`."""

    @functools.wraps(test)
    def plain(*args: P.args, **kwargs: P.kwargs) -> T:
        monkeypatch = kwargs["monkeypatch"]
        assert isinstance(monkeypatch, pytest.MonkeyPatch)
        return run_fast(monkeypatch, lambda: test(*args, **kwargs))

    return plain
