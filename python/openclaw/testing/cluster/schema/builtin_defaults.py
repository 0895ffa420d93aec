"""The defaults that kube-apiserver has in code for built-in kinds, by Go struct.

Read off a kube-apiserver: the conformance suite creates objects of each kind in both and compares. What a
default depends on is in the functions below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from openclaw.testing.cluster.schema.node import Node

Object = dict[str, Any]

_RBAC: Final = "rbac.authorization.k8s.io"
_MODE: Final = 0o644
_JOB: Final = {
    "completionMode": "NonIndexed",
    "suspend": False,
    "backoffLimit": 6,
    "podReplacementPolicy": "TerminatingOrFailed",
    "manualSelector": False,
}
_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_SCALING_POLICIES: Final = (
    {"type": "Pods", "value": 4, "periodSeconds": 15},
    {"type": "Percent", "value": 100, "periodSeconds": 15},
)

PLAIN: Final[Mapping[str, Mapping[str, Any]]] = {
    "v1.AWSElasticBlockStoreVolumeSource": {},
    "v1.ConfigMapVolumeSource": {"defaultMode": _MODE},
    "v1.Container": {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
    "v1.ContainerPort": {"protocol": "TCP"},
    "v1.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    "v1.DaemonSetSpec": {"revisionHistoryLimit": 10},
    "v1.DaemonSetUpdateStrategy": {"type": "RollingUpdate"},
    "v1.DeploymentSpec": {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    "v1.DeploymentStrategy": {"type": "RollingUpdate"},
    "v1.DownwardAPIVolumeSource": {"defaultMode": _MODE},
    "v1.EndpointPort": {"protocol": "TCP"},
    "v1.EphemeralContainer": {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    },
    "v1.GRPCAction": {"service": ""},
    "v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "v1.HostPathVolumeSource": {"type": ""},
    "v1.MutatingWebhook": {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "reinvocationPolicy": "Never",
        "timeoutSeconds": 10,
    },
    "v1.NamespaceStatus": {"phase": "Active"},
    "v1.NetworkPolicyPort": {"protocol": "TCP"},
    "v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "v1.PersistentVolumeClaimStatus": {"phase": "Pending"},
    "v1.PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    "v1.PersistentVolumeStatus": {"phase": "Pending"},
    "v1.PodSpec": {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    },
    "v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "v1.ProjectedVolumeSource": {"defaultMode": _MODE},
    "v1.ReplicaSetSpec": {"replicas": 1},
    "v1.ReplicationControllerSpec": {"replicas": 1},
    "v1.RoleRef": {"apiGroup": _RBAC},
    "v1.RuleWithOperations": {"scope": "*"},
    "v1.Secret": {"type": "Opaque"},
    "v1.SecretVolumeSource": {"defaultMode": _MODE},
    "v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "v1.ServicePort": {"protocol": "TCP"},
    "v1.ServiceReference": {"port": 443},
    "v1.StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "v1.StatefulSetSpec": {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    },
    "v1.StatefulSetUpdateStrategy": {"type": "RollingUpdate"},
    "v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    "v1.ValidatingWebhook": {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": 10,
    },
}
"""What a field becomes that is missing (or, where Go cannot tell, zero)."""


def _container(container: Object) -> None:
    image = str(container.get("image", ""))
    tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
    pinned = "@" in image or (tag and tag != "latest")
    _set(container, "imagePullPolicy", "IfNotPresent" if pinned else "Always")
    resources = container.get("resources")
    if isinstance(resources, dict) and isinstance(resources.get("limits"), dict):
        requests = dict(resources.get("requests") or {})
        missing = {key: value for key, value in resources["limits"].items() if key not in requests}
        container["resources"] = {**resources, "requests": {**requests, **missing}}


def _daemon_set(daemon_set: Object) -> None:
    metadata = daemon_set.get("metadata") or {}
    annotations = {_TEMPLATE_GENERATION: "1", **(metadata.get("annotations") or {})}
    daemon_set["metadata"] = {**metadata, "annotations": annotations}


def _daemon_set_strategy(strategy: Object) -> None:
    if strategy.get("type") == "RollingUpdate":
        rolling = dict(strategy.get("rollingUpdate") or {})
        _set(rolling, "maxUnavailable", 1)
        _set(rolling, "maxSurge", 0)
        strategy["rollingUpdate"] = rolling


def _deployment_strategy(strategy: Object) -> None:
    if strategy.get("type") == "RollingUpdate":
        rolling = dict(strategy.get("rollingUpdate") or {})
        _set(rolling, "maxUnavailable", "25%")
        _set(rolling, "maxSurge", "25%")
        strategy["rollingUpdate"] = rolling


def _stateful_set_strategy(strategy: Object) -> None:
    if strategy.get("type") == "RollingUpdate":
        rolling = dict(strategy.get("rollingUpdate") or {})
        _set(rolling, "partition", 0)
        _set(rolling, "maxUnavailable", 1)
        strategy["rollingUpdate"] = rolling


def _stateful_set(spec: Object) -> None:
    claims = spec.get("volumeClaimTemplates")
    if isinstance(claims, list):
        named = [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", **one} for one in claims]
        spec["volumeClaimTemplates"] = named


def _endpoint_slice(endpoints: Object) -> None:
    ports = endpoints.get("ports")
    if isinstance(ports, list):
        endpoints["ports"] = [{"name": "", **port} for port in ports]


def _job(job: Object) -> None:
    # Not those in a CronJob's template.
    labels = (((job.get("spec") or {}).get("template") or {}).get("metadata") or {}).get("labels")
    metadata = job.get("metadata") or {}
    if labels and not metadata.get("labels"):
        job["metadata"] = {**metadata, "labels": labels}
    job["spec"] = spec = {**_JOB, **(job.get("spec") or {})}
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    _set(spec, "parallelism", 1)


def _pod_spec(spec: Object) -> None:
    # The old name of the field goes along.
    if name := spec.get("serviceAccountName"):
        spec["serviceAccount"] = name
    elif name := spec.get("serviceAccount"):
        spec["serviceAccountName"] = name
    if spec.get("hostNetwork"):
        spec["containers"] = [_host_ports(container) for container in spec.get("containers") or []]


def _host_ports(container: Object) -> Object:
    ports = container.get("ports")
    if not isinstance(ports, list):
        return container
    done = [{**port, "hostPort": port.get("hostPort") or port.get("containerPort")} for port in ports]
    return {**container, "ports": done}


def _volume(volume: Object) -> None:
    if volume.keys() == {"name"}:
        volume["emptyDir"] = {}


def _pod(pod: Object) -> None:
    spec = pod.get("spec")
    if isinstance(spec, dict):
        pod["spec"] = spec = dict(spec)
        _set(spec, "enableServiceLinks", True)


def _service(spec: Object) -> None:
    _set(spec, "sessionAffinity", "None")
    if spec["sessionAffinity"] == "ClientIP":
        spec["sessionAffinityConfig"] = spec.get("sessionAffinityConfig") or {
            "clientIP": {"timeoutSeconds": 10800}
        }
    _set(spec, "type", "ClusterIP")
    ports = spec.get("ports")
    if isinstance(ports, list):
        spec["ports"] = [_service_port(port) for port in ports]
    outside = spec["type"] in {"NodePort", "LoadBalancer"}
    if outside or (spec["type"] == "ClusterIP" and spec.get("externalIPs")):
        _set(spec, "externalTrafficPolicy", "Cluster")
    if outside or spec["type"] == "ClusterIP":
        _set(spec, "internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        _set(spec, "allocateLoadBalancerNodePorts", value=True)


def _service_port(port: Any) -> Any:
    if isinstance(port, dict) and not port.get("targetPort") and "port" in port:
        return {**port, "targetPort": port["port"]}
    return port


def _load_balancer_ingress(ingress: Object) -> None:
    if ingress.get("ip"):
        _set(ingress, "ipMode", "VIP")


def _subject(subject: Object) -> None:
    if subject.get("kind") in {"User", "Group"}:
        _set(subject, "apiGroup", _RBAC)


def _network_policy(spec: Object) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _namespace(namespace: Object) -> None:
    name = (namespace.get("metadata") or {}).get("name")
    if name:
        metadata = namespace["metadata"]
        labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": name}
        namespace["metadata"] = {**metadata, "labels": labels}


def _autoscaler_v2(spec: Object) -> None:
    _set(spec, "minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if isinstance(behavior, dict):
        up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": list(_SCALING_POLICIES)}
        down = {"selectPolicy": "Max", "policies": [_SCALING_POLICIES[1]]}
        spec["behavior"] = {
            **behavior,
            "scaleUp": {**up, **(behavior.get("scaleUp") or {})},
            "scaleDown": {**down, **(behavior.get("scaleDown") or {})},
        }


def _autoscaler_v1(spec: Object) -> None:
    _set(spec, "minReplicas", 1)
    _set(spec, "targetCPUUtilizationPercentage", 80)


def _replica_owner(kind: Object) -> None:
    """Labels, and for replication controllers the selector, come from the template."""
    spec = kind.get("spec") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if not labels:
        return
    if not spec.get("selector"):
        kind["spec"] = {**spec, "selector": labels}
    metadata = kind.get("metadata") or {}
    if not metadata.get("labels"):
        kind["metadata"] = {**metadata, "labels": labels}


def _limit_range(item: Object) -> None:
    if item.get("type") != "Container":
        return
    default, maximum = dict(item.get("default") or {}), item.get("max") or {}
    for key, value in maximum.items():
        default.setdefault(key, value)
    request = dict(item.get("defaultRequest") or {})
    for key, value in {**(item.get("min") or {}), **default}.items():
        request.setdefault(key, value)
    if default:
        item["default"] = default
    if request:
        item["defaultRequest"] = request


def _secret(secret: Object) -> None:
    texts = secret.pop("stringData", None)
    if texts:
        from base64 import b64encode

        data = {key: b64encode(value.encode()).decode() for key, value in texts.items()}
        secret["data"] = {**(secret.get("data") or {}), **data}


def _custom_definition(spec: Object) -> None:
    names = dict(spec.get("names") or {})
    if kind := names.get("kind"):
        _set(names, "singular", kind.lower())
        _set(names, "listKind", f"{kind}List")
        spec["names"] = names
    _set(spec, "conversion", {"strategy": "None"})
    conversion = spec["conversion"]
    webhook = conversion.get("webhook") or {}
    service = (webhook.get("clientConfig") or {}).get("service")
    if service and not service.get("port"):
        config = {**webhook["clientConfig"], "service": {**service, "port": 443}}
        spec["conversion"] = {**conversion, "webhook": {**webhook, "clientConfig": config}}


DEPENDENT: Final[Mapping[str, Callable[[Object], None]]] = {
    "v1.Container": _container,
    "v1.EphemeralContainer": _container,
    "v1.CustomResourceDefinitionSpec": _custom_definition,
    "v1.DaemonSet": _daemon_set,
    "v1.DaemonSetUpdateStrategy": _daemon_set_strategy,
    "v1.DeploymentStrategy": _deployment_strategy,
    "v1.HorizontalPodAutoscalerSpec": _autoscaler_v1,
    "v1.EndpointSlice": _endpoint_slice,
    "v1.Job": _job,
    "v1.LimitRangeItem": _limit_range,
    "v1.Namespace": _namespace,
    "v1.LoadBalancerIngress": _load_balancer_ingress,
    "v1.NetworkPolicySpec": _network_policy,
    "v1.Pod": _pod,
    "v1.PodSpec": _pod_spec,
    "v1.ReplicationController": _replica_owner,
    "v1.Secret": _secret,
    "v1.ServiceSpec": _service,
    "v1.StatefulSetSpec": _stateful_set,
    "v1.StatefulSetUpdateStrategy": _stateful_set_strategy,
    "v1.Subject": _subject,
    "v1.Volume": _volume,
    "v2.HorizontalPodAutoscalerSpec": _autoscaler_v2,
}
"""What depends on other fields; gets a copy that may be changed at its top level."""


def builtin_defaults(node: Node, value: Any) -> Any:
    """The value with the defaults of its structs. Parts in which nothing changes are shared."""
    if isinstance(value, list):
        items = node.items
        if items is None or not _interesting(items):
            return value
        done = [builtin_defaults(items, item) for item in value]
        return done if any(a is not b for a, b in zip(done, value, strict=True)) else value
    if not isinstance(value, dict):
        return value
    changed: Object = {}
    for key, below in value.items():
        if isinstance(below, dict | list):
            child = node.properties.get(key) or node.additional
            if child is not None:
                done = builtin_defaults(child, below)
                if done is not below:
                    changed[key] = done
    plain, dependent = PLAIN.get(node.struct), DEPENDENT.get(node.struct)
    if plain:
        for key, default in plain.items():
            given = value.get(key)
            # A field without a pointer is missing in Go when it is zero.
            zero = given in ("", 0) and given is not False and node.properties[key].mark in {"omit", "zero"}
            if given is None or zero:
                changed[key] = default
    if dependent is None:
        return {**value, **changed} if changed else value
    result = {**value, **changed}
    dependent(result)
    return value if result == value and not changed else result


def _interesting(node: Node) -> bool:
    return bool(node.properties or node.items or node.additional)


def _set(obj: Object, key: str, value: Any) -> None:
    """Set what is missing or, in Go, cannot be told from missing."""
    if obj.get(key) in (None, ""):
        obj[key] = value
