import orjson
import pytest

from openclaw.kube.errors import Conflict, Forbidden
from openclaw.runtime.finalizers import set_finalizer
from tests.unit.runtime.one_object import PATH, OneObject, make

OURS, THEIRS = "apps.openclaw.dev/cleanup", "example.com/theirs"


async def test_ours_goes_on_beside_those_of_others() -> None:
    server = OneObject(finalizers=[THEIRS])
    answer = await set_finalizer(server.client, server.read(), OURS, present=True)
    assert answer is not None
    assert orjson.loads(answer)["metadata"]["finalizers"] == [THEIRS, OURS]
    ((method, path, body),) = server.sent
    assert (method, path) == ("PATCH", PATH)
    # The list is replaced whole, so only where it is still the one that was read.
    assert body["metadata"]["resourceVersion"] == "10"
    assert set(body) == {"metadata"}


async def test_ours_comes_off_and_those_of_others_stay() -> None:
    server = OneObject(finalizers=[THEIRS, OURS])
    assert await set_finalizer(server.client, server.read(), OURS, present=False) is not None
    assert server.live["metadata"]["finalizers"] == [THEIRS]


@pytest.mark.parametrize(("finalizers", "present"), [([OURS], True), ([THEIRS], False), ([], False)])
async def test_nothing_is_sent_when_it_is_so_already(finalizers: list[str], present: bool) -> None:
    server = OneObject(finalizers=finalizers)
    assert await set_finalizer(server.client, server.read(), OURS, present=present) is None
    assert server.sent == []


@pytest.mark.parametrize("present", [True, False])
async def test_a_finalizer_that_others_set_meanwhile_survives(present: bool) -> None:
    server = OneObject(finalizers=[] if present else [OURS])
    obj = server.read()
    server.change({"metadata": {"finalizers": [*obj.metadata.finalizers, THEIRS]}})
    assert await set_finalizer(server.client, obj, OURS, present=present) is not None
    assert server.live["metadata"]["finalizers"] == ([THEIRS, OURS] if present else [THEIRS])
    assert server.methods == ["PATCH", "GET", "PATCH"]


async def test_nothing_more_is_sent_when_the_other_did_it() -> None:
    server = OneObject()
    obj = server.read()
    server.change({"metadata": {"finalizers": [OURS]}})
    assert await set_finalizer(server.client, obj, OURS, present=True) is None
    assert server.methods == ["PATCH", "GET"]


@pytest.mark.parametrize("request_number", [1, 2])
async def test_an_object_that_is_gone_needs_its_finalizer_taken_off_no_more(request_number: int) -> None:
    server = OneObject(finalizers=[OURS])
    obj = server.read()
    server.change({"spec": {"x": 1}})

    def meanwhile(number: int) -> None:
        if number == request_number:
            server.obj = None

    server.before_each = meanwhile
    assert await set_finalizer(server.client, obj, OURS, present=False) is None


@pytest.mark.parametrize("request_number", [1, 2])
async def test_nothing_may_be_done_for_an_object_that_is_gone(request_number: int) -> None:
    # None would mean "it is on": the reconciler would go on to make things outside that nobody undoes.
    server = OneObject()
    obj = server.read()
    server.change({"spec": {"x": 1}})

    def meanwhile(number: int) -> None:
        if number == request_number:
            server.obj = None

    server.before_each = meanwhile
    with pytest.raises(Conflict, match="OpenClaw shop/web was deleted or replaced"):
        await set_finalizer(server.client, obj, OURS, present=True)


async def test_another_object_of_that_name_is_left_alone() -> None:
    server = OneObject(finalizers=[OURS])
    obj = server.read()
    server.obj = make(uid="u-2", version=20, finalizers=[OURS])
    assert await set_finalizer(server.client, obj, OURS, present=False) is None
    assert server.live["metadata"]["finalizers"] == [OURS]

    server.obj = make(uid="u-2", version=20)
    fresh = OneObject().read()
    with pytest.raises(Conflict):
        await set_finalizer(server.client, fresh, OURS, present=True)
    assert "finalizers" not in server.live["metadata"]


async def test_no_finalizer_goes_on_an_object_that_is_being_deleted() -> None:
    # The API server would refuse it as invalid, which looks like a fault of the object.
    server = OneObject()
    obj = server.read()
    server.change({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [THEIRS]}})
    with pytest.raises(Conflict):
        await set_finalizer(server.client, obj, OURS, present=True)
    assert server.live["metadata"]["finalizers"] == [THEIRS]


async def test_it_gives_up_when_others_write_all_the_time() -> None:
    server = OneObject()
    server.before_each = lambda number: server.change({"metadata": {"labels": {"n": str(number)}}})
    with pytest.raises(Conflict):
        await set_finalizer(server.client, server.read(), OURS, present=True)
    assert server.methods.count("PATCH") == 4


async def test_other_errors_are_the_callers() -> None:
    server = OneObject()

    def refuse(_: int) -> None:
        raise Forbidden(403, "Forbidden", "no")

    server.before_each = refuse
    with pytest.raises(Forbidden):
        await set_finalizer(server.client, server.read(), OURS, present=True)
