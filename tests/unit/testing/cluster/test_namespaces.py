from __future__ import annotations

import pytest

from openclaw.kube.errors import Forbidden, NotFound
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import asked

NAMESPACES = "/api/v1/namespaces"


@virtual_time
async def test_a_new_namespace() -> None:
    async with asked() as ask:
        made = await ask.post(NAMESPACES, {"metadata": {"name": "shop"}})
        assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "shop"}
        assert made["spec"] == {"finalizers": ["kubernetes"]}
        assert made["status"] == {"phase": "Active"}
        await ask.cluster.settled()
        assert ask.cluster.get("serviceaccounts", "shop", "default") is not None
        await ask.delete(f"{NAMESPACES}/shop/serviceaccounts/default")
        await ask.cluster.settled()
        assert ask.cluster.get("serviceaccounts", "shop", "default") is not None


@virtual_time
async def test_a_namespace_ends_with_all_that_is_in_it() -> None:
    async with asked() as ask:
        await ask.post(NAMESPACES, {"metadata": {"name": "shop"}})
        maps = f"{NAMESPACES}/shop/configmaps"
        await ask.post(maps, {"metadata": {"name": "free"}})
        await ask.post(maps, {"metadata": {"name": "held", "finalizers": ["x.io/a"]}})
        ending = await ask.delete(f"{NAMESPACES}/shop")
        assert ending["status"]["phase"] == "Terminating"
        assert ending["metadata"]["deletionTimestamp"]
        with pytest.raises(Forbidden, match="because it is being terminated") as caught:
            await ask.post(maps, {"metadata": {"name": "late"}})
        assert caught.value.causes[0]["reason"] == "NamespaceTerminating"
        await ask.cluster.settled()
        assert [obj["metadata"]["name"] for obj in ask.cluster.list("configmaps", "shop")] == ["held"]
        assert (await ask.get(f"{NAMESPACES}/shop"))["status"]["phase"] == "Terminating"
        await ask.merge(f"{maps}/held", {"metadata": {"finalizers": None}})
        await ask.cluster.settled()
        with pytest.raises(NotFound):
            await ask.get(f"{NAMESPACES}/shop")


@virtual_time
async def test_some_namespaces_stay() -> None:
    async with asked() as ask:
        for name in ("default", "kube-system", "kube-public"):
            with pytest.raises(Forbidden, match="this namespace may not be deleted"):
                await ask.delete(f"{NAMESPACES}/{name}")
