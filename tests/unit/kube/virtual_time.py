"""An event loop on which time passes only when nothing else is left to do."""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class VirtualSelector(selectors.BaseSelector):
    """Does not wait: what the loop would sleep is added to its clock."""

    def __init__(self) -> None:
        self.real = selectors.DefaultSelector()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = self.real.select(0)
        if not events:
            if timeout is None:
                raise AssertionError("every task waits for something that never comes")
            self.now += max(0.0, timeout)
        return events

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self.real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self.real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self.real.get_map()

    def close(self) -> None:
        self.real.close()


class VirtualLoop(asyncio.SelectorEventLoop):
    """Sleeps take no time, in the order in which they would end. For what uses no sockets and no threads."""

    def __init__(self) -> None:
        self._virtual = VirtualSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a loop of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make an async test a plain one that runs in virtual time."""

    @functools.wraps(test)
    def plain(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(test(*args, **kwargs))

    return plain
