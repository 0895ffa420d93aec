"""Every clock that production code reads shows simulated time while a simulation runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from typing import Any, Final, Self

from openclaw.kube.listwatch import ListWatch
from openclaw.runtime.recorder import EventRecorder
from openclaw.telemetry.metrics import Metrics
from openclaw.testing.simulation.loop import SimulatedLoop, current_process

__all__ = ["EPOCH", "simulated_clocks"]

EPOCH: Final = 1_900_000_000.0
"""The date at which each simulation begins, in seconds since 1970."""

_BOUND: Final = (ListWatch.__init__, EventRecorder.__init__, Metrics.__init__)
"""Have the monotonic clock for a default."""

_real_datetime: Final[Any] = datetime


@contextmanager
def simulated_clocks(loop: SimulatedLoop) -> Iterator[None]:
    """Within the block the module `time`, and `datetime` in our modules, follow the loop.

    A process' own clock, which may be off, is what it reads; outside of processes it is the loop's.
    """

    def monotonic() -> float:
        process = current_process()
        return loop.now if process is None else process.clock(loop.now)

    class SimulatedDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls.fromtimestamp(EPOCH + monotonic(), tz or UTC)

    former = {name: getattr(time, name) for name in ("monotonic", "time", "time_ns", "clock_gettime")}
    defaults = [function.__kwdefaults__ for function in _BOUND]
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("openclaw.")
        and getattr(module, "datetime", None) is _real_datetime
        and not name.startswith("openclaw.testing.")
    ]
    patched: dict[str, Any] = {
        "monotonic": monotonic,
        "time": lambda: EPOCH + monotonic(),
        "time_ns": lambda: int((EPOCH + monotonic()) * 1e9),
        "clock_gettime": lambda _clock: monotonic(),
    }
    try:
        for name, function in patched.items():
            setattr(time, name, function)
        for function in _BOUND:
            function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "clock": monotonic}
        for module in modules:
            vars(module)["datetime"] = SimulatedDatetime
        yield
    finally:
        for name, function in former.items():
            setattr(time, name, function)
        for function, kept in zip(_BOUND, defaults, strict=True):
            function.__kwdefaults__ = kept
        for module in modules:
            vars(module)["datetime"] = _real_datetime
