"""Built-in kinds: what the server makes of new objects, and what it refuses."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases.objects import CONTAINERS, SELECTOR, named, template
from tests.conformance.collecting import Collection, Story
from tests.conformance.recording import Client

case = Collection("builtins")

Object = dict[str, Any]

_POD: Object = {
    "containers": [
        {
            "name": "c",
            "image": "i:1",
            "livenessProbe": {"httpGet": {"port": 80}},
            "readinessProbe": {"exec": {"command": ["a"]}},
            "startupProbe": {"grpc": {"port": 1}},
            "lifecycle": {"preStop": {"httpGet": {"port": "p"}}},
            "env": [
                {"name": "e", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "f", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            ],
            "ports": [{"containerPort": 80}],
            "securityContext": {},
            "resources": {
                "requests": {"cpu": "0.5", "memory": 1000},
                "limits": {"cpu": "1000m", "memory": "1024Mi"},
            },
        },
        {"name": "d", "image": "i"},
    ],
    "initContainers": [{"name": "n", "image": "i@sha256:" + "0" * 64}],
    "volumes": [
        {"name": "a", "secret": {"secretName": "s"}},
        {"name": "b", "configMap": {"name": "s"}},
        {"name": "c"},
        {
            "name": "d",
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"path": "t"}},
                    {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                ]
            },
        },
        {"name": "e", "downwardAPI": {}},
        {"name": "h", "hostPath": {"path": "/x"}},
        {
            "name": "g",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1Gi"}},
                    }
                }
            },
        },
    ],
}
_TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {**_POD, "serviceAccountName": "default"}}
_ONCE: Object = {**_TEMPLATE, "spec": {**_TEMPLATE["spec"], "restartPolicy": "OnFailure"}}
_CLAIM: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_HOOK: Object = {"name": "a.b.c", "admissionReviewVersions": ["v1"], "sideEffects": "None"}
_TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
_ROUTE = {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}

_CREATED: dict[str, tuple[str, Object]] = {
    "deployment": ("deployments", named(spec={"selector": SELECTOR, "template": _TEMPLATE})),
    "deployment recreate": (
        "deployments",
        named(spec={"selector": SELECTOR, "template": template(), "strategy": {"type": "Recreate"}}),
    ),
    "statefulset": (
        "statefulsets",
        named(
            spec={
                "selector": SELECTOR,
                "serviceName": "q",
                "template": _TEMPLATE,
                "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": _CLAIM}],
            }
        ),
    ),
    "statefulset without a service": (
        "statefulsets",
        named(spec={"selector": SELECTOR, "template": template()}),
    ),
    "daemonset": ("daemonsets", named(spec={"selector": SELECTOR, "template": _TEMPLATE})),
    "replicaset": ("replicasets", named(spec={"selector": SELECTOR, "template": _TEMPLATE})),
    "job": ("jobs", named(spec={"template": _ONCE})),
    "job with parallelism": ("jobs", named(spec={"template": _ONCE, "parallelism": 3})),
    "cronjob": (
        "cronjobs",
        named(spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": _ONCE}}}),
    ),
    "service": ("services", named(spec={"ports": [{"port": 80}], "selector": {"a": "b"}})),
    "service node port": ("services", named(spec={"ports": [{"port": 80}], "type": "NodePort"})),
    "service load balancer": ("services", named(spec={"ports": [{"port": 80}], "type": "LoadBalancer"})),
    "service headless": ("services", named(spec={"clusterIP": "None", "selector": {"a": "b"}})),
    "service external name": ("services", named(spec={"type": "ExternalName", "externalName": "a.b"})),
    "service sticky": ("services", named(spec={"ports": [{"port": 80}], "sessionAffinity": "ClientIP"})),
    "claim": ("persistentvolumeclaims", named(spec=_CLAIM)),
    "secret from text": ("secrets", named(stringData={"a": "b"}, data={"a": "eA==", "c": "eA=="})),
    "service account": ("serviceaccounts", named()),
    "namespace": ("namespaces", named("conformance-x")),
    "node": ("nodes", named("conformance-x")),
    "endpoints": ("endpoints", named(subsets=[{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}])),
    "config map": ("configmaps", named(data={"a": "b"}, binaryData={"c": "eA=="})),
    "config map with empty fields": (
        "configmaps",
        {"metadata": {"name": "x", "labels": {}}, "data": {}, "immutable": False},
    ),
    "ingress": ("ingresses", named(spec={"rules": [{"host": "a.b", "http": {"paths": [_ROUTE]}}]})),
    "network policy": (
        "networkpolicies",
        named(spec={"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}], "egress": [{}]}),
    ),
    "ingress class": ("ingressclasses", named("conformance-x", spec={"controller": "a.b/c"})),
    "disruption budget": ("poddisruptionbudgets", named(spec={"minAvailable": 1, "selector": SELECTOR})),
    "autoscaler": ("horizontalpodautoscalers", named(spec={"maxReplicas": 3, "scaleTargetRef": _TARGET})),
    "autoscaler with behavior": (
        "horizontalpodautoscalers",
        named(
            spec={
                "maxReplicas": 3,
                "scaleTargetRef": _TARGET,
                "behavior": {"scaleUp": {"stabilizationWindowSeconds": 1}},
            }
        ),
    ),
    "autoscaler v1": (
        "autoscaling/v1/horizontalpodautoscalers",
        named(spec={"maxReplicas": 3, "scaleTargetRef": _TARGET, "targetCPUUtilizationPercentage": 50}),
    ),
    "lease": (
        "leases",
        named(
            spec={
                "holderIdentity": "q",
                "renewTime": "2020-01-01T00:00:00.5+01:00",
                "leaseDurationSeconds": 3,
            }
        ),
    ),
    "role": ("roles", named()),
    "role binding": (
        "rolebindings",
        named(
            roleRef={"kind": "Role", "name": "r"},
            subjects=[{"kind": "ServiceAccount", "name": "n"}, {"kind": "User", "name": "u"}],
        ),
    ),
    "cluster role": (
        "clusterroles",
        named("conformance-x", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
    ),
    "priority class": ("priorityclasses", named("conformance-x", value=3)),
    "storage class": ("storageclasses", named("conformance-x", provisioner="p.q/r")),
    "endpoint slice": (
        "endpointslices",
        named(addressType="IPv4", endpoints=[{"addresses": ["1.2.3.4"]}], ports=[{"port": 80}]),
    ),
    "validating webhooks": (
        "validatingwebhookconfigurations",
        named(
            "conformance-x",
            webhooks=[
                {
                    **_HOOK,
                    "clientConfig": {"service": {"name": "s", "namespace": "n"}},
                    "rules": [
                        {
                            "apiGroups": ["q.io"],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["x"],
                        }
                    ],
                }
            ],
        ),
    ),
    "mutating webhooks": (
        "mutatingwebhookconfigurations",
        named("conformance-x", webhooks=[{**_HOOK, "clientConfig": {"url": "https://a.b/c"}}]),
    ),
    "pod": ("pods", named(spec=_POD)),
    "pod with a toleration": (
        "pods",
        named(spec={"containers": CONTAINERS, "tolerations": [{"operator": "Exists"}]}),
    ),
    "pod on the host": (
        "pods",
        named(
            spec={
                "hostNetwork": True,
                "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}],
            }
        ),
    ),
    "pod without a token": (
        "pods",
        named(spec={"containers": CONTAINERS, "automountServiceAccountToken": False}),
    ),
    "pod of an unknown account": (
        "pods",
        named(spec={"containers": CONTAINERS, "serviceAccountName": "nobody"}),
    ),
    "pod of an unknown class": (
        "pods",
        named(spec={"containers": CONTAINERS, "priorityClassName": "nothing"}),
    ),
    "pod of a system class": (
        "pods",
        named(spec={"containers": CONTAINERS, "priorityClassName": "system-node-critical"}),
    ),
    "volume": (
        "persistentvolumes",
        named(
            "conformance-x",
            spec={
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/x"},
            },
        ),
    ),
    "quota": ("resourcequotas", named(spec={"hard": {"pods": "1"}})),
    "limit range": ("limitranges", named(spec={"limits": [{"type": "Container", "default": {"cpu": "1"}}]})),
    "replication controller": (
        "replicationcontrollers",
        named(spec={"selector": {"a": "b"}, "template": template()}),
    ),
    "replication controller without a selector": (
        "replicationcontrollers",
        named(spec={"template": template()}),
    ),
}


def _story(resource: str, body: Any, **query: Any) -> Story:
    async def story(k: Client) -> None:
        await k.create(resource, body, dryRun="All", **query)

    return story


for name, (resource, body) in _CREATED.items():
    case.add(f"create {name}", _story(resource, body))


@case
async def create_events(k: Client) -> None:
    involved = {"namespace": k.ns, "name": "q", "kind": "Pod"}
    await k.create("events", named(involvedObject=involved))
    await k.create("events", named("y", involvedObject={"namespace": "other"}))
    new = {
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "reportingController": "a.b/c",
        "reportingInstance": "q",
        "action": "a",
        "reason": "r",
        "type": "Normal",
        "note": "n",
    }
    path = f"/apis/events.k8s.io/v1/namespaces/{k.ns}/events"
    await k.send("POST", path, named("z", regarding=involved, **new))
    await k.get("events", "z")
    await k.send("GET", f"{path}/x")


def _pod(**fields: Any) -> tuple[str, Object]:
    return "pods", named(spec={"containers": CONTAINERS, **fields})


def _container(**fields: Any) -> tuple[str, Object]:
    return "pods", named(spec={"containers": [{"name": "c", "image": "i", **fields}]})


def _deployment(**fields: Any) -> tuple[str, Object]:
    return "deployments", named(spec={"selector": SELECTOR, "template": template(), **fields})


_REFUSED: dict[str, tuple[str, Any]] = {
    "empty selector": _deployment(selector={}),
    "no selector": _deployment(selector=None),
    "selector does not match": _deployment(selector={"matchLabels": {"z": "y"}}),
    "selector operator": _deployment(selector={"matchExpressions": [{"key": "a", "operator": "X"}]}),
    "selector without values": _deployment(selector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
    "selector with values": _deployment(
        selector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}
    ),
    "recreate with a rolling update": _deployment(
        strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}
    ),
    "no surge and none unavailable": _deployment(
        strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
    ),
    "surge that is none": _deployment(strategy={"rollingUpdate": {"maxSurge": "x"}}),
    "deadline before ready": _deployment(progressDeadlineSeconds=1, minReadySeconds=5),
    "replicas below zero": _deployment(replicas=-1),
    "replicas as text": _deployment(replicas="x"),
    "replicas as a fraction": _deployment(replicas=1.5),
    "replicas too large": _deployment(replicas=2**40),
    "no template": _deployment(template=None),
    "no containers": _deployment(template=template(containers=[])),
    "container without a name": _deployment(template=template(containers=[{"image": "i"}])),
    "container without an image": _deployment(template=template(containers=[{"name": "c"}])),
    "restart policy never": _deployment(template=template(restartPolicy="Never")),
    "spec as text": ("deployments", named(spec="x")),
    "no spec": ("deployments", named()),
    "port as text": _deployment(
        template=template(containers=[{"name": "c", "image": "i", "ports": [{"containerPort": "x"}]}])
    ),
    "port missing": _deployment(template=template(containers=[{"name": "c", "image": "i", "ports": [{}]}])),
    "quantity": _deployment(
        template=template(containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "x"}}}])
    ),
    "environment as number": _deployment(
        template=template(containers=[{"name": "c", "image": "i", "env": [{"name": "a", "value": 1}]}])
    ),
    "daemonset never": (
        "daemonsets",
        named(spec={"selector": SELECTOR, "template": template(restartPolicy="Never")}),
    ),
    "job always": ("jobs", named(spec={"template": template()})),
    "job below zero": (
        "jobs",
        named(spec={"template": template(restartPolicy="Never"), "parallelism": -1, "backoffLimit": -1}),
    ),
    "schedule": (
        "cronjobs",
        named(spec={"schedule": "x", "jobTemplate": {"spec": {"template": template(restartPolicy="Never")}}}),
    ),
    "no schedule": (
        "cronjobs",
        named(spec={"jobTemplate": {"spec": {"template": template(restartPolicy="Never")}}}),
    ),
    "mount without a volume": _container(volumeMounts=[{"name": "v", "mountPath": "/x"}]),
    "names of containers": (
        "pods",
        named(
            spec={
                "containers": [
                    {"name": "C_", "image": "i"},
                    {"name": "a", "image": "i"},
                    {"name": "a", "image": "i"},
                ]
            }
        ),
    ),
    "port number": _container(ports=[{"containerPort": 99999}]),
    "port name": _container(ports=[{"containerPort": 80, "name": "A"}]),
    "port protocol": _container(ports=[{"containerPort": 80, "protocol": "X"}]),
    "environment without a name": _container(env=[{"name": ""}]),
    "pull policy": _container(imagePullPolicy="q"),
    "requests above limits": _container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
    "probe without a handler": _container(livenessProbe={}),
    "probe below zero": _container(readinessProbe={"httpGet": {"port": 80}, "periodSeconds": -1}),
    "restart policy": _pod(restartPolicy="x"),
    "dns policy": _pod(dnsPolicy="y"),
    "volume twice": _pod(volumes=[{"name": "v"}, {"name": "v"}]),
    "name of a volume": _pod(volumes=[{"name": "V"}]),
    "two sources": _pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]),
    "pod without a spec": ("pods", named()),
    "service without ports": ("services", named(spec={})),
    "service port zero": ("services", named(spec={"ports": [{"port": 0}]})),
    "service ports without names": ("services", named(spec={"ports": [{"port": 80}, {"port": 81}]})),
    "service ports twice": (
        "services",
        named(spec={"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "a"}]}),
    ),
    "service type": ("services", named(spec={"type": "X", "ports": [{"port": 80}]})),
    "service without a target": ("services", named(spec={"type": "ExternalName"})),
    "service name": ("services", named("1a.b", spec={"ports": [{"port": 80}]})),
    "service address": ("services", named(spec={"ports": [{"port": 80}], "clusterIP": "x"})),
    "ingress without rules": ("ingresses", named()),
    "ingress host": ("ingresses", named(spec={"rules": [{"host": "A_", "http": {"paths": [_ROUTE]}}]})),
    "ingress path type": (
        "ingresses",
        named(spec={"rules": [{"http": {"paths": [{**_ROUTE, "pathType": None}]}}]}),
    ),
    "ingress path": ("ingresses", named(spec={"rules": [{"http": {"paths": [{**_ROUTE, "path": "x"}]}}]})),
    "ingress without paths": ("ingresses", named(spec={"rules": [{"http": {"paths": []}}]})),
    "ingress without a backend": (
        "ingresses",
        named(spec={"rules": [{"http": {"paths": [{**_ROUTE, "backend": {}}]}}]}),
    ),
    "network policy port": (
        "networkpolicies",
        named(spec={"podSelector": {}, "ingress": [{"ports": [{"port": 0}]}]}),
    ),
    "network policy type": ("networkpolicies", named(spec={"podSelector": {}, "policyTypes": ["x"]})),
    "budget twice": (
        "poddisruptionbudgets",
        named(spec={"minAvailable": 1, "maxUnavailable": 1, "selector": SELECTOR}),
    ),
    "budget": ("poddisruptionbudgets", named(spec={"minAvailable": "x"})),
    "autoscaler without a target": ("horizontalpodautoscalers", named(spec={})),
    "autoscaler bounds": (
        "horizontalpodautoscalers",
        named(spec={"maxReplicas": 1, "minReplicas": 3, "scaleTargetRef": _TARGET}),
    ),
    "lease numbers": ("leases", named(spec={"leaseDurationSeconds": 0, "leaseTransitions": -1})),
    "lease time": ("leases", named(spec={"renewTime": "x"})),
    "empty rule": ("roles", named(rules=[{}])),
    "rule without resources": ("roles", named(rules=[{"verbs": ["get"]}])),
    "rule of URLs": ("roles", named(rules=[{"verbs": ["get"], "nonResourceURLs": ["/x"]}])),
    "binding without a role": ("rolebindings", named()),
    "binding kinds": (
        "rolebindings",
        named(
            roleRef={"kind": "X", "name": "a"},
            subjects=[{"kind": "ServiceAccount", "name": "q"}, {"kind": "Z", "name": ""}],
        ),
    ),
    "secret of no base64": ("secrets", named(data={"a": "%%"})),
    "secret key": ("secrets", named(data={"a b": "eA=="}, type="kubernetes.io/dockerconfigjson")),
    "secret tls": ("secrets", named(type="kubernetes.io/tls")),
    "config map key": ("configmaps", named(data={"a b": "x"})),
    "config map key twice": ("configmaps", named(data={"a": "b"}, binaryData={"a": "eA=="})),
    "config map of numbers": ("configmaps", named(data={"x": 1})),
    "config map as list": ("configmaps", named(data=[])),
    "claim without anything": ("persistentvolumeclaims", named(spec={})),
    "claim modes": (
        "persistentvolumeclaims",
        named(spec={"accessModes": ["X"], "resources": {"requests": {"storage": "0"}}}),
    ),
    "priority class of the system": ("priorityclasses", named("system-x", value=3)),
    "storage class": ("storageclasses", named("conformance-x")),
    "webhook": ("validatingwebhookconfigurations", named("conformance-x", webhooks=[{"name": "a"}])),
    "endpoint slice": ("endpointslices", named()),
    "other kind": ("configmaps", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}),
    "other version": ("configmaps", {"apiVersion": "v2", "kind": "ConfigMap"}),
    "not json": ("configmaps", "{"),
    "empty body": ("configmaps", ""),
    "a list": ("configmaps", []),
    "nothing": ("configmaps", {}),
    "kind only": ("configmaps", {"kind": "ConfigMap"}),
}
for name, (resource, body) in _REFUSED.items():
    case.add(f"refuse {name}", _story(resource, body))

_UNKNOWN = named(
    spec={"selector": SELECTOR, "template": template(containers=[{**CONTAINERS[0], "q": 1}]), "zzz": 1}
)
for mode in ("Strict", "Warn", "Ignore"):
    case.add(f"unknown fields {mode}", _story("deployments", _UNKNOWN, fieldValidation=mode))
    case.add(
        f"unknown metadata {mode}",
        _story("configmaps", {"metadata": {"name": "a", "zz": 1}, "dat": {"x": "1"}}, fieldValidation=mode),
    )
    twice = '{"metadata":{"name":"a","name":"b"},"data":{"x":"1"},"data":{"y":"1"}}'
    case.add(f"fields given twice {mode}", _story("configmaps", twice, fieldValidation=mode))
