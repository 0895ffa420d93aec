"""The way of one call through the stand-in: its effect, and what goes wrong before and after it.

The same for a call that came over HTTP and for one made in process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from openclaw.testing.rds.accounts import AccessKey
from openclaw.testing.rds.cloud import Cloud
from openclaw.testing.rds.errors import AWSError
from openclaw.testing.rds.faults import (
    Cut,
    FailAfter,
    Garble,
    Late,
    LoseAnswer,
    Outcome,
    Pretend,
    Refuse,
    Wait,
    WaitAfter,
)
from openclaw.testing.rds.ledger import Call

_IDENTIFIERS: Final = ("DBInstanceIdentifier", "DBSnapshotIdentifier", "ResourceName", "RoleArn")


class Lost(Exception):
    """No answer is sent."""


class Garbled(Exception):
    """The answer is none of AWS'."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


def identifier_of(parameters: Mapping[str, Any]) -> str:
    """The instance, snapshot or resource that a call names; empty for a listing."""
    found = next((str(parameters[name]) for name in _IDENTIFIERS if name in parameters), "")
    return found if found.startswith("arn:") else found.lower()


async def passing(
    cloud: Cloud, service: str, parameters: Mapping[str, Any], call: Call, caller: AccessKey | None
) -> dict[str, Any]:
    """Let a call have its effect, and meet its faults; what came of it is written into `call`.

    Cancelled, as when the client goes away, it has no effect any more, unless a fault says so.

    Raises:
        AWSError: it is refused.
        Lost: nothing is answered.
        Garbled: what is answered is none of AWS'.
    """
    outcomes = cloud.faults.of(call)

    def effect() -> dict[str, Any]:
        with _undoing(cloud, call) if Pretend() in outcomes else nullcontext():
            return cloud.carry_out(service, parameters, call, caller)

    way = _passing(cloud, call, outcomes, effect)
    if not any(isinstance(it, Late) for it in outcomes):
        return await way
    task = asyncio.ensure_future(way)
    cloud.late.add(task)
    task.add_done_callback(cloud.late.discard)
    task.add_done_callback(lambda it: it.cancelled() or it.exception())
    return await asyncio.shield(task)


async def _passing(
    cloud: Cloud, call: Call, outcomes: Sequence[Outcome], effect: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    try:
        await _before(cloud, outcomes)
        result = effect()
        call.effect = Pretend() not in outcomes
        await _after(cloud, outcomes)
    except AWSError as error:
        call.result = error.code
        raise
    except (Lost, Garbled, asyncio.CancelledError):
        call.result = "lost"
        raise
    call.result = "ok"
    return result


def _undoing(cloud: Cloud, call: Call) -> AbstractContextManager[None]:
    return cloud.account(call.account).region(call.region).undoing()


async def _before(cloud: Cloud, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        if isinstance(outcome, Wait | Late):
            await cloud.clock.sleep(outcome.seconds)
        elif isinstance(outcome, Refuse):
            raise outcome.error()
        elif isinstance(outcome, Cut):
            raise Lost


async def _after(cloud: Cloud, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        if isinstance(outcome, WaitAfter):
            await cloud.clock.sleep(outcome.seconds)
        elif isinstance(outcome, LoseAnswer):
            raise Lost
        elif isinstance(outcome, FailAfter):
            raise outcome.error()
        elif isinstance(outcome, Garble):
            raise Garbled(outcome.status, outcome.body)
