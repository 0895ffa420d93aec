"""Secrets and Events: what is a violation, and what is not."""

import base64
from typing import Any

import pytest

from openclaw.testing.simulation.contracts import Violation
from openclaw.testing.simulation.invariants import EventsAreFew, NothingSecret
from tests.unit.testing.simulation.invariants.worlds import (
    FakeWorld,
    child,
    declared,
    status_write,
    thing,
    world,
    write,
)

PASSWORD = "correct-horse-battery"


def secret(**data: str) -> dict[str, Any]:
    return {
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "default"},
        "data": {key: base64.b64encode(it.encode()).decode() for key, it in data.items()},
    }


def event(number: int = 1, note: str = "") -> dict[str, Any]:
    return {
        "kind": "Event",
        "metadata": {"name": f"a.{number}", "namespace": "default"},
        "regarding": {"kind": "Thing", "namespace": "default", "name": "a", "uid": "u"},
        "note": note,
    }


@pytest.fixture
def invariant() -> NothingSecret:
    it = NothingSecret(declared(), ["a marker of our own"])
    it.on_write(
        world(), write(None, secret(password=PASSWORD, host="db.example.com", port="5432"), actor="user")
    )
    return it


@pytest.mark.parametrize(
    "shown",
    [PASSWORD, f"it is {PASSWORD}!", base64.b64encode(PASSWORD.encode()).decode(), "a marker of our own"],
)
def test_a_secret_is_found_wherever_it_is_shown(invariant: NothingSecret, shown: str) -> None:
    bad = (
        write(None, event(note=shown), verb="create"),
        status_write(thing(), thing(status={"conditions": [{"type": "Ready", "message": shown}]})),
        write(thing(), thing(annotations={"mark": shown}), verb="patch"),
        write(None, child(annotations={"mark": shown})),
    )
    for one in bad:
        with pytest.raises(Violation, match="has what is secret"):
            invariant.on_write(world(), one)
    with pytest.raises(Violation, match="the log of blue"):
        invariant.on_log(world(), "blue", {"msg": "connecting", "url": shown})


def test_names_places_and_what_users_write_are_no_secrets(invariant: NothingSecret) -> None:
    invariant.on_write(world(), status_write(thing(), thing(status={"endpoint": "db.example.com:5432"})))
    invariant.on_write(world(), write(None, {**child(), "data": {"password": PASSWORD}}))
    invariant.on_write(world(), write(None, event(note=PASSWORD), actor="user"))
    invariant.on_log(world(), "blue", {"msg": "all is well"})


def test_more_events_than_a_recorder_sends_are_found() -> None:
    invariant = EventsAreFew(declared())
    for number in range(26):
        invariant.on_write(world(), write(None, event(number), verb="create", at=100.0 + number / 10))
    with pytest.raises(Violation, match="27 Events about Thing default/a"):
        invariant.on_write(world(), write(None, event(27), verb="create", at=103.0))


def test_another_shard_a_new_start_and_time_allow_more() -> None:
    invariant = EventsAreFew(declared())
    it = FakeWorld(shards=["blue"])
    for _ in range(3):  # two starts more
        it.shards = ["blue"]
        invariant.on_turn(it)  # type: ignore[arg-type]
        it.shards = []
        invariant.on_turn(it)  # type: ignore[arg-type]
    it.shards = ["blue"]
    for number in range(60):
        invariant.on_write(it, write(None, event(number), verb="create"))  # type: ignore[arg-type]
    for number in range(60):
        late = write(None, event(number), verb="create", actor="green", at=100 + number * 300.0)
        invariant.on_write(world(), late)
