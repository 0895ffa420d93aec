"""The deadline of a run, and cancellations that are not the run's own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

__all__ = ["within_deadline"]

T = TypeVar("T")


async def within_deadline(run: Awaitable[T], seconds: float) -> T:
    """What `run` returns, if it does so within `seconds`.

    Raises:
        TimeoutError: it did not; says so and names the deadline.
        RuntimeError: something that it awaited was cancelled. Let through, this would end whoever
            awaits the run, as if that one had been cancelled.
    """
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await run
    except TimeoutError as error:
        if not limit.expired():
            raise
        msg = f"the run was stopped at its deadline of {seconds:g} s"
        raise TimeoutError(msg) from error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        msg = "something that the run awaited was cancelled, while the run was not"
        raise RuntimeError(msg) from error
