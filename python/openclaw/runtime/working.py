"""From the first run to the last: controllers at work until a stop, and their end within a grace."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from openclaw.runtime.controller import Controller
from openclaw.sharding.membership import Membership, NameTaken
from openclaw.telemetry.logs import Log

__all__ = ["work_until"]

log = Log(__name__)


async def work_until(
    stop: asyncio.Event,
    controllers: Sequence[Controller],
    *,
    grace: float,
    membership: Membership | None = None,
    hold: Callable[[], Awaitable[float | None]] | None = None,
) -> NameTaken | None:
    """Run the controllers until `stop`, then let runs in flight end within the grace.

    Args:
        stop: set when no more work is to be begun.
        controllers: what to run.
        grace: seconds that runs in flight get.
        membership: of a shard, which hands its slots over at the end.
        hold: asked at the end for how many seconds the slots are to wait for this shard; None: they are not.

    Returns:
        Why this shard had to end, where it was not asked to.
    """
    workers = asyncio.gather(*(controller.run() for controller in controllers))
    stopping = asyncio.ensure_future(stop.wait())
    member = None if membership is None else asyncio.ensure_future(membership.run())
    try:
        waited_for: list[asyncio.Future[object]] = [workers, stopping]  # type: ignore[list-item]
        if member is not None:
            waited_for.append(member)  # type: ignore[arg-type]
        await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        if membership is not None and not workers.done():
            await _leave(membership, hold, deadline)
        for controller in controllers:
            controller.close()
        if workers.done():
            await workers
            return _taken(member)
        done, _ = await asyncio.wait((workers,), timeout=max(0.0, deadline - loop.time()))
        if done:
            await workers
        else:
            running = sum(controller.queue.running for controller in controllers)
            log.warning("runs were cut off at the end of the grace", runs=running)
        return _taken(member)
    finally:
        stopping.cancel()
        for controller in controllers:
            controller.close()  # a worker whose run swallows the cancellation ends here
        workers.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await workers
        if member is not None:
            member.cancel()
            with contextlib.suppress(asyncio.CancelledError, NameTaken):
                await member


def _taken(member: asyncio.Future[None] | None) -> NameTaken | None:
    if member is None or not member.done() or member.cancelled():
        return None
    error = member.exception()
    if error is None or isinstance(error, NameTaken):
        return error
    raise error


async def _leave(
    membership: Membership, hold: Callable[[], Awaitable[float | None]] | None, deadline: float
) -> None:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout_at(deadline):
            comes_back = None if hold is None else await hold()
            await membership.leave(comes_back, deadline - loop.time())
    except TimeoutError:
        log.warning("the slots were not handed over within the grace: they are free when the Lease is void")
