"""Options of requests, names, paths, discovery."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases.objects import config_map, named
from tests.conformance.cases.schema import widget
from tests.conformance.collecting import Collection, Story
from tests.conformance.recording import Client

case = Collection("options")


@case
async def dry_run(k: Client) -> None:
    await k.create("configmaps", config_map(a="1"), dryRun="All")
    await k.get("configmaps", "x")
    await k.create("configmaps", config_map(a="1"), record=False)
    await k.create("configmaps", config_map(a="1"), dryRun="All")
    await k.merge("configmaps", "x", {"data": {"a": "2"}}, dryRun="All")
    await k.put("configmaps", "x", config_map(a="3"), dryRun="All")
    await k.delete("configmaps", "x", dryRun="All")
    await k.get("configmaps", "x")
    for value in ("Some", "all", ""):
        await k.create("configmaps", config_map("y"), dryRun=value)


_NAMES = [
    "a",
    "A",
    "a_b",
    "a.b",
    "-a",
    "a-",
    "x" * 253,
    "x" * 254,
    "..",
    "a/b",
    "a%b",
    "ä",
    "",
]
for name in _NAMES:

    def _named(name: str) -> Story:
        async def story(k: Client) -> None:
            for resource in ("configmaps", "services", "roles", "namespaces"):
                spec = {"spec": {"ports": [{"port": 80}]}} if resource == "services" else {}
                await k.create(resource, named(name, **spec), dryRun="All")

        return story

    case.add(f"name {name[:20]!r} {len(name)}", _named(name))


@case
async def generated_names(k: Client) -> None:
    await k.create("configmaps", {"metadata": {"generateName": "abc-"}})
    await k.create("configmaps", {"metadata": {"generateName": "A_"}}, dryRun="All", record=False)
    await k.create("widgets", {**widget({"size": "s"}), "metadata": {"generateName": "w-"}})
    long = await k.create("configmaps", {"metadata": {"generateName": "x" * 260}}, record=False)
    k.note("length", len(long["metadata.name"] or ""))
    await k.create("configmaps", {"metadata": {"name": "given", "generateName": "abc-"}})


_METADATA: dict[str, Any] = {
    "label key": {"labels": {"a b": "c"}},
    "label value": {"labels": {"a": "b c"}},
    "long label": {"labels": {"a": "x" * 64}},
    "label prefix": {"labels": {"A_B/c": "d"}},
    "label with two slashes": {"labels": {"a/b/c": "d"}},
    "annotation key": {"annotations": {"a b": "c"}},
    "large annotation": {"annotations": {"a": "x" * (256 * 1024)}},
    "any annotation value": {"annotations": {"a": "any thing\n"}},
    "label of a number": {"labels": {"a": 1}},
    "finalizer": {"finalizers": ["bad"]},
    "finalizers of the server": {"finalizers": ["orphan", "foregroundDeletion"]},
    "unknown field": {"unknown": 1},
    "self link": {
        "selfLink": "/x",
        "uid": "mine",
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "generation": 9,
    },
    "namespace": {"namespace": "other"},
}


def _with_metadata(metadata: Any) -> Story:
    async def story(k: Client) -> None:
        await k.create("configmaps", {"metadata": {"name": "x", **metadata}}, dryRun="All")
        body = widget({"size": "s"})
        await k.create("widgets", {**body, "metadata": {"name": "w", **metadata}}, dryRun="All")

    return story


for name, metadata in _METADATA.items():
    case.add(f"metadata {name}", _with_metadata(metadata))


@case
async def what_is_there_already(k: Client) -> None:
    await k.create("configmaps", config_map(), record=False)
    await k.create("configmaps", config_map())
    await k.create("widgets", widget({"size": "s"}), record=False)
    await k.create("widgets", widget({"size": "s"}))


@case
async def missing_namespace(k: Client) -> None:
    path = f"/api/v1/namespaces/{k.ns}-none/configmaps"
    await k.send("POST", path, config_map())
    await k.send("GET", path)
    await k.send("GET", f"{path}/x")
    widgets = f"/apis/conformance.example.com/v1/namespaces/{k.ns}-none/widgets"
    await k.send("POST", widgets, widget({"size": "s"}))


@case
async def paths_that_are_not_served(k: Client) -> None:
    for path in (
        "/api/v1/nothings",
        "/api/v2/pods",
        "/apis/nothing.example.com/v1/things",
        "/apis/apps/v9/deployments",
        f"/apis/conformance.example.com/v1/namespaces/{k.ns}/nothings",
        "/apis/conformance.example.com/v9/widgets",
        "/nothing",
    ):
        answer = await k.send("GET", path, record=False)
        k.note(path, answer.code)
    for method in ("PUT", "PATCH"):
        answer = await k.send(
            method, k.path("configmaps"), {}, type="application/merge-patch+json", record=False
        )
        k.note(method, answer.code)


@case
async def query_values(k: Client) -> None:
    await k.create("configmaps", config_map(), record=False)
    await k.list("configmaps", timeoutSeconds="x")
    await k.list("configmaps", watch="maybe", timeoutSeconds=1, record=False)
    await k.get("configmaps", "x", pretty=True)
    await k.create("configmaps", config_map("y"), fieldManager="x" * 200)
    await k.create("configmaps", config_map("y"), fieldValidation="Bad")


def _discovered(path: str) -> Story:
    async def story(k: Client) -> None:
        answer = await k.send("GET", path, record=False)
        k.note("code", answer.code)
        body = answer.body
        kinds = [
            {key: value for key, value in one.items() if key != "storageVersionHash"}
            for one in body.get("resources", ())
        ]
        # Kinds with nothing behind them are not served by the embedded server.
        kinds = [one for one in kinds if one["kind"] != "ComponentStatus"]
        k.note("resources", sorted(kinds, key=lambda one: one["name"]))
        k.note("rest", {key: value for key, value in body.items() if key != "resources"})

    return story


for path in (
    "/api/v1",
    "/apis/apps/v1",
    "/apis/batch/v1",
    "/apis/conformance.example.com/v1",
    "/apis/conformance.example.com",
    "/apis/apps",
    "/apis/rbac.authorization.k8s.io/v1",
    "/apis/apiextensions.k8s.io/v1",
):
    case.add(f"discovery of {path}", _discovered(path))


@case
async def versions_of_custom_resources(k: Client) -> None:
    base = f"/apis/conformance.example.com/{{}}/namespaces/{k.ns}/doubles"
    body = {"kind": "Double", "metadata": {"name": "d"}, "spec": {"a": "1", "b": "2", "same": "s"}}
    await k.send("POST", base.format("v1"), {**body, "apiVersion": "conformance.example.com/v1"})
    await k.send("GET", base.format("v2") + "/d")
    await k.send("GET", base.format("v1beta1") + "/d")
    await k.send("GET", base.format("v2"))
    other = {**body, "apiVersion": "conformance.example.com/v2", "metadata": {"name": "e"}}
    await k.send("POST", base.format("v2"), other)
    await k.send("GET", base.format("v1") + "/e")
