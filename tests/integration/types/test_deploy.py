"""The generated manifests of the operator itself."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from openclaw.kube.errors import Forbidden, NotFound
from openclaw.testing import Client
from openclaw.testing.client import Object
from tests.integration.types.conftest import Kubectl

pytestmark = pytest.mark.usefixtures("api_server")

BASE = Path(__file__).parents[3] / "deploy" / "base"


def documents() -> list[Object]:
    files = [it for it in sorted(BASE.glob("*.yaml")) if it.name != "kustomization.yaml"]
    return [it for file in files for it in yaml.safe_load_all(file.read_text()) if it]


@pytest.fixture(autouse=True)
async def _removed(kube_client: Client) -> AsyncIterator[None]:
    """All but the namespace, which nobody would bring to its end here."""
    yield
    for body in documents():
        if body["kind"] != "Namespace":
            with contextlib.suppress(NotFound):
                metadata = body["metadata"]
                await kube_client.delete(body["kind"], metadata.get("namespace"), metadata["name"])


async def test_kubectl_applies_it_and_applies_it_again(kubectl: Kubectl, kube_client: Client) -> None:
    kinds = [it["kind"] for it in documents()]
    answer = await kubectl.unplaced("apply", "--server-side", "--validate=strict", "-k", str(BASE))
    assert (answer.status, answer.err) == (0, ""), answer
    assert len(answer.out.splitlines()) == len(kinds)
    before = await kube_client.get("StatefulSet", "openclaw-system", "openclaw")
    answer = await kubectl.unplaced("apply", "--server-side", "--validate=strict", "-k", str(BASE))
    assert (answer.status, answer.err) == (0, ""), answer
    assert await kube_client.get("StatefulSet", "openclaw-system", "openclaw") == before
    answer = await kubectl.unplaced("diff", "--server-side", "-k", str(BASE))
    assert (answer.status, answer.out) == (0, ""), answer


async def test_client_side_apply_takes_it_too(kubectl: Kubectl) -> None:
    answer = await kubectl.unplaced("apply", "--dry-run=client", "--validate=strict", "-k", str(BASE))
    assert answer.status == 0, answer


async def test_its_pods_keep_to_the_restricted_standard(kube_client: Client) -> None:
    """Where it is enforced, as in the namespace that comes with it, and with warnings on."""
    stateful_set = next(it for it in documents() if it["kind"] == "StatefulSet")
    namespace = next(it for it in documents() if it["kind"] == "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    async with kube_client.namespace(labels=labels) as place:
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": stateful_set["spec"]["template"]["spec"]["serviceAccountName"]},
        }
        await kube_client.create(account, namespace=place)
        template = stateful_set["spec"]["template"]
        pod: Object = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "as-stated", "labels": template["metadata"]["labels"]},
            "spec": template["spec"],
        }
        await kube_client.create(pod, namespace=place)
        await kube_client.create({**stateful_set, "metadata": {"name": "openclaw"}}, namespace=place)
        assert kube_client.warnings == []
        # The standard is in force here: what does not keep to it is refused.
        loose = {**pod, "metadata": {"name": "loose"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        with pytest.raises(Forbidden, match="violates PodSecurity"):
            await kube_client.create(loose, namespace=place)


async def test_a_viewer_and_an_editor_may_what_they_should(kubectl: Kubectl, kube_client: Client) -> None:
    for body in documents():
        if body["kind"] == "ClusterRole":
            await kube_client.apply(body)
    for role, allowed, denied in (
        ("openclaw-viewer", ("get", "list", "watch"), ("create", "patch", "delete")),
        ("openclaw-editor", ("get", "create", "patch", "update", "delete"), ()),
    ):
        binding: Object = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": role, "namespace": kubectl.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": role}],
        }
        await kube_client.apply(binding)
        for verb in allowed:
            assert await kubectl.ok("auth", "can-i", verb, "openclaws", "--as", role) == "yes\n", (role, verb)
        for verb in denied:
            answer = await kubectl("auth", "can-i", verb, "openclaws", "--as", role)
            assert answer.out == "no\n", (role, verb)
        answer = await kubectl("auth", "can-i", "patch", "openclaws", "--subresource=status", "--as", role)
        assert answer.out == "no\n", "the status is the operator's"
