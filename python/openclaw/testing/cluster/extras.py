"""Subresources and reviews with a logic of their own: binding, eviction, finalize, token, access reviews."""

from __future__ import annotations

from typing import Any, Final

import orjson

from openclaw.testing.cluster.authorizer import Attributes, Authorizer
from openclaw.testing.cluster.backend import Backend
from openclaw.testing.cluster.contracts import User
from openclaw.testing.cluster.deleting import DeleteOptions, Deleting
from openclaw.testing.cluster.request import Answer, Request
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.scale import Scaling
from openclaw.testing.cluster.selectors import matches_labels
from openclaw.testing.cluster.statuses import (
    StatusError,
    bad_request,
    conflict,
    method_not_allowed,
    no_such_path,
)
from openclaw.testing.cluster.store import Entry
from openclaw.testing.cluster.writing import Writing

__all__ = ["Extras"]

Object = dict[str, Any]

_SUCCESS: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_REVIEWS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
_TOKEN_SECONDS: Final = 3600


class Extras:
    """What is neither create, read, update nor delete."""

    def __init__(
        self, backend: Backend, writing: Writing, deleting: Deleting, authorizer: Authorizer | None
    ) -> None:
        self._backend = backend
        self._writing = writing
        self._deleting = deleting
        self._authorizer = authorizer
        self._scaling = Scaling(backend)
        self.tokens: dict[str, User] = {}

    @staticmethod
    def is_review(target: Target) -> bool:
        """Whether a resource is a question to the server rather than something stored."""
        return target.resource.group in _REVIEWS

    async def get_scale(self, target: Target) -> Answer:
        """GET of a scale."""
        entry = self._backend.entry(target.resource, target.namespace, target.name)
        [obj] = await self._backend.in_version(target, [entry.obj])
        self._scaling.check_shown(target, obj)
        return Answer.of(self._scaling.shown(target, obj))

    async def answer(self, target: Target, request: Request, verb: str) -> Answer:
        """A request to one of the subresources."""
        match target.resource.plural, target.subresource, verb:
            case "pods", "binding", "create":
                return self._bind(target, request)
            case "pods", "eviction", "create":
                return self._evict(target, request)
            case "namespaces", "finalize", "update":
                return await self._finalize(target, request)
            case "serviceaccounts", "token", "create":
                return self._token(target, request)
            case "pods", "log", "get":
                self._backend.entry(target.resource, target.namespace, target.name)
                return Answer(200, b"", content_type="text/plain")
            case _, name, _ if name in target.resource.subresources:
                raise method_not_allowed()
        raise no_such_path()

    def _bind(self, target: Target, request: Request) -> Answer:
        body = _parsed(request)
        entry = self._backend.entry(target.resource, target.namespace, target.name)
        spec = entry.obj["spec"]
        if spec.get("nodeName"):
            message = f'pod {target.name} is already assigned to node "{spec["nodeName"]}"'
            raise conflict("", "pods/binding", target.name, message)
        self.bind(target, entry, body["target"]["name"])
        return Answer.of(_SUCCESS, 201)

    def bind(self, target: Target, entry: Entry, node: str) -> Entry:
        """Place a pod on a node."""
        now = self._backend.clock.timestamp()
        status = entry.obj.get("status") or {}
        conditions = [one for one in status.get("conditions") or () if one["type"] != "PodScheduled"]
        scheduled = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now,
        }
        obj = {
            **entry.obj,
            "metadata": dict(entry.obj["metadata"]),
            "spec": {**entry.obj["spec"], "nodeName": node},
            "status": {**status, "conditions": [*conditions, scheduled]},
        }
        return self._backend.store.update(target.resource.stored_as, entry, obj)

    def _evict(self, target: Target, request: Request) -> Answer:
        entry = self._backend.entry(target.resource, target.namespace, target.name)
        labels = entry.obj["metadata"].get("labels")
        for budget in self._backend.reader.list("policy", "poddisruptionbudgets", target.namespace):
            status = budget.get("status") or {}
            selected = matches_labels((budget.get("spec") or {}).get("selector"), labels)
            if selected and status.get("disruptionsAllowed", 0) < 1:
                raise self._no_disruption(budget)
        options = (_parsed(request).get("deleteOptions") or {}) if request.body else {}
        conditions = options.get("preconditions") or {}
        self._deleting.remove(
            target, entry, DeleteOptions(grace=options.get("gracePeriodSeconds"), uid=conditions.get("uid"))
        )
        return Answer.of(_SUCCESS, 201)

    @staticmethod
    def _no_disruption(budget: Object) -> StatusError:
        name, status = budget["metadata"]["name"], budget.get("status") or {}
        cause = {
            "reason": "DisruptionBudget",
            "message": f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods "
            f"and has {status.get('currentHealthy', 0)} currently",
        }
        return StatusError(
            429,
            "TooManyRequests",
            "Cannot evict pod as it would violate the pod's disruption budget.",
            details={"causes": [cause]},
        )

    async def _finalize(self, target: Target, request: Request) -> Answer:
        body = _parsed(request)
        entry = self._backend.entry(target.resource, "", target.name)
        finalizers = (body.get("spec") or {}).get("finalizers") or []
        after = self.finalize(target, entry, finalizers)
        return Answer(200, after.raw)

    def finalize(self, target: Target, entry: Entry, finalizers: list[str]) -> Entry:
        """Set `spec.finalizers` of a namespace; one that is being deleted and has none goes."""
        store, name = self._backend.store, target.resource.stored_as
        metadata = entry.obj["metadata"]
        if not finalizers and "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            store.delete(name, entry)
            obj = {**entry.obj, "spec": {}}
            return Entry(entry.key, entry.revision, obj, orjson.dumps(obj))
        spec = {**(entry.obj.get("spec") or {}), "finalizers": finalizers}
        obj = {**entry.obj, "metadata": dict(metadata), "spec": spec}
        return store.update(name, entry, obj)

    def _token(self, target: Target, request: Request) -> Answer:
        body = _parsed(request) if request.body else {}
        self._backend.entry(target.resource, target.namespace, target.name)
        seconds = (body.get("spec") or {}).get("expirationSeconds") or _TOKEN_SECONDS
        token = self.issue(target.namespace, target.name)
        spec = {"audiences": ["https://kubernetes.default.svc"], **(body.get("spec") or {})}
        answer = {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": target.name, "namespace": target.namespace},
            "spec": {**spec, "expirationSeconds": seconds},
            "status": {
                "token": token,
                "expirationTimestamp": self._backend.clock.timestamp_in(seconds),
            },
        }
        return Answer.of(answer, 201)

    def issue(self, namespace: str, name: str) -> str:
        """A bearer token of a service account; it says nothing by itself."""
        token = f"openclaw-{self._backend.chance.random.getrandbits(128):032x}"
        self.tokens[token] = service_account(namespace, name)
        return token

    async def review(self, target: Target, request: Request) -> Answer:
        """An access review, or a question who one is."""
        body = _parsed(request)
        spec = body.get("spec") or {}
        kind = target.resource.kind
        user = request.user
        answer = {**body, "kind": kind, "apiVersion": target.api_version, "metadata": {}}
        match kind:
            case "SelfSubjectReview":
                info = {"username": user.name, "groups": list(user.groups)}
                answer["status"] = {"userInfo": info}
            case "TokenReview":
                found = self.tokens.get(spec.get("token", ""))
                answer["status"] = (
                    {"authenticated": True, "user": {"username": found.name, "groups": list(found.groups)}}
                    if found
                    else {"user": {}, "error": "invalid bearer token"}
                )
            case "SelfSubjectRulesReview":
                rules = self._rules(user, spec.get("namespace", ""))
                answer["status"] = {"resourceRules": rules, "nonResourceRules": [], "incomplete": False}
            case _:
                if kind != "SelfSubjectAccessReview":
                    user = User(spec.get("user", ""), tuple(spec.get("groups") or ()))
                answer["status"] = {"allowed": self._allowed(user, spec)}
        return Answer.of(answer, 201)

    def _rules(self, user: User, namespace: str) -> list[Object]:
        if self._authorizer is None or "system:masters" in user.groups:
            return [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
        return list(self._authorizer.rules(user, namespace))

    def _allowed(self, user: User, spec: Object) -> bool:
        asked = spec.get("resourceAttributes")
        if self._authorizer is None or asked is None:
            return True
        attributes = Attributes(
            verb=asked.get("verb", ""),
            group=asked.get("group", ""),
            resource=asked.get("resource", ""),
            subresource=asked.get("subresource", ""),
            namespace=asked.get("namespace", ""),
            name=asked.get("name", ""),
        )
        return self._authorizer.allows(user, attributes)


def service_account(namespace: str, name: str) -> User:
    """The user that a service account is."""
    return User(
        f"system:serviceaccount:{namespace}:{name}",
        ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"),
    )


def _parsed(request: Request) -> Object:
    try:
        body = orjson.loads(request.body)
    except orjson.JSONDecodeError as error:
        raise bad_request(f"the body of the request cannot be read: {error}") from None
    if not isinstance(body, dict):
        raise bad_request("the body of the request is no object")
    return body
