"""Many objects at once, an operator killed among them, and one that finds nothing to do."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import Any

import pytest

from openclaw.testing import Client
from tests.integration.reliability.accounts import Account, code_of, describe, refused, resource_of
from tests.integration.reliability.claws import (
    CHILD_KINDS,
    claw,
    condition,
    observed,
    play_deployment_controller,
)
from tests.integration.reliability.conftest import NewAccount
from tests.integration.reliability.operator_process import OPENCLAW, OperatorProcess
from tests.integration.reliability.waiting import eventually

Object = dict[str, Any]


async def _in_parallel(work: Iterable[Awaitable[Any]], at_once: int = 24) -> None:
    turns = asyncio.Semaphore(at_once)

    async def one(item: Awaitable[Any]) -> None:
        async with turns:
            await item

    await asyncio.gather(*(one(item) for item in work))


async def _create(client: Client, namespace: str, count: int) -> None:
    """Every second one with a host, and so with an Ingress; each with a pod of both components."""
    hosts = [f"h{number}.example.com" if number % 2 else None for number in range(count)]
    await _in_parallel(
        client.create(claw(f"c{number}", namespace, host=host, replicas=1))
        for number, host in enumerate(hosts)
    )


async def _children(client: Client, namespace: str) -> dict[tuple[str, str], str]:
    """(kind, name) -> uid."""
    found = {}
    for kind in CHILD_KINDS:
        for item in await client.list(kind, namespace):
            found[kind, item["metadata"]["name"]] = item["metadata"]["uid"]
    return found


def _expected_children(count: int) -> set[tuple[str, str]]:
    expected = set()
    for number in range(count):
        expected |= {("Deployment", f"c{number}-frontend"), ("Deployment", f"c{number}-worker")}
        expected.add(("Service", f"c{number}-frontend"))
        if number % 2:
            expected.add(("Ingress", f"c{number}-frontend"))
    return expected


def _child_writes(account: Account) -> Counter[tuple[str, str, int]]:
    """(resource, name, code) -> how often it was written."""
    return Counter(
        (resource_of(event), event["objectRef"]["name"], code_of(event))
        for event in account.writes()
        if resource_of(event) in ("deployments", "services", "ingresses")
    )


async def _all_observed(client: Client, namespace: str, count: int, timeout: float) -> None:
    await client.wait_list(
        "OpenClaw",
        namespace,
        lambda items: len(items) == count and all(observed(item) for item in items),
        timeout=timeout,
    )


async def _idle(operator: OperatorProcess, runs: int) -> None:
    """Wait until the operator has made `runs` runs and has nothing more to do."""

    async def check() -> bool:
        done = await operator.metric("controller_runtime_reconcile_total")
        queued = await operator.metric("workqueue_depth")
        active = await operator.metric("controller_runtime_active_workers")
        return done >= runs and queued == active == 0

    await eventually(check, f"{runs} runs and an empty queue", interval=0.1, timeout=60)


@pytest.mark.timeout(150)
async def test_five_hundred_at_once_converge_and_a_restart_writes_nothing(
    kube_client: Client, namespace: str, account: NewAccount, tmp_path: Path
) -> None:
    count = 500
    me = await account()
    only = [OPENCLAW, "--namespace", namespace]
    async with OperatorProcess(me.kubeconfig, tmp_path / "log", only) as operator:
        await operator.ready()
        await _create(kube_client, namespace, count)
        await _all_observed(kube_client, namespace, count, timeout=90)
        children = await _children(kube_client, namespace)
        assert children.keys() == _expected_children(count)
        await _in_parallel(
            play_deployment_controller(kube_client, namespace, name)
            for kind, name in children
            if kind == "Deployment"
        )
        await kube_client.wait_list(
            "OpenClaw",
            namespace,
            lambda items: all(
                condition(item, "Available")["status"] == "True"
                and condition(item, "Progressing")["status"] == "False"
                and item["status"]["frontendReadyReplicas"] == item["status"]["workerReadyReplicas"] == 1
                for item in items
            ),
            timeout=90,
        )
        assert await operator.stop() == 0
        assert [record for record in operator.records() if record["level"] not in ("info", "debug")] == []

    requests = me.requests()
    assert [describe(event) for event in refused(requests)] == []
    # Each child was created once, and never written again.
    assert set(_child_writes(me).values()) == {1}
    assert {code for _, _, code in _child_writes(me)} == {201}
    assert len(_child_writes(me)) == len(children)
    # A status for what was begun, one for each component that came up (or one for both), no more.
    statuses = Counter(
        event["objectRef"]["name"] for event in requests if resource_of(event) == "openclaws/status"
    )
    assert len(statuses) == count
    assert set(statuses.values()) <= {2, 3}
    reads = Counter(event["verb"] for event in requests if event["verb"] in ("get", "list", "watch"))
    assert reads == {"list": 4, "watch": 4}

    again = await account()
    async with OperatorProcess(again.kubeconfig, tmp_path / "log-2", only) as operator:
        await operator.ready()
        await _idle(operator, count)
        for kind, cached in (("OpenClaw", count), ("Deployment", 2 * count), ("Service", count)):
            assert await operator.metric("openclaw_cache_objects", kind=kind) == cached
        assert await operator.metric("controller_runtime_reconcile_total", result="error") == 0
        assert await operator.stop() == 0
    assert [describe(event) for event in again.writes()] == []
    assert await _children(kube_client, namespace) == children


@pytest.mark.timeout(120)
async def test_an_operator_killed_in_the_middle_loses_and_doubles_nothing(
    kube_client: Client, namespace: str, account: NewAccount, tmp_path: Path
) -> None:
    count = 150
    me = await account()
    operator = OperatorProcess(me.kubeconfig, tmp_path / "log", ["--namespace", namespace])
    async with operator:
        await operator.ready()
        creating = asyncio.create_task(_create(kube_client, namespace, count))
        seen: dict[tuple[str, str], str] = {}
        for part in (0.2, 0.5, 0.8):
            wanted = part * len(_expected_children(count))

            async def far_enough(wanted: float = wanted) -> bool:
                return len(await _children(kube_client, namespace)) >= wanted

            await eventually(far_enough, f"{part:.0%} of the children", timeout=60)
            operator.signal(signal.SIGKILL)
            assert await operator.wait() == -signal.SIGKILL
            seen |= await _children(kube_client, namespace)
            operator.start()
        await creating
        await _all_observed(kube_client, namespace, count, timeout=60)
        children = await _children(kube_client, namespace)
        assert await operator.stop() == 0

    assert children.keys() == _expected_children(count)
    assert seen.items() <= children.items(), "a child was made anew"
    # 504 is what the server notes of a request whose client died.
    assert {code for _, _, code in _child_writes(me)} <= {201, 504}
    created = {key: number for key, number in _child_writes(me).items() if key[2] == 201}
    assert set(created.values()) == {1}
    assert [describe(event) for event in refused(me.requests())] == []
