"""Others write at the same time, tokens expire, the server asks to slow down."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw.kube import Invalid
from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.accounts import SYSTEM, code_of, describe, refused, resource_of
from tests.integration.reliability.claws import claw, condition, observed
from tests.integration.reliability.conftest import NewAccount
from tests.integration.reliability.operator_process import OperatorProcess
from tests.integration.reliability.waiting import eventually

Object = dict[str, Any]

_LEAST_TURNS = 10


async def _other_conditions(client: Client, namespace: str, stop: asyncio.Event) -> int:
    """Another controller with a condition of its own, updated all the while; how often it was."""
    turn = 0
    while not stop.is_set() or turn < _LEAST_TURNS:
        live = await client.get("OpenClaw", namespace, "web")
        conditions = [it for it in live.get("status", {}).get("conditions", ()) if it["type"] != "Others"]
        others = {
            "type": "Others",
            "status": "True",
            "reason": f"Turn{turn + 1}",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        patch: list[Object] = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
            {
                "op": "add",
                "path": "/status",
                "value": {**live.get("status", {}), "conditions": [*conditions, others]},
            },
        ]
        try:
            await client.patch("OpenClaw", namespace, "web", patch, subresource="status")
        except Invalid:  # the operator was faster
            continue
        turn += 1
    return turn


async def _other_labels(client: Client, namespace: str, stop: asyncio.Event) -> None:
    turn = 0
    while not stop.is_set():
        turn += 1
        await client.patch("OpenClaw", namespace, "web", {"metadata": {"labels": {"turn": str(turn)}}})
        await client.patch(
            "Deployment", namespace, "web-worker", {"metadata": {"annotations": {"turn": str(turn)}}}
        )


async def test_others_who_write_without_end(
    kube_client: Client, namespace: str, account: NewAccount, tmp_path: Path
) -> None:
    me = await account()
    async with OperatorProcess(me.kubeconfig, tmp_path / "log", ["--namespace", namespace]) as operator:
        await operator.ready()
        await kube_client.create(claw("web", namespace))
        await kube_client.wait_for("Deployment", namespace, "web-worker", lambda it: it["spec"])
        stop = asyncio.Event()
        conditions = asyncio.create_task(_other_conditions(kube_client, namespace, stop))
        labels = asyncio.create_task(_other_labels(kube_client, namespace, stop))
        try:
            for number in range(15):
                change = {"spec": {"frontend": {"image": f"web:{number}"}}}
                await kube_client.patch("OpenClaw", namespace, "web", change)
                # In the midst of the storm, not after it.
                await kube_client.wait_for("OpenClaw", namespace, "web", observed)
        finally:
            stop.set()
        turns, _ = await asyncio.gather(conditions, labels)
        live = await kube_client.wait_for("OpenClaw", namespace, "web", observed)
        assert condition(live, "Others")["reason"] == f"Turn{turns}"
        for kind in ("Available", "Progressing", "Degraded"):
            assert condition(live, kind)["observedGeneration"] == live["metadata"]["generation"]
        deployment = await kube_client.get("Deployment", namespace, "web-frontend")
        assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "web:14"
        assert condition(live, "Degraded")["status"] == "False"
        assert await operator.stop() == 0
    assert [record for record in operator.records() if record["level"] == "error"] == []
    assert {code_of(event) for event in refused(me.requests())} <= {409}


@pytest.mark.timeout(180)
async def test_a_token_that_is_replaced(
    api_server: ControlPlane, kube_client: Client, namespace: str, account: NewAccount, tmp_path: Path
) -> None:
    """The file changes, as kubelets do it; the old token is worth nothing any more."""
    me = await account(token_file=True)
    file = Path(f"{me.kubeconfig}.token")
    old = file.read_text()
    log = tmp_path / "log"
    arguments = ["--namespace", namespace, "--log-level", "debug"]
    async with OperatorProcess(me.kubeconfig, log, arguments) as operator:
        await operator.ready()
        await kube_client.create(claw("web", namespace))
        await kube_client.wait_for("OpenClaw", namespace, "web", observed)

        await kube_client.delete("ServiceAccount", SYSTEM, me.name)
        fresh = yaml.safe_load(api_server.service_account_kubeconfig(SYSTEM, me.name).read_text())
        new = fresh["users"][0]["user"]["token"]
        await eventually(lambda: _is_refused(kube_client, old), "the end of the old token", interval=0.2)

        # Nothing goes while there is no good token; the operator stays, and says why.
        await kube_client.patch("OpenClaw", namespace, "web", {"spec": {"frontend": {"image": "web:2"}}})
        said = await eventually(lambda: operator.said("reconcile failed"), "a refused request")
        assert "401" in said[0]["error"]
        assert (await operator.healthz())[0] == 200

        file.write_text(new)
        live = await kube_client.wait_for("OpenClaw", namespace, "web", observed)
        await eventually(lambda: _is_degraded(kube_client, namespace, "False"), "recovery")
        assert live["metadata"]["generation"] == 2
        assert await operator.stop() == 0
    text = log.read_text()
    assert old.strip() not in text
    assert new.strip() not in text


async def _is_degraded(client: Client, namespace: str, status: str) -> bool:
    live = await client.get("OpenClaw", namespace, "web")
    return bool(condition(live, "Degraded")["status"] == status)


async def _is_refused(client: Client, token: str) -> bool:
    review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "metadata": {"name": ""},
        "spec": {"token": token.strip()},
    }
    return not (await client.create(review))["status"].get("authenticated", False)


class TestOverload:
    """The server takes one write at a time, and answers all others 429 with Retry-After: 1."""

    @pytest.fixture
    def own_plane_options(self) -> dict[str, object]:
        few = ["--max-requests-inflight=4", "--max-mutating-requests-inflight=1"]
        return {"api_server_args": ["--enable-priority-and-fairness=false", *few]}

    @pytest.mark.timeout(180)
    async def test_the_wait_that_the_server_asks_for_is_kept(
        self, own_plane: ControlPlane, own_client: Client, own_account: NewAccount, tmp_path: Path
    ) -> None:
        count = 30
        own_plane.create_namespace("shop")
        me = await own_account()
        async with OperatorProcess(me.kubeconfig, tmp_path / "log") as operator:
            await operator.ready()
            await asyncio.gather(*(own_client.create(claw(f"c{number}", "shop")) for number in range(count)))
            await own_client.wait_list(
                "OpenClaw",
                "shop",
                lambda items: (
                    len(items) == count
                    and all(observed(it) and condition(it, "Degraded")["status"] == "False" for it in items)
                ),
                timeout=60,
            )
            assert await operator.stop() == 0
        requests = me.requests()
        throttled = [event for event in requests if code_of(event) == 429]
        assert len(throttled) > count / 2
        assert {code_of(event) for event in requests} <= {0, 200, 201, 429}
        by_object = defaultdict(list)
        for event in requests:
            if event["verb"] == "patch" and resource_of(event) != "events":
                by_object[event["requestURI"]].append(event)
        for events in by_object.values():
            for first, second in pairwise(events):
                if code_of(first) == 429:
                    assert _at(second["requestReceivedTimestamp"]) - _at(first["stageTimestamp"]) >= 0.99, (
                        describe(first)
                    )


def _at(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()
