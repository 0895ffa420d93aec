"""The real kubectl against the cluster in memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from openclaw.testing import ClusterServer, FakeCluster, find_binary
from openclaw.testing.kubeconfig import write_kubeconfig

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]  # Many processes, one after the other.

ROOT = Path(__file__).parents[3]
CRDS = sorted((ROOT / "crds").glob("*.yaml"))
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example/web:1"}]}
"""


@dataclass(frozen=True, slots=True)
class Kubectl:
    server: ClusterServer
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        # PATH: kubectl runs diff, and the editor.
        return {
            "KUBECONFIG": str(self.server.kubeconfig),
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
        }

    async def run(self, *arguments: str, stdin: str = "", **environment: str) -> tuple[int, str, str]:
        process = await asyncio.create_subprocess_exec(
            str(find_binary("kubectl")),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**self.environment, **environment},
        )
        out, err = await process.communicate(stdin.encode())
        return process.returncode or 0, out.decode(), err.decode()

    async def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> str:
        status, out, err = await self.run(*arguments, stdin=stdin, **environment)
        assert (status, err) == (0, ""), (arguments, out, err)
        return out


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    async with FakeCluster(crds=CRDS, rbac=True) as cluster, ClusterServer(cluster) as server:
        yield Kubectl(server, tmp_path)


async def test_apply_change_and_delete(kubectl: Kubectl) -> None:
    assert "web created" in await kubectl("apply", "-f", "-", stdin=WEB)
    assert "web unchanged" in await kubectl("apply", "-f", "-", stdin=WEB)
    await kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=30s")
    await kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    shown = (await kubectl("get", "deployments")).split()
    assert shown[5:9] == ["web", "2/2", "2", "2"]
    status, out, _ = await kubectl.run("diff", "-f", "-", stdin=WEB.replace("web:1", "web:2"))
    assert (status, "+      - image: example/web:2" in out) == (1, True)
    await kubectl("apply", "-f", "-", stdin=WEB.replace("web:1", "web:2"))
    await kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    await kubectl("scale", "deployment/web", "--replicas=4")
    await kubectl("label", "deployment/web", "team=a")
    await kubectl("set", "image", "deployment/web", "web=example/web:3")
    await kubectl(
        "patch", "deployment", "web", "--type=json", "-p", '[{"op": "remove", "path": "/metadata/labels"}]'
    )
    await kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    found = orjson.loads(await kubectl("get", "deployment", "web", "-o", "json"))
    assert found["spec"]["replicas"] == 4
    assert "labels" not in found["metadata"]
    assert "example/web:3" in await kubectl("describe", "deployment", "web")
    pods = await kubectl("get", "pods", "-l", "app=web", "-o", "wide")
    assert pods.count("Running") == 4
    await kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=30s")
    assert await kubectl("get", "pods", "-o", "name") == ""


async def test_server_side_apply_and_its_conflicts(kubectl: Kubectl) -> None:
    await kubectl("apply", "--server-side", "-f", "-", stdin=WEB)
    other = WEB.replace("web:1", "web:2")
    status, _, err = await kubectl.run(
        "apply", "--server-side", "--field-manager=other", "-f", "-", stdin=other
    )
    assert status != 0
    assert "conflict with" in err
    await kubectl(
        "apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-", stdin=other
    )
    found = orjson.loads(await kubectl("get", "deployment", "web", "-o", "json", "--show-managed-fields"))
    assert {one["manager"] for one in found["metadata"]["managedFields"]} >= {"kubectl", "other"}


async def test_custom_resources(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", str(ROOT / "examples/openclaw"))
    shown = await kubectl("get", "claw", "-n", "shop")
    assert shown.split()[:3] == ["NAME", "FRONTEND", "WORKER"]
    assert "What is to run" in await kubectl("explain", "openclaw.spec")
    await kubectl(
        "edit", "openclaw", "-n", "shop", "storefront", EDITOR="sed -i 's/replicas: 3/replicas: 5/'"
    )
    changed = await kubectl(
        "get", "claw", "-n", "shop", "storefront", "-o", "jsonpath={.spec.worker.replicas}"
    )
    assert changed == "5"
    wrong = (ROOT / "examples/openclaw/minimal.yaml").read_text().replace("image:", "imagine:", 1)
    status, _, err = await kubectl.run("apply", "-f", "-", stdin=wrong)
    assert status != 0
    assert "imagine" in err
    await kubectl("delete", "namespace", "shop", "--timeout=30s")
    await kubectl("delete", "-f", str(CRDS[0]), "--timeout=30s")
    status, _, err = await kubectl.run("get", "openclaws")
    assert status != 0


async def test_what_kubectl_sends_as_protobuf(kubectl: Kubectl) -> None:
    await kubectl("create", "namespace", "made")
    named = ("-n", "made")
    await kubectl("create", "deployment", "web", "--image=example/web:1", "--replicas=2", *named)
    await kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=30s", *named)
    await kubectl("create", "secret", "generic", "s", "--from-literal=key=value", *named)
    assert await kubectl("get", "secret", "s", "-o", "jsonpath={.data.key}", *named) == "dmFsdWU="
    await kubectl("create", "job", "once", "--image=example/job:completed", *named)
    await kubectl("wait", "--for=condition=Complete", "job/once", "--timeout=30s", *named)
    await kubectl("create", "ingress", "web", "--rule=example.com/path=web:80", *named)
    await kubectl("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=50%", *named)
    found = orjson.loads(await kubectl("get", "poddisruptionbudget", "web", "-o", "json", *named))
    assert found["spec"] == {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}}
    assert (await kubectl("auth", "can-i", "create", "pods")).strip() == "yes"
    await kubectl("create", "serviceaccount", "robot", *named)
    token = await kubectl("create", "token", "robot", *named)
    assert "robot" in await kubectl(
        "auth", "whoami", "--token", token.strip(), "--kubeconfig", await plain(kubectl)
    )
    await kubectl("delete", "namespace", "made", "--timeout=30s")


async def plain(kubectl: Kubectl) -> str:
    """A kubeconfig without credentials."""
    path = kubectl.home / "plain.kubeconfig"
    authority = (kubectl.server.folder / "ca.crt").read_bytes()
    return str(write_kubeconfig(path, server=kubectl.server.url, authority=authority, user={}))


async def test_watching(kubectl: Kubectl) -> None:
    process = await asyncio.create_subprocess_exec(
        *(str(find_binary("kubectl")), "get", "configmaps", "--watch", "--output-watch-events"),
        stdout=asyncio.subprocess.PIPE,
        env=kubectl.environment,
    )
    assert process.stdout is not None
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen}\n"
    await kubectl("apply", "-f", "-", stdin=body)
    assert (await process.stdout.readline()).split()[0] == b"EVENT"
    assert (await process.stdout.readline()).split()[:2] == [b"ADDED", b"seen"]
    await kubectl("delete", "configmap", "seen")
    assert (await process.stdout.readline()).split()[:2] == [b"DELETED", b"seen"]
    process.terminate()
    await process.wait()


async def test_who_may_do_what(kubectl: Kubectl) -> None:
    status, _, err = await kubectl.run("get", "pods", "--as=bob")
    assert status != 0
    assert 'User "bob" cannot list resource "pods"' in err
    role = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
"""
    await kubectl("apply", "-f", "-", stdin=role)
    assert "No resources found" in (await kubectl.run("get", "pods", "--as=bob"))[2]
