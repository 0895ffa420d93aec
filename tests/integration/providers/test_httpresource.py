"""HTTPResources on a real API server, with a JSON API outside."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from openclaw.kube import Invalid
from openclaw.testing import Client, ControlPlane
from tests.integration.providers.conftest import World, condition, reason, state
from tests.integration.reliability.faults import Fault, FaultyTransport
from tests.integration.reliability.managers import quiet
from tests.integration.reliability.waiting import eventually
from tests.unit.providers.json_api import JsonApi

FINALIZER = "external.openclaw.dev/http-resource"


def only(api: JsonApi) -> dict[str, Any]:
    [record] = api.records.values()
    return record


@pytest.mark.parametrize("own", [False, True], ids=["we name it", "the API names it"])
async def test_a_life(world: World, own: bool) -> None:
    async with world.operator():
        live = await world.create(world.resource(own=own))
        uid = live["metadata"]["uid"]
        live = await world.synced()
        identity = "r-1" if own else f"{world.namespace}-www"
        assert only(world.api) == {
            "type": "A",
            "address": "10.0.0.1",
            "comment": f"of {world.namespace}/www",
            "owner": uid,
            "id": identity,
            "serial": 1,
        }
        assert live["status"]["externalID"] == identity
        assert live["metadata"]["finalizers"] == [FINALIZER]
        assert live["metadata"]["annotations"]["external.openclaw.dev/identity"] == identity
        live = await world.until(lambda it: it["status"]["exposed"] == {"address": "10.0.0.1", "serial": "1"})
        assert live["status"]["observedGeneration"] == live["metadata"]["generation"]

        await world.patch({"spec": {"body": {"address": "10.0.0.2"}}})
        await world.until(lambda it: it["status"]["exposed"]["address"] == "10.0.0.2")
        await world.synced()
        assert only(world.api)["address"] == "10.0.0.2"

        await world.delete()
        await world.gone()
        assert world.api.records == {}
    assert world.api.made == 1


async def test_drift_is_mended_and_what_others_set_is_left(world: World) -> None:
    async with world.operator():
        await world.create(world.resource())
        await world.synced()
        only(world.api).update(address="6.6.6.6", theirs="kept")
        await world.patch({"metadata": {"annotations": {"openclaw.dev/reconcile-now": "1"}}})
        await eventually(lambda: only(world.api)["address"] == "10.0.0.1", "the drift's end")
        live = await world.synced()
        assert "drift" not in live["status"]


async def test_an_api_that_keeps_a_value_in_another_form_makes_no_loop(world: World) -> None:
    async def other_form(request: web.Request) -> None:
        for record in world.api.records.values():
            record["address"] = "010.000.000.001"

    world.api.after = other_form
    async with world.operator() as manager:
        await world.create(world.resource(interval_seconds=10))
        live = await world.until(lambda it: reason(it, "Synced") == "Unsettled")
        assert "010.000.000.001 -> 10.0.0.1" in condition(live, "Synced")["message"]
        puts = sum(it.startswith("PUT") for it in world.api.seen)
        assert puts == 2, "the create, and one update"
        await eventually(lambda: manager.controllers[0].queue.running == 0, "the end of the run")
        await world.patch({"metadata": {"annotations": {"openclaw.dev/reconcile-now": "1"}}})
        await world.until(lambda it: it["status"].get("reconcileRequested") == "1")
        assert sum(it.startswith("PUT") for it in world.api.seen) == 3


async def test_what_is_somebody_elses_is_left_alone(world: World) -> None:
    identity = f"{world.namespace}-www"
    theirs = {"id": identity, "address": "1.1.1.1", "owner": "somebody"}
    world.api.records[identity] = dict(theirs)
    async with world.operator():
        await world.create(world.resource())
        live = await world.until(lambda it: reason(it, "Stalled") == "NameTaken")
        assert "belongs to the object with uid somebody" in condition(live, "Synced")["message"]
        await world.delete()
        await world.gone()
    assert world.api.records[identity] == theirs


async def test_what_is_there_is_adopted_when_asked(world: World) -> None:
    identity = f"{world.namespace}-www"
    world.api.records[identity] = {"id": identity, "address": "1.1.1.1"}
    async with world.operator():
        live = await world.create(world.resource(adoption_policy="Unowned"))
        await world.synced()
        assert only(world.api)["owner"] == live["metadata"]["uid"]
        assert only(world.api)["address"] == "10.0.0.1"
        assert world.api.made == 0
        await world.delete()
        await world.gone()
    assert world.api.records == {}


async def test_to_observe_changes_nothing(world: World) -> None:
    identity = f"{world.namespace}-www"
    theirs = {"id": identity, "address": "1.1.1.1", "owner": "somebody"}
    async with world.operator():
        await world.create(world.resource(management_policy="Observe"))
        await world.until(lambda it: reason(it, "Available") == "Absent")
        world.api.records[identity] = dict(theirs)
        await world.patch({"metadata": {"annotations": {"openclaw.dev/reconcile-now": "1"}}})
        live = await world.until(lambda it: reason(it, "Synced") == "Observed")
        assert live["status"]["exposed"]["address"] == "1.1.1.1"
        assert "address: 1.1.1.1 -> 10.0.0.1" in live["status"]["drift"]
        await world.delete()
        await world.gone()
    assert world.api.records[identity] == theirs
    assert all(it.startswith("GET") for it in world.api.seen)


@pytest.mark.parametrize("how", ["policy", "annotation"])
async def test_an_orphan_needs_neither_credentials_nor_api(world: World, how: str) -> None:
    await world.secret(token="right")
    world.api.token = "right"
    spec: dict[str, Any] = {"deletion_policy": "Orphan"} if how == "policy" else {}
    async with world.operator():
        await world.create(world.resource(credentialsSecretRef={"name": "access"}, **spec))
        await world.synced()
        await world.client.delete("Secret", world.namespace, "access")
        await world.until(lambda it: reason(it, "Stalled") == "Unauthorised")
        requests = len(world.api.seen)
        if how == "annotation":
            await world.patch({"metadata": {"annotations": {"external.openclaw.dev/orphan": "true"}}})
        await world.delete()
        await world.gone()
        assert len(world.api.seen) == requests
    assert only(world.api)


async def test_without_credentials_nothing_is_lost_and_a_new_secret_helps_at_once(world: World) -> None:
    await world.secret(token="right")
    world.api.token = "right"
    async with world.operator():
        await world.create(world.resource(credentialsSecretRef={"name": "access"}))
        await world.synced()
        await world.client.delete("Secret", world.namespace, "access")
        live = await world.until(lambda it: reason(it, "Stalled") == "Unauthorised")
        assert "the Secret 'access' does not exist" in condition(live, "Stalled")["message"]
        assert state(live, "Available") == "True", "which it still is, as far as anybody knows"
        await world.delete()
        await world.until(lambda it: it["metadata"]["deletionTimestamp"])
        await world.secret(token="wrong")
        await world.until(lambda it: "401" in condition(it, "Stalled").get("message", ""))
        assert only(world.api)
        await world.secret(token="right")
        await world.gone()
    assert world.api.records == {}


async def test_a_changed_secret_is_used_and_no_secret_is_told(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await world.secret(token="sesame-one")
    world.api.token = "sesame-two"
    async with world.operator() as manager:
        await world.create(world.resource(credentialsSecretRef={"name": "access"}))
        live = await world.until(lambda it: "401" in condition(it, "Synced").get("message", ""))
        assert "bad credentials Bearer [redacted]" in condition(live, "Synced")["message"]
        await world.secret(token="sesame-two")
        live = await world.synced()
        events = await world.client.list("events.events.k8s.io", world.namespace)
        metrics = manager.metrics.render()[0].decode()
    for text in (str(live), str(events), metrics, caplog.text):
        assert "sesame" not in text
    assert 'external_api_call_total{account="127.0.0.1' in metrics
    assert "www" not in metrics


async def test_a_host_that_is_not_allowed_is_not_spoken_to(world: World) -> None:
    async with world.operator(allowed="other.example.com"):
        await world.create(world.resource())
        live = await world.until(lambda it: state(it, "Stalled") == "True")
        assert "OPENCLAW_HTTP_ALLOWED_HOSTS=http://127.0.0.1" in condition(live, "Stalled")["message"]
        await world.delete()
        await world.gone()
    assert world.api.seen == []


async def test_an_api_that_is_away_and_comes_back(world: World) -> None:
    async def away(_: web.Request) -> web.Response:
        return web.json_response({"error": "out for lunch"}, status=503)

    world.api.before = away
    async with world.operator():
        await world.create(world.resource())
        live = await world.until(lambda it: reason(it, "Synced") == "Transient")
        assert "out for lunch" in condition(live, "Synced")["message"]
        world.api.before = None
        await world.synced()
    assert world.api.made == 1


async def test_a_wait_that_the_api_asks_for_is_kept(world: World) -> None:
    async def later(_: web.Request) -> web.Response:
        return web.json_response({}, status=429, headers={"Retry-After": "600"})

    world.api.before = later
    async with world.operator() as manager:
        await world.create(world.resource())
        await world.until(lambda it: reason(it, "Synced") == "Throttled")
        seen = len(world.api.seen)
        for number in range(3):
            # Somebody changes it meanwhile: nothing is asked all the same.
            await world.patch({"metadata": {"annotations": {"openclaw.dev/reconcile-now": str(number)}}})
            wanted = str(number)
            await world.until(lambda it: it["status"].get("reconcileRequested") == wanted)  # noqa: B023 - awaited
        await eventually(lambda: manager.controllers[0].queue.running == 0, "the end of the run")
        assert len(world.api.seen) == seen == 1


async def test_deleted_while_the_create_is_under_way(world: World) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def hang(request: web.Request) -> None:
        if request.method == "PUT":
            begun.set()
            await go.wait()

    world.api.after = hang
    async with world.operator():
        await world.create(world.resource())
        await begun.wait()
        await world.delete()
        go.set()
        await world.gone()
    assert world.api.records == {}


@pytest.mark.parametrize("way_out", ["it is there", "there is none"])
async def test_a_create_of_which_nobody_knows_stops_and_the_way_out_is_as_told(
    world: World, way_out: str
) -> None:
    cut = True

    async def lose(request: web.Request) -> None:
        if cut and request.method == "POST" and request.transport is not None:
            request.transport.abort()

    world.api.after = lose
    resource = world.resource(own=True)
    resource.spec.requests.find = None
    async with world.operator():
        await world.create(resource)
        live = await world.until(lambda it: reason(it, "Stalled") == "Terminal")
        assert "external.openclaw.dev/create-pending" in condition(live, "Stalled")["message"]
        assert (len(world.api.records), world.api.made) == (1, 1)
        await world.delete()
        live = await world.until(lambda it: "deletionTimestamp" in it["metadata"])
        assert live["metadata"]["finalizers"] == [FINALIZER], "it is not taken for gone"
        cut = False
        marks: dict[str, str | None]
        if way_out == "it is there":
            marks = {"identity": "r-1", "create-succeeded": "2026-11-30T00:00:00Z", "create-pending": None}
        else:
            world.api.records.clear()
            marks = {"create-pending": None}
        annotations = {f"external.openclaw.dev/{name}": value for name, value in marks.items()}
        annotations["openclaw.dev/reconcile-now"] = "1"
        await world.patch({"metadata": {"annotations": annotations}})
        await world.gone()
    assert world.api.records == {}
    assert world.api.made == 1


@pytest.mark.parametrize("own", [False, True], ids=["named", "own"])
async def test_a_copy_of_an_object_does_not_own_the_originals_thing(world: World, own: bool) -> None:
    """Also where the API has no room for an owner: a copy has the original's annotations."""
    original = world.resource(own=own, owner=None)
    original.spec.requests.find = None
    async with world.operator():
        await world.create(original)
        live = await world.synced()
        copy = {key: live[key] for key in ("apiVersion", "kind", "spec")}
        annotations = live["metadata"]["annotations"]
        metadata = {"name": "copy", "namespace": world.namespace, "annotations": annotations}
        await world.client.create({**copy, "metadata": metadata})
        await world.until(lambda it: reason(it, "Stalled") == "NameTaken", "copy")
        await world.delete("copy")
        await world.gone("copy")
        assert (len(world.api.records), world.api.made) == (1, 1)
        await world.delete()
        await world.gone()
    assert world.api.records == {}


async def test_paused_nothing_is_done(world: World) -> None:
    async with world.operator():
        paused = world.resource()
        paused.metadata.annotations["openclaw.dev/paused"] = "true"
        await world.create(paused)
        await world.until(lambda it: state(it, "Paused") == "True")
        await world.delete()
        await world.until(lambda it: it["metadata"]["deletionTimestamp"])
        assert world.api.seen == []
        await world.patch({"metadata": {"annotations": {"openclaw.dev/paused": None}}})
        await world.gone()


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"identity_from": "/data/id"}, "give identity, where you choose it, or identityFrom"),
        ({"url": "ftp://x"}, "must be the URL of an API"),
        ({"url": "https://user:pw@x"}, "must be the URL of an API"),
        ({"owner": "owner"}, "must be a JSON pointer"),
        ({"requests": {"get": {"method": "GET", "path": "records"}}}, "must be a path such as"),
        ({"requests": {"get": {"method": "GET", "path": "/r\u00e9"}}}, "must be a path such as"),
        (
            {"requests": {"get": {"method": "GET", "path": "/r", "statuses": {"4xx": "NotFound"}}}},
            "HTTP statuses",
        ),
        ({"requests": {"delete": None}}, "without requests.delete the deletionPolicy must be Orphan"),
        (
            {"requests": {"find": {"method": "GET", "path": "/r"}}},
            "requests.find needs owner and identityFrom",
        ),
    ],
)
async def test_what_makes_no_sense_is_refused(
    api_server: ControlPlane, kube_client: Client, world: World, spec: dict[str, Any], text: str
) -> None:
    resource = world.resource().to_dict()
    camel = {"identity_from": "identityFrom"}
    given = {camel.get(key, key): value for key, value in spec.items()}
    resource["spec"]["requests"] |= given.pop("requests", {})
    resource["spec"] |= given
    with pytest.raises(Invalid, match=text):
        await kube_client.create(resource)


async def test_what_says_which_thing_it_is_stays(world: World) -> None:
    await world.create(world.resource())
    for patch in ({"identity": "other"}, {"url": "https://elsewhere"}):
        with pytest.raises(Invalid, match="immutable"):
            await world.patch({"spec": patch})


@pytest.mark.timeout(240)
@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
@pytest.mark.parametrize("own", [False, True], ids=["named", "own"])
async def test_a_crash_at_any_request_leaves_one_thing_or_none(
    world: World, api_server: ControlPlane, client: Client, fault: Fault, own: bool
) -> None:
    """An object is made, changed and deleted; the operator dies, or loses a request, at each in turn."""

    async def disturbed(at: int) -> int:
        name = f"life-{at}"

        def mine() -> list[dict[str, Any]]:
            return [it for it in world.api.records.values() if it["comment"].endswith(f"/{name}")]

        async with (
            FaultyTransport(api_server.kubeconfig, at=at, fault=fault) as faulty,
            client.namespace() as place,
        ):
            there = World(world.api, client, place, world.transport)

            async def live() -> None:
                await there.create(there.resource(name, own=own))
                await there.synced(name)
                assert len(mine()) == 1
                await there.patch({"spec": {"body": {"address": "10.0.0.2"}}}, name)
                await there.until(lambda it: it["status"]["exposed"]["address"] == "10.0.0.2", name)
                assert len(mine()) == 1
                await there.delete(name)
                await there.gone(name)

            living = asyncio.create_task(live())
            async with there.operator(faulty, synced=False) as manager:
                crashed = asyncio.create_task(faulty.crashed.wait())
                await asyncio.wait((living, crashed), return_when=asyncio.FIRST_COMPLETED)
                crashed.cancel()
                if living.done():
                    await living
                    await eventually(lambda: faulty.crashed.is_set() or quiet(manager), "the end of the work")
            async with there.operator():
                await living
            assert mine() == []
            return len(faulty.requests)

    requests = await disturbed(0)
    assert requests >= 10
    for start in range(1, requests + 1, 4):
        async with asyncio.TaskGroup() as group:
            for at in range(start, min(start + 4, requests + 1)):
                group.create_task(disturbed(at))


@pytest.fixture
def client(kube_client: Client) -> Client:
    return kube_client


@pytest.mark.timeout(240)
@pytest.mark.parametrize("lost", ["request", "answer"])
@pytest.mark.parametrize("own", [False, True], ids=["named", "own"])
async def test_a_call_lost_at_any_point_leaves_one_thing_or_none(world: World, own: bool, lost: str) -> None:
    """Each call to the API in turn is cut off, before or after its effect."""
    calls = cut_at = 0

    async def cut(request: web.Request) -> web.Response | None:
        nonlocal calls
        calls += 1
        if calls == cut_at and request.transport is not None:
            request.transport.abort()
            return web.Response(status=500)
        return None

    if lost == "request":
        world.api.before = cut
    else:
        world.api.after = cut

    async def life(name: str) -> int:
        nonlocal calls
        calls = 0
        await world.create(world.resource(name, own=own))
        await world.synced(name)
        await world.patch({"spec": {"body": {"address": "10.0.0.2"}}}, name)
        await world.until(lambda it: it["status"]["exposed"]["address"] == "10.0.0.2", name)
        assert len(world.api.records) == 1
        await world.delete(name)
        await world.gone(name)
        assert world.api.records == {}
        return calls

    async with world.operator():
        undisturbed = await life("undisturbed")
        assert undisturbed >= 5
        for number in range(1, undisturbed + 1):
            cut_at = number
            await life(f"lost-{number}")
            assert calls >= cut_at
    assert world.api.made == undisturbed + 1
