"""The annotations by which people steer one object, and how often it is looked at."""

from __future__ import annotations

import pytest

from openclaw.api.rdsinstance import Phase
from openclaw.controllers.rds.settings import RDSSettings, duration
from tests.unit.controllers.rds.world import World


async def test_paused_means_that_nothing_is_done_the_deletion_included() -> None:
    world = World()
    await world.available()
    world.annotate(paused="true")
    world.spec(dbInstanceClass="db.m7g.large")
    await world.run(after=60)
    assert world.said("Paused") == ("True", "Annotation")
    world.delete()
    await world.run(after=60)
    assert not world.gone()
    assert world.rds.ledger == []
    world.annotate(paused=None)
    await world.run()
    assert world.said("Paused") == ("", "")
    assert world.rds.calls("delete") == 1


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [(None, 60.0), ("5m", 300.0), ("1s", 10.0), ("1000h", 86400.0), ("often", 60.0), ("", 60.0)],
)
async def test_an_object_may_have_an_interval_of_its_own(asked: str | None, seconds: float) -> None:
    world = World()
    if asked is not None:
        world.annotate(interval=asked)
    await world.available()
    await world.run(after=60)
    assert world.result is not None
    assert world.result.requeue_after == seconds


async def test_a_long_interval_keeps_nobody_waiting_for_what_is_under_way() -> None:
    world = World()
    world.annotate(interval="1h")
    await world.run()
    assert world.result is not None
    assert world.result.requeue_after == 30.0
    world.annotate(interval="10s")
    await world.run(after=30)
    assert world.result.requeue_after == 10.0


async def test_intervals_are_jittered() -> None:
    world = World(settings=RDSSettings())
    await world.available()
    seen = set()
    for _ in range(5):
        await world.run(after=60)
        assert world.result is not None
        assert world.result.requeue_after is not None
        seen.add(world.result.requeue_after)
    assert len(seen) > 1
    assert all(51.0 <= it <= 69.0 for it in seen)


async def test_reconcile_now_is_followed_once_for_each_value() -> None:
    world = World()
    await world.available()
    world.rds.become("incompatible-restore")
    await world.run(after=60)
    assert world.phase() is Phase.FAILED
    calls = len(world.rds.ledger)
    await world.run(after=60)
    assert len(world.rds.ledger) == calls
    world.rds.become("available")
    world.annotate(now="2026-11-30")
    await world.run()
    assert world.phase() is Phase.AVAILABLE
    assert world.obj.status.reconcile_requested == "2026-11-30"


def test_the_environment_sets_intervals_and_deadlines() -> None:
    settings = RDSSettings.from_environment(
        {
            "OPENCLAW_RDS_POLL_AVAILABLE": "5m",
            "OPENCLAW_RDS_DEADLINE_CREATING": "2h",
            "OPENCLAW_RDS_POLL_SLOW": "90",
            "OPENCLAW_RDS_POD_IDENTITY": "deny",
            "VAULT_ADDR": "https://vault.example.com:8200",
        }
    )
    assert settings.polls[Phase.AVAILABLE] == 300.0
    assert settings.polls[Phase.CREATING] == 30.0
    assert settings.deadlines[Phase.CREATING] == 7200.0
    assert settings.slow == 90.0
    assert not settings.pod_identity
    assert settings.vault is not None
    assert RDSSettings.from_environment({}) == RDSSettings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENCLAW_RDS_POLL_AVAILABLE", "0"),
        ("OPENCLAW_RDS_SETTLE", "soon"),
        ("OPENCLAW_RDS_POD_IDENTITY", "perhaps"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name):
        RDSSettings.from_environment({name: value})


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1.5m", 90), ("500ms", 0.5), (" 2h ", 7200)])
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "-1s", "0s", "inf", "nan", "1d", "1 s s"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        duration(text)
