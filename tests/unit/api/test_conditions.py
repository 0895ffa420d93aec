"""Conditions keep to the Kubernetes API conventions."""

import json
from copy import deepcopy
from datetime import UTC, datetime, timedelta, timezone

import pytest

from openclaw.api import Available, Condition, Conditions, ConditionType, Degraded, Model, Progressing

FIRST = datetime(2026, 1, 2, 3, 4, 5, 999999, tzinfo=UTC)
LATER = FIRST + timedelta(minutes=5)


class Status(Model):
    conditions: Conditions = Conditions()


def since(conditions: Conditions, name: str) -> str | None:
    condition = conditions.get(name)
    assert condition is not None
    return condition.last_transition_time


def test_the_transition_time_moves_only_with_the_status() -> None:
    conditions = Conditions()
    assert conditions.set(Available(when=False, reason="Starting", observed_generation=1), now=FIRST)
    assert since(conditions, "Available") == "2026-01-02T03:04:05Z"

    assert conditions.set(
        Available(when=False, reason="Pulling", message="m", observed_generation=2), now=LATER
    )
    condition = conditions.get("Available")
    assert condition is not None
    assert (condition.reason, condition.message, condition.observed_generation) == ("Pulling", "m", 2)
    assert condition.last_transition_time == "2026-01-02T03:04:05Z"

    assert conditions.set(Available(when=True), now=LATER)
    assert since(conditions, "Available") == "2026-01-02T03:09:05Z"


def test_to_state_the_same_again_changes_nothing() -> None:
    conditions = Conditions()
    statement = Available(when=True, message="2 of 2", observed_generation=4)
    assert conditions.set(statement, now=FIRST)
    before = list(conditions)
    assert not conditions.set(statement, now=LATER)
    assert list(conditions) == before


def test_times_are_utc_whatever_the_clock_says() -> None:
    conditions = Conditions()
    conditions.set(Available(when=True), now=FIRST.astimezone(timezone(timedelta(hours=5))))
    assert since(conditions, "Available") == "2026-01-02T03:04:05Z"


def test_the_present_is_the_default() -> None:
    conditions = Conditions()
    before = datetime.now(UTC).replace(microsecond=0)
    conditions.set(Available(when=True))
    stamp = since(conditions, "Available")
    assert stamp is not None
    assert before <= datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) <= datetime.now(UTC)


def test_a_condition_that_says_when_is_believed_on_a_change_only() -> None:
    conditions = Conditions()
    conditions.set(
        Condition(type="A", status="True", reason="R", last_transition_time="2020-01-01T00:00:00Z")
    )
    assert since(conditions, "A") == "2020-01-01T00:00:00Z"
    conditions.set(
        Condition(type="A", status="True", reason="S", last_transition_time="2021-01-01T00:00:00Z")
    )
    assert since(conditions, "A") == "2020-01-01T00:00:00Z"


def test_a_condition_without_a_time_gets_one() -> None:
    conditions = Conditions([Condition(type="A", status="True", reason="R")])
    assert conditions.set(Condition(type="A", status="True", reason="R"), now=FIRST)
    assert since(conditions, "A") == "2026-01-02T03:04:05Z"


def test_order_and_the_conditions_of_others_are_kept() -> None:
    body = (
        '{"conditions":[{"type":"Theirs","status":"Unknown","reason":"not one word","message":"",'
        '"lastTransitionTime":"2020-01-01T00:00:00Z","severity":"Info"},'
        '{"type":"Available","status":"True","reason":"R","message":"",'
        '"lastTransitionTime":"2020-01-01T00:00:00Z"},'
        '{"type":"example.com/Last","status":"False","reason":"R","message":"",'
        '"lastTransitionTime":"2020-01-01T00:00:00Z"}]}'
    )
    status = Status.model_validate_json(body)
    assert status.to_dict() == json.loads(body)
    status.conditions.set(Available(when=False), now=FIRST)
    status.conditions.set(Progressing(when=True), now=FIRST)
    assert [condition.type for condition in status.conditions] == [
        "Theirs",
        "Available",
        "example.com/Last",
        "Progressing",
    ]
    assert status.to_dict()["conditions"][0] == json.loads(body)["conditions"][0]
    assert status.conditions.remove("Available")
    assert not status.conditions.remove("Available")
    assert len(status.conditions) == 3


def test_reading_python_objects() -> None:
    status = Status.model_validate({"conditions": [{"type": "A", "status": "True", "observedGeneration": 3}]})
    condition = status.conditions.get("A")
    assert condition is not None
    assert condition.observed_generation == 3
    assert Status(conditions=status.conditions) == status


@pytest.mark.parametrize(
    ("when", "status"),
    [(True, "True"), (False, "False"), (None, "Unknown")],
)
@pytest.mark.parametrize("kind", [Available, Progressing, Degraded])
def test_every_statement_has_a_reason(kind: ConditionType, when: bool | None, status: str) -> None:
    conditions = Conditions()
    conditions.set(kind(when=when))
    condition = conditions.get(kind)
    assert condition is not None
    assert condition.type == str(kind)
    assert condition.status == status
    assert condition.reason
    assert conditions.is_true(kind) is (when is True)
    assert conditions.is_false(kind) is (when is False)


@pytest.mark.parametrize("reason", ["A", "AllReady", "A_1", "a:b", "A,b", "A" * 1024])
def test_good_reasons(reason: str) -> None:
    assert Conditions().set(Available(when=True, reason=reason))


@pytest.mark.parametrize("reason", ["", "not ready", "1st", "A:", "A,", "Ä", "A-b", "A\n", "A" * 1025])
def test_bad_reasons(reason: str) -> None:
    conditions = Conditions()
    with pytest.raises(ValueError, match=r"condition Available: reason .* CamelCase"):
        conditions.set(Available(when=True, reason=reason))
    assert len(conditions) == 0


@pytest.mark.parametrize("name", ["Ready", "example.com/Ready", "a.b_c-D"])
def test_good_types(name: str) -> None:
    assert Conditions().set(Condition(type=name, status="True", reason="R"))


@pytest.mark.parametrize("name", ["", "Not ready", "-A", "A/", "Example.com/A", "A" * 317])
def test_bad_types(name: str) -> None:
    with pytest.raises(ValueError, match="condition type"):
        Conditions().set(Condition(type=name, status="True", reason="R"))


def test_a_message_is_cut_to_what_the_api_takes() -> None:
    conditions = Conditions()
    conditions.set(Degraded(when=True, message="x" * 32768))
    kept = conditions.get("Degraded")
    assert kept is not None
    assert kept.message == "x" * 32768
    conditions.set(Degraded(when=True, message="x" * 40000))
    cut = conditions.get("Degraded")
    assert cut is not None
    assert len(cut.message) == 32768
    assert cut.message.endswith("x…")


def test_equality_and_copies() -> None:
    one, two = Conditions(), Conditions()
    one.set(Available(when=True), now=FIRST)
    assert one != two
    two.set(Available(when=True), now=FIRST)
    assert one == two
    copy = deepcopy(one)
    copy.set(Available(when=False), now=LATER)
    assert one.is_true("Available")
    assert "Available" in one
    assert "Degraded" not in one
    one.set(Degraded(when=False), now=FIRST)
    two = Conditions(reversed(list(one)))
    assert one != two  # the order is part of what is written
