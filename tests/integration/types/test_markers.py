"""Every marker is accepted by the real API server, and enforced by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from openclaw.kube.errors import Invalid
from openclaw.testing import Client, ControlPlane
from openclaw.testing.client import Object
from tests.integration.types.conftest import Kubectl
from tests.integration.types.everything import GROUP, EverythingV1

pytestmark = pytest.mark.usefixtures("api_server", "everything")

KIND = f"Everything.{GROUP}"


def thing(name: str = "it", *, version: str = "v1", **spec: Any) -> Object:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Everything",
        "metadata": {"name": name},
        "spec": {"title": "abc", **spec},
    }


async def test_the_crd_is_accepted_without_a_warning(kube_client: Client) -> None:
    assert kube_client.warnings == []
    crd = await kube_client.get("CustomResourceDefinition", None, f"everythings.{GROUP}")
    assert not [it for it in crd["status"]["conditions"] if it["type"] == "NonStructuralSchema"]
    assert crd["status"]["storedVersions"] == ["v1"]


async def test_defaults(kube_client: Client, namespace: str) -> None:
    created = await kube_client.create(
        thing(window={}, ports=[{"name": "a", "number": 1}]), namespace=namespace
    )
    assert created["spec"] == {
        "title": "abc",
        "size": 1,
        "ratio": 0.5,
        "color": "red",
        "level": "low",
        "surge": "25%",
        "note": "default",
        "window": {"start": 0, "end": 23},
        "ports": [{"name": "a", "number": 1, "protocol": "TCP"}],
        "replicas": 1,
        "host": "a.example.com",
    }
    # Python reads what the server made of it as what Python itself would have made.
    assert (
        EverythingV1.from_dict(created).spec
        == EverythingV1.from_dict(thing(window={}, ports=[{"name": "a", "number": 1}])).spec
    )


async def test_null_where_it_means_something_and_where_it_does_not(
    kube_client: Client, namespace: str
) -> None:
    created = await kube_client.create(thing(note=None, size=None, region=None), namespace=namespace)
    assert created["spec"]["note"] is None
    assert created["spec"]["size"] == 1, "a null that means nothing is dropped, and the default applies"
    assert "region" not in created["spec"]
    assert EverythingV1.from_dict(created).spec.note is None


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"title": None}, "spec.title", "Required"),
        ({"title": "a"}, "spec.title", "at least 2 chars"),
        ({"title": "abcdefghijk"}, "spec.title", "may not be more than 10"),
        ({"title": "ABC"}, "spec.title", "must be lower-case letters"),
        ({"title": 1}, "spec.title", "string"),
        ({"size": 101}, "spec.size", "less than or equal to 100"),
        ({"size": -1}, "spec.size", "greater than or equal to 0"),
        ({"size": "1"}, "spec.size", "integer"),
        ({"ratio": 0}, "spec.ratio", "greater than 0"),
        ({"ratio": 1}, "spec.ratio", "less than 1"),
        ({"color": "blue"}, "spec.color", '"red", "green"'),
        ({"level": "mid"}, "spec.level", '"low", "high"'),
        ({"ports": [{"name": "a", "number": 1}, {"name": "a", "number": 2}]}, "spec.ports[1]", "Duplicate"),
        ({"ports": [{"number": 1}]}, "spec.ports[0].name", "Required"),
        ({"ports": [{"name": str(n), "number": 1} for n in range(4)]}, "spec.ports", "at most 3 items"),
        ({"tags": ["a", "a"]}, "spec.tags[1]", "Duplicate"),
        ({"tags": ["abcdef"]}, "spec.tags[0]", "may not be more than 5"),
        ({"surge": 1.5}, "spec.surge", "integer,string"),
        ({"template": {"spec": {}}}, "spec.template.kind", "Required"),
        ({"since": "yesterday"}, "spec.since", "date-time"),
        ({"window": {"start": 5, "end": 3}}, "spec.window.start", "start must not be after end"),
        ({"labels": {"a": "abcd"}}, "spec.labels.a", "may not be more than 3"),
        ({"labels": {"a": "", "b": "", "c": ""}}, "spec.labels", "at most 2 items"),
        ({"replicas": -1}, "spec.replicas", "greater than or equal to 0"),
        ({"note": "x" * 51}, "spec.note", "may not be more than 50"),
    ],
    ids=lambda it: str(it)[:40] if isinstance(it, dict) else None,
)
async def test_refusals_name_the_field_and_what_is_allowed(
    kube_client: Client, namespace: str, spec: Mapping[str, Any], field: str, words: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        await kube_client.create(thing(**spec), namespace=namespace)
    assert field in {cause["field"] for cause in refusal.value.causes}, refusal.value.causes
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"region": "eu"}, {"region": "us"}, "spec.region: .*the field is immutable"),
        ({"region": "eu"}, {"region": None}, "region is immutable"),
        ({"size": 5}, {"size": 4}, "size can only grow"),
    ],
)
async def test_transitions(
    kube_client: Client, namespace: str, before: Object, after: Object, words: str
) -> None:
    await kube_client.create(thing(**before), namespace=namespace)
    with pytest.raises(Invalid, match=words):
        await kube_client.patch(KIND, namespace, "it", {"spec": after})


async def test_what_an_immutable_field_and_a_transition_allow(kube_client: Client, namespace: str) -> None:
    await kube_client.create(thing(size=5), namespace=namespace)
    changed = await kube_client.patch(KIND, namespace, "it", {"spec": {"region": "eu", "size": 6}})
    assert (changed["spec"]["region"], changed["spec"]["size"]) == ("eu", 6)
    await kube_client.patch(KIND, namespace, "it", {"spec": {"region": "eu", "title": "xyz"}})


async def test_a_computed_message(kube_client: Client, namespace: str) -> None:
    with pytest.raises(Invalid, match="the name forbidden is taken"):
        await kube_client.create(thing("forbidden"), namespace=namespace)


async def test_open_parts_keep_what_they_are_given(kube_client: Client, namespace: str) -> None:
    template = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "labels": {"a": "b"}},
        "data": {"k": "v"},
    }
    anything = {"deep": {"er": [1, {"x": None, "y": True}]}}
    created = await kube_client.create(
        thing(anything=anything, template=template, surge=3), namespace=namespace
    )
    assert created["spec"]["template"] == template
    assert created["spec"]["anything"] == anything
    assert created["spec"]["surge"] == 3


async def test_lists_merge_as_declared(kube_client: Client, namespace: str, api_server: ControlPlane) -> None:
    await kube_client.apply(
        thing(ports=[{"name": "a", "number": 1}], tags=["x"], steps=["1", "2"]),
        namespace=namespace,
    )
    async with Client(api_server.kubeconfig, field_manager="somebody-else") as second:
        body = thing(ports=[{"name": "b", "number": 2}], tags=["y"])
        del body["spec"]["title"]
        merged = await second.apply(body, namespace=namespace, force=False)
    assert {it["name"] for it in merged["spec"]["ports"]} == {"a", "b"}
    assert set(merged["spec"]["tags"]) == {"x", "y"}
    assert merged["spec"]["steps"] == ["1", "2"]


async def test_scale(kube_client: Client, namespace: str, kubectl: Kubectl) -> None:
    await kube_client.create(thing(), namespace=namespace)
    status = {"status": {"replicas": 1, "selector": "app=it"}}
    await kube_client.patch(KIND, namespace, "it", status, subresource="status")
    await kubectl.ok("scale", f"everythings.{GROUP}/it", "--replicas=4")
    found = await kube_client.get(KIND, namespace, "it")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (4, 2)
    raw = await kubectl.ok("get", "--raw", f"/apis/{GROUP}/v1/namespaces/{namespace}/everythings/it/scale")
    assert '"selector":"app=it"' in raw


async def test_selectable_fields(kube_client: Client, namespace: str) -> None:
    for number in range(3):
        await kube_client.create(thing(f"n{number}", host=f"{number}.example.com"), namespace=namespace)
    found = await kube_client.list(KIND, namespace, field_selector="spec.host=1.example.com")
    assert [it["metadata"]["name"] for it in found] == ["n1"]


async def test_a_deprecated_version_warns_and_the_other_does_not(kube_client: Client, namespace: str) -> None:
    await kube_client.create(thing(), namespace=namespace)
    assert kube_client.warnings == []
    await kube_client.create(thing("old", version="v1beta1"), namespace=namespace)
    assert kube_client.warnings == ["everything.example.com/v1beta1 Everything is old; use v1"]


async def test_columns_short_name_and_category(kube_client: Client, namespace: str, kubectl: Kubectl) -> None:
    await kube_client.create(thing(), namespace=namespace)
    lines = (await kubectl.ok("get", "evry")).splitlines()
    assert [it.split() for it in lines] == [["NAME", "TITLE"], ["it", "abc"]]
    assert "0.5" in await kubectl.ok("get", "evry", "-o", "wide")
    assert "it" in await kubectl.ok("get", "demo")


async def test_explain_tells_of_every_field(kubectl: Kubectl) -> None:
    text = await kubectl.ok("explain", f"everythings.{GROUP}.spec".replace(f".{GROUP}", ""))
    for name in EverythingV1.schema_of_object()["properties"]["spec"]["properties"]:
        assert f"\n  {name}\t" in text, name
    assert "enum: red, green" in text
    assert "-required-" in text


async def test_python_and_the_server_agree_on_the_edges(kube_client: Client, namespace: str) -> None:
    edges: list[Mapping[str, Any]] = [
        {"title": "ab", "size": 0, "ratio": 0.001},
        {"title": "abcdefghij", "size": 100, "ratio": 0.999, "surge": "x"},
        {"tags": ["a", "b", "c"], "labels": {"a": "abc"}, "window": {"start": 3, "end": 3}},
        {"ports": [{"name": "a" * 20, "number": 65535}, {"name": "b", "number": 1, "protocol": "UDP"}]},
    ]
    for number, spec in enumerate(edges):
        body = thing(f"edge-{number}", **spec)
        EverythingV1.from_dict(body)
        await kube_client.create(body, namespace=namespace)
