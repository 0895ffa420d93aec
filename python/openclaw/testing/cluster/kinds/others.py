"""Rules of configuration, storage, access, scaling and coordination."""

from __future__ import annotations

import re
from typing import Any, Final

from openclaw.testing.cluster.kinds.generic import (
    IMMUTABLE,
    Object,
    check_selector,
    forbidden,
    invalid,
    not_negative,
    not_supported,
    required,
    unchanged,
)
from openclaw.testing.cluster.kinds.workloads import check_int_or_percent
from openclaw.testing.cluster.quantity import parse_quantity
from openclaw.testing.cluster.schema.values import shown
from openclaw.testing.cluster.statuses import Cause

_KEY: Final = re.compile("[-._a-zA-Z0-9]+")
_KEY_DETAIL: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_SECRET_KEYS: Final = {
    "kubernetes.io/basic-auth": (),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_CLAIM_UPDATE: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims"
)
_FROZEN: Final = "field is immutable when `immutable` is set"
_SEGMENTS: Final = 3
_MAXIMUM_TIMEOUT: Final = 30


def check_config_map(new: Object, old: Object | None, causes: list[Cause]) -> None:
    """Append what is wrong with a ConfigMap."""
    data, binary = new.get("data") or {}, new.get("binaryData") or {}
    for key in data:
        _key(key, "data", causes)
        if key in binary:
            detail = "duplicate of key present in binaryData"
            invalid(key, detail, f"data[{key}]", causes)
    for key in binary:
        _key(key, "binaryData", causes)
    if old is not None:
        _frozen(new, old, ("data", "binaryData"), causes)


def check_secret(new: Object, old: Object | None, causes: list[Cause]) -> None:
    """Append what is wrong with a Secret."""
    data = new.get("data") or {}
    for key in data:
        _key(key, "data", causes)
    for key in _SECRET_KEYS.get(new.get("type", ""), ()):
        if key not in data:
            required(f"data[{key}]", causes)
    if old is not None:
        unchanged(new, old, ("type",), "", causes)
        _frozen(new, old, ("data",), causes)


def _key(key: str, field: str, causes: list[Cause]) -> None:
    if not _KEY.fullmatch(key):
        invalid(key, _KEY_DETAIL, f"{field}[{key}]", causes)


def _frozen(new: Object, old: Object, keys: tuple[str, ...], causes: list[Cause]) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        forbidden("immutable", _FROZEN, causes)
    for key in keys:
        if (new.get(key) or {}) != (old.get(key) or {}):
            forbidden(key, _FROZEN, causes)


def check_claim(new: Object, old: Object | None, causes: list[Cause]) -> None:
    """Append what is wrong with a PersistentVolumeClaim."""
    spec = new.get("spec") or {}
    modes = spec.get("accessModes") or []
    if not modes:
        required("spec.accessModes", causes, "at least 1 access mode is required")
    for mode in modes:
        if mode not in _ACCESS_MODES:
            not_supported(mode, _ACCESS_MODES, "spec.accessModes", causes)
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        required("spec.resources[storage]", causes)
    elif parse_quantity(storage) <= 0:
        invalid(storage, "must be greater than zero", "spec.resources[storage]", causes)
    if old is not None:
        before = old.get("spec") or {}
        bound = (old.get("status") or {}).get("phase") == "Bound"
        free = {"volumeName", *(("resources", "volumeAttributesClassName") if bound else ())}
        if {k: v for k, v in spec.items() if k not in free} != {
            k: v for k, v in before.items() if k not in free
        }:
            forbidden("spec", _CLAIM_UPDATE, causes)


def check_role(new: Object, causes: list[Cause], *, namespaced: bool) -> None:
    """Append what is wrong with the rules of a Role or ClusterRole."""
    for at, rule in enumerate(new.get("rules") or ()):
        place = f"rules[{at}]"
        urls = rule.get("nonResourceURLs")
        if urls:
            if namespaced:
                invalid(
                    urls,
                    "namespaced rules cannot apply to non-resource URLs",
                    f"{place}.nonResourceURLs",
                    causes,
                )
            elif rule.get("apiGroups") or rule.get("resources"):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                invalid(urls, detail, f"{place}.nonResourceURLs", causes)
            continue
        if not rule.get("apiGroups"):
            required(f"{place}.apiGroups", causes, "resource rules must supply at least one api group")
        if not rule.get("resources"):
            required(f"{place}.resources", causes, "resource rules must supply at least one resource")


def check_binding(new: Object, old: Object | None, causes: list[Cause], *, namespaced: bool) -> None:
    """Append what is wrong with a RoleBinding or ClusterRoleBinding."""
    reference = new.get("roleRef") or {}
    allowed = ["Role", "ClusterRole"] if namespaced else ["ClusterRole"]
    if reference.get("kind", "") not in allowed:
        not_supported(reference.get("kind", ""), allowed, "roleRef.kind", causes)
    for at, subject in enumerate(new.get("subjects") or ()):
        kind, place = subject.get("kind", ""), f"subjects[{at}]"
        if kind not in {"ServiceAccount", "User", "Group"}:
            not_supported(kind, ["ServiceAccount", "User", "Group"], f"{place}.kind", causes)
        elif kind == "ServiceAccount" and not subject.get("namespace") and not namespaced:
            required(f"{place}.namespace", causes)
        if not subject.get("name"):
            required(f"{place}.name", causes)
    if old is not None and new.get("roleRef") != old.get("roleRef"):
        invalid(new.get("roleRef"), IMMUTABLE, "roleRef", causes)


def check_budget(new: Object, causes: list[Cause]) -> None:
    """Append what is wrong with a PodDisruptionBudget."""
    spec = new.get("spec") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        go = {
            "MinAvailable": least,
            "Selector": spec.get("selector"),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        invalid(go, "minAvailable and maxUnavailable cannot be both set", "spec", causes)
    check_int_or_percent(least, "spec.minAvailable", causes)
    check_int_or_percent(most, "spec.maxUnavailable", causes)
    check_selector(spec.get("selector"), "spec.selector", causes)


def check_autoscaler(new: Object, causes: list[Cause]) -> None:
    """Append what is wrong with a HorizontalPodAutoscaler."""
    spec = new.get("spec") or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if most < 1:
        required("spec.maxReplicas", causes)
    if least is not None and least < 1:
        invalid(least, "must be greater than or equal to 1", "spec.minReplicas", causes)
    if least is not None and most < least:
        invalid(most, "must be greater than or equal to `minReplicas`", "spec.maxReplicas", causes)
    target = spec.get("scaleTargetRef") or {}
    for key in ("kind", "name"):
        if not target.get(key):
            required(f"spec.scaleTargetRef.{key}", causes)
    if "/" not in target.get("apiVersion", "") and target.get("apiVersion") != "v1":
        invalid(
            target.get("apiVersion", ""),
            "apiVersion must specify API group",
            "spec.scaleTargetRef.apiVersion",
            causes,
        )


def check_lease(new: Object, causes: list[Cause]) -> None:
    """Append what is wrong with a Lease."""
    spec = new.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        invalid(duration, "must be greater than 0", "spec.leaseDurationSeconds", causes)
    not_negative(spec, ("leaseTransitions",), "spec", causes)


def check_event(new: Object, causes: list[Cause]) -> None:
    """Append what is wrong with an Event of `v1`."""
    namespace = new["metadata"].get("namespace", "")
    involved = (new.get("involvedObject") or {}).get("namespace", "")
    if involved and involved != namespace:
        invalid(involved, "does not match event.namespace", "involvedObject.namespace", causes)


def check_priority_class(new: Object, old: Object | None, causes: list[Cause]) -> None:
    """Append what is wrong with a PriorityClass."""
    name = new["metadata"].get("name", "")
    if name.startswith("system-") and name not in {"system-node-critical", "system-cluster-critical"}:
        detail = (
            "priority class names with 'system-' prefix are reserved for system use only. "
            f"error: {name} is not a known system priority class"
        )
        forbidden("metadata.name", detail, causes)
    if old is not None:
        for key in ("value", "preemptionPolicy"):
            if new.get(key) != old.get(key):
                detail = "may not be changed in an update." if key == "value" else IMMUTABLE
                causes.append(
                    Cause.of(
                        "FieldValueForbidden" if key == "value" else "FieldValueInvalid",
                        key,
                        detail,
                        None if key == "value" else shown(new.get(key)),
                    )
                )


def check_storage_class(new: Object, old: Object | None, causes: list[Cause]) -> None:
    """Append what is wrong with a StorageClass."""
    if old is None:
        return
    for key in ("parameters", "provisioner", "reclaimPolicy"):
        if new.get(key) != old.get(key):
            forbidden(key, f"updates to {key} are forbidden.", causes)
    if new.get("volumeBindingMode") != old.get("volumeBindingMode"):
        invalid(new.get("volumeBindingMode"), IMMUTABLE, "volumeBindingMode", causes)


def check_webhooks(new: Object, causes: list[Cause]) -> None:
    """Append what is wrong with a webhook configuration."""
    names: set[str] = set()
    for at, webhook in enumerate(new.get("webhooks") or ()):
        _webhook(webhook, f"webhooks[{at}]", causes)
        name = webhook.get("name", "")
        if name in names:
            causes.append(Cause.of("FieldValueDuplicate", f"webhooks[{at}].name", value=shown(name)))
        names.add(name)


def _webhook(webhook: Object, place: str, causes: list[Cause]) -> None:
    name = webhook.get("name", "")
    if not name:
        required(f"{place}.name", causes)
    elif len(name.split(".")) < _SEGMENTS:
        detail = "should be a domain with at least three segments separated by dots"
        invalid(name, detail, f"{place}.name", causes)
    effects = webhook.get("sideEffects")
    if effects is None:
        required(f"{place}.sideEffects", causes, "must specify one of None, NoneOnDryRun")
    elif effects not in {"None", "NoneOnDryRun"}:
        not_supported(effects, ["None", "NoneOnDryRun"], f"{place}.sideEffects", causes)
    config = webhook.get("clientConfig") or {}
    if bool(config.get("url")) == bool(config.get("service")):
        required(f"{place}.clientConfig", causes, "exactly one of url or service is required")
    elif config.get("url") and not config["url"].startswith("https://"):
        detail = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
        invalid(config["url"].partition("://")[0], detail, f"{place}.clientConfig.url", causes)
    versions = webhook.get("admissionReviewVersions") or []
    if not versions:
        required(f"{place}.admissionReviewVersions", causes, "must specify one of v1, v1beta1")
    elif not {"v1", "v1beta1"} & set(versions):
        detail = "must include at least one of v1, v1beta1"
        invalid(versions, detail, f"{place}.admissionReviewVersions", causes)
    timeout: Any = webhook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= _MAXIMUM_TIMEOUT:
        detail = "the timeout value must be between 1 and 30 seconds"
        invalid(timeout, detail, f"{place}.timeoutSeconds", causes)
