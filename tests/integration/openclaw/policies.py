"""Admission policies that refuse what a test wants to be refused."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openclaw.kube.errors import Invalid
from openclaw.testing import Client
from openclaw.testing.client import Object
from tests.integration.openclaw.claws import SECONDS


@asynccontextmanager
async def policy_denying(
    client: Client, namespace: str, expression: str, message: str
) -> AsyncIterator[None]:
    """A ValidatingAdmissionPolicy in one namespace; entered once it is in force, left once it is not."""
    name = f"deny-{uuid.uuid4().hex[:8]}"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["apps", "networking.k8s.io", ""],
                        "apiVersions": ["*"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["deployments", "ingresses", "configmaps"],
                    }
                ]
            },
            "validations": [
                {"expression": f"object.kind != 'ConfigMap' && ({expression})", "message": message}
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
            },
        },
    }
    await client.create(policy)
    await client.create(binding)
    try:
        await _refused(client, namespace, expected=True)
        yield
    finally:
        await client.delete("ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io", None, name)
        await client.delete("ValidatingAdmissionPolicy.admissionregistration.k8s.io", None, name)
        await _refused(client, namespace, expected=False)


async def _refused(client: Client, namespace: str, *, expected: bool) -> None:
    """Wait until a ConfigMap is refused, or no longer is: nothing else tells what admission has heard."""
    probe: Object = {"apiVersion": "v1", "kind": "ConfigMap"}
    async with asyncio.timeout(SECONDS):
        while True:
            probe["metadata"] = {"name": f"probe-{uuid.uuid4().hex[:8]}"}
            try:
                await client.create(probe, namespace=namespace)
                refused = False
            except Invalid:
                refused = True
            if refused == expected:
                return
            await asyncio.sleep(0.05)
