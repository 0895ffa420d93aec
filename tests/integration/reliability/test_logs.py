"""Logs that cannot be written stop nothing, and hold no secret at any level."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

import pytest
import yaml

from openclaw.testing import Client
from tests.integration.reliability.accounts import Rules
from tests.integration.reliability.claws import claw, observed
from tests.integration.reliability.conftest import NewAccount
from tests.integration.reliability.operator_process import OperatorProcess
from tests.integration.reliability.waiting import eventually


@contextmanager
def _closed_pipe() -> Iterator[IO[bytes]]:
    """A pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as end:
        yield end


@contextmanager
def _full_disk() -> Iterator[IO[bytes]]:
    with Path("/dev/full").open("wb") as end:
        yield end


@pytest.mark.parametrize("stderr", [_closed_pipe, _full_disk], ids=["closed-pipe", "full-disk"])
async def test_logs_that_cannot_be_written(
    kube_client: Client,
    namespace: str,
    account: NewAccount,
    tmp_path: Path,
    stderr: Callable[[], AbstractContextManager[IO[bytes]]],
) -> None:
    me = await account()
    arguments = ["--namespace", namespace, "--log-level", "debug"]
    with stderr() as end:
        async with OperatorProcess(me.kubeconfig, tmp_path / "log", arguments, stderr=end) as operator:
            for number in range(30):
                await kube_client.create(claw(f"c{number}", namespace))
            await kube_client.wait_list(
                "OpenClaw", namespace, lambda items: len(items) == 30 and all(map(observed, items))
            )
            assert await operator.stop() == 0


_PROGRAM = '''
from openclaw import ConfigMap, Context, Reconciler, Result, Secret, TerminalError, Watch, index
from openclaw.api.openclaw import OpenClaw


class Careless(Reconciler[OpenClaw]):
    """Says everything that it knows."""

    owns = (ConfigMap,)
    indexes = (index("spec.globalConfig.imagePullSecrets[*]"),)
    watches = (Watch(Secret, "spec.globalConfig.imagePullSecrets[*]"),)

    async def reconcile(self, ctx: Context, obj: OpenClaw) -> Result:
        secret = ctx.get(Secret, "registry")
        if secret is None:
            return Result.done()
        ctx.log.info("found a secret", secret=secret.to_dict(), password="hunter2-password")
        ctx.log.info(f"connecting to {obj.spec.worker.queue}")
        await ctx.apply(ConfigMap(name=f"{obj.name}-map", data={"token": "hunter2-data"}))
        await ctx.apply(ConfigMap(name=f"{obj.name}-bad", data={"password": {"no": "hunter2-nested"}}))
        return Result.done()
'''
_SECRETS = ("aHVudGVyMi1zZWNyZXQ=", "hunter2-secret", "hunter2-queue", "hunter2-password", "hunter2-data")


async def test_no_secret_is_in_the_log(
    kube_client: Client, namespace: str, account: NewAccount, tmp_path: Path
) -> None:
    """Of a whole run at level debug: lists, watches, refused writes, a program that says too much."""

    def more(rules: Rules) -> Rules:
        return [
            *rules,
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch", "create", "patch"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]},
        ]

    me = await account(change=more)
    token = yaml.safe_load(me.kubeconfig.read_text())["users"][0]["user"]["token"]
    program = tmp_path / "careless.py"
    program.write_text(_PROGRAM)
    body = claw("web", namespace)
    body["spec"]["worker"]["queue"] = "amqp://worker:hunter2-queue@rabbitmq:5672/jobs"
    body["spec"]["globalConfig"] = {"imagePullSecrets": ["registry"]}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "registry"}}
    await kube_client.create({**secret, "stringData": {"key": "hunter2-secret"}}, namespace=namespace)
    await kube_client.create(body)
    for number, targets in enumerate(([], [str(program)])):
        log = tmp_path / f"log-{number}"
        arguments = [*targets, "--namespace", namespace, "--log-level", "debug"]
        async with OperatorProcess(me.kubeconfig, log, arguments) as operator:
            await operator.ready()
            if targets:
                await eventually(lambda: operator.said("reconcile failed"), "the refused write")
                assert operator.said("found a secret")
            else:
                await kube_client.wait_for("OpenClaw", namespace, "web", observed)
            _, metrics = await operator.get("/metrics")
            assert await operator.stop() == 0
        for text in (log.read_text(), metrics):
            assert token not in text
            assert [word for word in _SECRETS if word in text] == []
    events = await kube_client.list("Event.events.k8s.io", namespace)
    assert [word for word in _SECRETS if word in str(events)] == []
