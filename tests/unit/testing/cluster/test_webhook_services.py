"""Webhooks that are named by a Service."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw.kube.errors import ApiError
from openclaw.testing import FakeCluster
from tests.conformance.hook import hook


def _configuration(namespace: str, name: str) -> dict[str, Any]:
    service = {"namespace": namespace, "name": name, "path": "/deny"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "all"},
        "webhooks": [
            {
                "name": "deny.x.io",
                "clientConfig": {"service": service, "caBundle": hook().bundle},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


@pytest.mark.parametrize(
    ("service", "refusal"),
    [
        # The certificate is for this one.
        (("default", "kubernetes"), "denied the request: not this one"),
        (("default", "other"), "certificate"),
        (("default", "nowhere"), 'service "nowhere" not found'),
    ],
    ids=["called", "certificate-of-another", "unknown"],
)
async def test_a_service_is_where_the_cluster_is_told(service: tuple[str, str], refusal: str) -> None:
    places = {"default/kubernetes": hook().url, "default/other": hook().url}
    async with FakeCluster(services=places) as cluster, cluster.client() as client:
        await client.create(_configuration(*service))
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        with pytest.raises(ApiError, match=refusal):
            await client.create(body, namespace="default")
