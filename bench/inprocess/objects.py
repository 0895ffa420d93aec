"""The objects that the benchmarks are about, as the API server has them in JSON.

Four kinds, 2.5 to 8 KB each, every object different from the next. Fields come in the server's order:
sorted for custom resources, as in the Go structs for built-in kinds.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any, Final

import orjson

VERSION: Final = "@version@"
BEAT: Final = 876_543_210
GENERATION: Final = 987_654_321
"""Stand-ins that an event's own values are put in the place of."""

MANAGER: Final = "openclaw"
SINCE: Final = "2026-11-30T18:00:00Z"
NAMESPACES: Final = 50

API_VERSIONS: Final = {
    "Widget": "bench.example.com/v1",
    "Deployment": "apps/v1",
    "Pod": "v1",
    "ConfigMap": "v1",
}
LIST_KEYS: Final = {
    "containers": ("name",),
    "ports": ("containerPort", "protocol"),
    "ownerReferences": ("uid",),
}


def uid(kind: str, number: int) -> str:
    """The uid of an object."""
    text = hashlib.sha256(f"{kind} {number}".encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:32]}"


def namespace(number: int) -> str:
    """The namespace of an object."""
    return f"tenant-{number % NAMESPACES}"


def _words(number: int, count: int) -> list[str]:
    """Values of 48 hexadecimal digits each, which compress to half at the best."""
    return [hashlib.sha256(f"{number}/{k}".encode()).hexdigest()[:48] for k in range(count)]


def _entry(
    manager: str, fields: orjson.Fragment, operation: str = "Update", subresource: str = ""
) -> dict[str, Any]:
    entry: dict[str, Any] = {"manager": manager, "operation": operation, "apiVersion": "v1", "time": SINCE}
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": fields}
    return entry | ({"subresource": subresource} if subresource else {})


@functools.cache
def _owned(*paths: str) -> orjson.Fragment:
    """FieldsV1 of paths, written once; `~1` stands for a slash in a name."""
    fields: dict[str, Any] = {}
    for path in paths:
        place = fields
        for escaped in path.split("/"):
            part = escaped.replace("~1", "/")
            place = place.setdefault(part if part[:2] in {"k:", "v:"} or part == "." else f"f:{part}", {})
    return orjson.Fragment(orjson.dumps(fields))


def _applied(intent: Any, key: str = "") -> dict[str, Any]:
    """FieldsV1 of what was applied."""
    if isinstance(intent, dict):
        return {f"f:{name}": _applied(value, name) for name, value in intent.items()}
    if isinstance(intent, list) and key in LIST_KEYS:
        names = LIST_KEYS[key]
        items = {f"k:{orjson.dumps({n: i.get(n, 'TCP') for n in names}).decode()}": i for i in intent}
        return {name: {".": {}, **_applied(item)} for name, item in items.items()}
    return {}


def intent(kind: str, number: int) -> dict[str, Any]:
    """What our operator applies, where the object of this kind and number is its child."""
    metadata: dict[str, Any] = {"ownerReferences": _owner("Widget", f"w-{number:06d}", number)}
    if kind == "ConfigMap":
        lines = "".join(f"key-{k:02d}={word}\n" for k, word in enumerate(_words(number, 24)))
        image = f"registry.example.com/team/app-{number % 100}:v1"
        metadata["labels"] = {"app.kubernetes.io/managed-by": "widget-operator", "openclaw.dev/slot": "17"}
        data = {"config.properties": lines, "image": image, "replicas": "3"}
        return _named(kind, number, metadata) | {"data": data}
    labels = {"app.kubernetes.io/name": f"storefront-{number}", "app.kubernetes.io/component": "frontend"}
    metadata["labels"] = labels | {"openclaw.dev/slot": str(number % 256)}
    web = {"name": "web", "image": f"registry.example.com/shop/web:1.{number % 20}"}
    web |= {"ports": [{"containerPort": 8080}], "resources": RESOURCES}  # type: ignore[dict-item]
    template = {"metadata": {"labels": labels}, "spec": {"containers": [web]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    return _named(kind, number, metadata) | {"spec": spec}


def _named(kind: str, number: int, metadata: dict[str, Any]) -> dict[str, Any]:
    name = f"w-{number:06d}-config" if kind == "ConfigMap" else f"storefront-{number}"
    identity = {"name": name, "namespace": namespace(number)}
    return {"apiVersion": API_VERSIONS[kind], "kind": kind, "metadata": identity | metadata}


def _apply_entry(intent: dict[str, Any]) -> dict[str, Any]:
    metadata = {
        key: intent["metadata"][key] for key in ("labels", "ownerReferences") if key in intent["metadata"]
    }
    sections = {key: intent[key] for key in ("data", "spec") if key in intent}
    fields = _applied({"metadata": metadata} | sections)
    return _entry(MANAGER, orjson.Fragment(orjson.dumps(fields)), "Apply")


def _metadata(kind: str, number: int, **more: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": more["name"],
        "namespace": namespace(number),
        "uid": uid(kind, number),
    }
    metadata |= {"resourceVersion": VERSION, "creationTimestamp": SINCE}
    return metadata | more


def _owner(kind: str, name: str, number: int) -> list[dict[str, Any]]:
    version = {"Widget": "bench.example.com/v1", "ReplicaSet": "apps/v1"}[kind]
    reference = {"apiVersion": version, "kind": kind, "name": name, "uid": uid(kind, number)}
    return [reference | {"controller": True, "blockOwnerDeletion": True}]


def _condition(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": "True", "lastTransitionTime": SINCE, **more}


def _widget(number: int) -> dict[str, Any]:
    keys = [f"key-{k:02d}" for k in range(24)]
    config = _owned("spec/.", *(f"spec/config/{key}" for key in keys), "spec/image", "spec/replicas")
    condition = 'status/conditions/k:{"type":"Ready"}'
    status = _owned(
        "status/.", "status/conditions/.", f"{condition}/.", f"{condition}/status", "status/ready"
    )
    return {
        "apiVersion": "bench.example.com/v1",
        "kind": "Widget",
        "metadata": {
            "creationTimestamp": SINCE,
            "generation": GENERATION,
            "labels": {"app": f"app-{number % 100}"},
            "managedFields": [_entry("driver", config), _entry(MANAGER, status, subresource="status")],
            "name": f"w-{number:06d}",
            "namespace": namespace(number),
            "resourceVersion": VERSION,
            "uid": uid("Widget", number),
        },
        "spec": {
            "config": dict(zip(keys, _words(number, 24), strict=True)),
            "image": f"registry.example.com/team/app-{number % 100}:v1.{number % 7}",
            "replicas": number % 7 + 1,
        },
        "status": {
            "conditions": [
                _condition("Ready", message="the ConfigMap matches the spec", reason="ConfigMapApplied")
            ],
            "heartbeat": BEAT,
            "observedGeneration": 1,
            "ready": True,
        },
    }


def _config_map(number: int) -> dict[str, Any]:
    """Half of them belong to a Widget; the others to nobody."""
    ours = intent("ConfigMap", number)
    if number % 2 == 0:
        del ours["metadata"]["ownerReferences"]
    seen = _entry("seen", _owned("metadata/annotations/example.com~1seen"))
    more = ours["metadata"] | {
        "annotations": {"example.com/seen": str(BEAT)},
        "managedFields": [_apply_entry(ours), seen],
    }
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": _metadata("ConfigMap", number, **more),
        "data": ours["data"],
    }


_PROBE: Final = {"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}, "timeoutSeconds": 1}
RESOURCES: Final = {"limits": {"cpu": "1", "memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}}
_TERMINATION: Final = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}


def _deployment(number: int) -> dict[str, Any]:
    ours = intent("Deployment", number)
    condition = 'status/conditions/k:{"type":"Available"}'
    theirs = _owned(
        "metadata/annotations/deployment.kubernetes.io~1revision",
        "status/availableReplicas",
        f"{condition}/.",
        f"{condition}/status",
        "status/observedGeneration",
        "status/readyReplicas",
    )
    managers = [_apply_entry(ours), _entry("kube-controller-manager", theirs, subresource="status")]
    template = ours["spec"]["template"]
    web = template["spec"]["containers"][0] | {
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        **_TERMINATION,
        "imagePullPolicy": "IfNotPresent",
    }
    more = ours["metadata"] | {"generation": GENERATION, "managedFields": managers}
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": _metadata("Deployment", number, **more),
        "spec": ours["spec"]
        | {
            "template": template | {"spec": {"containers": [web], **_POD_DEFAULTS}},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
            },
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        },
        "status": {
            "observedGeneration": 1,
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "conditions": [
                _condition("Available", reason="MinimumReplicasAvailable", message=f"seen {BEAT} times")
            ],
        },
    }


_POD_DEFAULTS: Final = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}


def _container(name: str, number: int) -> dict[str, Any]:
    env: list[dict[str, Any]] = [
        {"name": f"SETTING_{k}", "value": word} for k, word in enumerate(_words(number, 12))
    ]
    env.append(
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}
    )
    token = {
        "name": "kube-api-access-x7k2p",
        "readOnly": True,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }
    return {
        "name": name,
        "image": f"registry.example.com/shop/{name}:1.{number % 20}",
        "args": ["--listen=:8080", "--log-format=json", f"--shard={number % 16}"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": env,
        "resources": RESOURCES,
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, token],
        "livenessProbe": _PROBE | {"periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
        "readinessProbe": _PROBE | {"periodSeconds": 5, "successThreshold": 1, "failureThreshold": 3},
        **_TERMINATION,
        "imagePullPolicy": "IfNotPresent",
    }


def _pod(number: int) -> dict[str, Any]:
    name, replica_set = f"web-7c9d8f6b5-{number:05x}", f"web-{number // 3}"
    names = ("web", "sidecar")
    base = 'spec/containers/k:{"name":"%s"}'
    fields = (
        "image",
        "imagePullPolicy",
        "name",
        "env",
        "resources",
        "livenessProbe",
        "readinessProbe",
        "ports",
        "volumeMounts",
    )
    template_fields = [f"{base % c}/{field}" for c in names for field in fields]
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    seen = [
        f'status/conditions/k:{{"type":"{kind}"}}/{field}'
        for kind in conditions
        for field in (".", "status", "type")
    ]
    running = {"running": {"startedAt": SINCE}}
    statuses = [
        {
            "name": name,
            "state": running,
            "lastState": {},
            "ready": True,
            "restartCount": 0,
            "image": f"registry.example.com/shop/{name}:1.{number % 20}",
            "imageID": f"registry.example.com/shop/{name}@sha256:{hashlib.sha256(name.encode()).hexdigest()}",
            "containerID": f"containerd://{hashlib.sha256(f'{name}{number}'.encode()).hexdigest()}",
            "started": True,
        }
        for name in names
    ]
    volumes = [
        {"name": "data", "emptyDir": {}},
        {
            "name": "kube-api-access-x7k2p",
            "projected": {
                "defaultMode": 420,
                "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {
                        "configMap": {
                            "name": "kube-root-ca.crt",
                            "items": [{"key": "ca.crt", "path": "ca.crt"}],
                        }
                    },
                ],
            },
        },
    ]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": _metadata(
            "Pod",
            number,
            name=name,
            generation=GENERATION,
            labels={"app.kubernetes.io/name": "web", "pod-template-hash": "7c9d8f6b5"},
            ownerReferences=_owner("ReplicaSet", replica_set, number // 3),
            managedFields=[
                _entry(
                    "kube-controller-manager", _owned(*template_fields, "spec/volumes", "spec/restartPolicy")
                ),
                _entry(
                    "kubelet", _owned(*seen, "status/containerStatuses", "status/podIP"), subresource="status"
                ),
            ],
        ),
        "spec": {
            "volumes": volumes,
            "containers": [_container(name, number) for name in names],
            **_POD_DEFAULTS,
            "serviceAccountName": "default",
            "nodeName": f"node-{number % 100}",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{taint}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for taint in ("not-ready", "unreachable")
            ],
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {
            "phase": "Running",
            "conditions": [
                _condition(kind, lastProbeTime=None, message=f"seen {BEAT} times") for kind in conditions
            ],
            "hostIP": f"192.0.2.{number % 250}",
            "podIP": f"198.51.100.{number % 250}",
            "podIPs": [{"ip": f"198.51.100.{number % 250}"}],
            "startTime": SINCE,
            "containerStatuses": statuses,
            "qosClass": "Burstable",
        },
    }


BUILDERS: Final[dict[str, Callable[[int], dict[str, Any]]]] = {
    "Widget": _widget,
    "Deployment": _deployment,
    "Pod": _pod,
    "ConfigMap": _config_map,
}
