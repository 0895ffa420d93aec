"""What goes wrong with RDS in a simulation, by name; each begins with a source of chance, and can be ended.

Nothing here lasts or lies for longer than the operator is built for: an instance that was made is visible
within `RDSSettings.visible`, and a call that has no answer has its effect within that time or never.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from openclaw.testing.rds.accounts import AccessKey
from openclaw.testing.rds.cloud import Cloud
from openclaw.testing.rds.faults import (
    HANG,
    HANG_AFTER,
    OUTAGE,
    THROTTLE,
    Cut,
    FailAfter,
    Fault,
    Garble,
    Late,
    LoseAnswer,
    Outcome,
    Refuse,
    Wait,
    WaitAfter,
)
from openclaw.testing.rds.region import Region
from openclaw.testing.rds.timeline import Stage, Timelines

__all__ = ["End", "Start", "faults_of"]

End = Callable[[], None]
Start = Callable[[random.Random], End]

_WRITES: Final = ("CreateDBInstance", "ModifyDBInstance", "DeleteDBInstance", "AddTagsToResource")
_CALLS: Final = (*_WRITES, "DescribeDBInstances")
# Statuses of an instance that somebody or something is at work on, or that is not well for a while.
_STATUSES: Final = (
    *("maintenance", "rebooting", "stopped", "starting", "storage-full", "storage-optimization"),
    *("backing-up", "configuring-log-exports", "inaccessible-encryption-credentials-recoverable"),
    "a-word-of-tomorrow",
)


def faults_of(cloud: Cloud, region: Region, key: AccessKey, timelines: Timelines) -> Mapping[str, Start]:
    """The faults of one account in one region."""
    return {
        **{f"rds-{name}": _planned(cloud, draw) for name, draw in _OUTCOMES.items()},
        "rds-outage": lambda _: _always(cloud, OUTAGE),
        "rds-limit": lambda chance: _limited(cloud, key, chance),
        "rds-lag": lambda chance: _lagging(region, chance),
        "rds-unordered": lambda chance: _unordered(region, chance),
        "rds-denied": lambda chance: _denied(key, chance),
        "rds-revoked": lambda _: _revoked(key),
        "rds-quota": lambda _: _full(region),
        "rds-long-work": lambda chance: _working_long(region, timelines, chance),
        "rds-status": lambda chance: _unwell(region, chance),
    }


_OUTCOMES: Final[Mapping[str, Callable[[random.Random], tuple[Outcome, Sequence[str]]]]] = {
    "throttled": lambda _: (THROTTLE, _CALLS),
    "fails": lambda _: (Refuse("InternalFailure", "An internal error.", 500), _CALLS),
    "fails-after": lambda _: (FailAfter(), _CALLS),
    "answer-lost": lambda _: (LoseAnswer(), _CALLS),
    "cut": lambda _: (Cut(), _CALLS),
    "garbled": lambda _: (Garble(), _CALLS),
    "hangs": lambda _: (HANG, _CALLS),
    "hangs-after": lambda _: (HANG_AFTER, _CALLS),
    "slow": lambda chance: (Wait(chance.uniform(0.1, 20.0)), _CALLS),
    "slow-after": lambda chance: (WaitAfter(chance.uniform(0.1, 40.0)), _CALLS),
    "late": lambda chance: (Late(chance.uniform(1.0, 45.0)), _WRITES),
    "no-capacity": lambda _: (
        Refuse("InsufficientDBInstanceCapacity", "There is no capacity of that class."),
        ("CreateDBInstance",),
    ),
}


def _planned(cloud: Cloud, draw: Callable[[random.Random], tuple[Outcome, Sequence[str]]]) -> Start:
    """Some of the next calls of one operation, or of any that the fault is for."""

    def start(chance: random.Random) -> End:
        outcome, operations = draw(chance)
        operation = chance.choice(operations)
        fault = cloud.faults.add(Fault(outcome, operation=operation, times=chance.choice((1, 1, 2, 5))))
        return lambda: cloud.faults.remove(fault)

    return start


def _always(cloud: Cloud, outcome: Outcome) -> End:
    fault = cloud.faults.add(Fault(outcome, times=None))
    return lambda: cloud.faults.remove(fault)


def _limited(cloud: Cloud, key: AccessKey, chance: random.Random) -> End:
    cloud.throttle(key.account, rate=chance.choice((0.05, 0.2, 1.0)), burst=chance.choice((1, 2, 5)))
    return lambda: cloud.unthrottle(key.account)


def _lagging(region: Region, chance: random.Random) -> End:
    behaviour = region.behaviour
    behaviour.describe_lag = chance.choice((0.0, 2.0, 20.0, 40.0))
    behaviour.listing_lag = chance.choice((0.0, 2.0, 20.0, 40.0))

    def end() -> None:
        behaviour.describe_lag = behaviour.listing_lag = 0.0

    return end


def _unordered(region: Region, chance: random.Random) -> End:
    behaviour = region.behaviour
    behaviour.unordered, behaviour.listing_page = True, chance.choice((1, 2, 100))

    def end() -> None:
        behaviour.unordered, behaviour.listing_page = False, 100

    return end


def _denied(key: AccessKey, chance: random.Random) -> End:
    actions = {f"rds:{operation}" for operation in chance.sample(_CALLS, chance.choice((1, 1, 2, 5)))}
    key.denied |= actions
    return lambda: key.denied.difference_update(actions)


def _revoked(key: AccessKey) -> End:
    key.active = False

    def end() -> None:
        key.active = True

    return end


def _full(region: Region) -> End:
    behaviour = region.behaviour
    behaviour.instance_quota = len(region.databases)

    def end() -> None:
        behaviour.instance_quota = 10_000

    return end


def _working_long(region: Region, usual: Timelines, chance: random.Random) -> End:
    behaviour = region.behaviour
    behaviour.timelines = usual.scaled(chance.choice((0.01, 0.1, 3.0)))

    def end() -> None:
        behaviour.timelines = usual

    return end


def _unwell(region: Region, chance: random.Random) -> End:
    """Some instance goes through statuses that nobody has asked for, and serves again."""
    idle = list(_idle(region))
    if idle:
        stages = (Stage(chance.choice(_STATUSES), chance.uniform(5.0, 60.0)) for _ in range(2))
        region.play(chance.choice(idle), *stages)
    return lambda: None


def _idle(region: Region) -> Iterator[str]:
    for database in region.databases:
        if database.status == "available" and not database.pending:
            yield database.identifier
