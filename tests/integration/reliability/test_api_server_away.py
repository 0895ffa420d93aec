"""The API server dies, freezes and comes back: the operator says so, waits, and goes on by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.accounts import code_of, describe, refused
from tests.integration.reliability.claws import claw, observed
from tests.integration.reliability.conftest import NewAccount
from tests.integration.reliability.operator_process import OPENCLAW, OperatorProcess
from tests.integration.reliability.waiting import eventually

# A freeze may fall between two runs: it is tried again.
ATTEMPTS = 10
KINDS = ("openclaws.apps.openclaw.dev", "deployments.apps", "services", "ingresses.networking.k8s.io")


async def _unready(operator: OperatorProcess) -> str:
    """The report of /readyz once every watch is named in it; /healthz is well all the while."""

    async def check() -> str:
        assert operator.running, operator.tail()
        assert (await operator.healthz()) == (200, "ok")
        status, text = await operator.readyz()
        failed = [line for line in text.splitlines() if line.startswith("[-]")]
        return text if status == 500 and len(failed) == len(KINDS) else ""

    report: str = await eventually(check, "a failing readiness of every watch", timeout=40)
    return report


@pytest.mark.timeout(180)
async def test_a_killed_api_server_comes_back(
    own_plane: ControlPlane, own_client: Client, own_account: NewAccount, tmp_path: Path
) -> None:
    own_plane.create_namespace("shop")
    me = await own_account()
    async with OperatorProcess(
        me.kubeconfig, tmp_path / "log", [OPENCLAW, "--log-level", "debug"]
    ) as operator:
        await operator.ready()
        await own_client.create(claw("web", "shop", host="a.example.com"))
        await own_client.wait_for("OpenClaw", "shop", "web", observed)

        own_plane.kill_api_server()
        before = len(operator.records())
        report = await _unready(operator)
        for kind in KINDS:
            assert f"[-]cache-{kind} failed: {kind}: no watch for " in report
        assert "127.0.0.1" in report, "why"
        # Eight doublings of 0.2 s are 51 s: no more attempts than that in the seconds that this took.
        failed = await operator.metric("rest_client_requests_total", code="<error>")
        assert 4 <= failed <= 4 * 9
        assert len(operator.records()) - before <= 4 * 12

        await asyncio.to_thread(own_plane.start_api_server)
        # At once, before the operator is back.
        await own_client.patch("OpenClaw", "shop", "web", {"spec": {"frontend": {"ingressHost": None}}})
        await own_client.patch("Deployment", "shop", "web-worker", {"spec": {"replicas": 3}})
        await own_client.delete("Service", "shop", "web-frontend")
        await own_client.create(claw("second", "shop"))
        # A watch waits for up to 30 s between two attempts, and a server that starts may refuse one more.
        await own_client.wait_gone("Ingress", "shop", "web-frontend", timeout=75)
        await own_client.wait_for(
            "Deployment", "shop", "web-worker", lambda it: it["spec"]["replicas"] == 0, timeout=75
        )
        await own_client.wait_for(
            "Service", "shop", "web-frontend", lambda it: it["spec"]["ports"], timeout=75
        )
        for name in ("web", "second"):
            await own_client.wait_for("OpenClaw", "shop", name, observed, timeout=75)
        await operator.ready(timeout=75)
        assert (await operator.readyz()) == (200, "ok")
        assert await operator.stop() == 0
        assert [record for record in operator.records() if "exception" in record] == []

    # A server that starts answers 403 until it has read the roles, 429 until it has read the objects, and
    # knows no older position: 410.
    passing = (403, 410, 429)
    assert [describe(it) for it in refused(me.requests()) if code_of(it) not in passing] == []


@pytest.mark.timeout(180)
async def test_an_api_server_frozen_in_the_middle_of_a_write(
    own_plane: ControlPlane, own_client: Client, own_account: NewAccount, tmp_path: Path
) -> None:
    """Connections stay open, nothing is answered; then it goes on as if nothing had been."""
    own_plane.create_namespace("shop")
    me = await own_account()
    async with OperatorProcess(me.kubeconfig, tmp_path / "log") as operator:
        await operator.ready()

        async def stuck() -> bool:
            return await operator.metric("controller_runtime_active_workers") > 0

        creating: list[asyncio.Task[object]] = []
        for attempt in range(ATTEMPTS):
            names = [f"c{attempt}-{number}" for number in range(20)]
            creating += [asyncio.create_task(own_client.create(claw(name, "shop"))) for name in names]
            # Neither before the operator has heard of one nor after it is done with all of them.
            await own_client.wait_for("Deployment", "shop", f"{names[0]}-frontend", bool)
            own_plane.pause("kube-apiserver")
            try:
                await eventually(stuck, "a run that waits for an answer", timeout=3)
                assert (await operator.healthz()) == (200, "ok")
                break
            except AssertionError:
                if attempt == ATTEMPTS - 1:
                    raise
            finally:
                own_plane.resume("kube-apiserver")
        await asyncio.gather(*creating)
        await own_client.wait_list(
            "OpenClaw", "shop", lambda items: len(items) == len(creating) and all(map(observed, items))
        )
        assert await operator.stop() == 0
