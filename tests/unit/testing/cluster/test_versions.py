"""One thing seen in several ways: both kinds of events, and versions of a kind."""

from __future__ import annotations

import pytest

from openclaw.kube.errors import BadRequest
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import asked, watching

CORE = "/api/v1/namespaces/default/events"
NEW = "/apis/events.k8s.io/v1/namespaces/default/events"
EVENT = {
    "metadata": {"name": "e"},
    "regarding": {"kind": "Pod", "namespace": "default", "name": "p", "uid": "u"},
    "eventTime": "2027-01-15T08:00:00.000000Z",
    "reportingController": "example.com/controller",
    "reportingInstance": "me",
    "action": "Look",
    "reason": "Seen",
    "note": "there it is",
    "type": "Normal",
}


@virtual_time
async def test_an_event_is_seen_both_ways() -> None:
    async with asked() as ask:
        made = await ask.post(NEW, EVENT)
        assert (made["apiVersion"], made["note"]) == ("events.k8s.io/v1", "there it is")
        old = await ask.get(f"{CORE}/e")
        assert (old["apiVersion"], old["kind"], old["message"]) == ("v1", "Event", "there it is")
        assert old["involvedObject"] == EVENT["regarding"]
        assert old["reportingComponent"] == "example.com/controller"
        assert old["metadata"]["uid"] == made["metadata"]["uid"]
        for path, name in ((CORE, "involvedObject"), (NEW, "regarding")):
            for value, count in (("p", 1), ("q", 0)):
                listed = await ask.get(path, fieldSelector=f"{name}.name={value},{name}.kind=Pod")
                assert len(listed["items"]) == count
            with pytest.raises(BadRequest, match="field label not supported"):
                await ask.get(path, fieldSelector=f"{name}.nothing=x")


@virtual_time
async def test_a_change_on_one_side_is_told_on_the_other() -> None:
    async with asked() as ask:
        await ask.post(NEW, EVENT)
        position = str(ask.cluster.store.revision)
        async with (
            watching(ask, CORE, resourceVersion=position) as old,
            watching(ask, NEW, resourceVersion=position) as new,
        ):
            series = {"count": 2, "lastObservedTime": "2027-01-15T08:01:00.000000Z"}
            await ask.merge(f"{NEW}/e", {"series": series})
            await ask.merge(f"{CORE}/e", {"message": "again"})
            for events, name, api_version in ((old, "message", "v1"), (new, "note", "events.k8s.io/v1")):
                for said in ("there it is", "again"):
                    kind, obj = await events.next()
                    assert (kind, obj[name], obj["apiVersion"]) == ("MODIFIED", said, api_version)
                    assert obj["series"] == series


@virtual_time
async def test_a_kind_in_two_versions() -> None:
    old = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    new = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    async with asked() as ask:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        spec = {"maxReplicas": 3, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 70}
        made = await ask.post(old, {"metadata": {"name": "h"}, "spec": spec})
        assert made["spec"]["targetCPUUtilizationPercentage"] == 70
        seen = await ask.get(f"{new}/h")
        assert seen["apiVersion"] == "autoscaling/v2"
        assert seen["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 70
        position = str(ask.cluster.store.revision)
        async with watching(ask, old, resourceVersion=position) as events:
            await ask.merge(f"{new}/h", {"spec": {"maxReplicas": 5}})
            _, obj = await events.next()
            assert (obj["apiVersion"], obj["spec"]["maxReplicas"]) == ("autoscaling/v1", 5)
            assert obj["spec"]["targetCPUUtilizationPercentage"] == 70
