"""How the process starts, stops and fails: exit statuses, messages, and what is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.accounts import code_of, new_account, refused
from tests.integration.reliability.claws import claw, observed
from tests.integration.reliability.conftest import NewAccount
from tests.integration.reliability.operator_process import OPENCLAW, OperatorProcess
from tests.integration.reliability.waiting import eventually

_SLOW = '''
import asyncio
from openclaw import ConfigMap, Context, Reconciler, Result
from openclaw.api.openclaw import OpenClaw


class Slow(Reconciler[OpenClaw]):
    """Waits between its two writes until a file is there."""

    owns = (ConfigMap,)

    async def reconcile(self, ctx: Context, obj: OpenClaw) -> Result:
        import os
        await ctx.apply(ConfigMap(name=f"{obj.name}-first", data={"a": "1"}))
        while not os.path.exists(os.environ["GO_ON"]):
            await asyncio.sleep(0.01)
        await ctx.apply(ConfigMap(name=f"{obj.name}-second", data={"a": "1"}))
        obj.status.external_endpoint = "done"
        return Result.done()
'''
_RULES = [
    {"apiGroups": ["apps.openclaw.dev"], "resources": ["openclaws"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["apps.openclaw.dev"], "resources": ["openclaws/status"], "verbs": ["patch"]},
    {"apiGroups": ["apps.openclaw.dev"], "resources": ["openclaws/finalizers"], "verbs": ["update"]},
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch", "create", "patch"]},
]


class _SlowOperator:
    """The operator above, with one run under way that waits for `go_on`."""

    def __init__(self, client: Client, namespace: str, account: NewAccount, folder: Path) -> None:
        self.client, self.namespace, self._account, self._folder = client, namespace, account, folder
        self._gate = folder / "go-on"

    async def start(self, *arguments: str) -> OperatorProcess:
        program = self._folder / "slow.py"
        program.write_text(_SLOW)
        me = await self._account(rules=_RULES)
        operator = OperatorProcess(
            me.kubeconfig,
            self._folder / "log",
            [str(program), "--namespace", self.namespace, *arguments],
            environment={"GO_ON": str(self._gate)},
        )
        operator.start()
        await operator.ready()
        await self.client.create(claw("web", self.namespace))
        await self.client.wait_for("ConfigMap", self.namespace, "web-first", lambda it: it["data"])
        return operator

    def go_on(self) -> None:
        self._gate.touch()

    async def effects(self) -> tuple[list[str], object]:
        maps = [item["metadata"]["name"] for item in await self.client.list("ConfigMap", self.namespace)]
        live = await self.client.get("OpenClaw", self.namespace, "web")
        return sorted(name for name in maps if name.startswith("web-")), live.get("status")


@pytest.fixture
def slow(kube_client: Client, namespace: str, account: NewAccount, tmp_path: Path) -> _SlowOperator:
    return _SlowOperator(kube_client, namespace, account, tmp_path)


async def test_a_run_in_flight_ends_within_the_grace(slow: _SlowOperator) -> None:
    operator = await slow.start()
    async with operator:
        operator.signal(signal.SIGTERM)
        await eventually(lambda: operator.said("stopping"), "the signal")
        status, text = await operator.readyz()
        assert (status, "[-]running failed: stopping" in text) == (500, True)
        slow.go_on()
        assert await operator.wait() == 0
    names, status_ = await slow.effects()
    assert names == ["web-first", "web-second"]
    assert isinstance(status_, dict)
    assert status_["externalEndpoint"] == "done"
    assert status_["observedGeneration"] == 1
    assert operator.records()[-1]["message"] == "manager stopped"


async def test_a_run_that_outlasts_the_grace_is_cut_off_without_half_a_status(slow: _SlowOperator) -> None:
    operator = await slow.start("--grace", "0.2")
    async with operator:
        assert await operator.stop() == 0
    assert await slow.effects() == (["web-first"], None)
    assert operator.said("runs were cut off at the end of the grace")[0]["runs"] == 1


async def test_a_second_signal_ends_it_at_once(slow: _SlowOperator) -> None:
    operator = await slow.start("--grace", "3600")
    async with operator:
        operator.signal(signal.SIGTERM)
        await eventually(lambda: operator.said("stopping"), "the first signal")
        operator.signal(signal.SIGINT)
        assert await operator.wait() == 0
    assert await slow.effects() == (["web-first"], None)


async def test_sigterm_before_the_caches_are_synced(api_server: ControlPlane, tmp_path: Path) -> None:
    """An account without any right: no list ever succeeds."""
    nobody = api_server.kubeconfig_for("nobody")
    async with OperatorProcess(nobody, tmp_path / "log") as operator:
        await eventually(lambda: operator.said("watch interrupted, trying again"), "a refused list")
        status, text = await operator.readyz()
        assert status == 500
        assert "not listed yet" in text
        hint = operator.said("watch interrupted, trying again")[0]["hint"]
        assert "the role must allow list and watch of" in hint
        assert (await operator.healthz())[0] == 200
        assert await operator.stop() == 0
    assert "Traceback" not in operator.tail()


async def test_sigterm_while_the_api_server_is_frozen(
    own_plane: ControlPlane, own_client: Client, own_account: NewAccount, tmp_path: Path
) -> None:
    own_plane.create_namespace("shop")
    me = await own_account()
    async with OperatorProcess(me.kubeconfig, tmp_path / "log", ["--grace", "0.5"]) as operator:
        await operator.ready()
        await own_client.create(claw("web", "shop"))
        await own_client.wait_for("OpenClaw", "shop", "web", observed)
        own_plane.pause("kube-apiserver")
        try:
            assert await operator.stop() == 0
        finally:
            own_plane.resume("kube-apiserver")

        operator.start()
        await operator.ready()
        own_plane.kill_api_server()
        assert await operator.stop() == 0
        assert "Traceback" not in operator.tail()


async def test_an_api_server_that_comes_later(
    own_plane: ControlPlane, own_account: NewAccount, tmp_path: Path
) -> None:
    me = await own_account()
    own_plane.kill_api_server()
    async with OperatorProcess(me.kubeconfig, tmp_path / "log") as operator:
        said = await eventually(
            lambda: operator.said("watch interrupted, trying again"), "a message about the server"
        )
        assert own_plane.url.removeprefix("https://") in said[0]["error"]
        assert "Traceback" not in operator.tail()
        await asyncio.to_thread(own_plane.start_api_server)
        await operator.ready()
        assert await operator.stop() == 0


class TestMissingDefinition:
    @pytest.fixture
    def own_plane_options(self) -> dict[str, object]:
        return {"crds": []}

    async def test_it_starts_to_work_once_the_crd_is_there(
        self, own_plane: ControlPlane, own_client: Client, tmp_path: Path
    ) -> None:
        own_plane.create_namespace("shop")
        me = await new_account(own_plane, own_client)
        async with OperatorProcess(me.kubeconfig, tmp_path / "log", [OPENCLAW]) as operator:
            said = await eventually(
                lambda: operator.said("watch interrupted, trying again"), "a message about the CRD"
            )
            assert said[0]["hint"] == (
                "the API server does not serve openclaws.apps.openclaw.dev: install its CRD"
            )
            _, text = await operator.readyz()
            assert "openclaws.apps.openclaw.dev: not listed yet" in text

            for file in (Path(__file__).parents[3] / "crds").glob("*.yaml"):
                for document in yaml.safe_load_all(file.read_text()):
                    await own_client.create(document)
            await eventually(lambda: _is_served(own_client), "the kind")
            await own_client.create(claw("web", "shop"))
            await own_client.wait_for("OpenClaw", "shop", "web", observed)
            await operator.ready()
            assert await operator.stop() == 0
        assert {code_of(event) for event in refused(me.requests())} == {404}


async def _is_served(client: Client) -> bool:
    found = await client.get("CustomResourceDefinition", None, "openclaws.apps.openclaw.dev")
    return any(
        it["type"] == "Established" and it["status"] == "True" for it in found["status"]["conditions"] or ()
    )


def _run(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "openclaw.cli.main", "run", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, **(environment or {})},
    )


_CLUSTER = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: 'https://127.0.0.1:1', %s}}]
users: [{name: u, user: {%s}}]
"""
_AUTHORITY_FILE = _CLUSTER % ("certificate-authority: /nowhere/ca.crt", "token: abcdef")
_AUTHORITY_DATA = _CLUSTER % ("certificate-authority-data: bm8gY2VydGlmaWNhdGU=", "token: abcdef")
_KEY_FILE = _CLUSTER % ("insecure-skip-tls-verify: true", "client-certificate: /no.crt, client-key: /no.key")
_TOKEN_FILE = _CLUSTER % ("insecure-skip-tls-verify: true", "tokenFile: /nowhere/token")
_PLUGIN = _CLUSTER % (
    "insecure-skip-tls-verify: true",
    "exec: {apiVersion: client.authentication.k8s.io/v1, command: /nowhere/plugin, interactiveMode: Never}",
)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", ""),
        ("{}", ""),
        ("[]", ""),
        ("a: [", ""),
        ("\0\1\2", ""),
        ("apiVersion: v1\nkind: Config\ncurrent-context: nobody\n", "nobody"),
        (_AUTHORITY_FILE, "/nowhere/ca.crt"),
        (_AUTHORITY_DATA, ""),
        (_KEY_FILE, "/no.crt"),
        (_TOKEN_FILE, "/nowhere/token"),
        (_PLUGIN, "/nowhere/plugin"),
    ],
    ids=[
        "empty",
        "no-fields",
        "list",
        "no-yaml",
        "binary",
        "no-context",
        "no-ca-file",
        "bad-ca",
        "no-key",
        "no-token",
        "no-plugin",
    ],
)
def test_a_bad_kubeconfig_is_one_line_that_names_it(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(content)
    ended = _run("--kubeconfig", str(file), "--metrics-address", "none")
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("openclaw run: ")]
    assert str(file) in line
    assert says in line


def test_a_missing_kubeconfig_and_an_address_in_use(tmp_path: Path) -> None:
    ended = _run("--kubeconfig", str(tmp_path / "none"))
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"openclaw run: kubeconfig '{tmp_path / 'none'}' does not exist")

    ended = _run(environment={"HOME": str(tmp_path), "KUBECONFIG": ""})
    assert ended.returncode == 1
    assert ended.stderr.startswith("openclaw run: no Kubernetes configuration: set KUBECONFIG")

    file = tmp_path / "kubeconfig"
    file.write_text(_CLUSTER % ("insecure-skip-tls-verify: true", "token: abcdef"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = _run("--kubeconfig", str(file), "--metrics-address", address)
    assert ended.returncode == 1
    assert f"cannot listen on {address}" in ended.stderr
    assert "Traceback" not in ended.stderr

    ended = _run("--kubeconfig", str(file), "--metrics-address", "nonsense")
    assert ended.returncode == 2
    assert "--metrics-address 'nonsense'" in ended.stderr
