"""Which admission webhooks a request concerns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from openclaw.testing.cluster.contracts import AdmissionRequest, Reader, Resource
from openclaw.testing.cluster.kinds.generic import selects

Object = dict[str, Any]


def rules_match(
    webhook: Object, resource: Resource, operation: str, subresource: str, version: str | None
) -> bool:
    """Whether one of the webhook's rules names this; `version` None stands for any version."""
    return any(
        _rule_matches(rule, resource, operation, subresource, version) for rule in webhook.get("rules") or ()
    )


def _rule_matches(
    rule: Object, resource: Resource, operation: str, subresource: str, version: str | None
) -> bool:
    if not _names(rule.get("operations"), operation) or not _names(rule.get("apiGroups"), resource.group):
        return False
    # Equivalent requests count by any of the resource's versions.
    equivalent = rule.get("apiVersions") or ()
    if version is not None and not _names(equivalent, version):
        return False
    if version is None and not any(_names(equivalent, one) for one in resource.versions):
        return False
    scope = rule.get("scope") or "*"
    if scope != "*" and (scope == "Namespaced") != resource.namespaced:
        return False
    return any(_resource_matches(name, resource.plural, subresource) for name in rule.get("resources") or ())


def _resource_matches(name: str, plural: str, subresource: str) -> bool:
    wanted, slash, part = name.partition("/")
    if wanted not in {"*", plural}:
        return False
    if not slash:
        return not subresource
    return part in {"*", subresource}


def _names(listed: Iterable[str] | None, wanted: str) -> bool:
    return any(one in {"*", wanted} for one in listed or ())


def version_for(webhook: Object, request: AdmissionRequest) -> str | None:
    """The version in which the webhook wants this request; None when it does not concern it."""
    arguments = request.resource, request.operation.value, request.subresource
    if rules_match(webhook, *arguments, request.version):
        return request.version
    if webhook.get("matchPolicy", "Equivalent") != "Equivalent":
        return None
    for version in request.resource.versions:
        if rules_match(webhook, *arguments, version):
            return version
    return None


def selectors_match(webhook: Object, request: AdmissionRequest, reader: Reader) -> bool:
    """Whether the object and its namespace are among those that the webhook selects."""
    selector = webhook.get("namespaceSelector") or {}
    if selector and not selects(selector, _namespace_labels(request, reader)):
        return False
    selector = webhook.get("objectSelector") or {}
    if not selector:
        return True
    return any(
        selects(selector, (obj.get("metadata") or {}).get("labels") or {})
        for obj in (request.object, request.old)
        if obj is not None
    )


def _namespace_labels(request: AdmissionRequest, reader: Reader) -> dict[str, str]:
    if (request.resource.group, request.resource.plural) == ("", "namespaces"):
        namespace = request.object or request.old
    elif request.resource.namespaced:
        namespace = reader.get("", "namespaces", "", request.namespace)
    else:
        return {}
    labels: dict[str, str] = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    return labels
