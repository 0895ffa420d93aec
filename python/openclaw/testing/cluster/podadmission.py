"""What admission adds to new pods: the account's token, its class's priority, tolerations of absent nodes.

Follows the plugins ServiceAccount, Priority and DefaultTolerationSeconds, which every cluster has on.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from openclaw.testing.cluster.contracts import Reader
from openclaw.testing.cluster.statuses import forbidden

__all__ = ["admit_pod"]

Object = dict[str, Any]

_TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105  A path.
_TOKEN_SECONDS: Final = 3607
_MODE: Final = 0o644
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_NOT_READY: Final = [
    {
        "key": f"node.kubernetes.io/{state}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for state in ("not-ready", "unreachable")
]
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


def admit_pod(obj: Object, reader: Reader) -> Object:
    """A new pod as it is stored.

    Raises StatusError: 403 for a service account or a priority class that there is not.
    """
    spec = dict(obj.get("spec") or {})
    _priority(obj, spec, reader)
    _account(obj, spec, reader)
    tolerations = list(spec.get("tolerations") or ())
    missing = [one for one in _NOT_READY if not _tolerated(tolerations, str(one["key"]))]
    if tolerations or missing:
        spec["tolerations"] = [*tolerations, *missing]
    return {**obj, "spec": spec, "status": {"phase": "Pending", "qosClass": _quality(spec)}}


def _tolerated(tolerations: list[Object], key: str) -> bool:
    effects, keys = {None, "", "NoExecute"}, {None, "", key}
    return any(one.get("effect") in effects and one.get("key") in keys for one in tolerations)


def _priority(obj: Object, spec: Object, reader: Reader) -> None:
    name = spec.get("priorityClassName")
    found: Object | None = None
    if name in _SYSTEM_CLASSES:
        found = {"value": _SYSTEM_CLASSES[name]}
    elif name:
        found = reader.get("scheduling.k8s.io", "priorityclasses", "", name)
        if found is None:
            why = f"no PriorityClass with name {name} was found"
            raise forbidden("", "pods", obj["metadata"]["name"], why)
    else:
        classes = reader.list("scheduling.k8s.io", "priorityclasses")
        defaults = [one for one in classes if one.get("globalDefault")]
        found = max(defaults, key=lambda one: one["value"], default=None)
        if found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
    spec["priority"] = found["value"] if found else 0
    policy = (found or {}).get("preemptionPolicy") or "PreemptLowerPriority"
    spec.setdefault("preemptionPolicy", policy)


def _account(obj: Object, spec: Object, reader: Reader) -> None:
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    namespace = obj["metadata"]["namespace"]
    account = reader.get("", "serviceaccounts", namespace, name)
    if account is None and name != "default":
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise forbidden("", "pods", obj["metadata"]["name"], why)
    wanted = spec.get("automountServiceAccountToken", (account or {}).get("automountServiceAccountToken"))
    if wanted is not False:
        _mount_token(obj, spec)


def _mount_token(obj: Object, spec: Object) -> None:
    volume = f"kube-api-access-{_suffix(obj['metadata'].get('uid', ''))}"
    mounted = False
    for key in ("containers", "initContainers"):
        containers = []
        for container in spec.get(key) or ():
            mounts = container.get("volumeMounts") or []
            if any(mount.get("mountPath") == _TOKEN_PATH for mount in mounts):
                containers.append(container)
                continue
            mount = {"name": volume, "readOnly": True, "mountPath": _TOKEN_PATH}
            containers.append({**container, "volumeMounts": [*mounts, mount]})
            mounted = True
        if containers:
            spec[key] = containers
    if not mounted:
        return
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {"configMap": authority},
        {"downwardAPI": {"items": [namespace]}},
    ]
    projected = {"sources": sources, "defaultMode": _MODE}
    spec["volumes"] = [*(spec.get("volumes") or ()), {"name": volume, "projected": projected}]


def _suffix(uid: str) -> str:
    """Five letters that look random, and are the same in each run."""
    digest = hashlib.sha256(uid.encode()).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:5])


def _quality(spec: Object) -> str:
    """The quality of service class, by whether containers ask for resources and limit them alike."""
    guaranteed, any_given = True, False
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        any_given = any_given or bool(limits or requests)
        for name in ("cpu", "memory"):
            if name not in limits or requests.get(name, limits[name]) != limits[name]:
                guaranteed = False
    return "Guaranteed" if any_given and guaranteed else "Burstable" if any_given else "BestEffort"
