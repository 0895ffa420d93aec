"""What has to be there for an OpenClaw, stated a second time: from its documentation, not from its code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from openclaw.testing import FakeCluster

Object = Mapping[str, Any]

CLAWS: Final = "openclaws.apps.openclaw.dev"
DEPLOYMENTS: Final = "deployments.apps"
SERVICES: Final = "services"
INGRESSES: Final = "ingresses.networking.k8s.io"
CHILD_KINDS: Final = (DEPLOYMENTS, SERVICES, INGRESSES)


def condition(obj: Object, kind: str) -> Object:
    """A condition; empty where there is none of the type."""
    found = (obj.get("status") or {}).get("conditions") or ()
    return next((it for it in found if it["type"] == kind), {})


def controller_uid(obj: Object) -> str | None:
    """The uid of the object's controller."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((it["uid"] for it in owners if it.get("controller")), None)


def least_available(wanted: int) -> int:
    """Pods that are enough: the wanted number less a quarter, rounded down."""
    return wanted - wanted // 4


def wants(spec: Object, component: str) -> int:
    """The pods that a spec asks for."""
    replicas: int = spec[component].get("replicas", 1)
    return replicas


def children_unwell(cluster: FakeCluster, claw: Object) -> str | None:
    """What of the children is not as the spec says; None when all is."""
    return next(_children_unwell(cluster, claw), None)


def _children_unwell(cluster: FakeCluster, claw: Object) -> Iterator[str]:
    metadata, spec = claw["metadata"], claw["spec"]
    namespace, name = metadata["namespace"], metadata["name"]
    for component in ("frontend", "worker"):
        found = cluster.get(DEPLOYMENTS, namespace, f"{name}-{component}")
        yield from _owned(found, metadata, f"Deployment {name}-{component}")
        if found is not None:
            yield from _deployment(found, spec, component)
    service = cluster.get(SERVICES, namespace, f"{name}-frontend")
    yield from _owned(service, metadata, f"Service {name}-frontend")
    if service is not None:
        told = service["spec"]["type"]
        if told != spec["frontend"].get("serviceType", "ClusterIP"):
            yield f"Service {name}-frontend: type {told}"
        ports = [(it["port"], it["targetPort"]) for it in service["spec"]["ports"] if it["name"] == "http"]
        if ports != [(80, "http")]:
            yield f"Service {name}-frontend: ports {ports}"
    yield from _ingress(cluster.get(INGRESSES, namespace, f"{name}-frontend"), claw)


def _ingress(found: Object | None, claw: Object) -> Iterator[str]:
    metadata, name = claw["metadata"], claw["metadata"]["name"]
    host = claw["spec"]["frontend"].get("ingressHost")
    if host is None:
        if found is not None and controller_uid(found) == metadata["uid"]:
            yield f"Ingress {name}-frontend is there, and no host is"
        return
    yield from _owned(found, metadata, f"Ingress {name}-frontend")
    if found is not None:
        hosts = [it.get("host") for it in found["spec"]["rules"]]
        if hosts != [host]:
            yield f"Ingress {name}-frontend: hosts {hosts}, wanted {host}"


def _owned(found: Object | None, root: Object, what: str) -> Iterator[str]:
    if found is None:
        yield f"{what} is not there"
    elif "deletionTimestamp" in found["metadata"]:
        yield f"{what} is being deleted, held by {found['metadata'].get('finalizers')}"
    elif controller_uid(found) != root["uid"]:
        yield f"{what} is controlled by {controller_uid(found)}, the root is {root['uid']}"


def _deployment(found: Object, spec: Object, component: str) -> Iterator[str]:
    what = f"Deployment {found['metadata']['name']}"
    wanted, part = wants(spec, component), spec[component]
    if found["spec"]["replicas"] != wanted:
        yield f"{what}: {found['spec']['replicas']} replicas, wanted {wanted}"
    pod = found["spec"]["template"]["spec"]
    container: Object = next((it for it in pod["containers"] if it["name"] == component), {})
    if container.get("image") != part["image"]:
        yield f"{what}: image {container.get('image')}, wanted {part['image']}"
    if component == "worker":
        queue = [it.get("value") for it in container.get("env") or () if it["name"] == "QUEUE_ADDRESS"]
        if queue != [part["queue"]]:
            yield f"{what}: another queue than wanted"
    else:
        port = part.get("port", 8080)
        if port not in [it["containerPort"] for it in container.get("ports") or ()]:
            yield f"{what}: port {port} is not there"
    shared = spec.get("globalConfig") or {}
    secrets = [it["name"] for it in pod.get("imagePullSecrets") or ()]
    if sorted(secrets) != sorted(shared.get("imagePullSecrets") or ()):
        yield f"{what}: imagePullSecrets {secrets}"
    if (pod.get("nodeSelector") or {}) != (shared.get("nodeSelector") or {}):
        yield f"{what}: nodeSelector {pod.get('nodeSelector')}"


def status_unwell(cluster: FakeCluster, claw: Object) -> str | None:
    """What the status says that is not so, of an object whose pods are all well; None when it is right."""
    return next(_status_unwell(cluster, claw), None)


def _status_unwell(cluster: FakeCluster, claw: Object) -> Iterator[str]:
    metadata, status = claw["metadata"], claw.get("status") or {}
    name, generation = metadata["name"], metadata["generation"]
    if status.get("observedGeneration") != generation:
        yield f"{name}: observedGeneration {status.get('observedGeneration')} of {generation}"
    for kind, wanted in (("Available", "True"), ("Progressing", "False"), ("Degraded", "False")):
        found = condition(claw, kind)
        if found.get("status") != wanted or found.get("observedGeneration") != generation:
            yield f"{name}: {kind} is {dict(found)}"
    for kind in ("Stalled", "Reconciling"):
        if condition(claw, kind):
            yield f"{name}: {kind} is {dict(condition(claw, kind))}"
    for component in ("frontend", "worker"):
        deployment = cluster.get(DEPLOYMENTS, metadata["namespace"], f"{name}-{component}") or {}
        ready = (deployment.get("status") or {}).get("readyReplicas", 0)
        told = status.get(f"{component}ReadyReplicas", 0)
        if told != ready:
            yield f"{name}: {component}ReadyReplicas {told}, the Deployment says {ready}"
    service = cluster.get(SERVICES, metadata["namespace"], f"{name}-frontend")
    endpoint = endpoint_of(claw, service)
    if status.get("externalEndpoint") != endpoint:
        yield f"{name}: externalEndpoint {status.get('externalEndpoint')}, wanted {endpoint}"


def endpoint_of(claw: Object, service: Object | None) -> str | None:
    """Where the front end is reached from outside."""
    host = claw["spec"]["frontend"].get("ingressHost")
    if host:
        return f"http://{host}"
    kind = claw["spec"]["frontend"].get("serviceType", "ClusterIP")
    if service is None or kind == "ClusterIP":
        return None
    if kind == "NodePort":
        ports = [it["nodePort"] for it in service["spec"]["ports"] if it.get("nodePort")]
        return f"<node>:{ports[0]}" if ports else None
    entries = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    told = [it.get("hostname") or it.get("ip") for it in entries]
    return f"http://{told[0]}" if told else None
