"""Deletions: at once, or asked for and waited for by finalizers and grace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from openclaw.testing.cluster.backend import Backend
from openclaw.testing.cluster.contracts import AdmissionRequest, Operation
from openclaw.testing.cluster.gate import Gate
from openclaw.testing.cluster.kindnames import CLEANUP, DEFINITIONS, PODS
from openclaw.testing.cluster.metadata import deleting, new_finalizers
from openclaw.testing.cluster.request import Answer, Request
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.selection import select
from openclaw.testing.cluster.statuses import (
    Cause,
    StatusError,
    bad_request,
    conflict,
    invalid,
    success,
)
from openclaw.testing.cluster.store import Entry, Stale
from openclaw.testing.cluster.traits import traits_of

__all__ = ["DeleteOptions", "Deleting"]

Object = dict[str, Any]

_POLICIES = frozenset({"Foreground", "Background", "Orphan"})
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How something is to be deleted.

    Attributes:
        policy: `Foreground`, `Background`, `Orphan`, or None for the kind's own.
        grace: seconds; None for the object's own.
    """

    policy: str | None = None
    grace: int | None = None
    uid: str | None = None
    revision: str | None = None
    dry_run: bool = False


class Deleting:
    """The deleting verbs."""

    def __init__(self, backend: Backend, gate: Gate) -> None:
        self._backend = backend
        self._gate = gate

    async def delete(self, target: Target, request: Request) -> Answer:
        """DELETE of one object."""
        options = _options(request)
        for _ in range(_ATTEMPTS):
            entry = self._backend.entry(target.resource, target.namespace, target.name)
            try:
                return await self._delete(target, request, entry, options)
            except Stale:
                continue
        resource = target.resource
        raise conflict(resource.group, resource.plural, target.name, "the object has been modified")

    async def _delete(self, target: Target, request: Request, entry: Entry, options: DeleteOptions) -> Answer:
        resource = target.resource
        self._gate.check_deletion(target)
        warnings = await self._admitted(target, request, entry, options)
        after = self.remove(target, entry, options)
        if after is None:
            traits = traits_of(resource.group, resource.plural, custom=resource.definition is not None)
            if resource.stored_as == PODS:
                # What is graceful elsewhere was asked for, and granted at once.
                gone = deleting(entry.obj, self._backend.clock, finalizers=[])
                return Answer.of(gone, warnings=warnings)
            if traits.returns_deleted:
                return Answer(200, await self._backend.raw(target, entry), warnings)
            status = success(name=target.name, group=resource.group, kind=resource.plural, uid=entry.uid)
            return Answer.of(status, warnings=warnings)
        return Answer(200, await self._backend.raw(target, after), warnings)

    def remove(self, target: Target, entry: Entry, options: DeleteOptions) -> Entry | None:
        """Delete an object, or ask for it; returns what is there then, None for nothing.

        Raises StatusError (409) when a precondition does not hold, Stale when somebody wrote meanwhile.
        """
        resource, store = target.resource, self._backend.store
        self._check_preconditions(target, entry, options)
        traits = traits_of(resource.group, resource.plural, custom=resource.definition is not None)
        finalizers = new_finalizers(entry.obj, options.policy, orphans=traits.orphans)
        grace = self._grace(target, entry.obj, options)
        is_namespace = (resource.group, resource.plural) == ("", "namespaces")
        is_definition = resource.stored_as == DEFINITIONS
        held = is_namespace and bool((entry.obj.get("spec") or {}).get("finalizers"))
        if is_definition and "deletionTimestamp" not in entry.obj["metadata"]:
            finalizers = list(dict.fromkeys([*finalizers, CLEANUP]))
        if not finalizers and not grace and not held:
            if not options.dry_run:
                store.delete(resource.stored_as, entry)
            return None
        obj = deleting(entry.obj, self._backend.clock, finalizers=finalizers, grace=grace)
        if is_namespace:
            obj = _phasing_out(obj, {"phase": "Terminating"})
        elif is_definition and "deletionTimestamp" not in entry.obj["metadata"]:
            conditions = [*((obj.get("status") or {}).get("conditions") or ()), self._terminating()]
            obj = _phasing_out(obj, {"conditions": conditions})
        if obj == entry.obj:
            return entry
        if options.dry_run:
            return Entry(entry.key, entry.revision, obj, orjson.dumps(obj))
        return store.update(resource.stored_as, entry, obj)

    def _terminating(self) -> Object:
        return {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": self._backend.clock.timestamp(),
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; "
            "CustomResource deletion will begin soon",
        }

    async def delete_collection(self, target: Target, request: Request) -> Answer:
        """DELETE of a collection: of each object that the selectors leave."""
        options = _options(request)
        selection = select(target, request)
        collection = self._backend.store.collection(target.resource.stored_as)
        revision = self._backend.store.revision
        chosen = [entry for entry in collection.scan(target.namespace) if selection.holds(entry.obj)]
        items = [await self._backend.raw(target, entry) for entry in chosen]
        for entry in chosen:
            metadata = entry.obj["metadata"]
            one = Target(target.resource, target.version, metadata.get("namespace", ""), metadata["name"], "")
            try:
                await self._delete(one, request, entry, options)
            except (Stale, StatusError) as error:
                if isinstance(error, StatusError) and error.code not in {404, 409}:
                    raise
        if target.resource.definition is None:
            items = [b"{" + raw[raw.index(b'"metadata"') :] for raw in items]
        metadata = {"resourceVersion": str(revision)}
        if target.resource.definition is not None:
            metadata = {"continue": "", **metadata}
        head = {
            "kind": target.resource.list_kind,
            "apiVersion": target.api_version,
            "metadata": metadata,
        }
        return Answer(200, b'%s,"items":[%s]}' % (orjson.dumps(head)[:-1], b",".join(items)))

    async def _admitted(
        self, target: Target, request: Request, entry: Entry, options: DeleteOptions
    ) -> tuple[str, ...]:
        admission = self._backend.machinery.admission
        if not admission.concerns(target.resource, Operation.DELETE, ""):
            return ()
        [old] = await self._backend.in_version(target, [entry.obj])
        asked = AdmissionRequest(
            operation=Operation.DELETE,
            resource=target.resource,
            version=target.version.name,
            subresource="",
            namespace=target.namespace,
            name=target.name,
            object=None,
            old=old,
            user=request.user,
            uid=self._backend.chance.uid(),
            dry_run=options.dry_run,
        )
        admitted = await admission.mutate(asked)
        return (*admitted.warnings, *(await admission.validate(asked)))

    @staticmethod
    def _grace(target: Target, obj: Object, options: DeleteOptions) -> int:
        """Seconds that are left to the object; only pods that run somewhere have any."""
        if target.resource.stored_as != PODS:
            return 0
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        grace = options.grace if options.grace is not None else spec.get("terminationGracePeriodSeconds", 30)
        if not spec.get("nodeName") or status.get("phase") in {"Succeeded", "Failed"}:
            return 0
        left = obj["metadata"].get("deletionGracePeriodSeconds")
        return grace if left is None else min(grace, left)

    @staticmethod
    def _check_preconditions(target: Target, entry: Entry, options: DeleteOptions) -> None:
        resource = target.resource
        if options.uid is not None and options.uid != entry.uid:
            raise conflict(
                resource.group,
                resource.kind,
                target.name,
                f"the UID in the precondition ({options.uid}) does not match the UID in record "
                f"({entry.uid}). The object might have been deleted and then recreated",
            )
        if options.revision is not None and options.revision != str(entry.revision):
            raise conflict(
                resource.group,
                resource.kind,
                target.name,
                f"the ResourceVersion in the precondition ({options.revision}) does not match the "
                f"ResourceVersion in record ({entry.revision}). The object might have been modified",
            )


def _phasing_out(obj: Object, status: Object) -> Object:
    """An object of a kind that tells in its status that it is on its way out, and has no grace period."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "deletionGracePeriodSeconds"}
    return {**obj, "metadata": metadata, "status": {**(obj.get("status") or {}), **status}}


def _options(request: Request) -> DeleteOptions:
    body: Object = {}
    if request.body:
        try:
            body = orjson.loads(request.body)
        except orjson.JSONDecodeError as error:
            raise bad_request(f"couldn't read the DeleteOptions: {error}") from None
    kind = body.get("kind") or "DeleteOptions"
    if kind != "DeleteOptions":
        version = body.get("apiVersion", "")
        raise bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "embedded"')
    policy = body.get("propagationPolicy") or request.text("propagationPolicy") or None
    orphan = body.get("orphanDependents")
    if policy is not None and orphan is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        cause = Cause.of("FieldValueInvalid", "propagationPolicy", detail, f'"{policy}"')
        raise invalid("meta.k8s.io", "DeleteOptions", "", [cause])
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    if policy is not None and policy not in _POLICIES:
        known = 'supported values: "Foreground", "Background", "Orphan", "nil"'
        cause = Cause.of("FieldValueNotSupported", "propagationPolicy", known, f'"{policy}"')
        raise invalid("meta.k8s.io", "DeleteOptions", "", [cause])
    grace = body.get("gracePeriodSeconds", request.number("gracePeriodSeconds"))
    conditions = body.get("preconditions") or {}
    return DeleteOptions(
        policy=policy,
        grace=grace,
        uid=conditions.get("uid"),
        revision=conditions.get("resourceVersion"),
        dry_run=request.dry_run("DeleteOptions", body.get("dryRun")),
    )
