"""What a manager sets up to be seen: the tracer, and the signals that change the level of its log."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Iterator
from typing import Final

from openclaw.telemetry.internals import InternalMetrics
from openclaw.telemetry.logs import Log, change_level
from openclaw.telemetry.tracing import NO_TRACING, Tracer, wants_tracing

__all__ = ["level_signals", "tracing"]

log = Log(__name__)

_FLUSH_SECONDS: Final = 3.0
_STEPS: Final = {signal.SIGUSR1: -1, signal.SIGUSR2: 1}


@contextlib.asynccontextmanager
async def tracing(metrics: InternalMetrics, *, asked: bool | None) -> AsyncIterator[Tracer]:
    """The tracer that the environment (or `asked`) wants; flushed at the end, within three seconds.

    Raises:
        ValueError: names the variable that cannot be used.
    """
    if not wants_tracing(asked=asked):
        yield NO_TRACING
        return
    # Two megabytes and half a tenth of a second, for those who want it.
    from openclaw.telemetry.otel import tracer_from_environment  # noqa: PLC0415

    tracer = tracer_from_environment(on_drop=metrics.spans_dropped)
    log.info(
        "tracing is on",
        sampler=os.environ.get("OTEL_TRACES_SAMPLER") or "parentbased_always_on",
        sampler_argument=os.environ.get("OTEL_TRACES_SAMPLER_ARG") or "",
    )
    try:
        yield tracer
    finally:
        await asyncio.to_thread(tracer.close, _FLUSH_SECONDS)


@contextlib.contextmanager
def level_signals() -> Iterator[None]:
    """While the block runs, SIGUSR1 makes the log more verbose by a level and SIGUSR2 less."""
    loop = asyncio.get_running_loop()

    def on_signal(step: int) -> None:
        level = change_level(step)
        log.warning("log level changed", to=level)

    for number, step in _STEPS.items():
        loop.add_signal_handler(number, on_signal, step)
    try:
        yield
    finally:
        for number in _STEPS:
            loop.remove_signal_handler(number)
