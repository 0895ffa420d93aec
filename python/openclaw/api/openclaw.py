"""The OpenClaw kind: a web front end and background workers, run as one."""

from __future__ import annotations

from typing import Annotated, Literal

from openclaw.api.cel import literal
from openclaw.api.conditions import Conditions
from openclaw.api.field import Field
from openclaw.api.markers import Rule
from openclaw.api.model import Model
from openclaw.api.options import Age, Column
from openclaw.api.resource import CustomResource

MAX_REPLICAS = 1000

_LABEL_NAME = "([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

_LABEL_KEY = f"^({_SUBDOMAIN}/)?{_LABEL_NAME}$"

_Image = Annotated[
    str,
    Field(
        max_length=1024,
        pattern=r"^\S+$",
        pattern_message="must be a container image such as registry.example.com/shop/web:1.4, without blanks",
    ),
]
_SecretName = Annotated[
    str,
    Field(
        max_length=253,
        pattern=f"^{_SUBDOMAIN}$",
        pattern_message="must be the name of a Secret: lower-case letters, digits, '-' and '.'",
    ),
]
_LabelValue = Annotated[
    str,
    Field(
        max_length=63,
        pattern=f"^{_LABEL_NAME}?$",
        pattern_message=(
            "must be a label value: letters, digits, '-', '_' and '.', a letter or digit at both ends"
        ),
    ),
]


class Frontend(Model):
    """The web front end: a Deployment behind a Service, and an Ingress when a host is given."""

    image: _Image = Field(description="The container image.", examples=["registry.example.com/shop/web:1.4"])
    replicas: int = Field(
        1, ge=0, le=MAX_REPLICAS, description="How many pods to run. Unset means 1; 0 means none."
    )
    service_type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = Field(
        "ClusterIP",
        description="How the Service is reached: inside the cluster only (ClusterIP), on a port of each node "
        "(NodePort), or through a load balancer (LoadBalancer).",
    )
    ingress_host: str | None = Field(
        None,
        max_length=253,
        pattern=rf"^(\*\.)?{_SUBDOMAIN}$",
        pattern_message=(
            "must be a DNS name such as shop.example.com, or a wildcard such as *.example.com; "
            "leave it out for no Ingress"
        ),
        rules=[
            Rule(
                rule=r"!self.matches('^[0-9.]+$')",
                message="must be a DNS name such as shop.example.com, not an IP address",
            )
        ],
        description="The host under which an Ingress publishes the front end; without it there is none.",
        examples=["shop.example.com"],
    )
    port: int = Field(8080, ge=1, le=65535, description="The port on which the container listens.")


class Worker(Model):
    """The background workers: a Deployment that takes its work from a queue."""

    image: _Image = Field(
        description="The container image.", examples=["registry.example.com/shop/worker:1.4"]
    )
    replicas: int = Field(
        1, ge=0, le=MAX_REPLICAS, description="How many pods to run. Unset means 1; 0 means none."
    )
    queue: str = Field(
        max_length=2048,
        pattern=r"^\S+$",
        pattern_message=(
            "must be the address of a queue such as amqp://rabbitmq.shop:5672/jobs or redis.shop:6379, "
            "without blanks"
        ),
        description="The address of the queue, given to the container in its environment.",
        examples=["amqp://rabbitmq.shop:5672/jobs"],
    )


class GlobalConfig(Model):
    """What holds for the front end and the workers alike."""

    image_pull_secrets: list[_SecretName] = Field(
        default_factory=list,
        max_items=32,
        list_type="set",
        description="Names of Secrets, in the object's namespace, with which images are pulled.",
        examples=[["registry-credentials"]],
    )
    node_selector: dict[str, _LabelValue] = Field(
        default_factory=dict,
        max_properties=32,
        rules=[
            Rule(
                rule=f"self.all(key, size(key) <= 317 && key.matches({literal(_LABEL_KEY)}))",
                message=(
                    "keys must be label keys such as disktype or example.com/disktype: "
                    "an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' and '.'"
                ),
            )
        ],
        description="Labels that a node must have for the pods to run on it.",
    )


class OpenClawSpec(Model):
    """What is to run."""

    frontend: Frontend = Field(description="The web front end.")
    worker: Worker = Field(description="The background workers.")
    global_config: GlobalConfig = Field(
        default_factory=GlobalConfig, description="What holds for the front end and the workers alike."
    )


class OpenClawStatus(Model):
    """What was observed; written by the operator."""

    conditions: Conditions = Field(
        default_factory=Conditions,
        description="Available: both components serve as wished. Progressing: a change is being rolled out. "
        "Degraded: a component fails, and the message says why.",
    )
    observed_generation: int | None = Field(
        None, ge=0, format="int64", description="The metadata.generation that this status speaks of."
    )
    frontend_ready_replicas: int = Field(0, ge=0, format="int32", description="Ready pods of the front end.")
    worker_ready_replicas: int = Field(0, ge=0, format="int32", description="Ready pods of the workers.")
    external_endpoint: str | None = Field(
        None,
        description="Where the front end is reached from outside the cluster: by the Ingress host, the load "
        "balancer's address, or the node port. Absent while there is none.",
    )


class OpenClaw(
    CustomResource,
    group="apps.openclaw.dev",
    version="v1alpha1",
    plural="openclaws",
    short_names=("claw",),
    categories=("all",),
    columns=(
        Column(
            "Frontend", ".status.frontendReadyReplicas", "integer", description="Ready pods of the front end."
        ),
        Column("Worker", ".status.workerReadyReplicas", "integer", description="Ready pods of the workers."),
        Column(
            "Endpoint", ".status.externalEndpoint", description="Where the front end is reached from outside."
        ),
        Column("Available", '.status.conditions[?(@.type=="Available")].status'),
        Column("Progressing", '.status.conditions[?(@.type=="Progressing")].status'),
        Column("Degraded", '.status.conditions[?(@.type=="Degraded")].status'),
        Column("Frontend-Desired", ".spec.frontend.replicas", "integer", priority=1),
        Column("Worker-Desired", ".spec.worker.replicas", "integer", priority=1),
        Column("Message", '.status.conditions[?(@.type=="Degraded")].message', priority=1),
        Age,
    ),
):
    """An application of a web front end and background workers, run as one thing inside the cluster."""

    spec: OpenClawSpec
    status: OpenClawStatus = OpenClawStatus()
