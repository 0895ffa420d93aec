"""Who may do what: Roles and ClusterRoles, by their bindings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from openclaw.testing.cluster.contracts import Reader, User
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.statuses import StatusError

__all__ = ["Attributes", "Authorizer"]

Object = dict[str, Any]

_GROUP: Final = "rbac.authorization.k8s.io"
_ALWAYS: Final = "system:masters"
_REVIEWS: Final = frozenset({"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"})


@dataclass(frozen=True, slots=True)
class Attributes:
    """What somebody wants to do."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @classmethod
    def of(cls, target: Target, verb: str) -> Attributes:
        """Of a request."""
        resource = target.resource
        return cls(verb, resource.group, resource.plural, target.subresource, target.namespace, target.name)


class Authorizer:
    """The RBAC authorizer; members of `system:masters` may do everything."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def check(self, user: User, wanted: Attributes) -> None:
        """Raise StatusError (403) when the user may not."""
        if self.allows(user, wanted):
            return
        resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
        where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
        message = (
            f'User "{user.name}" cannot {wanted.verb} resource "{resource}" in API group "{wanted.group}" '
            f"{where}"
        )
        qualified = f"{wanted.resource}.{wanted.group}" if wanted.group else wanted.resource
        named = f'{qualified} "{wanted.name}"' if wanted.name else qualified
        details = {"name": wanted.name, "group": wanted.group, "kind": wanted.resource}
        raise StatusError(
            403,
            "Forbidden",
            f"{named} is forbidden: {message}",
            details={key: value for key, value in details.items() if value},
        )

    def allows(self, user: User, wanted: Attributes) -> bool:
        """Whether the user may."""
        if _ALWAYS in user.groups or wanted.resource in _REVIEWS:
            return True
        return any(_permits(rule, wanted) for rule in self.rules(user, wanted.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[Object]:
        """The rules that hold for a user in a namespace, or ("") for the whole cluster."""
        for binding in self._reader.list(_GROUP, "clusterrolebindings"):
            if _binds(binding, user, ""):
                yield from self._of_role(binding["roleRef"], "")
        if namespace:
            for binding in self._reader.list(_GROUP, "rolebindings", namespace):
                if _binds(binding, user, namespace):
                    yield from self._of_role(binding["roleRef"], namespace)

    def _of_role(self, reference: Object, namespace: str) -> Iterator[Object]:
        if reference["kind"] == "Role":
            role = self._reader.get(_GROUP, "roles", namespace, reference["name"])
        else:
            role = self._reader.get(_GROUP, "clusterroles", "", reference["name"])
        yield from (role or {}).get("rules") or ()


def _binds(binding: Object, user: User, namespace: str) -> bool:
    for subject in binding.get("subjects") or ():
        kind, name = subject["kind"], subject["name"]
        if kind == "User" and name == user.name:
            return True
        if kind == "Group" and name in user.groups:
            return True
        if kind == "ServiceAccount":
            account = f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
            if account == user.name:
                return True
    return False


def _permits(rule: Object, wanted: Attributes) -> bool:
    resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    resources = rule.get("resources") or ()
    named = rule.get("resourceNames")
    return (
        _has(rule.get("verbs"), wanted.verb)
        and _has(rule.get("apiGroups"), wanted.group)
        and (
            _has(resources, resource) or (bool(wanted.subresource) and f"*/{wanted.subresource}" in resources)
        )
        and (not named or wanted.name in named)
    )


def _has(values: Any, wanted: str) -> bool:
    return bool(values) and ("*" in values or wanted in values)
