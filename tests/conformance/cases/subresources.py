"""Status and scale."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases.objects import SELECTOR, named, template, typed
from tests.conformance.cases.schema import widget
from tests.conformance.collecting import Collection
from tests.conformance.recording import Client

case = Collection("subresources")


def scale(replicas: Any, **metadata: Any) -> dict[str, Any]:
    return typed(
        "Scale", "autoscaling/v1", {"metadata": {"name": "w", **metadata}, "spec": {"replicas": replicas}}
    )


@case
async def status_changes_only_the_status(k: Client) -> None:
    first = (await k.create("widgets", widget({"size": "s"}, status={"phase": "no"}))).body
    changed = {**first, "spec": {"size": "t"}, "status": {"phase": "x"}}
    changed["metadata"] = {**first["metadata"], "labels": {"a": "b"}, "finalizers": ["a.b/c"]}
    await k.put("widgets", "w", changed, "status")
    await k.put("widgets", "w", changed, "status")
    now = (await k.get("widgets", "w", "status")).body
    await k.put("widgets", "w", {**now, "spec": {"size": "u"}, "status": {"phase": "y"}})
    await k.merge("widgets", "w", {"status": {"phase": None}}, "status")
    await k.merge("widgets", "w", {"status": None}, "status")
    await k.merge("widgets", "w", {"status": {"phase": 1}}, "status")
    await k.merge("widgets", "w", {"status": {"unknown": 1}}, "status", fieldValidation="Strict")
    await k.merge("widgets", "missing", {"status": {}}, "status")


@case
async def status_of_an_invalid_object(k: Client) -> None:
    await k.create("widgets", widget({"size": "s", "unchecked": {"a": 1}}), record=False)
    await k.merge("widgets", "w", {"status": {"phase": "x"}, "spec": {"unchecked": {"a": 0}}}, "status")
    conditions = [{"type": "A", "status": "True"}, {"type": "A", "status": "False"}]
    await k.merge("widgets", "w", {"status": {"conditions": conditions}}, "status")


@case
async def status_of_built_in_kinds(k: Client) -> None:
    await k.create("services", named(spec={"ports": [{"port": 80}], "type": "LoadBalancer"}), record=False)
    await k.create("services", named("y", spec={"ports": [{"port": 80}]}), record=False)
    await k.merge("services", "y", {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}, "status")
    await k.merge("services", "x", {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}, "status")
    await k.merge(
        "services", "x", {"status": {"loadBalancer": {}}, "spec": {"selector": {"a": "b"}}}, "status"
    )
    await k.merge("services", "x", {"status": {"loadBalancer": {"ingress": [{"ip": "5.6.7.8"}]}}})
    await k.create("configmaps", named(), record=False)
    await k.merge("configmaps", "x", {"data": {}}, "status")
    condition = {"type": "a.b/c", "status": "True", "reason": "R", "message": "", "lastTransitionTime": None}
    await k.merge("services", "x", {"status": {"conditions": [condition]}}, "status")


@case
async def scale_of_a_custom_resource(k: Client) -> None:
    await k.create("widgets", widget({"size": "s", "replicas": 2}), record=False)
    await k.get("widgets", "w", "scale")
    await k.merge("widgets", "w", {"status": {"replicas": 1, "selector": "a=b"}}, "status", record=False)
    seen = (await k.get("widgets", "w", "scale")).body
    await k.put("widgets", "w", {**seen, "spec": {"replicas": 3}}, "scale")
    await k.put("widgets", "w", {**seen, "spec": {"replicas": 4}}, "scale")
    await k.put("widgets", "w", scale(5), "scale")
    await k.put("widgets", "w", scale(-1), "scale")
    await k.merge("widgets", "w", {"spec": {"replicas": 6}}, "scale")
    await k.json("widgets", "w", [{"op": "replace", "path": "/spec/replicas", "value": 7}])
    await k.get("widgets", "w")


@case
async def scale_of_an_object_without_replicas(k: Client) -> None:
    await k.create("widgets", widget({"size": "s"}), record=False)
    await k.get("widgets", "w", "scale")
    await k.put("widgets", "w", scale(1), "scale")
    await k.get("widgets", "missing", "scale")
    await k.get("plains", "w", "scale")
    await k.get("configmaps", "w", "scale")


@case
async def scale_of_a_deployment(k: Client) -> None:
    spec = {"replicas": 0, "paused": True, "selector": SELECTOR, "template": template()}
    await k.create("deployments", named("w", spec=spec), record=False)
    await k.until("deployments", "w", lambda answer: bool(answer["status.observedGeneration"]))
    await k.get("deployments", "w", "scale")
    await k.put("deployments", "w", scale(3), "scale", dryRun="All")
    await k.merge("deployments", "w", {"spec": {"replicas": 2}}, "scale", dryRun="All")
    await k.merge("deployments", "w", {"spec": {"replicas": -2}}, "scale", dryRun="All")
    await k.put("deployments", "w", {**scale(3), "kind": "Other"}, "scale", dryRun="All")
    await k.put("deployments", "w", scale(3, name="other"), "scale", dryRun="All")


@case
async def verbs_that_subresources_do_not_have(k: Client) -> None:
    await k.create("widgets", widget({"size": "s"}), record=False)
    for method in ("POST", "DELETE"):
        for subresource in ("status", "scale"):
            await k.send(method, k.path("widgets", "w", subresource), {})
    await k.send("GET", k.path("widgets", "w", "other"))
    await k.send("GET", k.path("configmaps", "w", "other"))
