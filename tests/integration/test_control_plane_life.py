"""How a control plane starts, suffers and ends."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from openclaw.kube.errors import Unreachable
from openclaw.testing import (
    Client,
    ControlPlane,
    ControlPlaneError,
    places,
)
from openclaw.testing.watchdog import Identity, State
from tests.integration.plane_objects import (
    config_map,
    pod,
)


async def test_a_killed_api_server_comes_back_at_its_address_with_its_data() -> None:
    async with ControlPlane() as it, Client(it.kubeconfig) as client:
        url = it.url
        await client.create(config_map("kept"), namespace="default")
        async with aclosing(client.follow("ConfigMap", "default")) as changes:
            await anext(changes)
            it.kill_api_server()
            with pytest.raises(Unreachable):
                await client.list("ConfigMap", "default")
            await asyncio.to_thread(it.start_api_server)
            assert it.url == url
            assert (await client.get("ConfigMap", "default", "kept"))["metadata"]["name"] == "kept"
            # Whoever followed goes on by itself.
            await client.create(config_map("later"), namespace="default")
            async for events in changes:
                if any(item["metadata"]["name"] == "later" for _, item in events):
                    break


async def test_a_paused_api_server_answers_nothing_until_it_is_resumed() -> None:
    async with ControlPlane() as it, Client(it.kubeconfig) as client:
        await client.list("Namespace")
        it.pause("kube-apiserver")
        with pytest.raises(Unreachable, match="no answer within"):
            await client.transport.request("GET", "/api/v1/namespaces", timeout=0.3)
        it.resume("kube-apiserver")
        assert await client.list("Namespace")


@pytest.mark.parametrize("taken", [1, 2])
def test_ports_that_were_taken_meanwhile_are_given_up(monkeypatch: pytest.MonkeyPatch, taken: int) -> None:
    choose = places.free_ports
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        choices = [choose(5), choose(5)]
        choices[0][taken] = somebody.getsockname()[1]
        monkeypatch.setattr(places, "free_ports", lambda _: choices.pop(0))
        with ControlPlane() as it:
            assert not choices
            assert it._requests.healthy("/readyz") is None


async def test_a_start_that_is_cancelled_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[Path] = []
    stop = ControlPlane.stop

    def record(it: ControlPlane) -> None:
        stopped.append(it.folder)
        stop(it)

    monkeypatch.setattr(ControlPlane, "stop", record)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2), ControlPlane():
            pytest.fail("a control plane is not ready in 0.2 s")
    (folder,) = stopped
    assert not folder.exists()


def test_stop_removes_everything_and_may_be_called_again() -> None:
    control_plane = ControlPlane()
    with control_plane as it:
        folder = it.folder
        state = State.read(folder)
        assert state is not None
        assert set(state.processes) == {"etcd", "kube-apiserver"}
    control_plane.stop()
    assert not folder.exists()
    assert not any(process.alive() for process in state.processes.values())
    with pytest.raises(ControlPlaneError, match="not running"):
        _ = control_plane.kubeconfig


def test_a_given_directory_keeps_the_data_from_one_start_to_the_next(tmp_path: Path) -> None:
    control_plane = ControlPlane(directory=tmp_path / "kept")
    with control_plane as it:
        it.create_namespace("kept")
    with control_plane as it:
        assert it._requests.send("GET", "/api/v1/namespaces/kept")["metadata"]["name"] == "kept"
    assert (tmp_path / "kept" / "etcd").is_dir()


def test_a_server_that_can_not_start_shows_why() -> None:
    with pytest.raises(ControlPlaneError, match=r"(?s)kube-apiserver ended.*no-such-argument"):
        ControlPlane(api_server_args=["--no-such-argument"]).start()


def test_feature_gates_and_admission_plugins_reach_the_server() -> None:
    options = {"feature_gates": {"ShardedListAndWatch": True}, "admission_plugins": ["AlwaysPullImages"]}
    with ControlPlane(**options) as it:  # type: ignore[arg-type]
        metrics = str(it._requests.send("GET", "/metrics"))
        assert 'kubernetes_feature_enabled{name="ShardedListAndWatch",stage="ALPHA"} 1' in metrics
        it._requests.send("POST", "/api/v1/namespaces/default/pods", {**pod("one"), "status": {}})
        created = it._requests.send("GET", "/api/v1/namespaces/default/pods/one")
        assert created["spec"]["containers"][0]["imagePullPolicy"] == "Always"


def test_nothing_outlives_a_parent_that_is_killed() -> None:
    script = """
import time
from openclaw.testing import ControlPlane
with ControlPlane() as it:
    print(it.folder, flush=True)
    time.sleep(1000)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        folder = Path(parent.stdout.readline().strip())
        state = State.read(folder)
        assert state is not None
        servers = list(state.processes.values())
        assert len(servers) == 2
        assert all(server.alive() for server in servers)
        parent.kill()
    _until_gone(servers, folder)


def _until_gone(processes: list[Identity], folder: Path) -> None:
    from tests.unit.testing.waiting import wait_until

    wait_until(lambda: not any(process.alive() for process in processes) and not folder.exists())
