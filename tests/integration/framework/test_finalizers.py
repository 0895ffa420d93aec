"""Effects outside of the cluster: never without the finalizer, never left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import pytest

from openclaw.api.builtin import ConfigMap
from openclaw.kube import ConfigSource, NotFound, Response, Transport
from openclaw.runtime import Context, Reconciler, Result
from openclaw.testing import Client, ControlPlane
from tests.integration.framework.conftest import Serve
from tests.integration.framework.kinds import Probe, Widget, widget
from tests.integration.reliability.faults import Fault, FaultyTransport
from tests.integration.reliability.managers import quiet, serving
from tests.integration.reliability.waiting import eventually

OURS = "framework.test.openclaw.dev/outside"
OTHERS = "other.example.com/keep"


class Outside:
    """Something outside of the cluster, which makes and removes things by their name."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client, self._namespace = client, namespace
        self.things: set[str] = set()
        self.unguarded: list[str] = []

    async def make(self, name: str) -> None:
        try:
            live = await self._client.get(Widget, self._namespace, name)
        except NotFound:
            live = {"metadata": {}}
        if OURS not in live["metadata"].get("finalizers", ()):
            self.unguarded.append(name)
        self.things.add(name)

    def remove(self, name: str) -> None:
        self.things.discard(name)


class Keeper(Probe[Widget], Reconciler[Widget]):
    """Has a thing outside and a ConfigMap inside."""

    owns: ClassVar = (ConfigMap,)
    finalizer = OURS


def keeper(outside: Outside) -> Keeper:
    async def reconcile(ctx: Context, obj: Widget) -> Result:
        assert OURS in obj.metadata.finalizers
        await outside.make(obj.name)
        await ctx.apply(ConfigMap(name=f"{obj.name}-map", data={"a": obj.spec.text}))
        obj.status.seen = obj.spec.text
        return Result.done()

    async def finalize(ctx: Context, obj: Widget) -> Result:
        outside.remove(obj.name)
        return Result.done()

    return Keeper(reconcile, finalize)


async def test_others_finalizers_are_theirs(client: Client, namespace: str, serve: Serve) -> None:
    outside = Outside(client, namespace)
    operator = keeper(outside)
    async with serve(operator) as manager:
        await client.create(widget("a", namespace, finalizers=(OTHERS,), text="x"))
        live = await client.wait_for(Widget, namespace, "a", lambda it: it["status"]["seen"] == "x")
        assert live["metadata"]["finalizers"] == [OTHERS, OURS]
        await client.delete(Widget, namespace, "a")
        live = await client.wait_for(
            Widget, namespace, "a", lambda it: it["metadata"]["finalizers"] == [OTHERS]
        )
        assert outside.things == set()
        # While others hold the object, it is not ours any more: no further run does anything.
        await client.patch(Widget, namespace, "a", {"spec": {"text": "y"}})
        await client.patch("ConfigMap", namespace, "a-map", {"data": {"a": "drift"}})
        await client.create(widget("b", namespace, text="x"))
        await client.wait_for(Widget, namespace, "b", lambda it: it["status"]["seen"] == "x")
        await eventually(lambda: quiet(manager), "the end of the work")
        assert operator.finalized == {"a": 1}
        assert (await client.get("ConfigMap", namespace, "a-map"))["data"] == {"a": "drift"}
        await client.patch(Widget, namespace, "a", {"metadata": {"finalizers": None}})
        await client.wait_gone(Widget, namespace, "a")
    assert outside.unguarded == []


async def test_finalize_is_tried_until_it_says_done(client: Client, namespace: str, serve: Serve) -> None:
    async def finalize(ctx: Context, obj: Widget) -> Result:
        assert OURS in (await client.get(Widget, namespace, obj.name))["metadata"]["finalizers"]
        if operator.finalized[obj.name] == 1:
            raise OSError("the other side is away")
        if operator.finalized[obj.name] == 2:
            obj.status.seen = "waiting"
            return Result.after(0.01)
        return Result.done()

    operator = Keeper(finalize_step=finalize)
    async with serve(operator) as manager:
        await client.create(widget("a", namespace))
        await client.wait_for(Widget, namespace, "a", lambda it: OURS in it["metadata"]["finalizers"])
        await client.delete(Widget, namespace, "a")
        await client.wait_gone(Widget, namespace, "a")
        await eventually(lambda: quiet(manager), "the end of the work")
    assert operator.finalized == {"a": 3}


class _Overtaken(Transport):
    """Lets the object be deleted just before the first write to it is sent."""

    def __init__(self, source: ConfigSource, delete: Callable[[], Awaitable[None]]) -> None:
        super().__init__(source)
        self._delete: Callable[[], Awaitable[None]] | None = delete

    async def request(self, method: str, path: str, **options: Any) -> Response:
        if method == "PATCH" and self._delete is not None:
            delete, self._delete = self._delete, None
            await delete()
        return await super().request(method, path, **options)


@pytest.mark.parametrize("finalizers", [(), (OTHERS,)], ids=["gone", "terminating"])
async def test_an_object_deleted_before_its_finalizer_is_on_is_left_alone(
    api_server: ControlPlane, client: Client, namespace: str, finalizers: tuple[str, ...]
) -> None:
    """Unless the two come at the very same time: then the API server may drop the object all the same."""
    outside = Outside(client, namespace)
    operator = keeper(outside)

    async def delete() -> None:
        await client.delete(Widget, namespace, "a")

    async with (
        _Overtaken(ConfigSource(api_server.kubeconfig), delete) as transport,
        serving(operator, transport=transport, namespace=namespace) as manager,
    ):
        await client.create(widget("a", namespace, finalizers=finalizers))
        await client.wait_list(
            Widget, namespace, lambda items: all(it["metadata"]["deletionTimestamp"] for it in items)
        )
        await client.create(widget("b", namespace, text="x"))
        await client.wait_for(Widget, namespace, "b", lambda it: it["status"]["seen"] == "x")
        await eventually(lambda: quiet(manager), "the end of the work")
    assert set(operator.runs) == {"b"}
    assert outside.things == {"b"}
    assert outside.unguarded == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
async def test_a_crash_at_any_request_leaves_nothing_outside(
    api_server: ControlPlane, client: Client, fault: Fault
) -> None:
    """An object is made, changed and deleted; the operator dies, or loses a request, at each in turn."""

    async def disturbed(at: int) -> int:
        """A life with a fault at request `at`; how many requests there were."""
        async with (
            client.namespace() as namespace,
            FaultyTransport(api_server.kubeconfig, at=at, fault=fault) as faulty,
        ):
            outside = Outside(client, namespace)

            async def live() -> None:
                await client.create(widget("a", namespace, text="one"))
                await client.wait_for(Widget, namespace, "a", lambda it: it["status"]["seen"] == "one")
                assert outside.things == {"a"}
                await client.patch(Widget, namespace, "a", {"spec": {"text": "two"}})
                await client.wait_for(Widget, namespace, "a", lambda it: it["status"]["seen"] == "two")
                await client.delete(Widget, namespace, "a")
                await client.wait_gone(Widget, namespace, "a")

            living = asyncio.create_task(live())
            async with serving(
                keeper(outside), transport=faulty, namespace=namespace, synced=False
            ) as manager:
                crashed = asyncio.create_task(faulty.crashed.wait())
                await asyncio.wait((living, crashed), return_when=asyncio.FIRST_COMPLETED)
                crashed.cancel()
                if living.done():
                    await living
                    # The last request may be the one after which it dies.
                    await eventually(lambda: faulty.crashed.is_set() or quiet(manager), "the end of the work")
            async with (
                FaultyTransport(api_server.kubeconfig) as healthy,
                serving(keeper(outside), transport=healthy, namespace=namespace),
            ):
                await living
            assert outside.things == set()
            assert outside.unguarded == []
            return len(faulty.requests)

    requests = await disturbed(0)
    assert requests >= 10
    async with asyncio.TaskGroup() as group:
        for at in range(1, requests + 1):
            group.create_task(disturbed(at))
