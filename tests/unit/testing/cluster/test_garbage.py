from __future__ import annotations

from typing import Any

import pytest

from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import CONFIG_MAPS, Asking, Object, asked


def owned(*owners: Object, blocks: bool = True, controller: bool = False) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": blocks,
            "controller": controller,
        }
        for owner in owners
    ]


async def names(ask: Asking) -> list[str]:
    await ask.cluster.settled()
    return [obj["metadata"]["name"] for obj in ask.cluster.list("configmaps", "default")]


@virtual_time
async def test_dependents_follow_their_owner() -> None:
    async with asked() as ask:
        root = await ask.config_map("root")
        child = await ask.config_map("child", ownerReferences=owned(root))
        await ask.config_map("grandchild", ownerReferences=owned(child))
        await ask.config_map("other")
        await ask.delete(f"{CONFIG_MAPS}/root", {"propagationPolicy": "Background"})
        assert await names(ask) == ["other"]


@virtual_time
async def test_dependents_of_one_who_never_was_go() -> None:
    async with asked() as ask:
        nobody = {"metadata": {"name": "nobody", "uid": "00000000-0000-4000-8000-000000000000"}}
        await ask.config_map("orphan", ownerReferences=owned(nobody))
        assert await names(ask) == []


@virtual_time
async def test_an_owner_of_another_namespace_is_none() -> None:
    async with asked() as ask:
        root = await ask.post("/api/v1/namespaces/kube-system/configmaps", {"metadata": {"name": "root"}})
        await ask.config_map("child", ownerReferences=owned(root))
        assert await names(ask) == []


@virtual_time
async def test_one_owner_left_is_enough() -> None:
    async with asked() as ask:
        one, two = await ask.config_map("one"), await ask.config_map("two")
        await ask.config_map("child", ownerReferences=owned(one, two))
        await ask.delete(f"{CONFIG_MAPS}/one")
        assert await names(ask) == ["child", "two"]
        child = await ask.get(f"{CONFIG_MAPS}/child")
        assert [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["two"]
        await ask.delete(f"{CONFIG_MAPS}/two")
        assert await names(ask) == []


@virtual_time
async def test_orphans_stay() -> None:
    async with asked() as ask:
        root = await ask.config_map("root")
        await ask.config_map("child", ownerReferences=owned(root))
        held = await ask.delete(f"{CONFIG_MAPS}/root", {"propagationPolicy": "Orphan"})
        assert held["metadata"]["finalizers"] == ["orphan"]
        assert await names(ask) == ["child"]
        child = await ask.get(f"{CONFIG_MAPS}/child")
        assert "ownerReferences" not in child["metadata"]


@virtual_time
async def test_in_the_foreground_the_owner_goes_last() -> None:
    async with asked() as ask:
        root = await ask.config_map("root")
        child = await ask.config_map("child", ownerReferences=owned(root), finalizers=["x.io/held"])
        await ask.config_map("grandchild", ownerReferences=owned(child))
        held = await ask.delete(f"{CONFIG_MAPS}/root", {"propagationPolicy": "Foreground"})
        assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
        await ask.cluster.settled()
        # The grandchild blocks the child, which blocks the root; only the child's own finalizer is left.
        assert await names(ask) == ["child", "root"]
        await ask.merge(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": None}})
        assert await names(ask) == []


@pytest.mark.parametrize("blocks", [True, False])
@virtual_time
async def test_only_dependents_that_block_are_waited_for(blocks: bool) -> None:
    async with asked() as ask:
        root = await ask.config_map("root")
        await ask.config_map("child", ownerReferences=owned(root, blocks=blocks), finalizers=["x.io/held"])
        await ask.delete(f"{CONFIG_MAPS}/root", {"propagationPolicy": "Foreground"})
        assert await names(ask) == (["child", "root"] if blocks else ["child"])


@virtual_time
async def test_an_owner_recreated_under_its_name_is_another() -> None:
    async with asked() as ask:
        root = await ask.config_map("root")
        await ask.config_map("child", ownerReferences=owned(root))
        ask.cluster.controllers.pause()
        await ask.delete(f"{CONFIG_MAPS}/root")
        await ask.config_map("root")
        ask.cluster.controllers.resume()
        assert await names(ask) == ["root"]


@virtual_time
async def test_while_the_controllers_are_away_nothing_is_collected() -> None:
    async with asked(controllers=False) as ask:
        root = await ask.config_map("root")
        await ask.config_map("child", ownerReferences=owned(root))
        await ask.delete(f"{CONFIG_MAPS}/root")
        assert await names(ask) == ["child"]
