"""The operator's own objects: Namespace, Service, StatefulSet and what guards its pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

METRICS_PORT = 8080
USER = 65532
"""The user of the image, by number so that the kubelet can see that it is not root."""

GRACE_SECONDS = 30
"""More than the 20 s in which `openclaw run` ends its reconciles after SIGTERM."""


def namespace_of(name: str, *, labels: Json) -> Json:
    """The operator's namespace, which admits only pods that keep to the `restricted` standard."""
    enforced = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {**labels, **enforced}},
    }


def metrics_service(*, name: str, namespace: str, labels: Json, selector: Json) -> Json:
    """The headless Service that gives each replica its name, and Prometheus a list of them.

    A replica that is not ready is listed too: what it measures tells why.
    """
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": selector,
            "ports": [{"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}],
        },
    }


def disruption_budget(*, name: str, namespace: str, labels: Json, selector: Json) -> Json:
    """At most one replica is evicted at a time: the slots of one wait for its return."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector}},
    }


def network_policy(*, name: str, namespace: str, labels: Json, selector: Json) -> Json:
    """Nobody speaks to the operator but for its metrics and health.

    Where it speaks to is not restricted: the API server's address, and that of providers, is the cluster's
    own affair.
    """
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "podSelector": {"matchLabels": selector},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"port": "metrics"}]}],
        },
    }


def stateful_set(
    *, name: str, namespace: str, image: str, arguments: Sequence[str], labels: Json, selector: Json
) -> Json:
    """The operator: as little privilege as there is, probed on the metrics port.

    Pods are started together, and updated one by one, each once the one before has its share again.
    """
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": 1,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate"},
            "selector": {"matchLabels": selector},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": name,
                    "automountServiceAccountToken": True,
                    "terminationGracePeriodSeconds": GRACE_SECONDS,
                    "topologySpreadConstraints": [
                        {
                            "maxSkew": 1,
                            "topologyKey": "kubernetes.io/hostname",
                            "whenUnsatisfiable": "ScheduleAnyway",
                            "labelSelector": {"matchLabels": selector},
                        }
                    ],
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": USER,
                        "runAsGroup": USER,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [_container(image, arguments)],
                },
            },
        },
    }


def _container(image: str, arguments: Sequence[str]) -> Json:
    return {
        "name": "operator",
        "image": image,
        "args": list(arguments),
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        ],
        "ports": [{"name": "metrics", "containerPort": METRICS_PORT}],
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": "metrics"},
            "initialDelaySeconds": 10,
            "periodSeconds": 20,
            "timeoutSeconds": 5,
        },
        "readinessProbe": {
            "httpGet": {"path": "/readyz", "port": "metrics"},
            "periodSeconds": 5,
            "timeoutSeconds": 5,
        },
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
