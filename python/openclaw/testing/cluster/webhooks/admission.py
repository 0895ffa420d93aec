"""Admission webhooks: mutating ones in turn, then validating ones.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import orjson

from openclaw.testing.cluster.contracts import (
    AdmissionRequest,
    Admitted,
    Conversion,
    Object,
    Operation,
    Reader,
    Resource,
    StatusError,
)
from openclaw.testing.cluster.patch.json_patch import apply_json_patch
from openclaw.testing.cluster.statuses import bad_request, internal
from openclaw.testing.cluster.webhooks.calling import Caller, CallError, InvalidResponseError
from openclaw.testing.cluster.webhooks.matching import rules_match, selectors_match, version_for

_GROUP: Final = "admissionregistration.k8s.io"
_MUTATING: Final = "mutatingwebhookconfigurations"
_VALIDATING: Final = "validatingwebhookconfigurations"
_TIMEOUT: Final = 10.0  # seconds
_UNEXPLAINED: Final = 400


class WebhookAdmission:
    """The `Admission` of a cluster."""

    def __init__(self, reader: Reader, conversion: Conversion, caller: Caller) -> None:
        self._reader = reader
        self._conversion = conversion
        self._caller = caller

    def concerns(self, resource: Resource, operation: Operation, subresource: str) -> bool:
        """Whether a webhook's rules name this resource."""
        if resource.group == _GROUP:
            return False  # Webhooks cannot keep themselves from being changed.
        return any(
            rules_match(webhook, resource, operation.value, subresource, None)
            for plural in (_MUTATING, _VALIDATING)
            for webhook in self._webhooks(plural)
        )

    async def mutate(self, request: AdmissionRequest) -> Admitted:
        """The object as the mutating webhooks leave it."""
        webhooks = list(self._webhooks(_MUTATING))
        current, warnings = request, list[str]()
        changed: set[int] = set()
        for at, webhook in enumerate(webhooks):
            before = current.object
            current, said = await self._one_mutation(webhook, current)
            warnings += said
            if current.object is not before:
                changed.add(at)
        if changed:
            # Those before the last change see it, if they ask to.
            for at, webhook in enumerate(webhooks):
                if webhook.get("reinvocationPolicy") == "IfNeeded" and any(other > at for other in changed):
                    current, said = await self._one_mutation(webhook, current)
                    warnings += said
        return Admitted(current.object, tuple(warnings))

    async def validate(self, request: AdmissionRequest) -> tuple[str, ...]:
        """Ask all validating webhooks at once."""
        answers = await asyncio.gather(
            *(self._asked(webhook, request) for webhook in self._webhooks(_VALIDATING)),
            return_exceptions=True,
        )
        warnings: list[str] = []
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            if answer is not None:
                warnings += answer.get("warnings") or ()
        return tuple(warnings)

    async def _one_mutation(
        self, webhook: Object, request: AdmissionRequest
    ) -> tuple[AdmissionRequest, list[str]]:
        response = await self._asked(webhook, request)
        if response is None:
            return request, []
        warnings = list(response.get("warnings") or ())
        if not response.get("patch") or request.object is None:
            return request, warnings
        version = response.pop("_version")
        try:
            operations = orjson.loads(base64.b64decode(response["patch"]))
            [seen] = await self._conversion.convert(request.resource, [request.object], version)
            patched = apply_json_patch(seen, operations)
            [back] = await self._conversion.convert(request.resource, [patched], request.version)
        except (ValueError, binascii.Error) as error:
            raise internal(str(error)) from None
        if back == request.object:
            return request, warnings
        return replace(request, object=back), warnings

    async def _asked(self, webhook: Object, request: AdmissionRequest) -> Object | None:
        """The response of one webhook; None when it is not concerned, or fails and may."""
        version = version_for(webhook, request)
        if version is None or not selectors_match(webhook, request, self._reader):
            return None
        name = webhook["name"]
        if request.dry_run and webhook.get("sideEffects") not in {"None", "NoneOnDryRun"}:
            message = f'admission webhook "{name}" does not support dry run'
            raise bad_request(message)
        try:
            response = await self._call(webhook, request, version)
        except CallError as error:
            if webhook.get("failurePolicy", "Fail") == "Ignore":
                return None
            invalid = isinstance(error, InvalidResponseError)
            what = "received invalid webhook response" if invalid else "failed to call webhook"
            raise internal(f'failed calling webhook "{name}": {what}: {error}') from None
        if not response.get("allowed"):
            raise _refusal(name, response.get("status") or {})
        return {**response, "_version": version}

    async def _call(self, webhook: Object, request: AdmissionRequest, version: str) -> Object:
        review = await self._review(webhook, request, version)
        timeout = float(webhook.get("timeoutSeconds") or _TIMEOUT)
        answer = await self._caller.call(webhook["clientConfig"], "", review, timeout)
        response = answer.get("response")
        if not isinstance(response, dict):
            message = "webhook response was absent"
            raise InvalidResponseError(message)
        if response.get("uid") != request.uid:
            message = f'expected response.uid="{request.uid}", got "{response.get("uid", "")}"'
            raise InvalidResponseError(message)
        if response.get("patch") and response.get("patchType") != "JSONPatch":
            message = "webhook returned response.patch but not response.patchType"
            raise InvalidResponseError(message)
        return response

    async def _review(self, webhook: Object, request: AdmissionRequest, version: str) -> Object:
        resource = request.resource
        objects = [obj for obj in (request.object, request.old) if obj is not None]
        converted = iter(await self._conversion.convert(resource, objects, version))
        obj = next(converted) if request.object is not None else None
        old = next(converted) if request.old is not None else None
        reviews = webhook.get("admissionReviewVersions") or ["v1"]
        user = request.user
        asked: Object = {
            "uid": request.uid,
            "kind": {"group": resource.group, "version": version, "kind": resource.kind},
            "resource": {"group": resource.group, "version": version, "resource": resource.plural},
            "requestKind": {"group": resource.group, "version": request.version, "kind": resource.kind},
            "requestResource": {
                "group": resource.group,
                "version": request.version,
                "resource": resource.plural,
            },
            "name": request.name,
            "operation": request.operation.value,
            "userInfo": {"username": user.name, "uid": user.uid, "groups": list(user.groups)},
            "object": obj,
            "oldObject": old,
            "dryRun": request.dry_run,
            "options": request.options or None,
        }
        if request.subresource:
            asked |= {"subResource": request.subresource, "requestSubResource": request.subresource}
        if request.namespace:
            asked["namespace"] = request.namespace
        return {
            "kind": "AdmissionReview",
            "apiVersion": f"admission.k8s.io/{'v1' if 'v1' in reviews else reviews[0]}",
            "request": asked,
        }

    def _webhooks(self, plural: str) -> Iterator[Object]:
        for configuration in self._reader.list(_GROUP, plural):
            yield from configuration.get("webhooks") or ()


def _refusal(name: str, status: dict[str, Any]) -> StatusError:
    text, code = status.get("message"), status.get("code") or _UNEXPLAINED
    said = f'admission webhook "{name}" denied the request'
    if text:
        message = f"{said}: {text}"
    elif status.get("reason"):
        message = f"{said}: {status['reason']}"
    else:
        message = f"{said} without explanation"
    return StatusError(code, status.get("reason") or "", message, details=status.get("details"))
