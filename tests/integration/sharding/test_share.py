"""Shards share the objects out: each is run by one, and moves without being written."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from openclaw._core import slot
from openclaw.api import ConfigMap
from openclaw.sharding import NameTaken
from openclaw.testing import Client, ControlPlane
from tests.integration.framework.kinds import Widget, install, widget
from tests.integration.reliability.waiting import eventually
from tests.integration.sharding.shards import Group, group_of

COUNT = 60


@pytest.fixture
async def client(kube_client: Client) -> Client:
    await install(kube_client)
    return kube_client


async def _make(client: Client, namespace: str, text: str = "one") -> dict[str, int]:
    """Objects, and the slot of each."""
    slots = {}
    for number in range(COUNT):
        made = await client.create(widget(f"w{number}", namespace, text=text))
        slots[f"w{number}"] = slot(made["metadata"]["uid"])
    return slots


async def _seen(client: Client, namespace: str, text: str) -> None:
    def done(items: list[dict[str, Any]]) -> bool:
        return len(items) == COUNT and all(it.get("status", {}).get("seen") == text for it in items)

    await client.wait_list(Widget, namespace, done)


def _ran(group: Group) -> dict[str, set[str]]:
    """Who ran each object."""
    ran: dict[str, set[str]] = {}
    for shard, name in group.runs:
        ran.setdefault(name, set()).add(shard)
    return ran


async def _versions(client: Client, namespace: str) -> dict[tuple[str, str], str]:
    return {
        (kind, it["metadata"]["name"]): it["metadata"]["resourceVersion"]
        for kind in ("ConfigMap", "Widget.framework.test.openclaw.dev")
        for it in await client.list(kind, namespace)
    }


async def test_each_object_is_run_by_the_shard_of_its_slot(
    client: Client, api_server: ControlPlane, namespace: str
) -> None:
    async with group_of(str(api_server.kubeconfig), "g", namespace, ["g-0", "g-1", "g-2"]) as group:
        slots = await _make(client, namespace)
        await _seen(client, namespace, "one")
        await eventually(group.quiet, "the end of the work")
        owners = {
            name: {it for it in group.managers if number in group.slots(it)} for name, number in slots.items()
        }
        assert _ran(group) == owners
        assert {len(group.slots(it)) for it in group.managers} <= {85, 86}
        for shard, manager in group.managers.items():
            mine = {name for name, of in owners.items() if of == {shard}}
            held = {name for _, name in manager.informers[Widget.resource].cache.keys()}  # noqa: SIM118
            children = {name for _, name in manager.informers[ConfigMap.resource].cache.keys()}  # noqa: SIM118
            assert held == mine
            assert children == mine
            assert manager.health.run("ready").text(verbose=True).count("[-]") == 0


async def test_a_new_shard_and_one_that_goes_move_slots_and_write_no_object(
    client: Client, api_server: ControlPlane, namespace: str
) -> None:
    await _make(client, namespace)
    async with group_of(str(api_server.kubeconfig), "g", namespace, ["g-0", "g-1"]) as group:
        await _seen(client, namespace, "one")
        await eventually(group.quiet, "the end of the work")
        before = await _versions(client, namespace)
        kept = {it: group.slots(it) for it in ("g-0", "g-1")}
        await group.begin("g-2")
        moved = sum(len(slots - group.slots(shard)) for shard, slots in kept.items())
        assert 85 <= moved <= 100
        await group.stop("g-2")
        await group.settled()
        await eventually(group.quiet, "the end of the work")
        assert await _versions(client, namespace) == before
        for name in before:
            if name[0] != "ConfigMap":
                await client.patch(Widget, namespace, name[1], {"spec": {"text": "two"}})
        await _seen(client, namespace, "two")
        assert Counter(len(of) for of in _ran(group).values()).total() == COUNT


async def test_a_crashed_shard_is_followed_once_its_lease_is_void(
    client: Client, api_server: ControlPlane, namespace: str
) -> None:
    await _make(client, namespace)
    quick = {"lease_seconds": 3, "fence_seconds": 2, "renew_seconds": 0.5, "request_seconds": 1}
    async with group_of(str(api_server.kubeconfig), "g", namespace, ["g-0", "g-1"], **quick) as group:
        await _seen(client, namespace, "one")
        await group.kill("g-1")
        for number in range(COUNT):
            await client.patch(Widget, namespace, f"w{number}", {"spec": {"text": "two"}})
        await group.settled()
        await _seen(client, namespace, "two")
        assert group.metric("g-0", "openclaw_slots_unowned") == 0


async def test_a_shard_that_restarts_keeps_its_slots(
    client: Client, api_server: ControlPlane, namespace: str
) -> None:
    statefulset = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "g", "namespace": namespace},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"a": "b"}},
            "serviceName": "g",
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "a", "image": "b"}]},
            },
        },
    }
    await client.create(statefulset)
    await _make(client, namespace)
    async with group_of(str(api_server.kubeconfig), "g", namespace, ["g-0", "g-1"]) as group:
        await _seen(client, namespace, "one")
        before = {it: group.slots(it) for it in ("g-0", "g-1")}
        lost = group.metric("g-0", "openclaw_slots_moved_total", direction="lost")
        await group.stop("g-1")
        await group.begin("g-1")
        assert {it: group.slots(it) for it in ("g-0", "g-1")} == before
        assert group.metric("g-0", "openclaw_slots_moved_total", direction="lost") == lost
        # Scaled away, it does not come back.
        await client.patch("StatefulSet", namespace, "g", {"spec": {"replicas": 1}})
        await group.stop("g-1")
        await group.settled()
        assert len(group.slots("g-0")) == 256


async def test_of_two_processes_of_one_name_the_later_one_has_it(
    api_server: ControlPlane, kube_client: Client, namespace: str
) -> None:
    await install(kube_client)
    quick = {"lease_seconds": 3, "fence_seconds": 2, "renew_seconds": 0.5, "request_seconds": 1}
    async with (
        group_of(str(api_server.kubeconfig), "g", namespace, ["g-0"], **quick) as first,
        group_of(str(api_server.kubeconfig), "g", namespace, [], **quick) as second,
    ):
        await second.begin("g-0")
        assert len(second.slots("g-0")) == 256
        with pytest.raises(NameTaken, match="another process took this shard's name"):
            await first.tasks.pop("g-0")


async def test_a_name_that_somebody_else_has_is_read_and_refused(
    client: Client, api_server: ControlPlane, namespace: str
) -> None:
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "w"}, "data": {"their": "1"}}
    await client.create(theirs, namespace=namespace)
    async with group_of(str(api_server.kubeconfig), "g", namespace, ["g-0"]):
        await client.create(widget("w", namespace, text="one"))

        def stalled(it: dict[str, Any]) -> bool:
            return any(
                c["type"] == "Stalled" and c["reason"] == "NameTaken" for c in it["status"]["conditions"]
            )

        await client.wait_for(Widget, namespace, "w", stalled)
        assert (await client.get("ConfigMap", namespace, "w"))["data"] == {"their": "1"}


async def test_a_root_that_is_made_anew_gets_its_child_when_the_former_ones_is_gone(
    client: Client, api_server: ControlPlane, namespace: str
) -> None:
    # As with a former root of another shard's slot: no watch of this shard tells of its child.
    owner = {
        "apiVersion": Widget.resource.api_version,
        "kind": "Widget",
        "name": "w",
        "uid": "of-the-former-one",
        "controller": True,
    }
    metadata = {"name": "w", "ownerReferences": [owner]}
    await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, namespace=namespace)
    async with group_of(str(api_server.kubeconfig), "g", namespace, ["g-0"]) as group:
        await client.create(widget("w", namespace, text="one"))
        await client.wait_for(Widget, namespace, "w", lambda it: it.get("status", {}).get("seen") == "one")
        await client.delete("ConfigMap", namespace, "w")
        await eventually(lambda: len(group.runs) > 1 and group.quiet(), "another look")
        assert (await client.get("ConfigMap", namespace, "w"))["data"] == {"text": "one"}
