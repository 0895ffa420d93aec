"""What the tests of the types use: kubectl, and a kind that has every marker."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from openclaw.manifests.crd import custom_resource_definition
from openclaw.testing import Client, ControlPlane, find_binary
from tests.integration.types.everything import EverythingV1, EverythingV1Beta1


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl as an administrator, in one namespace. Its discovery cache is its own."""

    binary: Path
    kubeconfig: Path
    namespace: str
    home: Path

    async def __call__(self, *arguments: str, stdin: str = "") -> Answer:
        return await self.unplaced("--namespace", self.namespace, *arguments, stdin=stdin)

    async def unplaced(self, *arguments: str, stdin: str = "") -> Answer:
        """For objects that name their namespaces themselves."""
        process = await asyncio.create_subprocess_exec(
            str(self.binary),
            *("--kubeconfig", str(self.kubeconfig)),
            *("--cache-dir", str(self.home / "cache")),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(self.home)},
        )
        out, err = await process.communicate(stdin.encode())
        return Answer(process.returncode or 0, out.decode(), err.decode())

    async def ok(self, *arguments: str, stdin: str = "") -> str:
        """The output; neither failure nor warning is expected."""
        answer = await self(*arguments, stdin=stdin)
        assert (answer.status, answer.err) == (0, ""), answer
        return answer.out


@pytest.fixture(scope="session")
def kubectl_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kubectl")


@pytest.fixture
def kubectl(api_server: ControlPlane, namespace: str, kubectl_home: Path) -> Kubectl:
    return Kubectl(find_binary("kubectl"), api_server.kubeconfig, namespace, kubectl_home)


@pytest.fixture
async def everything(kube_client: Client, api_server: ControlPlane) -> None:
    """The CRD of the kind that has every marker; it stays for the tests to come."""
    await kube_client.install_crds(custom_resource_definition(EverythingV1, EverythingV1Beta1))
