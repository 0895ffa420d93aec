"""Service accounts for operators, each with the generated role, and what they asked of the API server."""

from __future__ import annotations

import copy
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from openclaw.controllers import SHIPPED
from openclaw.manifests import generate
from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.waiting import eventually

Object = dict[str, Any]
Rules = list[Object]

SYSTEM = "openclaw-system"
_CLIENT_GONE = 504
_QUESTION = "selfsubjectaccessreviews"
MUTATING = frozenset({"create", "update", "patch", "delete", "deletecollection"})


def generated_rules(reconcilers: Any = SHIPPED) -> Rules:
    """The rules of the operator's generated role."""
    files = generate(reconcilers, image="openclaw:test")
    for document in yaml.safe_load_all(files["deploy/base/rbac.yaml"]):
        if document["kind"] == "ClusterRole" and document["metadata"]["name"] == "openclaw-operator":
            return list(document["rules"])
    raise LookupError("no operator role")


def granted(rules: Rules) -> set[tuple[str, str]]:
    """What rules allow: (verb, resource)."""
    return {(verb, resource) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}


@dataclass(frozen=True)
class Account:
    """One service account, bound to a role of its own name."""

    plane: ControlPlane
    name: str
    kubeconfig: Path

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{SYSTEM}:{self.name}"

    def requests(self) -> list[Object]:
        """All requests that this account has made so far, but for questions whether it may do something."""
        return [it for it in self.plane.audit_events(self.user) if resource_of(it) != _QUESTION]

    def writes(self) -> list[Object]:
        return [event for event in self.requests() if event["verb"] in MUTATING]

    def counts(self) -> Counter[str]:
        return Counter(f"{event['verb']} {resource_of(event)}" for event in self.requests())


def resource_of(event: Object) -> str:
    reference = event.get("objectRef") or {}
    resource = reference.get("resource", "")
    return f"{resource}/{reference['subresource']}" if reference.get("subresource") else resource


def code_of(event: Object) -> int:
    code: int = (event.get("responseStatus") or {}).get("code", 0)
    return code


def refused(events: Iterable[Object]) -> list[Object]:
    """The requests that the API server refused.

    504 is not among them: it is what the server notes of a request whose client went away before its answer,
    as an operator's does that a test ends in the middle of one.
    """
    return [event for event in events if code_of(event) >= 400 and code_of(event) != _CLIENT_GONE]


def describe(event: Object) -> str:
    """A request, for messages."""
    return f"{event['verb']} {event['requestURI']} -> {code_of(event)}"


async def new_account(
    plane: ControlPlane,
    client: Client,
    *,
    rules: Rules | None = None,
    namespace: str | None = None,
    change: Callable[[Rules], Rules] | None = None,
    token_file: bool = False,
) -> Account:
    """A new service account with the generated role, or other `rules`, or `change`d ones.

    With `namespace` they hold in that namespace only, as a Role.
    """
    name = f"operator-{uuid.uuid4().hex[:8]}"
    allowed = copy.deepcopy(generated_rules() if rules is None else rules)
    if change is not None:
        allowed = change(allowed)
    kind = "ClusterRole" if namespace is None else "Role"
    place = {} if namespace is None else {"namespace": namespace}
    group = "rbac.authorization.k8s.io"
    await _ensure_namespace(client)
    kubeconfig = plane.service_account_kubeconfig(SYSTEM, name, token_file=token_file)
    await client.create(
        {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": name, **place}, "rules": allowed}
    )
    await client.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": f"{kind}Binding",
            "metadata": {"name": name, **place},
            "roleRef": {"apiGroup": group, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": SYSTEM}],
        }
    )
    account = Account(plane, name, kubeconfig)
    await _await_grant(client, account, allowed[-1], namespace)
    return account


async def _ensure_namespace(client: Client) -> None:
    await client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})


async def _await_grant(client: Client, account: Account, rule: Object, namespace: str | None) -> None:
    """The authorizer learns of a new binding by a watch: soon, but not at once."""
    attributes = {"group": rule["apiGroups"][0], "resource": rule["resources"][0], "verb": rule["verbs"][0]}
    if namespace is not None:
        attributes["namespace"] = namespace
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {"name": ""},
        "spec": {"user": account.user, "resourceAttributes": attributes},
    }

    async def allowed() -> bool:
        return bool((await client.create(review))["status"]["allowed"])

    await eventually(allowed, f"the grant of {attributes}")
