"""The small parts: statuses, accounts, digests, the gauge."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from pydantic import SecretStr

from openclaw.api.rdsinstance import Phase
from openclaw.api.rdsinstance_status import SentPassword
from openclaw.controllers.rds.account import account_of_key, account_of_role
from openclaw.controllers.rds.clock import seconds_since, stamp
from openclaw.controllers.rds.inputs import MasterPassword
from openclaw.controllers.rds.metrics import PhaseGauge
from openclaw.controllers.rds.password import digest_of, sent_password
from openclaw.controllers.rds.statuses import STATUSES, UNKNOWN, Stage, rule_of
from tests.unit.controllers.rds.world import World

KNOWN_TO_AWS = """
    available backing-up creating deleted deleting failed backtracking modifying upgrading rebooting
    resetting-master-credentials storage-full incompatible-credentials incompatible-option-group
    incompatible-parameters incompatible-restore incompatible-network restore-error renaming
    inaccessible-encryption-credentials-recoverable inaccessible-encryption-credentials maintenance
    configuring-enhanced-monitoring stopping stopped starting moving-to-vpc converting-to-vpc
    configuring-iam-database-auth storage-optimization configuring-log-exports configuring-associated-roles
    configuring-activity-stream insufficient-capacity validating-configuration unsupported-configuration
    automation-paused
"""
PHASES = {
    Stage.BUILDING: Phase.CREATING,
    Stage.SERVING: Phase.AVAILABLE,
    Stage.CHANGING: Phase.MODIFYING,
    Stage.IMPAIRED: Phase.DEGRADED,
    Stage.BROKEN: Phase.FAILED,
    Stage.GOING: Phase.DELETING,
}


def test_every_status_that_the_controller_of_aws_knows_is_known_here() -> None:
    assert set(KNOWN_TO_AWS.split()) <= set(STATUSES)
    assert len(KNOWN_TO_AWS.split()) == 37


@pytest.mark.parametrize("status", sorted(STATUSES))
async def test_a_status_leads_to_its_phase_and_says_whether_it_serves(status: str) -> None:
    world, rule = World(), STATUSES[status]
    await world.available()
    world.rds.become(status)
    await world.run(after=60)
    assert world.phase() is PHASES[rule.stage]
    assert world.said("Available")[0] == str(rule.serving)
    if rule.advice:
        assert rule.advice in world.message()
    assert world.rds.calls("update") == 0


@pytest.mark.parametrize("status", ["", "dreaming", "AVAILABLE-ISH", "Creating2"])
async def test_a_status_that_is_not_known_is_no_loop(status: str) -> None:
    assert rule_of(status) is UNKNOWN
    world = World()
    await world.available()
    world.rds.become(status)
    for _ in range(3):
        await world.run(after=300)
        assert world.result is not None
        assert world.result.requeue_after == 300
        assert world.phase() is Phase.AVAILABLE
    assert world.said("Degraded") == ("True", "UnknownStatus")
    assert world.events == ["UnknownStatus"]
    assert world.rds.calls("update") == 0


def test_what_serves_can_be_snapshot_and_what_is_wrong_has_advice() -> None:
    for status, rule in STATUSES.items():
        assert rule.snapshot or not rule.serving, status
        assert bool(rule.advice) == (rule.stage in (Stage.IMPAIRED, Stage.BROKEN)), status
    assert rule_of("Available") is STATUSES["available"], "whatever the case"


def key_of(account: int, *, prefix: str = "AKIA") -> str:
    """An access key ID that holds an account's number, as AWS makes them."""
    number = ((account << 7) | (1 << 47) | 5).to_bytes(6) + b"\x01\x02\x03\x04"
    return prefix + base64.b32encode(number).decode()


@given(st.integers(0, 10**12 - 1), st.sampled_from(["AKIA", "ASIA"]))
def test_an_account_is_read_from_its_keys(account: int, prefix: str) -> None:
    assert account_of_key(key_of(account, prefix=prefix)) == f"{account:012d}"


@given(st.text(max_size=24))
def test_any_other_key_gives_a_word_that_does_not_show_it(key: str) -> None:
    account = account_of_key(key)
    assert account == account_of_key(key)
    assert account.startswith("key-") or account.isdigit()
    if len(key) > 8:
        assert key not in account


def test_an_old_key_holds_no_account() -> None:
    assert account_of_key("AKIAIOSFODNN7EXAMPLE").startswith("key-")


def test_an_account_is_read_from_a_role() -> None:
    assert account_of_role("arn:aws:iam::210987654321:role/databases") == "210987654321"
    assert account_of_role("arn:aws-cn:sts::210987654321:assumed-role/x/y") == "210987654321"
    assert account_of_role("databases") is None


async def test_a_digest_tells_passwords_and_objects_apart_and_nothing_else() -> None:
    one = await digest_of("correct horse", "uid-1")
    assert one == await digest_of("correct horse", "uid-1")
    assert one != await digest_of("correct horsf", "uid-1")
    assert one != await digest_of("correct horse", "uid-2")
    assert "correct" not in one


async def test_a_digest_is_computed_only_when_the_secret_has_changed() -> None:
    async def never(password: str, uid: str) -> str:
        raise AssertionError((password, uid))

    known = SentPassword(digest="scrypt:x", secret="master/password u/1")
    same = MasterPassword(SecretStr("p"), "master/password u/1")
    assert await sent_password(same, known, "uid", never) is known
    with pytest.raises(AssertionError):
        await sent_password(MasterPassword(SecretStr("p"), "master/password u/2"), known, "uid", never)


def test_a_password_is_in_no_repr() -> None:
    assert "hunter2" not in repr(MasterPassword(SecretStr("hunter2"), "v"))


def test_the_gauge_counts_when_it_is_asked() -> None:
    counts = {"Available": 3, "Failed": 1}
    registry = CollectorRegistry()
    registry.register(PhaseGauge("RDSInstance", lambda phase: counts.get(phase, 0)))
    text = generate_latest(registry).decode()
    assert 'resource_phase{kind="RDSInstance",phase="Available"} 3.0' in text
    assert text.count("resource_phase{") == len(Phase)
    counts["Available"] = 4
    assert 'phase="Available"} 4.0' in generate_latest(registry).decode()


def test_times() -> None:
    assert stamp(1_800_000_000.9) == "2027-01-15T08:00:00Z"
    assert seconds_since("2027-01-15T08:00:00Z", 1_800_000_060.0) == 60.0
    assert seconds_since("2027-01-15T08:00:00Z", 1_700_000_000.0) == 0.0, "a clock that was set back"
    assert seconds_since(None, 1.0) == float("inf")
    assert seconds_since("yesterday", 1.0) == float("inf")
