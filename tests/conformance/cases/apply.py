"""Server-side apply and managedFields."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases.objects import CONTAINERS, SELECTOR, config_map, named, template, typed
from tests.conformance.cases.schema import widget
from tests.conformance.collecting import Collection, Story
from tests.conformance.recording import Client

case = Collection("apply")


def cm(metadata: Any = None, **data: Any) -> dict[str, Any]:
    return typed("ConfigMap", "v1", {"metadata": {"name": "x", **(metadata or {})}, "data": data})


def wd(metadata: Any = None, **spec: Any) -> dict[str, Any]:
    body = widget({"size": "s", **spec})
    return {**body, "metadata": {"name": "w", **(metadata or {})}}


def bare(**spec: Any) -> dict[str, Any]:
    return typed("Widget", "conformance.example.com/v1", {"metadata": {"name": "w"}, "spec": spec})


@case
async def create_change_and_repeat(k: Client) -> None:
    await k.apply("configmaps", "x", cm(a="1"))
    await k.apply("configmaps", "x", cm(a="1"))
    await k.apply("configmaps", "x", cm(a="2", b="3"))
    await k.apply("configmaps", "x", cm(b="3"))
    await k.apply("configmaps", "x", typed("ConfigMap", "v1", named()))


@case
async def a_repeated_apply_writes_nothing(k: Client) -> None:
    first = (await k.apply("configmaps", "x", cm(a="1"))).body
    second = (await k.apply("configmaps", "x", cm(a="1"))).body
    k.note("the same", first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"])


@case
async def shared_ownership(k: Client) -> None:
    await k.apply("configmaps", "x", cm(a="1"))
    await k.apply("configmaps", "x", cm(a="1", b="2"), "n")
    await k.apply("configmaps", "x", typed("ConfigMap", "v1", named()))
    await k.apply("configmaps", "x", cm(b="2"), "n")


@case
async def conflicts(k: Client) -> None:
    await k.apply("configmaps", "x", cm(a="1", b="2"))
    await k.apply("configmaps", "x", cm(a="2"), "n")
    await k.apply("configmaps", "x", cm(a="2", b="3"), "n")
    await k.apply("configmaps", "x", cm(a="2", b="2"), "n", force=True)
    await k.apply("configmaps", "x", cm(a="1"), "m")
    await k.merge("configmaps", "x", {"data": {"b": "9", "c": "1"}}, fieldManager="u")
    await k.apply("configmaps", "x", cm(a="2", b="2", c="2"), "n")
    await k.apply("configmaps", "x", cm(a="5", b="2", c="2"), "o")


@case
async def removed_by_an_update(k: Client) -> None:
    await k.apply("configmaps", "x", cm(a="1", b="2"))
    await k.put("configmaps", "x", config_map(a="1"), fieldManager="u")
    await k.put("configmaps", "x", config_map(c="1"), fieldManager="u")
    await k.put("configmaps", "x", named(), fieldManager="v")


@case
async def list_maps_and_sets(k: Client) -> None:
    await k.apply("widgets", "w", wd(items=[{"name": "a", "value": 1}], set=["x"]))
    await k.apply("widgets", "w", bare(items=[{"name": "a", "value": 2}, {"name": "b", "value": 3}]), "n")
    await k.apply("widgets", "w", bare(items=[{"name": "a"}, {"name": "b", "value": 3}], set=["x", "y"]), "n")
    await k.apply("widgets", "w", bare(items=[{"name": "a", "value": 2}], set=["y"]), "n", force=True)
    await k.apply("widgets", "w", wd(set=[]))
    await k.apply("widgets", "w", wd())
    await k.apply("widgets", "w", bare(items=[{"name": "z"}, {"name": "a"}]), "o")
    await k.apply("widgets", "w", bare(items=[{"name": "a"}]), "o")
    await k.apply("widgets", "w", bare(), "o")


@case
async def order_of_lists(k: Client) -> None:
    await k.apply("widgets", "w", wd(items=[{"name": "a"}, {"name": "b"}, {"name": "c"}]))
    await k.apply("widgets", "w", bare(items=[{"name": "c"}, {"name": "d"}, {"name": "a"}]), "n")
    await k.apply("widgets", "w", bare(items=[{"name": "d"}, {"name": "b"}]), "o")
    await k.apply("widgets", "w", wd(items=[{"name": "b"}, {"name": "a"}]))


@case
async def keys_with_defaults(k: Client) -> None:
    await k.apply("widgets", "w", wd(ports=[{"port": 80}]))
    await k.apply("widgets", "w", bare(ports=[{"port": 80, "protocol": "TCP", "name": "x"}]), "n")
    await k.apply("widgets", "w", bare(ports=[{"port": 80, "protocol": "UDP"}]), "o")
    await k.apply("widgets", "w", wd())


@case
async def atomic_maps_and_lists(k: Client) -> None:
    await k.apply("widgets", "w", wd(whole_map={"a": "1"}, whole_list=[{"a": "1"}], numbers=[1]))
    await k.apply("widgets", "w", bare(whole_map={"b": "1"}), "n")
    await k.apply("widgets", "w", bare(whole_list=[{"a": "1"}, {"a": "2"}], numbers=[1, 2]), "n")
    await k.apply("widgets", "w", bare(whole_map={"b": "1"}, numbers=[2]), "n", force=True)
    await k.apply("widgets", "w", wd())
    await k.merge("widgets", "w", {"spec": {"whole_map": {"a": "9"}}}, fieldManager="u")


@case
async def maps_without_a_schema(k: Client) -> None:
    await k.apply("widgets", "w", wd(open={"a": {"b": 1, "c": [1, 2]}, "d": {}}, counts={"x": 1}))
    await k.apply("widgets", "w", bare(open={"a": {"c": [3]}}), "n")
    await k.apply("widgets", "w", bare(open={"a": {"e": 1}}, counts={"y": 1}), "n")
    await k.apply("widgets", "w", wd(open={"a": {"b": 2}}))
    await k.apply("widgets", "w", wd())


@case
async def empty_values(k: Client) -> None:
    await k.apply("widgets", "w", wd(open={}, items=[], rules={}, deep={}))
    await k.apply("widgets", "w", wd(open={"a": {}}, rules={"a": 1}))
    await k.apply("widgets", "w", bare(rules={}), "n")
    await k.apply("widgets", "w", wd())


@case
async def nested_structs(k: Client) -> None:
    await k.apply("widgets", "w", wd(items=[{"name": "a", "nested": {"a": "1"}}], deep={"a": "x"}))
    await k.apply("widgets", "w", bare(items=[{"name": "a", "nested": {"b": "1"}}], deep={"b": 1}), "n")
    await k.apply("widgets", "w", wd(items=[{"name": "a"}]))
    await k.apply("widgets", "w", bare(items=[{"name": "a", "nested": {}}]), "n")
    await k.apply("widgets", "w", wd())


@case
async def defaults_are_owned_by_nobody(k: Client) -> None:
    await k.apply("widgets", "w", wd(deep={}))
    await k.apply("widgets", "w", bare(defaulted=8), "n")
    await k.apply("widgets", "w", bare(), "n")
    await k.put(
        "widgets", "w", {**(await k.get("widgets", "w")).body, "spec": {"size": "t"}}, fieldManager="u"
    )


@case
async def metadata_is_owned_too(k: Client) -> None:
    uid = (await k.create("configmaps", config_map("o"), record=False))["metadata.uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid}
    full = {
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "finalizers": ["a.b/c"],
        "ownerReferences": [owner],
    }
    await k.apply("configmaps", "x", cm(full, a="1"))
    await k.apply("configmaps", "x", cm({"labels": {"a": "z"}, "finalizers": ["a.b/d"]}), "n")
    await k.apply("configmaps", "x", cm({"labels": {"e": "f"}, "finalizers": ["a.b/d"]}), "n")
    await k.apply("configmaps", "x", cm({"labels": {"a": "b"}}))
    await k.merge(
        "configmaps", "x", {"metadata": {"labels": {"a": "q"}, "annotations": {"n": "m"}}}, fieldManager="u"
    )
    await k.apply("configmaps", "x", cm({"annotations": {"n": None}, "finalizers": []}), "n")
    await k.merge("configmaps", "x", {"metadata": {"finalizers": None}})


@case
async def status_is_apart(k: Client) -> None:
    await k.apply("widgets", "w", {**wd(), "status": {"phase": "x"}})
    await k.merge(
        "widgets", "w", {"status": {"phase": "x"}, "spec": {"flag": True}}, "status", fieldManager="st"
    )
    body = {**bare(), "status": {"phase": "y"}}
    await k.apply("widgets", "w", body, "st2", subresource="status")
    await k.apply("widgets", "w", body, "st2", subresource="status", force=True)
    conditions = [{"type": "Ready", "status": "True"}]
    await k.apply(
        "widgets", "w", {**bare(), "status": {"conditions": conditions}}, "st3", subresource="status"
    )
    conditions = [{"type": "Done", "status": "False", "message": "m"}]
    await k.apply(
        "widgets", "w", {**bare(), "status": {"conditions": conditions}}, "st4", subresource="status"
    )
    await k.apply("widgets", "w", bare(), "st4", subresource="status")
    await k.apply(
        "widgets", "w", {**wd({"labels": {"a": "b"}}), "status": {"phase": "y"}}, "st5", subresource="status"
    )
    await k.apply("widgets", "missing", body, "st", subresource="status")


@case
async def scale(k: Client) -> None:
    await k.apply("widgets", "w", wd(replicas=2))
    await k.merge("widgets", "w", {"spec": {"replicas": 3}}, "scale", fieldManager="u")
    await k.apply("widgets", "w", wd(replicas=2))
    scale = typed("Scale", "autoscaling/v1", {"metadata": {"name": "d"}, "spec": {"replicas": 1}})
    spec = {"replicas": 0, "paused": True, "selector": SELECTOR, "template": template()}
    await k.create("deployments", named("d", spec=spec), fieldManager="c", record=False)
    await k.until("deployments", "d", lambda answer: bool(answer["status.observedGeneration"]))
    await k.apply("deployments", "d", scale, "s", subresource="scale", dryRun="All")
    await k.apply("deployments", "d", scale, "s", subresource="scale", force=True, dryRun="All")


@case
async def tracking_of_updates(k: Client) -> None:
    await k.create(
        "widgets", wd(items=[{"name": "a", "value": 1}], set=["x"], open={"a": {"b": 1}}), fieldManager="c"
    )
    await k.merge(
        "widgets", "w", {"spec": {"items": [{"name": "a", "value": 2}, {"name": "b"}]}}, fieldManager="u"
    )
    await k.json("widgets", "w", [{"op": "add", "path": "/spec/set/-", "value": "y"}], fieldManager="v")
    await k.merge("widgets", "w", {"spec": {"open": {"a": {"c": 1}, "d": []}, "items": []}}, fieldManager="u")
    await k.merge("widgets", "w", {"spec": {"set": None, "open": None}}, fieldManager="v")
    await k.merge("widgets", "w", {"metadata": {"labels": {"a": "b"}}}, fieldManager="c")
    await k.merge("widgets", "w", {"spec": {"whole_list": [], "mixed": "x"}}, fieldManager="c")


@case
async def tracking_of_built_in_kinds(k: Client) -> None:
    pod = {
        "containers": [
            {**CONTAINERS[0], "ports": [{"containerPort": 80}], "env": [{"name": "a", "value": "b"}]}
        ]
    }
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    spec = {"replicas": 0, "paused": True, "selector": SELECTOR, "template": template}
    await k.create("deployments", named(spec=spec), dryRun="All", fieldManager="c")
    await k.create(
        "services", named(spec={"ports": [{"port": 80}], "selector": {"a": "b"}}), fieldManager="c"
    )
    await k.merge(
        "services",
        "x",
        {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}},
        fieldManager="u",
    )
    await k.create("secrets", named(stringData={"a": "b"}), fieldManager="c")
    await k.create(
        "roles", named(rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]), fieldManager="c"
    )
    await k.create("leases", named(spec={"holderIdentity": "a"}), fieldManager="c")
    await k.merge("leases", "x", {"spec": {"holderIdentity": "b"}}, fieldManager="u")


@case
async def applied_built_in_kinds(k: Client) -> None:
    pod = {
        "containers": [
            {**CONTAINERS[0], "ports": [{"containerPort": 80}], "env": [{"name": "a", "value": "b"}]}
        ]
    }
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    spec = {"replicas": 0, "paused": True, "selector": SELECTOR, "template": template}
    body = typed("Deployment", "apps/v1", named(spec=spec))
    await k.apply("deployments", "x", body, dryRun="All")
    service = typed("Service", "v1", named(spec={"ports": [{"port": 80}], "selector": {"a": "b"}}))
    await k.apply("services", "x", service)
    more = typed(
        "Service", "v1", named(spec={"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]})
    )
    await k.apply("services", "x", more, "n")
    await k.apply("services", "x", more, "n", force=True)
    account = typed("ServiceAccount", "v1", {**named(), "imagePullSecrets": [{"name": "a"}]})
    await k.apply("serviceaccounts", "x", account)
    role = typed(
        "Role",
        "rbac.authorization.k8s.io/v1",
        named(rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
    )
    await k.apply("roles", "x", role)
    await k.apply("roles", "x", {**role, "rules": []})


@case
async def a_kind_applied_after_an_update_without_managers(k: Client) -> None:
    await k.create("configmaps", config_map(a="1"), fieldManager="c")
    await k.merge("configmaps", "x", {"metadata": {"managedFields": []}}, fieldManager="r")
    await k.merge("configmaps", "x", {"data": {"b": "2"}}, fieldManager="u")
    await k.apply("configmaps", "x", cm(a="2"))
    await k.apply("configmaps", "x", cm(a="1", c="3"))


@case
async def forgetting_managers(k: Client) -> None:
    await k.create("widgets", wd(), fieldManager="c")
    await k.merge("widgets", "w", {"metadata": {"managedFields": []}, "spec": {"whole": 3}}, fieldManager="r")
    await k.merge(
        "widgets", "w", {"metadata": {"managedFields": [{}]}, "spec": {"whole": 6}}, fieldManager="r"
    )
    await k.merge("widgets", "w", {"spec": {"whole": 9}}, fieldManager="r")


@case
async def more_than_ten_updaters(k: Client) -> None:
    answer = await k.create("configmaps", config_map(a="1"), fieldManager="m0", record=False)
    for number in range(1, 13):
        body = {"data": {f"k{number}": "v"}}
        answer = await k.merge("configmaps", "x", body, fieldManager=f"m{number}", record=False)
    # Which are the oldest depends on the second in which they wrote.
    managers = [entry["manager"] for entry in answer.body["metadata"]["managedFields"]]
    k.note("managers", [len(managers), "ancient-changes" in managers])


@case
async def kubectl_takes_over_from_the_client_side(k: Client) -> None:
    last = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1"}}'
    metadata = {"name": "x", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": last}}
    await k.create(
        "configmaps",
        {"metadata": metadata, "data": {"a": "1", "b": "2"}},
        fieldManager="kubectl-client-side-apply",
    )
    await k.apply("configmaps", "x", cm(a="2"), "other")
    await k.apply("configmaps", "x", cm(a="2", b="3"), "kubectl")
    answer = await k.apply("configmaps", "x", cm(a="2"), "kubectl", record=False)
    k.note("code", answer.code)
    k.note("data", answer["data"])


_ERRORS: dict[str, tuple[str, str, Any, dict[str, Any]]] = {
    "managed fields": ("configmaps", "x", cm({"managedFields": []}), {}),
    "wrong type": ("configmaps", "x", cm(a=1), {}),
    "unknown field": ("configmaps", "x", {**cm(), "zzz": 1}, {}),
    "unknown field ignored": ("configmaps", "x", {**cm(), "zzz": 1}, {"fieldValidation": "Ignore"}),
    "no kind": ("configmaps", "x", named(), {}),
    "other name": ("configmaps", "y", cm(), {}),
    "other namespace": ("configmaps", "x", cm({"namespace": "q"}), {}),
    "no yaml": ("configmaps", "x", "{", {}),
    "a list": ("configmaps", "x", "[]", {}),
    "version of a new object": ("configmaps", "x", cm({"resourceVersion": "1"}), {}),
    "uid of a new object": ("configmaps", "x", cm({"uid": "q"}), {}),
    "other kind": ("configmaps", "x", typed("Secret", "v1", named()), {}),
    "other version": ("configmaps", "x", typed("ConfigMap", "v2", named()), {}),
    "value twice": ("widgets", "w", wd(set=["a", "a"]), {}),
    "item twice": ("widgets", "w", wd(items=[{"name": "a"}, {"name": "a"}]), {}),
    "item without a key": ("widgets", "w", wd(items=[{"value": 1}]), {}),
    "text for a number": ("widgets", "w", wd(whole="x"), {}),
    "number for a text": ("widgets", "w", wd(text=1), {}),
    "map for a list": ("widgets", "w", wd(items={"a": 1}), {}),
    "unknown field of a widget": ("widgets", "w", wd(zz=1), {}),
    "unknown field of a widget strictly": ("widgets", "w", wd(zz=1), {"fieldValidation": "Strict"}),
    "null": ("widgets", "w", widget(None), {}),
    "null field": ("widgets", "w", wd(text=None, nullable=None), {}),
    "invalid": ("widgets", "w", wd(whole=4), {}),
    "rule": ("widgets", "w", wd(rules={"a": 9}), {}),
    "long manager": ("configmaps", "x", cm(), {"fieldManager": "x" * 200}),
    "manager with a line break": ("configmaps", "x", cm(), {"fieldManager": "a\nb"}),
    "no manager": ("configmaps", "x", cm(), {"fieldManager": ""}),
    "yaml": ("configmaps", "x", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: b}\n", {}),
    "field twice": (
        "configmaps",
        "x",
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1","a":"2"}}',
        {},
    ),
    "dry run": ("configmaps", "x", cm(a="1"), {"dryRun": "All"}),
}


def _applied(resource: str, name: str, body: Any, query: dict[str, Any]) -> Story:
    async def story(k: Client) -> None:
        manager = query.get("fieldManager", "m")
        rest = {key: value for key, value in query.items() if key != "fieldManager"}
        await k.apply(resource, name, body, manager, **rest)

    return story


for name, (resource, called, body, query) in _ERRORS.items():
    case.add(f"of {name}", _applied(resource, called, body, query))


@case
async def preconditions(k: Client) -> None:
    first = (await k.apply("configmaps", "x", cm(a="1"))).body
    await k.apply("configmaps", "x", cm({"resourceVersion": "1"}, a="2"))
    await k.apply("configmaps", "x", cm({"resourceVersion": first["metadata"]["resourceVersion"]}, a="2"))
    await k.apply("configmaps", "x", cm({"uid": "q"}, a="3"))
    await k.merge("configmaps", "x", {"data": {}}, force=True)
