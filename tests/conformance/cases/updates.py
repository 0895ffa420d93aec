"""PUT and PATCH: what may change, and on which state."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases.objects import CONTAINERS, SELECTOR, config_map, deployment, named, template
from tests.conformance.cases.schema import widget
from tests.conformance.collecting import Collection, Story
from tests.conformance.recording import Client

case = Collection("updates")


@case
async def optimistic_concurrency(k: Client) -> None:
    first = (await k.create("configmaps", config_map(a="1"))).body
    second = (await k.put("configmaps", "x", {**first, "data": {"a": "2"}})).body
    k.note("another version", first["metadata"]["resourceVersion"] != second["metadata"]["resourceVersion"])
    await k.put("configmaps", "x", {**first, "data": {"a": "3"}})
    await k.put("configmaps", "x", config_map(a="4"))
    await k.merge("configmaps", "x", {"metadata": {"resourceVersion": "1"}, "data": {"a": "5"}})
    current = (await k.get("configmaps", "x")).body
    await k.merge(
        "configmaps",
        "x",
        {"metadata": {"resourceVersion": current["metadata"]["resourceVersion"]}, "data": {"a": "6"}},
    )


@case
async def a_write_that_changes_nothing_keeps_the_version(k: Client) -> None:
    first = (await k.create("configmaps", config_map(a="1"))).body
    second = (await k.put("configmaps", "x", first)).body
    third = (await k.merge("configmaps", "x", {"data": {"a": "1"}})).body
    versions = [one["metadata"]["resourceVersion"] for one in (first, second, third)]
    k.note("the same version", len(set(versions)) == 1)


@case
async def a_custom_resource_needs_its_version(k: Client) -> None:
    first = (await k.create("widgets", widget({"size": "s"}))).body
    await k.put("widgets", "w", widget({"size": "t"}))
    await k.put("widgets", "w", {**first, "spec": {"size": "t"}})
    await k.put("widgets", "w", {**first, "spec": {"size": "u"}})


@case
async def identity_may_not_change(k: Client) -> None:
    first = (await k.create("configmaps", config_map(a="1"))).body
    uid = {**first["metadata"], "uid": "00000000-0000-0000-0000-000000000000", "resourceVersion": ""}
    await k.put("configmaps", "x", {**first, "metadata": uid})
    await k.put("configmaps", "x", {**first, "metadata": {**first["metadata"], "name": "y"}})
    await k.put("configmaps", "x", {**first, "metadata": {**first["metadata"], "namespace": "y"}})
    await k.put("configmaps", "missing", config_map("missing"))
    await k.merge("configmaps", "missing", {})
    created = {**first["metadata"], "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 7}
    await k.put("configmaps", "x", {**first, "metadata": created})


@case
async def generation_counts_changes_of_the_spec(k: Client) -> None:
    await k.create("widgets", widget({"size": "s"}))
    await k.merge("widgets", "w", {"spec": {"size": "t"}})
    await k.merge("widgets", "w", {"metadata": {"labels": {"a": "b"}}})
    await k.merge("widgets", "w", {"metadata": {"annotations": {"a": "b"}}})
    await k.merge("widgets", "w", {"spec": {"size": "t"}})
    await k.merge("widgets", "w", {"status": {"phase": "x"}}, "status")
    await k.merge("widgets", "w", {"metadata": {"generation": 99}, "spec": {"size": "u"}})


@case
async def generation_without_a_status_subresource(k: Client) -> None:
    body = {"apiVersion": "conformance.example.com/v1", "kind": "Plain", "metadata": {"name": "abc"}}
    await k.create("plains", {**body, "spec": {"a": 1}, "status": {"b": 1}})
    await k.merge("plains", "abc", {"status": {"b": 2}})
    await k.merge("plains", "abc", {"metadata": {"labels": {"a": "b"}}})
    await k.merge("plains", "abc", {"spec": {"a": 2}}, "status")


@case
async def generation_of_a_deployment(k: Client) -> None:
    await k.create("deployments", deployment(paused=True), dryRun="All")
    await k.create("daemonsets", named(spec={"selector": SELECTOR, "template": template()}), dryRun="All")


@case
async def put_creates_some_kinds(k: Client) -> None:
    await k.put("leases", "l", named("l", spec={"holderIdentity": "q"}))
    await k.put("configmaps", "l", config_map("l"))
    await k.put(
        "roles", "l", named("l", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])
    )
    await k.put("widgets", "w", widget({"size": "s"}))
    await k.put("services", "l", named("l", spec={"ports": [{"port": 80}]}))


_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_ONCE = template(restartPolicy="Never")
_IMMUTABLE: dict[str, tuple[str, Any, list[Any]]] = {
    "deployment": (
        "deployments",
        deployment(paused=True),
        [
            {"spec": {"selector": {"matchLabels": {"z": "z"}}}},
            {
                "spec": {
                    "selector": {"matchLabels": {"z": "z"}},
                    "template": {"metadata": {"labels": {"z": "z"}}},
                }
            },
            {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 5}}}},
        ],
    ),
    "statefulset": (
        "statefulsets",
        named(spec={"replicas": 0, "selector": SELECTOR, "template": template(), "serviceName": "s"}),
        [
            {"spec": {"serviceName": "t"}},
            {"spec": {"podManagementPolicy": "Parallel"}},
            {"spec": {"minReadySeconds": 3}},
        ],
    ),
    "job": (
        "jobs",
        named(spec={"template": _ONCE, "suspend": True}),
        [
            {"spec": {"completions": 3}},
            {"spec": {"completionMode": "Indexed"}},
            {"spec": {"backoffLimit": 2}},
        ],
    ),
    "service": (
        "services",
        named(spec={"ports": [{"port": 80}]}),
        [
            {"spec": {"clusterIP": "None"}},
            {"spec": {"type": "NodePort"}},
            {"spec": {"selector": {"a": "b"}}},
        ],
    ),
    "immutable config map": (
        "configmaps",
        {**config_map(a="1"), "immutable": True},
        [{"data": {"a": "2"}}, {"immutable": False}, {"metadata": {"labels": {"a": "b"}}}],
    ),
    "immutable secret": (
        "secrets",
        {"metadata": {"name": "x"}, "immutable": True, "data": {"a": "eA=="}},
        [{"stringData": {"a": "2"}}, {"immutable": None}],
    ),
    "type of a secret": ("secrets", named(data={"a": "eA=="}), [{"type": "other"}, {"data": {"b": "eA=="}}]),
    "role binding": (
        "rolebindings",
        named(roleRef={"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}),
        [{"roleRef": {"name": "s"}}, {"subjects": [{"kind": "User", "name": "u"}]}],
    ),
    "claim": (
        "persistentvolumeclaims",
        named(spec=_CLAIM),
        [
            {"spec": {"accessModes": ["ReadOnlyMany"]}},
            {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
        ],
    ),
    "pod": (
        "pods",
        named(spec={"containers": CONTAINERS}),
        [
            {"spec": {"restartPolicy": "Never"}},
            {"spec": {"containers": [{"name": "c", "image": "other:2"}]}},
            {"spec": {"activeDeadlineSeconds": 9}},
            {"metadata": {"labels": {"a": "b"}}},
        ],
    ),
}


_CONTROLLED = frozenset({"deployments", "statefulsets"})


def _patched(resource: str, body: Any, patches: list[Any]) -> Story:
    async def story(k: Client) -> None:
        await k.create(resource, body, record=False)
        if resource in _CONTROLLED:
            await k.until(resource, "x", lambda answer: bool(answer["status.observedGeneration"]))
        for patch in patches:
            if resource == "pods":
                await k.strategic(resource, "x", patch, dryRun="All")
            else:
                await k.merge(resource, "x", patch, dryRun="All")

    return story


for name, (resource, body, patches) in _IMMUTABLE.items():
    case.add(f"what may not change of a {name}", _patched(resource, body, patches))


@case
async def owner_references_and_finalizers(k: Client) -> None:
    owner = (await k.create("configmaps", config_map("owner"))).body
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    await k.create("configmaps", config_map())
    for metadata in (
        {"ownerReferences": [reference]},
        {"ownerReferences": [{**reference, "controller": True}, {**reference, "controller": True}]},
        {"ownerReferences": [{"kind": "x"}]},
        {"ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}]},
        {"finalizers": ["bad", "a/b"]},
        {"finalizers": ["example.com/x"]},
        {"finalizers": ["example.com/x", "orphan"]},
        {"finalizers": None, "ownerReferences": None},
    ):
        await k.merge("configmaps", "x", {"metadata": metadata})
