from typing import Any

import pytest

from openclaw.api.conditions import Available, Degraded
from openclaw.api.openclaw import OpenClaw
from openclaw.kube.errors import Conflict, Forbidden
from openclaw.runtime.status import StatusWriter, status_as_read
from tests.unit.runtime.one_object import PATH, OneObject, make


def condition(type_: str, status: str = "True", message: str = "") -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": "Because",
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


async def write(server: OneObject, obj: OpenClaw, before: dict[str, Any]) -> bytes | None:
    identity = {
        "namespace": obj.namespace,
        "name": obj.name,
        "uid": obj.uid,
        "resourceVersion": obj.resource_version,
    }
    return await StatusWriter(server.client).write(OpenClaw.resource, identity, before, obj.status_dict())


def types(server: OneObject) -> list[tuple[str, str]]:
    return [(item["type"], item["message"]) for item in server.live["status"].get("conditions", ())]


async def test_nothing_is_sent_when_nothing_changed() -> None:
    server = OneObject(status={"frontendReadyReplicas": 2, "workerReadyReplicas": 0})
    obj = server.read()
    before = status_as_read(obj)
    obj.status.frontend_ready_replicas = 2
    assert await write(server, obj, before) is None
    assert server.sent == []


async def test_only_what_changed_is_sent_and_only_to_the_subresource() -> None:
    server = OneObject(status={"frontendReadyReplicas": 2, "workerReadyReplicas": 0})
    obj = server.read()
    before = status_as_read(obj)
    obj.status.worker_ready_replicas = 1
    answer = await write(server, obj, before)
    assert answer is not None
    ((method, path, body),) = server.sent
    assert (method, path) == ("PATCH", f"{PATH}/status")
    assert body == {"metadata": {"uid": "u-1", "resourceVersion": "10"}, "status": {"workerReadyReplicas": 1}}
    assert server.live["status"] == {"frontendReadyReplicas": 2, "workerReadyReplicas": 1}


async def test_a_second_write_of_the_same_is_none() -> None:
    server = OneObject()
    obj = server.read()
    obj.status.external_endpoint = "http://shop.example.com"
    obj.status.conditions.set(Available(when=True))
    assert await write(server, obj, {}) is not None
    again = server.read()
    assert await write(server, again, status_as_read(again)) is None
    assert len(server.sent) == 1


async def test_a_field_that_is_no_more_is_removed() -> None:
    server = OneObject(status={"externalEndpoint": "http://shop.example.com"})
    obj = server.read()
    before = status_as_read(obj)
    obj.status.external_endpoint = None
    await write(server, obj, before)
    assert "externalEndpoint" not in server.live["status"]


async def test_on_a_conflict_the_conditions_of_others_stay() -> None:
    server = OneObject(status={"conditions": [condition("Available", "False", "old"), condition("Gone")]})
    obj = server.read()
    before = status_as_read(obj)
    obj.status.conditions.set(Available(when=True, message="ours"))
    obj.status.conditions.set(Degraded(when=False, message="ours"))
    obj.status.conditions.remove("Gone")
    theirs = [
        condition("Theirs", message="theirs"),
        condition("Available", "False", "old"),
        condition("Gone"),
    ]

    def meanwhile(number: int) -> None:
        if number == 1:
            server.change({"status": {"conditions": theirs}})

    server.before_each = meanwhile
    assert await write(server, obj, before) is not None
    assert server.methods == ["PATCH", "GET", "PATCH"]
    assert types(server) == [("Theirs", "theirs"), ("Available", "ours"), ("Degraded", "ours")]


async def test_a_condition_that_others_changed_and_we_did_not_is_theirs() -> None:
    server = OneObject(status={"conditions": [condition("Theirs", message="old"), condition("Available")]})
    obj = server.read()
    before = status_as_read(obj)
    obj.status.conditions.set(Available(when=False, message="ours"))

    def meanwhile(number: int) -> None:
        if number == 1:
            changed = [condition("Theirs", message="new"), condition("Available")]
            server.change({"status": {"conditions": changed}})

    server.before_each = meanwhile
    await write(server, obj, before)
    assert types(server) == [("Theirs", "new"), ("Available", "ours")]


@pytest.mark.parametrize(("live", "since"), [("True", "2026-01-01T00:00:00Z"), ("False", None)])
async def test_a_condition_that_got_there_although_its_answer_was_lost_has_turned_then(
    live: str, since: str | None
) -> None:
    """The cache does not know of that write yet, so the next run states the condition anew."""
    server = OneObject()
    obj = server.read()
    before = status_as_read(obj)
    obj.status.conditions.set(Available(when=True, message="ours"))

    def meanwhile(number: int) -> None:
        if number == 1:
            server.change({"status": {"conditions": [condition("Available", live)]}})

    server.before_each = meanwhile
    await write(server, obj, before)
    (found,) = server.live["status"]["conditions"]
    assert (found["status"], found["message"]) == ("True", "ours")
    ours = obj.status.conditions.get(Available)
    assert ours is not None
    assert found["lastTransitionTime"] == (since or ours.last_transition_time)


@pytest.mark.parametrize("said", [{"observedGeneration": 2}, {}])
async def test_a_run_on_an_old_state_takes_nothing_back_that_is_said_of_a_newer_one(
    said: dict[str, Any],
) -> None:
    """A cache that lags has the run see an older generation than the last one before it."""
    server = OneObject()
    obj = server.read()
    before = status_as_read(obj)
    obj.status.observed_generation = 1
    obj.status.conditions.speak_of(1)
    obj.status.conditions.set(Available(when=False, message="of the first generation"))
    newer = {**condition("Available", "True", "of the second one"), "observedGeneration": 2}

    def meanwhile(number: int) -> None:
        if number == 1:
            server.change({"status": {"conditions": [newer], **said}})

    server.before_each = meanwhile
    await write(server, obj, before)
    assert server.live["status"]["conditions"] == [newer]
    assert server.methods == (["PATCH", "GET"] if said else ["PATCH", "GET", "PATCH"])


async def test_on_a_conflict_the_fields_of_others_stay() -> None:
    server = OneObject(status={"workerReadyReplicas": 1})
    obj = server.read()
    before = status_as_read(obj)
    obj.status.frontend_ready_replicas = 3

    def meanwhile(number: int) -> None:
        if number == 1:
            # A field that our type does not know, and one that we did not touch.
            server.change({"status": {"shown": {"by": "another controller"}, "workerReadyReplicas": 2}})

    server.before_each = meanwhile
    await write(server, obj, before)
    assert server.live["status"] == {
        "frontendReadyReplicas": 3,
        "workerReadyReplicas": 2,
        "shown": {"by": "another controller"},
    }


async def test_nothing_is_sent_after_a_conflict_when_the_other_wrote_the_same() -> None:
    server = OneObject(status={"workerReadyReplicas": 1})
    obj = server.read()
    before = status_as_read(obj)
    obj.status.worker_ready_replicas = 2

    def meanwhile(number: int) -> None:
        if number == 1:
            server.change({"status": {"workerReadyReplicas": 2, "frontendReadyReplicas": 0}})

    server.before_each = meanwhile
    assert await write(server, obj, before) is None
    assert server.methods == ["PATCH", "GET"]


async def test_the_last_condition_can_be_removed_after_a_conflict() -> None:
    server = OneObject(status={"conditions": [condition("Stalled")]})
    obj = server.read()
    before = status_as_read(obj)
    obj.status.conditions.remove("Stalled")
    server.before_each = lambda number: server.change({"spec": {"x": 1}}) if number == 1 else None
    await write(server, obj, before)
    assert types(server) == []


async def test_an_object_of_the_same_name_made_anew_is_left_alone() -> None:
    server = OneObject()
    obj = server.read()
    obj.status.worker_ready_replicas = 7
    server.obj = make(uid="u-2", version=20)
    assert await write(server, obj, {}) is None
    assert "status" not in server.live


@pytest.mark.parametrize("request_number", [1, 2])
async def test_an_object_that_is_gone_is_no_error(request_number: int) -> None:
    server = OneObject()
    obj = server.read()
    obj.status.worker_ready_replicas = 7
    server.change({"metadata": {"labels": {"a": "b"}}})  # so that the first write is a conflict

    def meanwhile(number: int) -> None:
        if number == request_number:
            server.obj = None

    server.before_each = meanwhile
    assert await write(server, obj, {}) is None
    assert len(server.sent) == request_number


async def test_it_gives_up_when_others_write_all_the_time() -> None:
    server = OneObject()
    obj = server.read()
    obj.status.worker_ready_replicas = 7
    server.before_each = lambda number: server.change({"metadata": {"labels": {"n": str(number)}}})
    with pytest.raises(Conflict):
        await write(server, obj, {})
    assert server.methods.count("PATCH") == 4


async def test_other_errors_are_the_callers() -> None:
    server = OneObject()
    obj = server.read()
    obj.status.worker_ready_replicas = 7

    def refuse(_: int) -> None:
        raise Forbidden(403, "Forbidden", "no")

    server.before_each = refuse
    with pytest.raises(Forbidden):
        await write(server, obj, {})
    assert len(server.sent) == 1


def test_the_status_as_read_has_no_defaults_of_the_type() -> None:
    assert status_as_read(OneObject().read()) == {}
    assert status_as_read(OneObject(status={"workerReadyReplicas": 0}).read()) == {"workerReadyReplicas": 0}
