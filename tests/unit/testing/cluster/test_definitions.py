from __future__ import annotations

from typing import Any

import pytest

from openclaw.kube.errors import Conflict, Forbidden, Invalid, NotFound
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import Asking, asked, watching

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FOOS = "/apis/x.io/v1/namespaces/default/foos"


def definition(*, status: bool = True, **version: Any) -> dict[str, Any]:
    subresources: dict[str, Any] = {"status": {}} if status else {}
    subresources["scale"] = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.x.io"},
        "spec": {
            "group": "x.io",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo", "shortNames": ["fo"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": subresources,
                    "additionalPrinterColumns": [{"name": "N", "type": "integer", "jsonPath": ".spec.n"}],
                    "selectableFields": [{"jsonPath": ".spec.colour"}],
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "n": {"type": "integer"},
                                        "colour": {"type": "string", "default": "red"},
                                    },
                                },
                                "status": {"type": "object", "properties": {"n": {"type": "integer"}}},
                            },
                        }
                    },
                    **version,
                }
            ],
        },
    }


def foo(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "x.io/v1", "kind": "Foo", "metadata": {"name": name}, "spec": spec}


async def install(ask: Asking, body: dict[str, Any] | None = None) -> None:
    await ask.post(DEFINITIONS, body or definition())
    await ask.cluster.settled()


@virtual_time
async def test_a_definition_is_served_once_it_is_established() -> None:
    async with asked() as ask:
        with pytest.raises(NotFound):
            await ask.get(FOOS)
        await install(ask)
        made = await ask.get(f"{DEFINITIONS}/foos.x.io")
        assert {one["type"]: one["status"] for one in made["status"]["conditions"]} == {
            "NamesAccepted": "True",
            "Established": "True",
        }
        assert made["status"]["storedVersions"] == ["v1"]
        assert made["status"]["acceptedNames"]["listKind"] == "FooList"
        created = await ask.post(FOOS, foo("a", n=1))
        assert created["spec"] == {"n": 1, "colour": "red"}
        assert created["metadata"]["generation"] == 1
        listed = await ask.get(FOOS)
        assert (listed["kind"], listed["items"][0]["kind"]) == ("FooList", "Foo")


@pytest.mark.parametrize("status", [True, False])
@virtual_time
async def test_status_is_apart_only_where_there_is_a_subresource(status: bool) -> None:
    async with asked() as ask:
        await install(ask, definition(status=status))
        created = await ask.post(FOOS, {**foo("a", n=1), "status": {"n": 5}})
        assert ("status" in created) is not status
        changed = await ask.merge(f"{FOOS}/a", {"status": {"n": 6}})
        assert changed["metadata"]["generation"] == (1 if status else 2)
        if not status:
            with pytest.raises(NotFound):
                await ask.merge(f"{FOOS}/a/status", {"status": {"n": 7}})
            return
        told = await ask.merge(f"{FOOS}/a/status", {"status": {"n": 7}, "spec": {"n": 9}})
        assert (told["status"], told["spec"]["n"]) == ({"n": 7}, 1)
        scale = await ask.get(f"{FOOS}/a/scale")
        assert (scale["spec"], scale["status"]) == ({"replicas": 1}, {"replicas": 7})
        await ask.put(f"{FOOS}/a/scale", {**scale, "spec": {"replicas": 4}})
        now = await ask.get(f"{FOOS}/a")
        assert (now["spec"]["n"], now["metadata"]["generation"]) == (4, 2)
        with pytest.raises(Conflict):
            await ask.put(f"{FOOS}/a/scale", scale)


@virtual_time
async def test_an_update_of_a_custom_resource_names_its_position() -> None:
    async with asked() as ask:
        await install(ask)
        await ask.post(FOOS, foo("a", n=1))
        with pytest.raises(Invalid, match="must be specified for an update"):
            await ask.put(f"{FOOS}/a", foo("a", n=2))


@virtual_time
async def test_selectable_fields_and_columns() -> None:
    async with asked() as ask:
        await install(ask)
        await ask.post(FOOS, foo("a", n=1))
        await ask.post(FOOS, foo("b", n=2, colour="blue"))
        listed = await ask.get(FOOS, fieldSelector="spec.colour=blue")
        assert [item["metadata"]["name"] for item in listed["items"]] == ["b"]
        revision = listed["metadata"]["resourceVersion"]
        async with watching(ask, FOOS, resourceVersion=revision, fieldSelector="spec.colour!=red") as events:
            await ask.merge(f"{FOOS}/b", {"spec": {"colour": "red"}})
            await ask.merge(f"{FOOS}/a", {"spec": {"colour": "green"}})
            assert await events.named(2) == [("DELETED", "b"), ("ADDED", "a")]


@virtual_time
async def test_a_definition_goes_after_its_objects() -> None:
    async with asked() as ask:
        await install(ask)
        await ask.post(FOOS, {**foo("held", n=1), "metadata": {"name": "held", "finalizers": ["x.io/a"]}})
        await ask.post(FOOS, foo("free", n=1))
        ending = await ask.delete(f"{DEFINITIONS}/foos.x.io")
        assert ending["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        assert "Terminating" in {one["type"] for one in ending["status"]["conditions"]}
        with pytest.raises(Forbidden, match="custom resource definition is terminating"):
            await ask.post(FOOS, foo("late", n=1))
        async with watching(ask, FOOS) as events:
            await ask.cluster.settled()
            await ask.merge(f"{FOOS}/held", {"metadata": {"finalizers": None}})
            await ask.cluster.settled()
            with pytest.raises(NotFound):
                await ask.get(FOOS)
            while not await events.ended():
                pass
        assert ask.cluster.get("customresourcedefinitions.apiextensions.k8s.io", None, "foos.x.io") is None
        await install(ask)
        assert (await ask.get(FOOS))["items"] == []


@virtual_time
async def test_watches_end_when_the_definition_changes() -> None:
    async with asked() as ask:
        await install(ask)
        made = await ask.get(f"{DEFINITIONS}/foos.x.io")
        async with watching(ask, FOOS) as events:
            made["spec"]["versions"][0]["additionalPrinterColumns"] = []
            await ask.put(f"{DEFINITIONS}/foos.x.io", made)
            await ask.cluster.settled()
            assert await events.ended()


@virtual_time
async def test_two_definitions_of_one_kind() -> None:
    async with asked(crds=[definition()]) as ask:
        other = definition()
        other["metadata"]["name"] = "bars.x.io"
        other["spec"]["names"] = {"plural": "bars", "kind": "Foo"}
        await install(ask, other)
        made = await ask.get(f"{DEFINITIONS}/bars.x.io")
        assert {one["type"]: one["status"] for one in made["status"]["conditions"]} == {
            "NamesAccepted": "False",
            "Established": "False",
        }
        with pytest.raises(NotFound):
            await ask.get("/apis/x.io/v1/bars")
