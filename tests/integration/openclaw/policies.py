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
    """A ValidatingAdmissionPolicy in one namespace; entered once it is in force."""
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
        await _in_force(client, namespace)
        yield
    finally:
        await client.delete("ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io", None, name)
        await client.delete("ValidatingAdmissionPolicy.admissionregistration.k8s.io", None, name)


async def _in_force(client: Client, namespace: str) -> None:
    """Wait until a ConfigMap is refused: nothing else tells that the policy has reached admission."""
    probe: Object = {"apiVersion": "v1", "kind": "ConfigMap"}
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                probe["metadata"] = {"name": f"probe-{uuid.uuid4().hex[:8]}"}
                await client.create(probe, namespace=namespace)
            except Invalid:
                return
            await asyncio.sleep(0.05)
