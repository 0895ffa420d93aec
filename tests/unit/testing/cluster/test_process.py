from __future__ import annotations

import asyncio
import re
import signal
import sys
from pathlib import Path

import pytest

from openclaw.testing.client import Client
from openclaw.testing.cluster.process import ClusterProcess
from openclaw.testing.errors import ControlPlaneError

ROOT = Path(__file__).parents[4]
CRD = ROOT / "crds/apps.openclaw.dev_openclaws.yaml"


async def test_a_cluster_of_its_own_process() -> None:
    plane = ClusterProcess(crds=[CRD])
    with pytest.raises(ControlPlaneError, match="not running"):
        plane.audit_events()
    await asyncio.to_thread(plane.start)
    try:
        account = await asyncio.to_thread(plane.service_account_kubeconfig, "default", "robot")
        async with Client(plane.kubeconfig) as admin, Client(account) as robot:
            assert await admin.list("OpenClaw") == []
            assert (await admin.get("ServiceAccount", "default", "robot"))["metadata"]["uid"]
            with pytest.raises(Exception, match="cannot list resource"):
                await robot.list("Secret", "default")
        [refused] = plane.audit_events("system:serviceaccount:default:robot")
        assert (refused["verb"], refused["objectRef"]["resource"]) == ("list", "secrets")
        assert refused["responseStatus"]["code"] == 403
        folder = plane.folder
    finally:
        await asyncio.to_thread(plane.stop)
    assert not folder.exists()


async def test_one_that_cannot_start_says_why(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("kind: CustomResourceDefinition\nmetadata: {name: x}\n")
    with pytest.raises(ControlPlaneError, match="the cluster ended"):
        await asyncio.to_thread(ClusterProcess(crds=[bad]).start)


async def test_by_hand(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "openclaw.testing.cluster", "--crds", str(CRD.parent)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    said = ""
    while "Ctrl-C" not in said:
        line = await process.stdout.readline()
        assert line, said
        said += line.decode()
    found = re.search(r"export KUBECONFIG=(\S+)", said)
    assert found is not None, said
    async with Client(found[1]) as client:
        assert await client.list("OpenClaw") == []
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert not Path(found[1]).exists()
