"""Lists: pages, selectors, tables."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases.objects import CONTAINERS, config_map, named
from tests.conformance.cases.schema import widget
from tests.conformance.collecting import Collection, Story
from tests.conformance.recording import Client

case = Collection("lists")

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


async def _several(k: Client) -> None:
    for name, labels in (("a", {"x": "1", "y": "1"}), ("b", {"x": "2"}), ("c", {"y": "1"}), ("d", {})):
        body = {"metadata": {"name": name, "labels": labels}, "data": {"n": name}}
        await k.create("configmaps", body, record=False)


async def _names(k: Client, resource: str, **query: Any) -> None:
    answer = await k.list(resource, record=False, **query)
    if answer.code != 200:
        await k.list(resource, **query)
        return
    k.note("names", [item["metadata"]["name"] for item in answer.body["items"]])


_LABELS = [
    "x=1",
    "x==1",
    "x!=1",
    "x",
    "!x",
    "x in (1,2)",
    "x notin (1)",
    "x in (1, 2),y=1",
    "x>1",
    "x<2",
    "x=1,y=2",
    "",
    "x=",
    "x in ()",
    "a b",
    "x in (1",
    "=1",
    "x=1,",
    "X/y/z=1",
    "x=a b",
]


def _selected(selector: str) -> Story:
    async def story(k: Client) -> None:
        await _several(k)
        answer = await k.list("configmaps", labelSelector=selector, record=False)
        if answer.code == 200:
            names = [item["metadata"]["name"] for item in answer.body["items"]]
            k.note("names", [name for name in names if name != "kube-root-ca.crt"])
        else:
            await k.list("configmaps", labelSelector=selector)

    return story


for selector in _LABELS:
    case.add(f"label selector {selector!r}", _selected(selector))


@case
async def field_selectors(k: Client) -> None:
    await _several(k)
    for selector in (
        "metadata.name=a",
        "metadata.name!=a,metadata.name!=kube-root-ca.crt",
        "metadata.namespace=other",
        "data.n=a",
        "metadata.name",
        "metadata.name in (a)",
    ):
        await _names(k, "configmaps", fieldSelector=selector)


@case
async def field_selectors_of_other_kinds(k: Client) -> None:
    await k.create("pods", named("p", spec={"containers": CONTAINERS}), record=False)
    for selector in (
        "spec.nodeName=",
        "status.phase=Pending",
        "status.phase=Running",
        "spec.restartPolicy=Always",
        "spec.x=1",
    ):
        await _names(k, "pods", fieldSelector=selector)
    await k.create("secrets", named("s", type="a.b/c"), record=False)
    await _names(k, "secrets", fieldSelector="type=a.b/c")
    involved = {"namespace": k.ns, "name": "q", "kind": "Pod"}
    await k.create("events", named("e", involvedObject=involved, reason="R"), record=False)
    await _names(k, "events", fieldSelector="involvedObject.name=q,reason=R")
    await _names(k, "events", fieldSelector="involvedObject.name=z")


@case
async def selectable_fields(k: Client) -> None:
    await k.create("widgets", widget({"size": "s", "replicas": 1}, "a"), record=False)
    await k.create("widgets", widget({"size": "t"}, "b"), record=False)
    for selector in (
        "spec.size=s",
        "spec.size!=s",
        "spec.replicas=1",
        "spec.replicas=",
        "spec.text=a",
        "metadata.name=b",
    ):
        await _names(k, "widgets", fieldSelector=selector)


@case
async def pages(k: Client) -> None:
    for number in range(5):
        await k.create("widgets", widget({"size": "s"}, f"w{number}"), record=False)
    token = ""
    for _ in range(4):
        answer = await k.list("widgets", limit=2, **({"continue": token} if token else {}))
        token = answer["metadata.continue"] or ""
        if not token:
            break
        await k.create("widgets", widget({"size": "s"}, f"w9{len(k.transcript)}"), record=False)


@case
async def pages_that_cannot_be(k: Client) -> None:
    await k.create("widgets", widget({"size": "s"}), record=False)
    await k.list("widgets", limit="x")
    await k.list("widgets", limit=-1)
    await k.list("widgets", limit=0)
    await k.list("widgets", **{"continue": "bad"})
    await k.list("widgets", limit=1, resourceVersionMatch="Exact")
    await k.list("widgets", resourceVersion="0", resourceVersionMatch="Exact")
    await k.list("widgets", resourceVersion="x")
    await k.list("widgets", resourceVersionMatch="Other", resourceVersion="1")


@case
async def versions_of_lists(k: Client) -> None:
    first = (await k.create("widgets", widget({"size": "s"}, "a"), record=False))["metadata.resourceVersion"]
    await k.create("widgets", widget({"size": "s"}, "b"), record=False)
    await _names(k, "widgets", resourceVersion=first, resourceVersionMatch="Exact")
    await _names(k, "widgets", resourceVersion=first, resourceVersionMatch="NotOlderThan")
    await _names(k, "widgets", resourceVersion="0")
    answer = await k.get("widgets", "a", record=False, resourceVersion="0")
    k.note("code", answer.code)


@case
async def all_namespaces(k: Client) -> None:
    await k.create("widgets", widget({"size": "s"}, "a"), record=False)
    path = "/apis/conformance.example.com/v1/widgets"
    answer = await k.send("GET", path, record=False)
    items = [
        item["metadata"]["name"] for item in answer.body["items"] if item["metadata"]["namespace"] == k.ns
    ]
    k.note("names", items)
    await k.send("POST", path, widget({"size": "s"}, "b"))
    await k.send("GET", path, fieldSelector=f"metadata.namespace={k.ns}")


@case
async def tables(k: Client) -> None:
    await k.create("widgets", widget({"size": "s", "replicas": 2, "flag": True}, "a"), record=False)
    await k.create("widgets", widget({"size": "t"}, "b"), record=False)
    for include in ("Object", "Metadata", "None", "Bad"):
        answer = await k.list("widgets", accept=TABLE, includeObject=include, record=False)
        body = answer.body
        k.note("code", answer.code)
        if answer.code == 200:
            k.note("columns", body["columnDefinitions"])
            k.note("cells", [row["cells"][:-1] for row in body["rows"]])
            kinds = [(row.get("object") or {}).get("kind") for row in body["rows"]]
            k.note("objects", kinds)


_TABLED: dict[str, dict[str, Any]] = {
    "configmaps": config_map("t", a="1", b="2"),
    "secrets": named("t", data={"a": "eA=="}),
    "services": named(
        "t",
        spec={
            "ports": [{"port": 80}, {"port": 81, "name": "b", "protocol": "UDP"}][:1],
            "selector": {"a": "b"},
        },
    ),
    "serviceaccounts": named("t"),
    "roles": named("t", rules=[]),
    "leases": named("t", spec={"holderIdentity": "q"}),
    "ingresses": named(
        "t",
        spec={
            "rules": [
                {
                    "host": "a.b",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "s", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ]
        },
    ),
    "poddisruptionbudgets": named("t", spec={"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}),
    "cronjobs": named(
        "t",
        spec={
            "schedule": "0 0 1 1 *",
            "suspend": True,
            "jobTemplate": {
                "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}}
            },
        },
    ),
    "pods": named("t", spec={"containers": CONTAINERS}),
    "rolebindings": named("t", roleRef={"kind": "Role", "name": "r"}),
    "networkpolicies": named("t", spec={"podSelector": {"matchLabels": {"a": "b"}}}),
    "endpointslices": named(
        "t", addressType="IPv4", endpoints=[{"addresses": ["1.2.3.4"]}], ports=[{"port": 80}]
    ),
}


def _table(resource: str, body: dict[str, Any]) -> Story:
    async def story(k: Client) -> None:
        await k.create(resource, body, record=False)
        answer = await k.get(resource, "t", accept=TABLE, record=False)
        k.note("code", answer.code)
        columns = answer.body["columnDefinitions"]
        k.note(
            "columns", [{key: one[key] for key in ("name", "type", "format", "priority")} for one in columns]
        )
        cells = answer.body["rows"][0]["cells"]
        ages = [at for at, one in enumerate(columns) if one["name"] in {"Age", "Last Seen"}]
        k.note("cells", [cell for at, cell in enumerate(cells) if at not in ages])

    return story


for resource, body in _TABLED.items():
    case.add(f"table of {resource}", _table(resource, body))


@case
async def metadata_only(k: Client) -> None:
    await k.create("widgets", widget({"size": "s"}, "a"), record=False)
    await k.list("widgets", accept=METADATA)
    await k.get("widgets", "a", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    await k.get("widgets", "a", accept="application/xml")
    await k.list("configmaps", accept=METADATA, fieldSelector="metadata.name=none")
