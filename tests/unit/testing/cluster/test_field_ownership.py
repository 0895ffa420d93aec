"""Server-side apply against a cluster in process: who owns what."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw.kube.errors import Conflict
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import CONFIG_MAPS, Asking, asked

Object = dict[str, Any]

APPLY = "application/apply-patch+yaml"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


async def applied(ask: Asking, manager: str, data: Object, **query: str) -> Object:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    path = f"{CONFIG_MAPS}/a"
    return await ask.send("PATCH", path, body, content_type=APPLY, fieldManager=manager, **query)


def owners(obj: Object) -> dict[tuple[str, str], Object]:
    entries = obj["metadata"].get("managedFields", ())
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


@virtual_time
async def test_what_is_no_longer_applied_goes() -> None:
    async with asked() as ask:
        await applied(ask, "one", {"x": "1", "y": "1"})
        await applied(ask, "two", {"y": "1", "z": "1"})
        left = await applied(ask, "one", {"x": "1"})
        assert left["data"] == {"x": "1", "y": "1", "z": "1"}, "another one applies y, too"
        left = await applied(ask, "two", {"z": "1"})
        assert left["data"] == {"x": "1", "z": "1"}
        assert owners(left) == {
            ("one", "Apply"): {"f:data": {"f:x": {}}},
            ("two", "Apply"): {"f:data": {"f:z": {}}},
        }


@virtual_time
async def test_conflicts() -> None:
    async with asked() as ask:
        await applied(ask, "one", {"x": "1"})
        with pytest.raises(Conflict, match=r'Apply failed with 1 conflict: conflict with "one": \.data\.x'):
            await applied(ask, "two", {"x": "2"})
        taken = await applied(ask, "two", {"x": "2"}, force="true")
        assert taken["data"] == {"x": "2"}
        assert owners(taken) == {("two", "Apply"): {"f:data": {"f:x": {}}}}


@virtual_time
async def test_updates_take_what_they_change() -> None:
    async with asked() as ask:
        made = await applied(ask, "one", {"x": "1", "y": "1"})
        made["data"]["x"] = "2"
        put = await ask.send("PUT", f"{CONFIG_MAPS}/a", made, fieldManager="editor")
        assert owners(put) == {
            ("one", "Apply"): {"f:data": {"f:y": {}}},
            ("editor", "Update"): {"f:data": {"f:x": {}}},
        }
        with pytest.raises(Conflict, match='conflict with "editor" using v1'):
            await applied(ask, "one", {"x": "1", "y": "1"})


@virtual_time
async def test_the_same_again_changes_nothing() -> None:
    async with asked() as ask:
        first = await applied(ask, "one", {"x": "1"})
        assert await applied(ask, "one", {"x": "1"}) == first


@virtual_time
async def test_stripped() -> None:
    async with asked() as ask:
        made = await applied(ask, "one", {"x": "1"})
        made["metadata"]["managedFields"] = []
        put = await ask.send("PUT", f"{CONFIG_MAPS}/a", made)
        assert owners(put) == {}


@virtual_time
async def test_items_of_lists_are_owned_by_their_key() -> None:
    async with asked() as ask:

        async def containers(manager: str, *items: Object) -> Object:
            template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": list(items)}}
            spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
            metadata = {"name": "d"}
            body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
            return await ask.send("PATCH", f"{DEPLOYMENTS}/d", body, content_type=APPLY, fieldManager=manager)

        await containers("one", {"name": "a", "image": "a"}, {"name": "b", "image": "b"})
        both = await containers("two", {"name": "c", "image": "c"})
        names = [one["name"] for one in both["spec"]["template"]["spec"]["containers"]]
        assert names == ["a", "b", "c"]
        left = await containers("one", {"name": "b", "image": "b"})
        names = [one["name"] for one in left["spec"]["template"]["spec"]["containers"]]
        assert names == ["b", "c"]
        owned = owners(left)["two", "Apply"]["f:spec"]["f:template"]["f:spec"]["f:containers"]
        assert owned == {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}}}
