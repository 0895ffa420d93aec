"""Roots and children in and out of namespaces, several controllers, an operator of one namespace."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from openclaw.api.builtin import ConfigMap, Namespace, Secret
from openclaw.kube import ConfigSource, Transport
from openclaw.runtime import Context, Reconciler, Result, Watch, index
from openclaw.testing import Client, ControlPlane
from tests.integration.framework.conftest import Serve
from tests.integration.framework.kinds import GROUP, Fleet, Gadget, Probe, Widget, widget
from tests.integration.reliability.accounts import describe, generated_rules, new_account, refused
from tests.integration.reliability.claws import claw, observed
from tests.integration.reliability.managers import quiet, serving
from tests.integration.reliability.operator_process import OperatorProcess
from tests.integration.reliability.waiting import eventually


class FleetOwner(Probe[Fleet], Reconciler[Fleet]):
    """A root of no namespace with children in one."""

    owns: ClassVar = (ConfigMap,)


class WidgetOwner(Probe[Widget], Reconciler[Widget]):
    """One of two that own ConfigMaps."""

    owns: ClassVar = (ConfigMap,)


class GadgetOwner(Probe[Gadget], Reconciler[Gadget]):
    """The other one."""

    owns: ClassVar = (ConfigMap,)


def _holds(data: dict[str, str], item: dict[str, Any]) -> bool:
    return bool(item["data"] == data)


async def test_a_root_of_no_namespace_has_children_in_one(
    client: Client, namespace: str, serve: Serve
) -> None:
    async def step(ctx: Context, obj: Fleet) -> Result:
        place = obj.spec.namespace
        await ctx.apply(ConfigMap(name=f"{obj.name}-map", namespace=place, data={"a": "b"}))
        live = ctx.get(ConfigMap, f"{obj.name}-map", namespace=place)
        assert live is not None
        assert [child.name for child in ctx.owned(ConfigMap)] == [live.name]
        ctx.event("Applied", "all is well")
        return Result.done()

    name = f"fleet-{namespace}"
    fleet = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Fleet",
        "metadata": {"name": name},
        "spec": {"namespace": namespace},
    }
    probe = FleetOwner(step)
    try:
        async with serve(probe, namespace=None) as manager:
            await client.create(fleet)
            live = await client.wait_for("ConfigMap", namespace, f"{name}-map", lambda it: it["data"])
            assert live["metadata"]["ownerReferences"][0]["kind"] == "Fleet"
            await client.delete("ConfigMap", namespace, f"{name}-map")
            await client.wait_for(
                "ConfigMap",
                namespace,
                f"{name}-map",
                lambda it: it["metadata"]["uid"] != live["metadata"]["uid"],
            )
            await client.wait_list(
                "Event.events.k8s.io",
                "default",
                lambda items: any(it["regarding"]["name"] == name for it in items),
            )
            await eventually(lambda: quiet(manager), "the end of the work")
        assert ("ConfigMap deleted",) in probe.runs[name]
    finally:
        await client.delete(Fleet, None, name)


async def test_two_controllers_own_children_of_one_kind(client: Client, namespace: str, serve: Serve) -> None:
    async def step(ctx: Context, obj: Widget | Gadget) -> Result:
        await ctx.apply(ConfigMap(name=f"{obj.name}-map", data={"text": obj.spec.text}))
        return Result.done()

    widgets, gadgets = WidgetOwner(step), GadgetOwner(step)
    async with serve(widgets, gadgets) as manager:
        await client.create(widget("w", namespace, text="w"))
        gadget = {**widget("g", namespace, text="g"), "kind": "Gadget"}
        await client.create(gadget)
        for name in ("w", "g"):
            await client.wait_for("ConfigMap", namespace, f"{name}-map", lambda it: it["data"])
            await client.patch("ConfigMap", namespace, f"{name}-map", {"data": {"text": "drift"}})
            put_right = {"text": name}
            await client.wait_for("ConfigMap", namespace, f"{name}-map", partial(_holds, put_right))
        await eventually(lambda: quiet(manager), "the end of the work")
        assert len(manager.informers) == 3
    assert set(widgets.runs) == {"w"}
    assert set(gadgets.runs) == {"g"}


async def test_an_operator_of_one_namespace_needs_a_role_there_only(
    api_server: ControlPlane, client: Client, namespace: str, tmp_path: Path
) -> None:
    me = await new_account(api_server, client, namespace=namespace)
    # An operator that finds nothing at all at its start asks whether its namespace exists: refused, no harm.
    await client.create(claw("first", namespace))
    async with (
        client.namespace() as elsewhere,
        OperatorProcess(me.kubeconfig, tmp_path / "log", ["--namespace", namespace]) as operator,
    ):
        await operator.ready()
        await client.create(claw("web", elsewhere))
        await client.create(claw("web", namespace, host="a.example.com"))
        await client.wait_for("OpenClaw", namespace, "web", observed)
        assert await operator.stop() == 0
        assert "status" not in await client.get("OpenClaw", elsewhere, "web")
    assert [describe(event) for event in refused(me.requests())] == []


async def test_a_kind_of_no_namespace_is_found_from_a_root_in_one(
    client: Client, namespace: str, serve: Serve
) -> None:
    """`spec.secrets` stands for names of Namespaces here."""
    found: list[str | None] = []

    class Reader(Probe[Widget], Reconciler[Widget]):
        indexes: ClassVar = (index("spec.secrets[*]"),)
        watches: ClassVar = (Watch(Namespace, "spec.secrets[*]"),)
        reads: ClassVar = (Namespace,)

    async def step(ctx: Context, obj: Widget) -> Result:
        both = ctx.get(Namespace, namespace), await ctx.read(Namespace, namespace)
        found.extend(None if live is None else live.name for live in both)
        return Result.done()

    probe = Reader(step)
    async with serve(probe):
        await client.create(widget("a", namespace, secrets=[namespace]))
        await eventually(lambda: len(found) == 2, "the first run")
        assert found == [namespace, namespace]
        await client.patch("Namespace", None, namespace, {"metadata": {"labels": {"a": "b"}}})
        await eventually(lambda: ("Namespace updated",) in probe.runs["a"], "the run for its Namespace")


async def test_a_role_made_from_the_declarations_is_enough_for_a_finalizer_watches_and_reads(
    api_server: ControlPlane, client: Client, namespace: str, tmp_path: Path
) -> None:
    class All(Probe[Widget], Reconciler[Widget]):
        owns: ClassVar = (ConfigMap,)
        indexes: ClassVar = (index("spec.secrets[*]"),)
        watches: ClassVar = (Watch(Secret, "spec.secrets[*]"),)
        reads: ClassVar = (Namespace,)
        finalizer = "framework.test.openclaw.dev/all"

    async def step(ctx: Context, obj: Widget) -> Result:
        secret = ctx.get(Secret, obj.spec.secrets[0])
        await ctx.apply(ConfigMap(name=f"{obj.name}-map", data={"secret": str(secret is not None)}))
        assert await ctx.read(Namespace, namespace) is not None
        ctx.event("Applied", "all is well")
        obj.status.seen = "yes"
        return Result.done()

    me = await new_account(api_server, client, rules=generated_rules([All]))
    async with (
        Transport(ConfigSource(me.kubeconfig), user_agent="openclaw-role") as transport,
        serving(All(step), transport=transport, namespace=namespace) as manager,
    ):
        await client.create(widget("a", namespace, secrets=["one"]))
        await client.wait_for("ConfigMap", namespace, "a-map", partial(_holds, {"secret": "False"}))
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}, "stringData": {"a": "b"}}
        await client.create(secret, namespace=namespace)
        await client.wait_for("ConfigMap", namespace, "a-map", partial(_holds, {"secret": "True"}))
        await client.delete(Widget, namespace, "a")
        await client.wait_gone(Widget, namespace, "a")
        await eventually(lambda: quiet(manager), "the end of the work")
    assert [describe(event) for event in refused(me.requests())] == []


def test_a_role_in_a_namespace_cannot_be_made_for_a_root_of_none() -> None:
    from openclaw.manifests import generate
    from openclaw.manifests.errors import ManifestError

    with pytest.raises(ManifestError, match="Fleet"):
        generate([FleetOwner], image="x", watch_namespace="shop")
