"""What holds for every struct of a built-in kind: required fields, enumerations, selectors, keys."""

from __future__ import annotations

from typing import Any, Final

from openclaw.testing.cluster.schema.names import label_value_faults, qualified_name_faults
from openclaw.testing.cluster.schema.node import Node, path_of
from openclaw.testing.cluster.schema.values import shown
from openclaw.testing.cluster.statuses import Cause

Object = dict[str, Any]

IMMUTABLE: Final = "field is immutable"
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})
_ELSEWHERE: Final = frozenset(
    {
        ("v1.CSIVolumeSource", "driver"),
        ("v1.CrossVersionObjectReference", "kind"),
        ("v1.CrossVersionObjectReference", "name"),
        ("v1.HTTPHeader", "value"),
        ("v1.HTTPIngressPath", "pathType"),
        ("v1.LabelSelectorRequirement", "operator"),
        ("v1.MutatingWebhook", "admissionReviewVersions"),
        ("v1.MutatingWebhook", "name"),
        ("v1.MutatingWebhook", "sideEffects"),
        ("v1.OwnerReference", "apiVersion"),
        ("v1.OwnerReference", "kind"),
        ("v1.OwnerReference", "name"),
        ("v1.OwnerReference", "uid"),
        ("v1.RoleRef", "kind"),
        ("v1.Subject", "kind"),
        ("v1.Subject", "name"),
        ("v1.ValidatingWebhook", "admissionReviewVersions"),
        ("v1.ValidatingWebhook", "name"),
        ("v1.ValidatingWebhook", "sideEffects"),
        ("v2.CrossVersionObjectReference", "kind"),
        ("v2.CrossVersionObjectReference", "name"),
        ("v1.IngressServiceBackend", "name"),
    }
)
"""Required fields that a kind's own rules speak of, in other words."""
_NUMBERS: Final = frozenset({("v1.ContainerPort", "containerPort"), ("v1.GRPCAction", "port")})
"""Required numbers of which 0 means that they are missing."""


def check_structs(node: Node, value: Any, path: str, causes: list[Cause]) -> None:
    """Append missing required fields and values that are not among those allowed."""
    if isinstance(value, list):
        if node.items is not None and node.items.type in {"object", "string"}:
            for at, item in enumerate(value):
                check_structs(node.items, item, f"{path}[{at}]", causes)
        return
    if isinstance(value, str):
        _enum(node, value, path, causes)
        return
    if not isinstance(value, dict):
        return
    for key in node.required:
        child = node.properties.get(key)
        if child is None or (node.struct, key) in _ELSEWHERE:
            continue
        given = value.get(key)
        if (given in (None, "", []) and (child.type in {"string", "array"} or child.mark == "null")) or (
            not given and (node.struct, key) in _NUMBERS
        ):
            causes.append(Cause.of("FieldValueRequired", path_of(path, key)))
    for key, below in value.items():
        child = node.properties.get(key)
        if (node.struct, key) == ("v1.PersistentVolumeClaimSpec", "accessModes"):
            continue
        if child is not None and below not in (None, "") and key not in {"status", "metadata"}:
            check_structs(child, below, path_of(path, key), causes)


def _enum(node: Node, value: str, path: str, causes: list[Cause]) -> None:
    allowed = node.raw.get("enum")
    if allowed and value and value not in allowed:
        not_supported(value, allowed, path, causes)


def not_supported(value: Any, allowed: Any, field: str, causes: list[Cause]) -> None:
    """Append that a value is not among those allowed."""
    listed = ", ".join(shown(one) for one in allowed)
    causes.append(Cause.of("FieldValueNotSupported", field, f"supported values: {listed}", shown(value)))


def invalid(value: Any, detail: str, field: str, causes: list[Cause]) -> None:
    """Append that a value is wrong, and why."""
    causes.append(Cause.of("FieldValueInvalid", field, detail, shown(value)))


def required(field: str, causes: list[Cause], detail: str = "") -> None:
    """Append that a field is missing."""
    causes.append(Cause.of("FieldValueRequired", field, detail))


def forbidden(field: str, detail: str, causes: list[Cause]) -> None:
    """Append that a field may not be set, or not be changed."""
    causes.append(Cause.of("FieldValueForbidden", field, detail))


def not_negative(obj: Object, keys: tuple[str, ...], path: str, causes: list[Cause]) -> None:
    """Append those of these numbers that are below zero."""
    for key in keys:
        value = obj.get(key)
        if isinstance(value, int) and value < 0:
            invalid(value, _NOT_NEGATIVE, path_of(path, key), causes)


def unchanged(new: Object, old: Object, keys: tuple[str, ...], path: str, causes: list[Cause]) -> None:
    """Append those of these fields that were changed."""
    for key in keys:
        if new.get(key) != old.get(key):
            invalid(new.get(key), IMMUTABLE, path_of(path, key), causes)


def check_selector(selector: Any, path: str, causes: list[Cause]) -> None:
    """Append what is wrong with a LabelSelector."""
    if not isinstance(selector, dict):
        return
    for key, value in (selector.get("matchLabels") or {}).items():
        for fault in qualified_name_faults(key):
            invalid(key, fault, f"{path}.matchLabels", causes)
        for fault in label_value_faults(value):
            invalid(value, fault, f"{path}.matchLabels[{key}]", causes)
    for at, requirement in enumerate(selector.get("matchExpressions") or ()):
        place = f"{path}.matchExpressions[{at}]"
        operator, values = requirement.get("operator"), requirement.get("values") or []
        if operator not in _OPERATORS:
            invalid(operator or "", "not a valid selector operator", f"{place}.operator", causes)
        elif operator in {"In", "NotIn"} and not values:
            required(f"{place}.values", causes, "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in {"Exists", "DoesNotExist"} and values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            forbidden(f"{place}.values", detail, causes)


def selects(selector: Object, labels: Object) -> bool:
    """Whether a LabelSelector selects an object with these labels."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for requirement in selector.get("matchExpressions") or ():
        has, value = requirement["key"] in labels, labels.get(requirement["key"])
        fits = {
            "In": has and value in (requirement.get("values") or ()),
            "NotIn": value not in (requirement.get("values") or ()),
            "Exists": has,
            "DoesNotExist": not has,
        }
        if not fits.get(requirement.get("operator", ""), False):
            return False
    return True
