"""Waiting for a condition with a deadline."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any


async def eventually(
    check: Callable[[], Any] | Callable[[], Awaitable[Any]],
    what: str,
    *,
    timeout: float = 60.0,
    interval: float = 0.02,
) -> Any:
    """The first true result of `check`; an AssertionError that says `what` did not come true in time.

    A check that raises LookupError, AssertionError or OSError is not true yet.
    """
    deadline = time.monotonic() + timeout
    while True:
        last: Any
        try:
            last = check()
            if inspect.isawaitable(last):
                last = await last
            if last:
                return last
        except (LookupError, AssertionError, OSError) as error:
            last = error
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {timeout:g} s; last: {last!r}")
        await asyncio.sleep(interval)
