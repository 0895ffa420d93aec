from __future__ import annotations

import asyncio
from typing import Any

import pytest

from openclaw.testing.cluster.workloads import Workloads
from openclaw.testing.podstatus import Outcome, PodBehaviour
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import Asking, asked, watching

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"


def template(image: str = "example/web:1", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": image}], **spec},
    }


def deployment(replicas: int = 3, image: str = "example/web:1", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(image),
            **spec,
        },
    }


async def status(ask: Asking, path: str = f"{DEPLOYMENTS}/web") -> dict[str, Any]:
    await ask.cluster.settled()
    found: dict[str, Any] = (await ask.get(path))["status"]
    return found


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}


@virtual_time
async def test_a_deployment_becomes_available() -> None:
    async with asked() as ask:
        await ask.post(DEPLOYMENTS, deployment())
        told = await status(ask)
        assert (told["replicas"], told["readyReplicas"], told["availableReplicas"]) == (3, 3, 3)
        assert told["observedGeneration"] == 1
        assert conditions(told) == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }
        pods = ask.cluster.list("pods")
        assert {pod["status"]["phase"] for pod in pods} == {"Running"}
        assert {pod["spec"]["nodeName"] for pod in pods} == {"node-0"}
        [replica_set] = ask.cluster.list("replicasets.apps")
        assert replica_set["metadata"]["ownerReferences"][0]["kind"] == "Deployment"
        await ask.delete(f"{DEPLOYMENTS}/web")
        await ask.cluster.settled()
        assert (ask.cluster.list("pods"), ask.cluster.list("replicasets.apps")) == ((), ())


@virtual_time
async def test_a_rollout_keeps_enough_pods_available() -> None:
    async with asked(workloads=Workloads(startup_seconds=10, termination_seconds=5)) as ask:
        await ask.post(DEPLOYMENTS, deployment(4))
        await asyncio.sleep(20)
        assert (await status(ask))["availableReplicas"] == 4
        least, most = 99, 0
        position = str(ask.cluster.store.revision)
        async with watching(ask, DEPLOYMENTS, resourceVersion=position) as events:
            await ask.merge(f"{DEPLOYMENTS}/web", {"spec": {"template": template("example/web:2")}})
            while True:
                _, obj = await events.next()
                told = obj["status"]
                least = min(least, told.get("availableReplicas", 0))
                most = max(most, told.get("replicas", 0))
                done = (
                    told.get("updatedReplicas") == told.get("replicas") == told.get("availableReplicas") == 4
                )
                if told["observedGeneration"] == 2 and done:
                    break
        # 25 % of 4, both ways.
        assert least == 3
        assert most == 5
        await asyncio.sleep(30)
        assert conditions(await status(ask))["Progressing"] == ("True", "NewReplicaSetAvailable")
        images = {pod["spec"]["containers"][0]["image"] for pod in ask.cluster.list("pods")}
        assert images == {"example/web:2"}
        revisions = {
            one["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: one["spec"]["replicas"]
            for one in ask.cluster.list("replicasets.apps")
        }
        assert revisions == {"1": 0, "2": 4}


@virtual_time
async def test_recreate_ends_the_old_before_the_new_begins() -> None:
    async with asked(workloads=Workloads(termination_seconds=5)) as ask:
        await ask.post(DEPLOYMENTS, deployment(2, strategy={"type": "Recreate"}))
        await ask.cluster.settled()
        await ask.merge(f"{DEPLOYMENTS}/web", {"spec": {"template": template("example/web:2")}})
        await ask.cluster.settled()
        images = {pod["spec"]["containers"][0]["image"] for pod in ask.cluster.list("pods")}
        assert images == {"example/web:1"}
        await asyncio.sleep(6)
        assert (await status(ask))["availableReplicas"] == 2
        images = {pod["spec"]["containers"][0]["image"] for pod in ask.cluster.list("pods")}
        assert images == {"example/web:2"}


@virtual_time
async def test_a_rollout_that_gets_nowhere_exceeds_its_deadline() -> None:
    async with asked() as ask:
        await ask.post(DEPLOYMENTS, deployment(2, "example/web:crash-loop", progressDeadlineSeconds=60))
        told = await status(ask)
        assert conditions(told) == {
            "Available": ("False", "MinimumReplicasUnavailable"),
            "Progressing": ("True", "ReplicaSetUpdated"),
        }
        assert told["unavailableReplicas"] == 2
        await asyncio.sleep(65)
        assert conditions(await status(ask))["Progressing"] == ("False", "ProgressDeadlineExceeded")
        await ask.merge(f"{DEPLOYMENTS}/web", {"spec": {"template": template("example/web:2")}})
        assert conditions(await status(ask))["Progressing"] == ("True", "NewReplicaSetAvailable")


@virtual_time
async def test_pods_fare_as_they_are_told_while_the_test_runs() -> None:
    outcome = Outcome.NEVER_READY
    workloads = Workloads(decide=lambda _: PodBehaviour(outcome))
    async with asked(workloads=workloads) as ask:
        await ask.post(DEPLOYMENTS, deployment(1))
        assert "readyReplicas" not in await status(ask)
        outcome = Outcome.READY
        workloads.refresh()
        assert (await status(ask))["readyReplicas"] == 1
        workloads.stall()
        await ask.merge(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 2}})
        assert (await status(ask))["readyReplicas"] == 1
        workloads.resume()
        assert (await status(ask))["readyReplicas"] == 2


@virtual_time
async def test_a_quota_in_the_way_is_told_and_gone_past() -> None:
    async with asked() as ask:
        quotas = "/api/v1/namespaces/default/resourcequotas"
        await ask.post(quotas, {"metadata": {"name": "small"}, "spec": {"hard": {"pods": "1"}}})
        await ask.post(DEPLOYMENTS, deployment(3))
        told = await status(ask)
        assert conditions(told)["ReplicaFailure"] == ("True", "FailedCreate")
        assert told["readyReplicas"] == 1
        await ask.delete(f"{quotas}/small")
        await asyncio.sleep(60)
        told = await status(ask)
        assert told["readyReplicas"] == 3
        assert "ReplicaFailure" not in conditions(told)


@virtual_time
async def test_a_stateful_set_goes_in_order() -> None:
    async with asked(workloads=Workloads(startup_seconds=5)) as ask:
        body = {
            "metadata": {"name": "db"},
            "spec": {
                "serviceName": "db",
                "replicas": 3,
                "selector": {"matchLabels": {"app": "web"}},
                "template": template(),
                "volumeClaimTemplates": [
                    {
                        "metadata": {"name": "data"},
                        "spec": {
                            "accessModes": ["ReadWriteOnce"],
                            "resources": {"requests": {"storage": "1Gi"}},
                        },
                    }
                ],
            },
        }
        await ask.post(STATEFUL_SETS, body)
        for count in (1, 2, 3):
            await ask.cluster.settled()
            names = [pod["metadata"]["name"] for pod in ask.cluster.list("pods")]
            assert names == [f"db-{number}" for number in range(count)]
            await asyncio.sleep(6)
        told = await status(ask, f"{STATEFUL_SETS}/db")
        assert (told["readyReplicas"], told["currentRevision"]) == (3, told["updateRevision"])
        claims = [claim["metadata"]["name"] for claim in ask.cluster.list("persistentvolumeclaims")]
        assert claims == ["data-db-0", "data-db-1", "data-db-2"]
        await ask.merge(f"{STATEFUL_SETS}/db", {"spec": {"template": template("example/web:2")}})
        await ask.cluster.settled()
        replaced = ask.cluster.get("pods", "default", "db-2")
        untouched = ask.cluster.get("pods", "default", "db-1")
        assert replaced is not None
        assert untouched is not None
        assert replaced["spec"]["containers"][0]["image"] == "example/web:2"
        assert untouched["spec"]["containers"][0]["image"] == "example/web:1"
        await asyncio.sleep(30)
        assert (await status(ask, f"{STATEFUL_SETS}/db"))["updatedReplicas"] == 3
        await ask.merge(f"{STATEFUL_SETS}/db", {"spec": {"replicas": 1}})
        await ask.cluster.settled()
        assert [pod["metadata"]["name"] for pod in ask.cluster.list("pods")] == ["db-0"]


@pytest.mark.parametrize(
    ("image", "ends"), [("example/job:1", "Complete"), ("example/job:crash-loop", "Failed")]
)
@virtual_time
async def test_a_job_ends(image: str, ends: str) -> None:
    async with asked() as ask:
        spec = {
            "completions": 3,
            "parallelism": 2,
            "backoffLimit": 1,
            "ttlSecondsAfterFinished": 100,
            "template": template(image, restartPolicy="Never"),
        }
        await ask.post(JOBS, {"metadata": {"name": "once"}, "spec": spec})
        told = await status(ask, f"{JOBS}/once")
        assert conditions(told)[ends][0] == "True"
        if ends == "Complete":
            assert told["succeeded"] == 3
            assert told["completionTime"]
        else:
            assert told["failed"] >= 2
        await asyncio.sleep(110)
        await ask.cluster.settled()
        assert ask.cluster.list("jobs.batch") == ()
        assert ask.cluster.list("pods") == ()


@virtual_time
async def test_pods_are_deleted_with_their_grace() -> None:
    async with asked(workloads=Workloads(termination_seconds=20)) as ask:
        await ask.post(PODS, {"metadata": {"name": "p"}, "spec": template()["spec"]})
        await ask.cluster.settled()
        await ask.delete(f"{PODS}/p")
        await asyncio.sleep(10)
        assert ask.cluster.get("pods", "default", "p") is not None
        await asyncio.sleep(15)
        assert ask.cluster.get("pods", "default", "p") is None
