"""The API server: takes requests of any door, says what becomes of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from openclaw.testing.cluster import faults as faulting
from openclaw.testing.cluster.audit import Audit
from openclaw.testing.cluster.authorizer import Attributes, Authorizer
from openclaw.testing.cluster.backend import Backend
from openclaw.testing.cluster.deleting import Deleting
from openclaw.testing.cluster.discovery import Discovery
from openclaw.testing.cluster.extras import Extras
from openclaw.testing.cluster.faults import Fault, Faults, RequestInfo
from openclaw.testing.cluster.gate import Gate
from openclaw.testing.cluster.listing import Listing
from openclaw.testing.cluster.request import Answer, Request, failure
from openclaw.testing.cluster.routing import PLAIN_NOT_FOUND, Target, resolve
from openclaw.testing.cluster.statuses import StatusError, method_not_allowed, no_such_path, not_found
from openclaw.testing.cluster.watching import Watch, Watching
from openclaw.testing.cluster.writing import APPLY_TYPES, Writing

__all__ = ["ApiServer"]

_COLLECTION_VERBS: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT_VERBS: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class ApiServer:
    """Answers requests.

    Args:
        backend: what it serves.
        faults: asked what goes wrong.
        authorizer: asked who may do what; None lets everybody do everything.
        audit: told of every answer.
    """

    def __init__(
        self,
        backend: Backend,
        faults: Faults,
        *,
        authorizer: Authorizer | None = None,
        audit: Audit | None = None,
    ) -> None:
        self._backend = backend
        self._faults = faults
        self._authorizer = authorizer
        self._audit = audit
        gate = Gate(backend)
        self.listing = Listing(backend)
        self.writing = Writing(backend, gate)
        self.deleting = Deleting(backend, gate)
        self.watching = Watching(backend, faults)
        self._discovery = Discovery(backend)
        self.extras = Extras(backend, self.writing, self.deleting, authorizer)
        self._answers: dict[str, Callable[[Target, Request], Awaitable[Answer]]] = {
            "get": self.listing.get,
            "list": self.listing.page,
            "create": self.writing.create,
            "update": self.writing.update,
            "patch": self.writing.patch,
            "apply": self.writing.patch,
            "delete": self.deleting.delete,
            "deletecollection": self.deleting.delete_collection,
        }

    def is_watch(self, request: Request) -> bool:
        """Whether the answer to a request is a stream: then call `watch` instead of `handle`."""
        if request.method != "GET":
            return False
        try:
            if not request.is_watch and "/watch/" not in request.path:
                return False
        except StatusError:
            return False
        target = resolve(request.path, self._backend.registry)
        return target is not None and (target.watch or not target.name or not target.subresource)

    async def handle(self, request: Request) -> Answer:
        """Answer a request; refusals are answers.

        Raises ConnectionLost, where a fault breaks the connection.
        """
        target = resolve(request.path, self._backend.registry)
        if target is None:
            return self._unrouted(request)
        verb = self._verb(target, request)
        custom = target.resource.definition is not None
        if verb == "create" and custom and target.resource.namespaced and not target.namespace:
            return PLAIN_NOT_FOUND  # No such path, as long as there is no namespace in it.
        try:
            fault = self._fault(target, request, verb)
            if fault is not None:
                await faulting.before(fault)
            self._authorize(target, request, verb)
            answer = await self._answer(target, request, verb, fault)
            if target.version.deprecation:
                answer.warnings = (target.version.deprecation, *answer.warnings)
        except StatusError as error:
            answer = failure(error)
            fault = None
        if self._audit is not None:
            self._audit.record(target, request, verb, answer.status)
        if fault is not None:
            await faulting.after(fault)
        return answer

    async def watch(self, request: Request) -> Watch:
        """Open a watch; close it with `watching.close`.

        Raises StatusError, and ConnectionLost where a fault breaks the connection.
        """
        target = resolve(request.path, self._backend.registry)
        if target is None:
            raise no_such_path()
        code = 200
        try:
            fault = self._fault(target, request, "watch")
            if fault is not None:
                await faulting.before(fault)
            self._authorize(target, request, "watch")
            if "watch" not in target.resource.verbs:
                raise method_not_allowed()
            watch = self.watching.watch(target, request)
        except StatusError as error:
            code = error.code
            raise
        finally:
            if self._audit is not None:
                self._audit.record(target, request, "watch", code)
        if fault is not None and fault.lose_answer:
            watch.cut()
        return watch

    def _unrouted(self, request: Request) -> Answer:
        answer = self._discovery.answer(request)
        if answer is not None:
            return answer
        group = request.path.split("/")[2] if request.path.startswith("/apis/") else ""
        if request.path.startswith("/apis/") and not self._discovery.serves_group(group):
            return PLAIN_NOT_FOUND
        return failure(no_such_path())

    @staticmethod
    def _verb(target: Target, request: Request) -> str:
        if target.name:
            if request.method == "POST" and target.subresource:
                return "create"
            verb = _OBJECT_VERBS.get(request.method, "")
            return "apply" if verb == "patch" and request.content_type in APPLY_TYPES else verb
        return _COLLECTION_VERBS.get(request.method, "")

    def _fault(self, target: Target, request: Request, verb: str) -> Fault | None:
        if not self._faults.watches_requests:
            return None
        info = RequestInfo(
            verb=verb,
            resource=target.resource.qualified,
            subresource=target.subresource,
            namespace=target.namespace,
            name=target.name,
            user=request.user,
            user_agent=request.user_agent,
        )
        return self._faults.on_request(info)

    def _authorize(self, target: Target, request: Request, verb: str) -> None:
        if self._authorizer is None:
            return
        attributes = Attributes.of(target, "patch" if verb == "apply" else verb)
        self._authorizer.check(request.user, attributes)

    async def _answer(self, target: Target, request: Request, verb: str, fault: Fault | None) -> Answer:
        if target.subresource not in {"", "status", "scale"}:
            if target.resource.definition is not None:
                raise not_found(target.resource.group, target.resource.plural, target.name)
            return await self.extras.answer(target, request, verb)
        self._check_verb(target, verb)
        if self.extras.is_review(target):
            return await self.extras.review(target, request)
        if target.subresource == "scale" and verb == "get":
            return await self.extras.get_scale(target)
        if fault is not None and fault.past is not None:
            if verb == "get":
                return Answer(200, self.listing.one(target, fault.past))
            if verb == "list":
                return await self.listing.page(target, request, at=fault.past)
        return await self._answers[verb](target, request)

    @staticmethod
    def _check_verb(target: Target, verb: str) -> None:
        """Raise StatusError (404, 405) when there is no such subresource, or not this verb for it."""
        if target.subresource:
            served = target.version.status if target.subresource == "status" else target.version.scale
            if not served:
                if target.resource.definition is not None:
                    raise not_found(target.resource.group, target.resource.plural, target.name)
                raise no_such_path()
            if verb not in {"get", "update", "patch", "apply"}:
                raise _not_supported(target, verb)
        elif (target.resource.namespaced and not target.namespace and verb not in {"list", "watch"}) or (
            "patch" if verb == "apply" else verb
        ) not in target.resource.verbs:
            raise method_not_allowed()


def _not_supported(target: Target, verb: str) -> StatusError:
    """405 for a subresource; custom resources word it in their own way."""
    resource = target.resource
    if resource.definition is None:
        return method_not_allowed()
    error = method_not_allowed(f'{verb} is not supported on resources of kind "{resource.qualified}"')
    error.details = {"group": resource.group, "kind": resource.plural}
    return error
