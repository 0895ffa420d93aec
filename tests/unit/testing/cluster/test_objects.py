"""What the server writes into metadata, whoever asks for what."""

from __future__ import annotations

import asyncio

import pytest

from openclaw.kube.errors import AlreadyExists, ApiError, BadRequest, Conflict, Forbidden, Invalid, NotFound
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import CONFIG_MAPS, asked

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
}


@virtual_time
async def test_a_new_object() -> None:
    async with asked() as ask:
        made = await ask.config_map(
            "a", labels={"k": "v"}, uid="mine", creationTimestamp="1970-01-01T00:00:00Z"
        )
        metadata = made["metadata"]
        assert metadata["uid"] != "mine"
        assert metadata["creationTimestamp"] == "2027-01-15T08:00:00Z"
        assert metadata["namespace"] == "default"
        assert metadata["labels"] == {"k": "v"}
        assert "generation" not in metadata
        assert await ask.get(f"{CONFIG_MAPS}/a") == made
        with pytest.raises(AlreadyExists, match='configmaps "a" already exists'):
            await ask.config_map("a")


@virtual_time
async def test_names_are_generated() -> None:
    async with asked() as ask:
        made = [await ask.post(CONFIG_MAPS, {"metadata": {"generateName": "x-"}}) for _ in range(3)]
        names = {one["metadata"]["name"] for one in made}
        assert len(names) == 3
        assert all(name.startswith("x-") and len(name) == 7 for name in names)
        with pytest.raises(Invalid, match="name or generateName is required"):
            await ask.post(CONFIG_MAPS, {"metadata": {}})


@virtual_time
async def test_what_a_creation_may_not_say() -> None:
    async with asked() as ask:
        with pytest.raises(ApiError, match="resourceVersion should not be set") as caught:
            await ask.config_map("a", resourceVersion="5")
        assert caught.value.code == 500
        with pytest.raises(BadRequest, match="does not match the namespace sent on the request"):
            await ask.config_map("a", namespace="other")
        with pytest.raises(NotFound, match='namespaces "none" not found'):
            await ask.post("/api/v1/namespaces/none/configmaps", {"metadata": {"name": "a"}})
        assert (await ask.get(CONFIG_MAPS))["items"] == []


@virtual_time
async def test_writes_on_an_old_state_are_conflicts() -> None:
    async with asked() as ask:
        made = await ask.config_map("a")
        changed = await ask.put(f"{CONFIG_MAPS}/a", {**made, "data": {"k": "1"}})
        assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
        for body in ({**made, "data": {"k": "2"}}, {"metadata": {"name": "a", "uid": "other"}}):
            with pytest.raises(Conflict):
                await ask.put(f"{CONFIG_MAPS}/a", body)
        stale = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"k": "3"}}
        with pytest.raises(Conflict, match="the object has been modified"):
            await ask.merge(f"{CONFIG_MAPS}/a", stale)
        with pytest.raises(BadRequest, match="does not match the name on the URL"):
            await ask.put(f"{CONFIG_MAPS}/a", {"metadata": {"name": "b"}})
        assert (await ask.get(f"{CONFIG_MAPS}/a"))["data"] == {"k": "1"}


@virtual_time
async def test_a_write_that_changes_nothing_is_none() -> None:
    async with asked() as ask:
        made = await ask.config_map("a", labels={"k": "v"})
        await asyncio.sleep(100)
        revision = ask.cluster.store.revision
        assert await ask.put(f"{CONFIG_MAPS}/a", made) == made
        assert await ask.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"k": "v"}}}) == made
        assert ask.cluster.store.revision == revision


@virtual_time
async def test_an_update_without_a_position_depends_on_the_kind() -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    async with asked() as ask:
        body = {"metadata": {"name": "a"}, "spec": {"holderIdentity": "x"}}
        made = await ask.put(f"{leases}/a", body)
        assert made["spec"]["holderIdentity"] == "x"
        with pytest.raises(Invalid, match="must be specified for an update"):
            await ask.put(f"{leases}/a", body)
        with pytest.raises(NotFound):
            await ask.put(f"{CONFIG_MAPS}/a", {"metadata": {"name": "a"}})


@virtual_time
async def test_generation_counts_what_is_wanted() -> None:
    async with asked(controllers=False) as ask:
        made = await ask.post(DEPLOYMENTS, {**DEPLOYMENT, "status": {"replicas": 9}})
        assert made["metadata"]["generation"] == 1
        assert made["status"] == {}
        path = f"{DEPLOYMENTS}/d"
        labelled = await ask.merge(path, {"metadata": {"labels": {"x": "y"}}})
        assert labelled["metadata"]["generation"] == 1
        told = await ask.merge(f"{path}/status", {"status": {"replicas": 2}, "spec": {"replicas": 7}})
        assert (told["metadata"]["generation"], told["spec"]["replicas"]) == (1, 0)
        assert told["status"] == {"replicas": 2}
        scaled = await ask.merge(path, {"spec": {"replicas": 3}, "status": {"replicas": 8}})
        assert (scaled["metadata"]["generation"], scaled["status"]) == (2, {"replicas": 2})
        scale = await ask.merge(f"{path}/scale", {"spec": {"replicas": 4}})
        assert scale["spec"] == {"replicas": 4}
        assert scale["status"] == {"replicas": 2, "selector": "a=b"}
        now = await ask.get(path)
        assert (now["metadata"]["generation"], now["spec"]["replicas"]) == (3, 4)


@virtual_time
async def test_asking_for_a_deletion_counts_as_a_change() -> None:
    async with asked(controllers=False) as ask:
        held = {**DEPLOYMENT, "metadata": {"name": "d", "finalizers": ["x.io/a"]}}
        assert (await ask.post(DEPLOYMENTS, held))["metadata"]["generation"] == 1
        for _ in range(2):
            deleting = await ask.delete(f"{DEPLOYMENTS}/d")
            assert deleting["metadata"]["generation"] == 2


@virtual_time
async def test_finalizers_hold_an_object_back() -> None:
    async with asked() as ask:
        made = await ask.config_map("a", finalizers=["x.io/a", "x.io/b"])
        path = f"{CONFIG_MAPS}/a"
        asked_for = await ask.delete(path)
        assert asked_for["metadata"]["deletionTimestamp"] == "2027-01-15T08:00:00Z"
        assert asked_for["metadata"]["deletionGracePeriodSeconds"] == 0
        await asyncio.sleep(5)
        assert await ask.delete(path) == asked_for
        with pytest.raises(Invalid, match="no new finalizers can be added"):
            await ask.merge(path, {"metadata": {"finalizers": ["x.io/a", "x.io/new"]}})
        one = await ask.merge(path, {"metadata": {"finalizers": ["x.io/b"]}})
        assert one["metadata"]["finalizers"] == ["x.io/b"]
        last = await ask.merge(path, {"metadata": {"finalizers": None}})
        assert "finalizers" not in last["metadata"]
        with pytest.raises(NotFound):
            await ask.get(path)
        again = await ask.config_map("a")
        assert again["metadata"]["uid"] != made["metadata"]["uid"]


@virtual_time
async def test_deletions_with_conditions() -> None:
    async with asked() as ask:
        made = await ask.config_map("a")
        path = f"{CONFIG_MAPS}/a"
        for conditions in ({"uid": "other"}, {"resourceVersion": "1"}):
            with pytest.raises(Conflict, match="in the precondition"):
                await ask.delete(path, {"preconditions": conditions})
        with pytest.raises(Invalid, match="propagationPolicy"):
            await ask.delete(path, {"propagationPolicy": "Maybe"})
        done = await ask.delete(path, {"preconditions": {"uid": made["metadata"]["uid"]}})
        assert (done["kind"], done["status"]) == ("Status", "Success")
        assert done["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}


@virtual_time
async def test_a_collection_is_deleted_by_selector() -> None:
    async with asked() as ask:
        for name in ("a", "b", "c"):
            await ask.config_map(name, labels={"in": str(name != "c")})
        deleted = await ask.delete(CONFIG_MAPS, labelSelector="in=True")
        assert [item["metadata"]["name"] for item in deleted["items"]] == ["a", "b"]
        left = (await ask.get(CONFIG_MAPS))["items"]
        assert [item["metadata"]["name"] for item in left] == ["c"]


@virtual_time
async def test_a_dry_run_stores_nothing() -> None:
    async with asked() as ask:
        await ask.config_map("a", finalizers=["x.io/a"])
        revision = ask.cluster.store.revision
        made = await ask.post(CONFIG_MAPS, {"metadata": {"name": "b"}}, dryRun="All")
        assert made["metadata"]["uid"]
        assert "resourceVersion" not in made["metadata"]
        changed = await ask.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}}, dryRun="All")
        assert changed["data"] == {"k": "v"}
        assert "deletionTimestamp" in (await ask.delete(f"{CONFIG_MAPS}/a", dryRun="All"))["metadata"]
        assert ask.cluster.store.revision == revision
        with pytest.raises(Invalid, match="dryRun"):
            await ask.post(CONFIG_MAPS, {"metadata": {"name": "b"}}, dryRun="Some")
        with pytest.raises(AlreadyExists):
            await ask.post(CONFIG_MAPS, {"metadata": {"name": "a"}}, dryRun="All")


@virtual_time
async def test_pods_are_given_time() -> None:
    async with asked(controllers=False) as ask:
        await ask.post(PODS, {"metadata": {"name": "p"}, "spec": TEMPLATE["spec"]})
        await ask.post(f"{PODS}/p/binding", {"target": {"name": "node-7"}})
        assert (await ask.get(f"{PODS}/p"))["spec"]["nodeName"] == "node-7"
        with pytest.raises(Conflict, match="already assigned"):
            await ask.post(f"{PODS}/p/binding", {"target": {"name": "node-8"}})
        ending = await ask.delete(f"{PODS}/p")
        assert ending["metadata"]["deletionGracePeriodSeconds"] == 30
        assert ending["metadata"]["deletionTimestamp"] == "2027-01-15T08:00:30Z"
        sooner = await ask.delete(f"{PODS}/p", {"gracePeriodSeconds": 5})
        assert sooner["metadata"]["deletionGracePeriodSeconds"] == 5
        await ask.delete(f"{PODS}/p", {"gracePeriodSeconds": 0})
        with pytest.raises(NotFound):
            await ask.get(f"{PODS}/p")


@virtual_time
async def test_a_quota_leaves_no_room() -> None:
    async with asked() as ask:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "1"}}}
        await ask.post("/api/v1/namespaces/default/resourcequotas", quota)
        await ask.config_map("a")
        with pytest.raises(Forbidden, match="exceeded quota: q, requested: configmaps=1, used: configmaps=1"):
            await ask.config_map("b")


@virtual_time
async def test_evictions_heed_budgets() -> None:
    async with asked(controllers=False) as ask:
        pod = {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": TEMPLATE["spec"]}
        await ask.post(PODS, pod)
        budget = {
            "metadata": {"name": "b"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
        }
        await ask.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
        with pytest.raises(ApiError, match="would violate the pod's disruption budget") as caught:
            await ask.post(f"{PODS}/p/eviction", {})
        assert caught.value.code == 429
        await ask.delete("/apis/policy/v1/namespaces/default/poddisruptionbudgets/b")
        await ask.post(f"{PODS}/p/eviction", {})
        assert ask.cluster.get("pods", "default", "p") is None


@virtual_time
async def test_services_keep_what_they_are_given() -> None:
    services = "/api/v1/namespaces/default/services"
    async with asked() as ask:
        spec = {"ports": [{"port": 80}]}
        first = await ask.post(services, {"metadata": {"name": "a"}, "spec": spec})
        second = await ask.post(services, {"metadata": {"name": "b"}, "spec": spec})
        assert first["spec"]["clusterIP"] != second["spec"]["clusterIP"]
        opened = await ask.merge(f"{services}/a", {"spec": {"type": "NodePort"}})
        number = opened["spec"]["ports"][0]["nodePort"]
        assert 30000 <= number < 32768
        assert opened["spec"]["clusterIP"] == first["spec"]["clusterIP"]
        ports = [{"port": 80, "protocol": "TCP"}, {"port": 81, "protocol": "TCP", "name": "more"}]
        ports[0]["name"] = "web"
        more = await ask.merge(f"{services}/a", {"spec": {"ports": ports}})
        numbers = [port["nodePort"] for port in more["spec"]["ports"]]
        assert numbers[0] == number
        assert numbers[1] != number
        closed = await ask.merge(f"{services}/a", {"spec": {"type": "ClusterIP"}})
        assert all("nodePort" not in port for port in closed["spec"]["ports"])


@virtual_time
async def test_a_claim_stays_while_a_pod_uses_it() -> None:
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    async with asked() as ask:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        for name in ("used", "free"):
            made = await ask.post(claims, {"metadata": {"name": name}, "spec": spec})
            assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": "used"}}
        containers = [{"name": "c", "image": "i"}]
        pod = {"metadata": {"name": "p"}, "spec": {"containers": containers, "volumes": [volume]}}
        await ask.post(PODS, pod)
        for name in ("used", "free"):
            await ask.delete(f"{claims}/{name}")
        await ask.cluster.settled()
        assert [one["metadata"]["name"] for one in ask.cluster.list("persistentvolumeclaims")] == ["used"]
        await ask.delete(f"{PODS}/p")
        await ask.cluster.settled()
        assert ask.cluster.list("persistentvolumeclaims") == ()
