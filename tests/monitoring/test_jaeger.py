"""What a real Jaeger tells of shards under load: why an object was reconciled, and what was done about it."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw._core import Ring, SlotSet, slot
from openclaw.kube import ConfigSource, Transport
from openclaw.kube.calls import traced_request
from openclaw.telemetry.spans import TRACEPARENT_ANNOTATION
from openclaw.testing.observe import Observed, Trace, TraceSpan, TraceStore
from openclaw.testing.observe.load import NAMESPACE
from tests.monitoring.tracing import NOWHERE, claw, deployed, first, followed, runs, sent

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

API_SERVER = "apiserver"


@pytest.fixture
def jaeger(observed: Observed) -> TraceStore:
    if observed.jaeger is None:
        pytest.skip("jaeger not found: run `make jaeger` to build it once")
    return observed.jaeger.store


def continued(trace: Trace, request: TraceSpan) -> list[TraceSpan]:
    """What the API server tells of the request."""
    return [span for span in trace.under(request) if span.service == API_SERVER]


def available(item: dict[str, Any]) -> bool:
    """Whether the OpenClaw says so."""
    conditions = item.get("status", {}).get("conditions", ())
    return any(it["type"] == "Available" and it["status"] == "True" for it in conditions)


def slots_of(hand_over: Trace) -> set[int]:
    """The slots that a step of a hand-over is about."""
    return set(SlotSet.parse(str(hand_over.root.attributes["openclaw.slots"])))


async def test_a_changed_object_has_a_trace_with_its_requests_joined_to_who_changed_it(
    observed: Observed, jaeger: TraceStore
) -> None:
    await observed.client.create(claw("changed"))

    async def created() -> list[Trace]:
        found = await runs(jaeger, "changed", "OpenClaw added")
        return [run for run in found if sent(run, "PATCH openclaws/status")]

    made = await first("the run of the new object", created)
    assert {str(span.attributes["openclaw.api.name"]) for span in sent(made, "PATCH deployments")} == {
        "changed-frontend",
        "changed-worker",
    }
    for request in (*sent(made, "PATCH deployments"), *sent(made, "PATCH services")):
        assert request.attributes["http.response.status_code"] == 201

    assert observed.jaeger is not None
    pipeline = await deployed(observed.jaeger.otlp_url)
    change = {"annotations": {TRACEPARENT_ANNOTATION: pipeline}}
    await observed.client.patch(
        "OpenClaw", NAMESPACE, "changed", {"metadata": change, "spec": {"worker": {"replicas": 2}}}
    )

    async def changed() -> list[Trace]:
        found = await runs(jaeger, "changed", "OpenClaw updated")
        return [run for run in found if sent(run, "PATCH deployments")]

    run = await first("the run for the change", changed)
    # What differed is told, and what was sent for it is under it.
    differing = [span for span in run.children(run.root) if span.name == "diff" and span.events]
    assert [span.attributes["openclaw.child.name"] for span in differing] == ["changed-worker"]
    assert differing[0].events == (("changed", {"openclaw.path": "~ spec.replicas"}),)
    (request,) = sent(run, "PATCH deployments")
    assert request.parent_id == run.root.span_id
    assert request.attributes["openclaw.api.name"] == "changed-worker"
    # One click away: who wanted it.
    (link,) = (link for link in run.root.links if link.cause == "OpenClaw updated")
    assert pipeline.split("-")[1:3] == [link.trace_id, link.span_id]
    cause = await followed(jaeger, link)
    assert (cause.root.service, cause.root.name) == ("pipeline", "deploy")


async def test_the_event_of_a_child_leads_back_to_the_run_that_wrote_the_child(
    observed: Observed, jaeger: TraceStore
) -> None:
    await observed.client.create(claw("parent"))
    await observed.client.wait_for("OpenClaw", NAMESPACE, "parent", available, 120.0)
    # Somebody scales what is not theirs.
    await observed.client.patch("Deployment", NAMESPACE, "parent-worker", {"spec": {"replicas": 3}})

    async def woken() -> list[Trace]:
        found = await runs(jaeger, "parent", "Deployment updated")
        return [run for run in found if sent(run, "PATCH deployments")]

    run = await first("the run that scales it back", woken)
    (link,) = (link for link in run.root.links if link.cause == "Deployment updated")
    wrote = await followed(jaeger, link)
    assert wrote.root.span_id == link.span_id
    assert wrote.root.attributes["openclaw.object.uid"] == run.root.attributes["openclaw.object.uid"]
    assert "parent-worker" in {it.attributes["openclaw.api.name"] for it in sent(wrote, "PATCH deployments")}
    assert wrote.root.start < run.root.start


async def test_the_api_server_goes_on_with_the_trace_of_a_request(
    observed: Observed, jaeger: TraceStore
) -> None:
    await observed.client.create(claw("served"))

    async def served() -> list[tuple[Trace, TraceSpan]]:
        found = await runs(jaeger, "served", "OpenClaw added")
        return [(run, it) for run in found for it in sent(run, "PATCH deployments") if continued(run, it)]

    run, request = await first("the API server's part", served)
    theirs = continued(run, request)
    assert {span.trace_id for span in (run.root, request, *theirs)} == {run.root.trace_id}
    top = theirs[0]
    assert top.parent_id == request.span_id
    assert top.name == "PATCH /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}"
    # Down to the write in etcd.
    assert any(span.name == "etcdserverpb.KV/Txn" for span in theirs)


async def test_the_api_server_goes_on_with_traces_of_those_whom_it_trusts_with_it(
    observed: Observed, jaeger: TraceStore
) -> None:
    async def asked_by(user: str, *groups: str) -> str:
        kubeconfig = observed.plane.kubeconfig_for(user, groups)
        async with Transport(ConfigSource(str(kubeconfig)), user_agent="openclaw-traced") as transport:
            with NOWHERE.start("ask") as root:
                await traced_request(transport, "GET", "/apis")
        return root.ids["trace_id"]

    stranger = await asked_by("stranger")
    trusted = [await asked_by("watcher", "system:monitoring"), await asked_by("root", "system:masters")]
    for trace_id in trusted:

        async def continued_at_all(trace_id: str = trace_id) -> list[TraceSpan]:
            return list((await jaeger.trace(trace_id)).spans)

        assert (await first("the API server's part", continued_at_all)).service == API_SERVER
    # Its spans arrive in the order in which they ended.
    with pytest.raises(LookupError):
        await jaeger.trace(stranger)


async def test_objects_that_are_handed_over_are_run_because_of_it(
    observed: Observed, jaeger: TraceStore
) -> None:
    joining = f"{next(iter(observed.metrics)).rpartition('-')[0]}-{len(observed.metrics)}"
    share = set(Ring([*observed.metrics, joining]).share(joining))
    names = (f"moved-{number}" for number in range(500))
    moved = ""
    while not moved:
        made = await observed.client.create(claw(next(names)))
        moved = made["metadata"]["name"] if slot(made["metadata"]["uid"]) in share else ""
    await first("its first run", lambda: runs(jaeger, moved, "OpenClaw added"))

    async def taken_over() -> list[tuple[Trace, Trace]]:
        found = await runs(jaeger, moved, None)
        theirs = [run for run in found if run.root.attributes["openclaw.shard"] == joining]
        links = [(run, link) for run in theirs for link in run.root.links if link.cause == "hand-over"]
        return [(run, await jaeger.trace(link.trace_id)) for run, link in links]

    async with observed.one_more_shard() as shard:
        assert shard == joining
        run, start = await first("its run on the new shard", taken_over)
        number = run.root.attributes["openclaw.slot"]
        assert start.root.name == "hand-over start"
        assert start.root.attributes["openclaw.shard"] == joining
        assert number in slots_of(start)
        read = [await followed(jaeger, link) for link in start.root.links if link.cause == "warm"]
        assert {it.root.name for it in read} == {"hand-over warm"}
        assert number in {it for warm in read for it in slots_of(warm)}

    async def let_go() -> list[Trace]:
        # Its slots go to several shards, one lot after the other.
        drains = await jaeger.find("hand-over drain", {"openclaw.shard": joining})
        return [drain for drain in drains if number in slots_of(drain)]

    await first("its end on the new shard", let_go)


async def test_a_run_of_a_database_has_its_calls_and_what_they_waited_for(
    observed: Observed, jaeger: TraceStore
) -> None:
    """The load's first two calls were throttled."""

    async def created() -> list[Trace]:
        return await jaeger.find("aws-rds create", {"openclaw.external.result": "success"})

    run = await first("a create", created)
    assert run.root.name == "reconcile rdsinstances/RDSInstance"
    (call,) = run.named("aws-rds create")
    assert call.call
    assert call.parent_id == run.root.span_id
    assert call.attributes["openclaw.external.region"] == "eu-central-1"
    assert call.attributes["openclaw.external.breaker"] == "closed"
    # Before it the mark, so that it is made once.
    before = [span for span in sent(run, "PATCH rdsinstances") if span.end <= call.start]
    assert before

    async def waited() -> list[Trace]:
        return await jaeger.find(run.root.name, {"openclaw.reasons": '["throttled"]'})

    again = await first("a run after a wait", waited)
    (link,) = (link for link in again.root.links if link.cause == "throttled")
    refused = await followed(jaeger, link)
    assert refused.root.attributes["openclaw.object.uid"] == again.root.attributes["openclaw.object.uid"]
    (call,) = (it for it in refused.spans if "openclaw.external.throttle_wait" in it.attributes)
    assert call.attributes["openclaw.external.result"] in ("throttled", "held_back")
    assert float(call.attributes["openclaw.external.throttle_wait"]) > 0  # type: ignore[arg-type]
    assert again.root.start >= refused.root.start
