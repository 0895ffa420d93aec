"""The intents: what each child of an OpenClaw shall be, as plain values of its spec."""

from __future__ import annotations

from typing import Any, Final

from openclaw.api.builtin import Deployment, Ingress, Service
from openclaw.api.openclaw import OpenClaw
from openclaw.controllers.openclaw.names import child_name, instance_name

__all__ = [
    "FRONTEND",
    "QUEUE_VARIABLE",
    "SERVICE_PORT",
    "WORKER",
    "frontend_deployment",
    "frontend_ingress",
    "frontend_service",
    "worker_deployment",
]

FRONTEND: Final = "frontend"
WORKER: Final = "worker"
QUEUE_VARIABLE: Final = "QUEUE_ADDRESS"
"""The environment variable in which a worker finds its queue."""
SERVICE_PORT: Final = 80
_PORT_NAME: Final = "http"


def _selector(claw: OpenClaw, component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "openclaw",
        "app.kubernetes.io/instance": instance_name(claw.name),
        "app.kubernetes.io/component": component,
    }


def _labels(claw: OpenClaw, component: str) -> dict[str, str]:
    return {
        **_selector(claw, component),
        "app.kubernetes.io/part-of": instance_name(claw.name),
        "app.kubernetes.io/managed-by": "openclaw",
    }


def _deployment(claw: OpenClaw, component: str, replicas: int, container: dict[str, Any]) -> Deployment:
    pod: dict[str, Any] = {"containers": [{"name": component, **container}]}
    shared = claw.spec.global_config
    if shared.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in shared.image_pull_secrets]
    if shared.node_selector:
        pod["nodeSelector"] = dict(shared.node_selector)
    return Deployment(
        name=child_name(claw.name, component),
        namespace=claw.namespace,
        labels=_labels(claw, component),
        spec={
            "replicas": replicas,
            "selector": {"matchLabels": _selector(claw, component)},
            "template": {"metadata": {"labels": _labels(claw, component)}, "spec": pod},
        },
    )


def frontend_deployment(claw: OpenClaw) -> Deployment:
    """The web front end. It counts as ready when it accepts connections on its port."""
    frontend = claw.spec.frontend
    return _deployment(
        claw,
        FRONTEND,
        frontend.replicas,
        {
            "image": frontend.image,
            "ports": [{"name": _PORT_NAME, "containerPort": frontend.port, "protocol": "TCP"}],
            "readinessProbe": {"tcpSocket": {"port": _PORT_NAME}},
        },
    )


def worker_deployment(claw: OpenClaw) -> Deployment:
    """The background workers, told of their queue by an environment variable."""
    worker = claw.spec.worker
    return _deployment(
        claw,
        WORKER,
        worker.replicas,
        {"image": worker.image, "env": [{"name": QUEUE_VARIABLE, "value": worker.queue}]},
    )


def frontend_service(claw: OpenClaw) -> Service:
    """The Service in front of the front end, on port 80."""
    return Service(
        name=child_name(claw.name, FRONTEND),
        namespace=claw.namespace,
        labels=_labels(claw, FRONTEND),
        spec={
            "type": claw.spec.frontend.service_type,
            "selector": _selector(claw, FRONTEND),
            "ports": [
                {
                    "name": _PORT_NAME,
                    "port": SERVICE_PORT,
                    "targetPort": _PORT_NAME,
                    "protocol": "TCP",
                }
            ],
        },
    )


def frontend_ingress(claw: OpenClaw) -> Ingress:
    """The Ingress that publishes the Service under the host of the spec, by the cluster's default class."""
    backend = {"service": {"name": child_name(claw.name, FRONTEND), "port": {"name": _PORT_NAME}}}
    return Ingress(
        name=child_name(claw.name, FRONTEND),
        namespace=claw.namespace,
        labels=_labels(claw, FRONTEND),
        spec={
            "rules": [
                {
                    "host": claw.spec.frontend.ingress_host,
                    "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]},
                }
            ]
        },
    )
