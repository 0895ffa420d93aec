"""The smallest operator, as its user runs it: `openclaw manifests FILE`, then `openclaw run FILE`."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.accounts import describe, refused
from tests.integration.reliability.operator_process import OperatorProcess

_FOLDER = Path(__file__).parents[3] / "examples" / "greeting"
_PROGRAM = _FOLDER / "greeting.py"


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    """The folder into which `openclaw manifests` has written."""
    output = tmp_path / "build"
    command = [sys.executable, "-m", "openclaw.cli.main", "manifests", str(_PROGRAM), "--output", str(output)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    again = subprocess.run([*command, "--check"], capture_output=True, text=True, timeout=30, check=False)
    assert again.returncode == 0, again.stdout
    return output


def _text(expected: str, item: dict[str, Any]) -> bool:
    return bool(item["data"]["index.txt"] == expected)


def test_it_is_small() -> None:
    assert len(_PROGRAM.read_text().splitlines()) < 60


async def test_the_file_alone_makes_an_operator(
    own_plane: ControlPlane, own_client: Client, manifests: Path, tmp_path: Path
) -> None:
    roles = manifests / "deploy" / "base" / "rbac.yaml"
    (account,) = [
        it["metadata"] for it in yaml.safe_load_all(roles.read_text()) if it["kind"] == "ServiceAccount"
    ]
    own_plane.create_namespace(account["namespace"])
    await own_client.install_crds(*sorted((manifests / "crds").glob("*.yaml")))
    await own_client.apply_yaml(roles)
    kubeconfig = own_plane.service_account_kubeconfig(account["namespace"], account["name"])

    async with OperatorProcess(kubeconfig, tmp_path / "log", [str(_PROGRAM)]) as operator:
        await operator.ready()
        await own_client.apply_yaml(_FOLDER / "greeting.yaml")
        page = "Good morning, Ada!\nGood morning, Grace!"
        await own_client.wait_for("ConfigMap", "default", "hello-page", partial(_text, page))
        live = await own_client.wait_for(
            "Greeting.demo.example.com",
            "default",
            "hello",
            lambda it: it["status"]["observedGeneration"] == it["metadata"]["generation"],
        )
        (available,) = live["status"]["conditions"]
        assert (available["type"], available["status"]) == ("Available", "True")

        await own_client.patch("ConfigMap", "default", "hello-page", {"data": {"index.txt": "Bad morning"}})
        await own_client.wait_for("ConfigMap", "default", "hello-page", partial(_text, page))
        await own_client.patch("Greeting.demo.example.com", "default", "hello", {"spec": {"names": None}})
        await own_client.wait_for(
            "ConfigMap", "default", "hello-page", partial(_text, "Good morning, world!")
        )
        assert await operator.stop() == 0
        assert [record for record in operator.records() if record["level"] in ("warning", "error")] == []
    user = f"system:serviceaccount:{account['namespace']}:{account['name']}"
    requests = own_plane.audit_events(user)
    assert requests
    assert [describe(event) for event in refused(requests)] == []


def test_the_kind_is_described_in_full(manifests: Path) -> None:
    (file,) = (manifests / "crds").glob("*.yaml")
    (crd,) = [it for it in yaml.safe_load_all(file.read_text()) if it]
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["required"] == ["text"]
    assert all(field["description"] for field in spec["properties"].values())
