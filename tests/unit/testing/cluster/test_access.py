from __future__ import annotations

from typing import Any

import pytest

from openclaw.kube.errors import Forbidden
from openclaw.testing.cluster.cluster import FakeCluster
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import CONFIG_MAPS, Asking, asked, watching

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def rules(*verbs: str, resources: list[str] | None = None, **more: Any) -> list[dict[str, Any]]:
    return [{"apiGroups": [""], "resources": resources or ["configmaps"], "verbs": list(verbs), **more}]


async def role(ask: Asking, name: str, rules: list[dict[str, Any]]) -> None:
    body = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}}
    await ask.post(f"{RBAC}/namespaces/default/roles", {**body, "rules": rules})


async def bind(ask: Asking, role: str, subject: dict[str, str], *, kind: str = "Role") -> None:
    binding = {
        "metadata": {"name": f"{role}-{subject['name']}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [subject],
    }
    await ask.post(f"{RBAC}/namespaces/default/rolebindings", binding)


def of(cluster: FakeCluster, **who: Any) -> Asking:
    return Asking(cluster, cluster.transport(**who))


USER = {"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"}


@virtual_time
async def test_only_what_a_role_grants() -> None:
    async with asked(rbac=True) as ask:
        bob = of(ask.cluster, user="bob")
        with pytest.raises(Forbidden) as caught:
            await bob.get(CONFIG_MAPS)
        assert caught.value.message == (
            'configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" '
            'in the namespace "default"'
        )
        await role(ask, "reader", rules("get", "list", "watch"))
        await bind(ask, "reader", USER)
        await ask.config_map("a")
        await bob.get(CONFIG_MAPS)
        await bob.get(f"{CONFIG_MAPS}/a")
        async with watching(bob) as events:
            assert await events.named(1) == [("ADDED", "a")]
        for refused in (
            bob.config_map("b"),
            bob.delete(f"{CONFIG_MAPS}/a"),
            bob.merge(f"{CONFIG_MAPS}/a", {"data": {}}),
            bob.get("/api/v1/configmaps"),
            bob.get("/api/v1/namespaces/kube-system/configmaps"),
        ):
            with pytest.raises(Forbidden):
                await refused


@virtual_time
async def test_groups_accounts_and_cluster_roles() -> None:
    async with asked(rbac=True) as ask:
        await ask.post(f"{RBAC}/clusterroles", {"metadata": {"name": "reader"}, "rules": rules("list")})
        for subject in (
            {"kind": "Group", "name": "readers", "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
        ):
            await bind(ask, "reader", subject, kind="ClusterRole")
        await of(ask.cluster, user="eve", groups=["readers"]).get(CONFIG_MAPS)
        robot = Asking(ask.cluster, ask.cluster.service_account_transport("default", "robot"))
        await robot.get(CONFIG_MAPS)
        stranger = Asking(ask.cluster, ask.cluster.service_account_transport("kube-system", "robot"))
        with pytest.raises(Forbidden):
            await stranger.get(CONFIG_MAPS)


@virtual_time
async def test_names_and_subresources() -> None:
    async with asked(rbac=True) as ask:
        await role(
            ask,
            "some",
            [
                *rules("get", resourceNames=["a"]),
                *rules("patch", resources=["pods/status"]),
            ],
        )
        await bind(ask, "some", USER)
        bob = of(ask.cluster, user="bob")
        await ask.config_map("a")
        await ask.config_map("b")
        await bob.get(f"{CONFIG_MAPS}/a")
        with pytest.raises(Forbidden):
            await bob.get(f"{CONFIG_MAPS}/b")
        pods = "/api/v1/namespaces/default/pods"
        await ask.post(
            pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        )
        await bob.merge(f"{pods}/p/status", {"status": {"reason": "x"}})
        with pytest.raises(Forbidden, match=r'cannot patch resource "pods"'):
            await bob.merge(f"{pods}/p", {"metadata": {"labels": {"a": "b"}}})


@virtual_time
async def test_a_group_is_part_of_a_resource() -> None:
    async with asked(rbac=True) as ask:
        await role(ask, "events", rules("list", resources=["events"]))
        await bind(ask, "events", USER)
        bob = of(ask.cluster, user="bob")
        await bob.get("/api/v1/namespaces/default/events")
        with pytest.raises(Forbidden, match=r'API group "events\.k8s\.io"'):
            await bob.get("/apis/events.k8s.io/v1/namespaces/default/events")


@virtual_time
async def test_one_may_ask_what_one_may() -> None:
    async with asked(rbac=True) as ask:
        await role(ask, "reader", rules("list"))
        await bind(ask, "reader", USER)
        bob = of(ask.cluster, user="bob")
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        for verb, allowed in (("list", True), ("delete", False)):
            attributes = {"verb": verb, "resource": "configmaps", "namespace": "default"}
            answer = await bob.post(path, {"spec": {"resourceAttributes": attributes}})
            assert answer["status"]["allowed"] is allowed
        who = await bob.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
        assert who["status"]["userInfo"]["username"] == "bob"


@virtual_time
async def test_every_request_is_on_record() -> None:
    async with asked(rbac=True) as ask:
        bob = of(ask.cluster, user="bob")
        with pytest.raises(Forbidden):
            await bob.config_map("a")
        await ask.config_map("a")
        assert ask.cluster.audit.counts("bob") == {("create", "configmaps"): 1}
        assert [one.code for one in ask.cluster.audit] == [403, 201]
