"""Creations, updates and patches of objects, status and scale included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import orjson

from openclaw.testing.cluster.backend import Backend
from openclaw.testing.cluster.changes import changed
from openclaw.testing.cluster.contracts import (
    AdmissionRequest,
    FieldValidation,
    FieldWrite,
    Object,
    Operation,
)
from openclaw.testing.cluster.gate import Gate
from openclaw.testing.cluster.kindnames import NODES
from openclaw.testing.cluster.metadata import added_finalizers, created, forbidden_changes, place
from openclaw.testing.cluster.preparation import prepare_created
from openclaw.testing.cluster.request import Answer, Request
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.scale import Scaling
from openclaw.testing.cluster.statuses import (
    Cause,
    StatusError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
    unsupported_media_type,
)
from openclaw.testing.cluster.store import Entry, Stale, key_of
from openclaw.testing.cluster.traits import Traits, traits_of
from openclaw.testing.cluster.views import stored

__all__ = ["APPLY_TYPES", "Writing"]

APPLY_TYPES: Final = frozenset({"application/apply-patch+yaml", "application/apply-patch+cbor"})
_PATCH_TYPES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
_ATTEMPTS: Final = 5
_NAME_ATTEMPTS: Final = 8


class Writing:
    """The writing verbs but deletion."""

    def __init__(self, backend: Backend, gate: Gate) -> None:
        self._backend = backend
        self._gate = gate
        self._scaling = Scaling(backend)

    # Create

    async def create(self, target: Target, request: Request) -> Answer:
        """POST to a collection."""
        validation = request.field_validation("CreateOptions")
        dry_run = request.dry_run("CreateOptions")
        request.check_manager("CreateOptions")
        decoded = target.version.schema.decode(request.body, validation)
        with _telling(decoded.warnings):
            obj = decoded.object
            place(obj, target.namespace)
            for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
                obj["metadata"].pop(field, None)
            write = self._write(target, request)
            obj = self._tracked(write, None, obj)
            entry, warnings = await self._create(target, request, obj, dry_run=dry_run)
            return await self._answer(target, entry, 201, (*decoded.warnings, *warnings))

    async def _create(
        self, target: Target, request: Request, obj: Object, *, dry_run: bool
    ) -> tuple[Entry, tuple[str, ...]]:
        resource, backend = target.resource, self._backend
        if not dry_run and obj["metadata"].get("resourceVersion") not in {None, "", "0"}:
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        traits = self._traits(target)
        name = resource.group, resource.plural
        # A generated name may be taken; one that was given is not worth a second look.
        attempts = 1 if obj["metadata"].get("name") else _NAME_ATTEMPTS
        taken = ""
        for _ in range(attempts):
            new = created(obj, generation=traits.generation, clock=backend.clock, chance=backend.chance)
            self._gate.check_creation(target, new)
            asked = self._asked(target, request, Operation.CREATE, new, None, dry_run=dry_run)
            new, warnings = await self._mutated(asked, new)
            if target.version.status and name != NODES:
                new.pop("status", None)
            new = prepare_created(name, new, backend.reader)
            self._check(target, new, None, [])
            warnings += await self._validated(asked, new)
            self._gate.check_quota(target, new)
            kept = await self._for_store(target, new)
            key = key_of(target.namespace, new["metadata"]["name"])
            try:
                return self._stored_new(target, key, kept, dry_run=dry_run), warnings
            except Stale:
                taken = new["metadata"]["name"]
        error = already_exists(resource.group, resource.plural, taken)
        there = backend.store.collection(resource.stored_as).entries.get(key_of(target.namespace, taken))
        if there is not None and "deletionTimestamp" in there.obj["metadata"]:
            error.message = f"object is being deleted: {error.message}"
        raise error

    def _stored_new(self, target: Target, key: str, obj: Object, *, dry_run: bool) -> Entry:
        store, name = self._backend.store, target.resource.stored_as
        if not dry_run:
            return store.create(name, key, obj)
        if key in store.collection(name).entries:
            raise Stale
        del obj["metadata"]["resourceVersion"]
        return Entry(key, 0, obj, orjson.dumps(obj))

    # Update

    async def update(self, target: Target, request: Request) -> Answer:
        """PUT of an object, its status or scale."""
        validation = request.field_validation("UpdateOptions")
        dry_run = request.dry_run("UpdateOptions")
        request.check_manager("UpdateOptions")
        if target.subresource == "scale":
            return await self._put_scale(target, request, dry_run=dry_run)
        decoded = target.version.schema.decode(request.body, validation)
        with _telling(decoded.warnings):
            obj = decoded.object
            place(obj, target.namespace)
            self._check_name(target, obj)
            traits, resource = self._traits(target), target.resource
            try:
                entry = self._backend.entry(resource, target.namespace, target.name)
            except StatusError:
                if not traits.create_on_update or target.subresource or obj["metadata"].get("uid"):
                    raise
                if obj["metadata"].get("resourceVersion"):
                    raise conflict(resource.group, resource.plural, target.name, _MODIFIED) from None
                obj = self._tracked(self._write(target, request), None, obj)
                entry, warnings = await self._create(target, request, obj, dry_run=dry_run)
                return await self._answer(target, entry, 201, (*decoded.warnings, *warnings))
            if obj["metadata"].get("resourceVersion") in {None, "", "0"} and not traits.unconditional_update:
                cause = Cause.of(
                    "FieldValueInvalid", "metadata.resourceVersion", "must be specified for an update", "0"
                )
                raise invalid(resource.group, resource.plural, target.name, [cause])
            self._check_conditions(target, obj, entry)
            [live] = await self._backend.in_version(target, [entry.obj])
            obj = self._tracked(self._write(target, request), live, obj)
            after, warnings = await self.finish(target, request, entry, live, obj, dry_run=dry_run)
            return await self._answer(target, after, 200, (*decoded.warnings, *warnings))

    async def _put_scale(self, target: Target, request: Request, *, dry_run: bool) -> Answer:
        entry = self._backend.entry(target.resource, target.namespace, target.name)
        [live] = await self._backend.in_version(target, [entry.obj])
        scale = self._scaling.read(target, request.body)
        obj = self._scaling.scaled(target, live, scale)
        self._check_conditions(target, obj, entry)
        obj = self._tracked(self._write(target, request), live, obj)
        after, warnings = await self.finish(target, request, entry, live, obj, dry_run=dry_run)
        return await self._answer(target, after, 200, warnings)

    async def finish(
        self, target: Target, request: Request, entry: Entry, live: Object, obj: Object, *, dry_run: bool
    ) -> tuple[Entry, tuple[str, ...]]:
        """The rest of an update, from what the client wants on: admission, preparation, checks, the store.

        Raises Stale when somebody else wrote meanwhile.
        """
        refused = forbidden_changes(obj, live)
        if target.resource.definition is not None:
            # Their metadata is looked at twice, and each time complained of.
            refused = [*refused, *refused, *added_finalizers(obj, live)]
        obj = changed(target, live, obj, self._traits(target), self._backend.reader)
        asked = self._asked(target, request, Operation.UPDATE, obj, live, dry_run=dry_run)
        obj, warnings = await self._mutated(asked, obj)
        self._check(target, obj, live, refused)
        warnings += await self._validated(asked, obj)
        kept = await self._for_store(target, obj)
        collection = self._backend.store.collection(target.resource.stored_as)
        if collection.entries.get(entry.key) is not entry:
            raise Stale
        if kept == entry.obj:
            return entry, warnings
        if _is_over(kept):
            if not dry_run:
                self._backend.store.delete(target.resource.stored_as, entry)
            return Entry(entry.key, entry.revision, kept, orjson.dumps(kept)), warnings
        if dry_run:
            return Entry(entry.key, entry.revision, kept, orjson.dumps(kept)), warnings
        kept = {**kept, "metadata": dict(kept["metadata"])}
        return self._backend.store.update(target.resource.stored_as, entry, kept), warnings

    # Patch

    async def patch(self, target: Target, request: Request) -> Answer:
        """PATCH of any type."""
        if request.content_type not in _PATCH_TYPES and request.content_type not in APPLY_TYPES:
            if target.resource.definition is None:
                raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
            raise unsupported_media_type([one for one in _PATCH_TYPES if "strategic" not in one])
        validation = request.field_validation("PatchOptions")
        dry_run = request.dry_run("PatchOptions")
        request.check_manager("PatchOptions")
        applies = request.content_type in APPLY_TYPES
        _check_patch_options(request, applies=applies)
        for attempt in range(_ATTEMPTS):
            try:
                return await self._patched(target, request, validation, applies=applies, dry_run=dry_run)
            except Stale:
                if attempt == _ATTEMPTS - 1:
                    break
        resource = target.resource
        raise conflict(resource.group, resource.plural, target.name, _MODIFIED)

    async def _patched(
        self, target: Target, request: Request, validation: FieldValidation, *, applies: bool, dry_run: bool
    ) -> Answer:
        resource, machinery = target.resource, self._backend.machinery
        key = key_of(target.namespace, target.name)
        entry = self._backend.store.collection(resource.stored_as).entries.get(key)
        if entry is None:
            if not applies or target.subresource:
                raise not_found(resource.group, resource.plural, target.name)
            return await self._applied_new(target, request, validation, dry_run=dry_run)
        [live] = await self._backend.in_version(target, [entry.obj])
        write = self._write(target, request)
        if applies:
            decoded = machinery.fields.apply(
                write, live, request.body, force=request.flag("force"), validation=validation
            )
            obj = decoded.object
        else:
            seen = self._scaling.shown(target, live) if target.subresource == "scale" else live
            decoded = machinery.patches.patch(
                self._schema(target), seen, request.body, request.content_type, validation
            )
            obj = decoded.object
            if target.subresource == "scale":
                obj = self._scaling.scaled(target, live, obj)
        if obj is not live:
            place(obj, target.namespace)
            self._check_name(target, obj)
            self._check_conditions(target, obj, entry, patches=True)
        if not applies:
            obj = self._tracked(write, live, obj)
        after, warnings = await self.finish(target, request, entry, live, obj, dry_run=dry_run)
        return await self._answer(target, after, 200, (*decoded.warnings, *warnings))

    async def _applied_new(
        self, target: Target, request: Request, validation: FieldValidation, *, dry_run: bool
    ) -> Answer:
        decoded = self._backend.machinery.fields.apply(
            self._write(target, request),
            None,
            request.body,
            force=request.flag("force"),
            validation=validation,
        )
        obj = decoded.object
        obj["metadata"].pop("resourceVersion", None)
        if obj["metadata"].get("uid"):
            message = (
                "uid mismatch: the provided object specified uid "
                f"{obj['metadata']['uid']}, and no existing object was found"
            )
            raise conflict(target.resource.group, target.resource.plural, target.name, message)
        place(obj, target.namespace)
        self._check_name(target, obj)
        entry, warnings = await self._create(target, request, obj, dry_run=dry_run)
        return await self._answer(target, entry, 201, (*decoded.warnings, *warnings))

    # Parts

    def tracked(self, target: Target, request: Request, old: Object | None, new: Object) -> Object:
        """The object with the managedFields that it has after a write."""
        return self._tracked(self._write(target, request), old, new)

    def _schema(self, target: Target) -> Any:
        if target.subresource == "scale":
            return self._scaling.schema
        return target.version.schema

    @staticmethod
    def _traits(target: Target) -> Traits:
        resource = target.resource
        return traits_of(resource.group, resource.plural, custom=resource.definition is not None)

    def _write(self, target: Target, request: Request) -> FieldWrite:
        return FieldWrite(
            resource=target.resource,
            version=target.version.name,
            manager=request.manager,
            subresource=target.subresource,
            time=self._backend.clock.timestamp(),
        )

    def _tracked(self, write: FieldWrite, old: Object | None, new: Object) -> Object:
        managed = self._backend.machinery.fields.track(write, old, new)
        metadata = {key: value for key, value in new["metadata"].items() if key != "managedFields"}
        if managed:
            metadata["managedFields"] = managed
        return {**new, "metadata": metadata}

    def _asked(
        self,
        target: Target,
        request: Request,
        operation: Operation,
        obj: Object | None,
        old: Object | None,
        *,
        dry_run: bool,
    ) -> AdmissionRequest | None:
        if not self._backend.machinery.admission.concerns(target.resource, operation, target.subresource):
            return None
        named = obj if obj is not None else old
        return AdmissionRequest(
            operation=operation,
            resource=target.resource,
            version=target.version.name,
            subresource=target.subresource,
            namespace=target.namespace,
            name=target.name or (named or {}).get("metadata", {}).get("name", ""),
            object=obj,
            old=old,
            user=request.user,
            uid=self._backend.chance.uid(),
            dry_run=dry_run,
        )

    async def _mutated(self, asked: AdmissionRequest | None, obj: Object) -> tuple[Object, tuple[str, ...]]:
        if asked is None:
            return obj, ()
        admitted = await self._backend.machinery.admission.mutate(asked)
        if admitted.object is None or admitted.object is obj:
            return obj, admitted.warnings
        schema = asked.resource.versions[asked.version].schema
        return schema.default(admitted.object), admitted.warnings

    async def _validated(self, asked: AdmissionRequest | None, obj: Object) -> tuple[str, ...]:
        if asked is None:
            return ()
        admission = self._backend.machinery.admission
        return await admission.validate(
            AdmissionRequest(
                asked.operation,
                asked.resource,
                asked.version,
                asked.subresource,
                asked.namespace,
                asked.name,
                obj,
                asked.old,
                asked.user,
                asked.uid,
                dry_run=asked.dry_run,
            )
        )

    @staticmethod
    def _check(target: Target, obj: Object, old: Object | None, further: list[Cause]) -> None:
        causes = [*further]
        causes += target.version.schema.validate(obj, old, target.subresource)
        if causes:
            unique = causes if target.resource.definition is not None else list(dict.fromkeys(causes))
            name = obj["metadata"].get("name") or ""
            raise invalid(target.resource.group, target.resource.kind, name, unique)

    @staticmethod
    def _check_name(target: Target, obj: Object) -> None:
        name = obj["metadata"].get("name") or ""
        if not name:
            raise bad_request(
                f"the name of the object ({target.name} based on URL) was undeterminable: "
                "name must be provided"
            )
        if name != target.name:
            raise bad_request(
                f"the name of the object ({name}) does not match the name on the URL ({target.name})"
            )

    @staticmethod
    def _check_conditions(target: Target, obj: Object, entry: Entry, *, patches: bool = False) -> None:
        """The resourceVersion and the uid that a client names must be the object's own."""
        resource, metadata = target.resource, obj["metadata"]
        uid = metadata.get("uid")
        if uid and uid != entry.uid and not patches:
            path = f"/registry/{resource.plural}/{entry.key.lstrip('/')}"
            message = (
                f"StorageError: invalid object, Code: 4, Key: {path}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
                f"UID in object meta: {entry.uid}"
            )
            raise conflict(resource.group, resource.plural, target.name, message)
        version = metadata.get("resourceVersion")
        if version and version not in {"0", str(entry.revision)}:
            raise conflict(resource.group, resource.plural, target.name, _MODIFIED)

    async def _for_store(self, target: Target, obj: Object) -> Object:
        resource = target.resource
        if not self._backend.as_stored(target):
            if target.version.name != resource.storage:
                [obj] = await self._backend.machinery.conversion.convert(resource, [obj], resource.storage)
            obj = stored(resource, obj)
        first = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": dict(obj["metadata"])}
        return {**first, **{key: value for key, value in obj.items() if key not in first}}

    async def _answer(self, target: Target, entry: Entry, status: int, warnings: tuple[str, ...]) -> Answer:
        if target.subresource == "scale":
            [obj] = await self._backend.in_version(target, [entry.obj])
            return Answer.of(self._scaling.shown(target, obj), status, warnings)
        return Answer(status, await self._backend.raw(target, entry), warnings)


@contextmanager
def _telling(warnings: tuple[str, ...]) -> Iterator[None]:
    """A refusal, too, tells of the fields that were dropped."""
    try:
        yield
    except StatusError as error:
        error.warnings = (*warnings, *error.warnings)
        raise


def _is_over(obj: Object) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    metadata = obj["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not (obj["kind"] == "Namespace" and obj["apiVersion"] == "v1" and obj["spec"].get("finalizers"))
    )


def _check_patch_options(request: Request, *, applies: bool) -> None:
    if applies and not request.text("fieldManager"):
        cause = Cause.of("FieldValueRequired", "fieldManager", "is required for apply patch")
        raise invalid("meta.k8s.io", "PatchOptions", "", [cause])
    if not applies and request.text("force"):
        cause = Cause.of("FieldValueForbidden", "force", "may not be specified for non-apply patch")
        raise invalid("meta.k8s.io", "PatchOptions", "", [cause])
