"""Deletion: finalizers, propagation, garbage, namespaces."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases.objects import CONTAINERS, SELECTOR, config_map, named, template
from tests.conformance.cases.schema import widget
from tests.conformance.collecting import Collection, Story
from tests.conformance.recording import Client

case = Collection("deletions")


@case
async def plain(k: Client) -> None:
    await k.create("configmaps", config_map(), record=False)
    await k.delete("configmaps", "x")
    await k.delete("configmaps", "x")
    await k.get("configmaps", "x")
    await k.create("widgets", widget({"size": "s"}), record=False)
    await k.delete("widgets", "w")
    await k.create("serviceaccounts", named(), record=False)
    await k.delete("serviceaccounts", "x")
    await k.create("services", named(spec={"ports": [{"port": 80}]}), record=False)
    await k.delete("services", "x")


@case
async def preconditions(k: Client) -> None:
    first = (await k.create("configmaps", config_map(), record=False)).body
    uid, version = first["metadata"]["uid"], first["metadata"]["resourceVersion"]
    await k.delete("configmaps", "x", {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}})
    await k.delete("configmaps", "x", {"preconditions": {"resourceVersion": "1"}})
    await k.delete("configmaps", "x", {"preconditions": {"uid": uid, "resourceVersion": version}})


_OPTIONS: dict[str, Any] = {
    "policy": {"propagationPolicy": "Other"},
    "two ways": {"propagationPolicy": "Orphan", "orphanDependents": True},
    "dry run": {"dryRun": ["All"]},
    "dry run other": {"dryRun": ["Some"]},
    "kind": {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 5},
    "other kind": {"kind": "Other", "apiVersion": "v1"},
    "grace below zero": {"gracePeriodSeconds": -1},
}


def _with_options(options: Any) -> Story:
    async def story(k: Client) -> None:
        await k.create("configmaps", config_map(), record=False)
        await k.delete("configmaps", "x", options)
        answer = await k.get("configmaps", "x", record=False)
        k.note("is there", answer.code)

    return story


for name, options in _OPTIONS.items():
    case.add(f"option {name}", _with_options(options))


@case
async def options_in_the_query(k: Client) -> None:
    await k.create("configmaps", config_map(), record=False)
    await k.delete("configmaps", "x", dryRun="All")
    await k.delete("configmaps", "x", propagationPolicy="Bad")
    await k.delete("configmaps", "x", gracePeriodSeconds="x")
    await k.delete("configmaps", "x", propagationPolicy="Background")


@case
async def finalizers(k: Client) -> None:
    body = widget({"size": "s"})
    body["metadata"]["finalizers"] = ["a.b/c", "a.b/d"]
    await k.create("widgets", body, record=False)
    await k.delete("widgets", "w")
    await k.delete("widgets", "w")
    await k.merge("widgets", "w", {"metadata": {"finalizers": ["a.b/c", "a.b/d", "a.b/e"]}})
    await k.merge("widgets", "w", {"metadata": {"finalizers": ["a.b/c"]}})
    await k.merge("widgets", "w", {"spec": {"size": "t"}})
    await k.create("widgets", widget({"size": "s"}))
    await k.merge("widgets", "w", {"metadata": {"finalizers": None}})
    await k.get("widgets", "w")


@case
async def a_put_ends_it_too(k: Client) -> None:
    body = {**config_map(), "metadata": {"name": "x", "finalizers": ["a.b/c"]}}
    await k.create("configmaps", body, record=False)
    marked = (await k.delete("configmaps", "x")).body
    await k.put("configmaps", "x", {**marked, "metadata": {**marked["metadata"], "finalizers": []}})
    await k.get("configmaps", "x")


@case
async def deletion_timestamp_cannot_be_set(k: Client) -> None:
    first = (await k.create("configmaps", config_map(), record=False)).body
    stamped = {
        **first["metadata"],
        "deletionTimestamp": "2020-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3,
    }
    await k.put("configmaps", "x", {**first, "metadata": stamped})
    await k.create("configmaps", {"metadata": {**stamped, "name": "y", "uid": "", "resourceVersion": ""}})


@case
async def of_a_collection(k: Client) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"}), ("c", {"x": "1"})):
        body = widget({"size": "s"}, name)
        body["metadata"]["labels"] = labels
        await k.create("widgets", body, record=False)
    await k.delete("widgets", labelSelector="x=1", dryRun="All")
    await k.delete("widgets", labelSelector="x=1")
    await k.list("widgets")
    await k.delete("widgets", fieldSelector="metadata.name=none")


async def _family(k: Client, **reference: Any) -> None:
    owner = await k.create("configmaps", config_map("owner"), record=False)
    refers = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata.uid"],
        **reference,
    }
    body = {"metadata": {"name": "child", "ownerReferences": [refers]}}
    await k.create("configmaps", body, record=False)
    child = await k.get("configmaps", "child", record=False)
    below = {"apiVersion": "v1", "kind": "ConfigMap", "name": "child", "uid": child["metadata.uid"]}
    await k.create(
        "configmaps", {"metadata": {"name": "grandchild", "ownerReferences": [below]}}, record=False
    )


@case
async def in_the_background(k: Client) -> None:
    await _family(k)
    await k.delete("configmaps", "owner", {"propagationPolicy": "Background"})
    await k.until_gone("configmaps", "child")
    await k.until_gone("configmaps", "grandchild")


@case
async def in_the_foreground(k: Client) -> None:
    await _family(k, blockOwnerDeletion=True)
    await k.delete("configmaps", "owner", {"propagationPolicy": "Foreground"})
    await k.until_gone("configmaps", "owner")
    await k.until_gone("configmaps", "child")
    await k.until_gone("configmaps", "grandchild")


@case
async def in_the_foreground_behind_a_finalizer(k: Client) -> None:
    await _family(k, blockOwnerDeletion=True)
    await k.merge("configmaps", "child", {"metadata": {"finalizers": ["a.b/c"]}}, record=False)
    await k.delete("configmaps", "owner", {"propagationPolicy": "Foreground"})
    # The child waits for the grandchild first, in the foreground as well.
    await k.until(
        "configmaps",
        "child",
        lambda answer: (
            bool(answer["metadata.deletionTimestamp"]) and answer["metadata.finalizers"] == ["a.b/c"]
        ),
    )
    await k.get("configmaps", "owner")
    await k.merge("configmaps", "child", {"metadata": {"finalizers": None}}, record=False)
    await k.until_gone("configmaps", "owner")


@case
async def orphaning(k: Client) -> None:
    await _family(k)
    await k.delete("configmaps", "owner", {"propagationPolicy": "Orphan"})
    await k.until_gone("configmaps", "owner")
    await k.until("configmaps", "child", lambda answer: not answer["metadata.ownerReferences"])
    await k.get("configmaps", "grandchild")


@case
async def of_an_owner_of_a_custom_kind(k: Client) -> None:
    owner = await k.create("widgets", widget({"size": "s"}), record=False)
    refers = {
        "apiVersion": "conformance.example.com/v1",
        "kind": "Widget",
        "name": "w",
        "uid": owner["metadata.uid"],
        "controller": True,
    }
    await k.create("configmaps", {"metadata": {"name": "child", "ownerReferences": [refers]}}, record=False)
    await k.delete("widgets", "w")
    await k.until_gone("configmaps", "child")


@case
async def an_owner_that_never_was(k: Client) -> None:
    uid = "11111111-1111-4111-8111-111111111111"
    refers = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": uid}
    await k.create("configmaps", {"metadata": {"name": "child", "ownerReferences": [refers]}}, record=False)
    await k.until_gone("configmaps", "child")


@case
async def one_of_two_owners(k: Client) -> None:
    uids = [
        (await k.create("configmaps", config_map(name), record=False))["metadata.uid"] for name in ("a", "b")
    ]
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}
        for name, uid in zip(("a", "b"), uids, strict=True)
    ]
    await k.create("configmaps", {"metadata": {"name": "child", "ownerReferences": references}}, record=False)
    await k.delete("configmaps", "a", {"propagationPolicy": "Background"}, record=False)
    await k.until("configmaps", "child", lambda answer: len(answer["metadata.ownerReferences"] or ()) == 1)


@case
async def of_a_namespace(k: Client) -> None:
    name = f"{k.ns}-x"
    await k.create("namespaces", named(name), record=False)
    path = f"/api/v1/namespaces/{name}/configmaps"
    await k.send("POST", path, {"metadata": {"name": "x", "finalizers": ["a.b/c"]}}, record=False)
    await k.delete("namespaces", name)
    await k.until("namespaces", name, lambda answer: answer["status.phase"] == "Terminating")
    k.transcript.pop()
    await k.send("POST", path, config_map("y"))
    marked = False
    while not marked:
        answer = await k.send("GET", f"{path}/x", record=False)
        marked = bool(answer["metadata.deletionTimestamp"])
        await k.pause()
    await k.send("GET", f"{path}/x")
    patch = {"metadata": {"finalizers": None}}
    await k.send("PATCH", f"{path}/x", patch, type="application/merge-patch+json", record=False)
    await k.until_gone("namespaces", name)
    await k.send("POST", path, config_map("z"))


@case
async def of_namespaces_that_stay(k: Client) -> None:
    await k.delete("namespaces", "default")
    await k.delete("namespaces", "kube-system")


@case
async def of_a_pod(k: Client) -> None:
    await k.create("pods", named(spec={"containers": CONTAINERS}), record=False)
    await k.delete("pods", "x")
    await k.get("pods", "x")


@case
async def of_a_deployment(k: Client) -> None:
    spec = {"replicas": 1, "selector": SELECTOR, "template": template()}
    await k.create("deployments", named(spec=spec), record=False)
    await k.until("replicasets", "", lambda answer: len(answer.body["items"]) == 1)
    await k.until("pods", "", lambda answer: len(answer.body["items"]) == 1)
    del k.transcript[:]
    await k.delete("deployments", "x")
    await k.until("replicasets", "", lambda answer: not answer.body["items"])
    await k.until("pods", "", lambda answer: not answer.body["items"])
