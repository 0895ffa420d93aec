"""The shipped operator as a process of its own, under its generated role: killed, and what it gives away."""

from __future__ import annotations

import base64
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import orjson
import pytest
import pytest_asyncio
from aiohttp import web

from openclaw.testing import Client, ControlPlane
from openclaw.testing.rds import HANG_AFTER, Fault, Garble, Refuse
from tests.integration.rds.world import KIND, PASSWORD, World, condition, degraded, phase
from tests.integration.reliability.accounts import new_account
from tests.integration.reliability.operator_process import OperatorProcess
from tests.integration.reliability.waiting import eventually

SECOND = "another-horse-9"
_QUICK = {
    f"OPENCLAW_RDS_{name}": "150ms"
    for name in (
        *("POLL_PENDING", "POLL_CREATING", "POLL_AVAILABLE", "POLL_MODIFYING", "POLL_DEGRADED"),
        *("POLL_DELETING", "POLL_SLOW", "POLL_SOON", "SETTLE"),
    )
} | {"OPENCLAW_RDS_VISIBLE": "2s"}


class Collector:
    """Takes traces as OTLP, and keeps what it was sent."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.read())
        return web.json_response({})


@pytest_asyncio.fixture
async def collector() -> AsyncIterator[Collector]:
    made = Collector()
    app = web.Application()
    app.router.add_post("/v1/traces", made.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@pytest_asyncio.fixture
async def operator(
    world: World, api_server: ControlPlane, kube_client: Client, collector: Collector, tmp_path: Path
) -> AsyncIterator[OperatorProcess]:
    """The operator under the generated role, telling all that it can, not yet ready."""
    account = await new_account(api_server, kube_client)
    environment = {
        **_QUICK,
        "AWS_ENDPOINT_URL_RDS": world.rds.url,
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    arguments = ["--namespace", world.namespace, "--log-level", "debug", "--debug-address", "127.0.0.1:0"]
    async with OperatorProcess(
        account.kubeconfig, tmp_path / "log", arguments, environment=environment
    ) as process:
        yield process


@pytest.mark.timeout(180)
async def test_a_killed_operator_makes_no_second_database(world: World, operator: OperatorProcess) -> None:
    fault = world.rds.faults.add(Fault(HANG_AFTER, operation="CreateDBInstance"))
    await operator.ready()
    await world.create()
    await eventually(fault.reached.is_set, "the create")
    operator.signal(signal.SIGKILL)
    await operator.wait()
    assert len(world.region.databases) == 1
    operator.start()
    await world.available(timeout=40)
    assert len(world.region.databases) == 1
    operator.signal(signal.SIGKILL)
    await operator.wait()
    await world.delete()
    operator.start()
    await world.gone(timeout=40)
    assert world.region.databases == []
    # Which password a create had whose answer was lost is not known, so that it may be set once more.
    assert [it for it in world.writes() if it != "ModifyDBInstance"] == [
        "CreateDBInstance", "DeleteDBInstance",
    ]  # fmt: skip


@pytest.mark.timeout(180)
async def test_no_password_and_no_key_is_told_by_anything(
    world: World, operator: OperatorProcess, collector: Collector
) -> None:
    told: list[str] = []
    echoed = f"you have sent {PASSWORD}"
    world.rds.faults.add(Fault(Refuse("InternalFailure", echoed, 500), operation="CreateDBInstance"))
    world.rds.faults.add(Fault(Garble(f"<html>{echoed}<br>".encode()), operation="CreateDBInstance", first=2))
    await operator.ready()
    await world.create()
    await world.available(timeout=40)
    # A password that RDS refuses, with words that repeat it, then one that it takes.
    refusal = world.rds.faults.add(
        Fault(
            Refuse("InvalidParameterValue", f"{SECOND} is no password"),
            operation="ModifyDBInstance",
            times=None,
        )
    )
    await world.add_secret("master", password=SECOND)
    item = await world.until(degraded("UpdateRefused"))
    told.append(str(item))
    assert "is no password" in condition(item, "Degraded")["message"]
    world.rds.faults.remove(refusal)
    await world.annotate(reconcile_now="1")
    await eventually(lambda: world.database.password == SECOND, "the new password")
    await world.available()
    world.key.active = False
    told.append(str(await world.until(degraded("Unauthorised"))))
    world.key.active = True
    await world.available()
    told.append(await _page(operator))
    status, metrics = await operator.get("/metrics")
    assert status == 200
    told.append(metrics)
    await world.delete()
    told.append(str(await world.until(phase("Deleting"))))
    await world.gone()
    told += [str(event) for event in await world.client.list("events.events.k8s.io", world.namespace)]
    told += [str(it) for it in await world.client.list(KIND, world.namespace)]
    assert await operator.stop() == 0

    assert any("reconcile" in record["message"] for record in operator.records())
    told.append(operator.log.read_text())
    spans = [body.decode() for body in collector.bodies]
    names = {span["name"] for body in spans for span in _spans(orjson.loads(body))}
    assert {"aws-rds create", "aws-rds update", "aws-rds delete"} <= names
    assert "external_api_call_total" in metrics
    for secret in (PASSWORD, SECOND, world.key.secret):
        for form in (secret, base64.b64encode(secret.encode()).decode()):
            found = [text[max(0, text.find(form) - 300) :][:400] for text in [*told, *spans] if form in text]
            assert not found, found


async def _page(operator: OperatorProcess) -> str:
    """The debug page, as people and as programs see it."""
    (said,) = operator.said("serving the debug page")
    async with aiohttp.ClientSession() as session, session.get(said["url"]) as answer:
        assert answer.status == 200
        return await answer.text()


def _spans(body: dict) -> list[dict]:  # type: ignore[type-arg]
    return [
        span
        for resource in body["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
