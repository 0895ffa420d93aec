"""One run of a reconciler for one object: from the stored bytes to the written status."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from openclaw.api.conditions import Condition, Conditions
from openclaw.api.errors import InvalidObjectError
from openclaw.api.kinds import ResourceKind
from openclaw.api.resource import CustomResource
from openclaw.kube.client import Client
from openclaw.runtime.apply import Applier
from openclaw.runtime.context import Context
from openclaw.runtime.deadline import within_deadline
from openclaw.runtime.errors import ErrorClass, classify, reason_of
from openclaw.runtime.finalizers import set_finalizer
from openclaw.runtime.informer import Informer
from openclaw.runtime.invalid import report_invalid
from openclaw.runtime.queue import Work
from openclaw.runtime.reconciler import Reconciler
from openclaw.runtime.recorder import EventRecorder
from openclaw.runtime.result import Result
from openclaw.runtime.status import StatusWriter, status_as_read
from openclaw.telemetry.context import log_context
from openclaw.telemetry.logs import Log
from openclaw.telemetry.spans import current_span

__all__ = ["STALLED", "Runner"]

STALLED = "Stalled"
"""The condition that a terminal error sets (kstatus' word) and the next good run removes."""


@dataclass(slots=True)
class Runner:
    """Runs one controller's reconciler.

    Attributes:
        reconciler: the user's.
        client: reads and writes.
        informers: caches of the root kind and of what is owned and watched.
        applier: writes children.
        recorder: sends events; None where the reconciler emits none.
        log: the controller's logger.
    """

    reconciler: Reconciler[Any]
    client: Client
    informers: Mapping[ResourceKind, Informer]
    applier: Applier
    recorder: EventRecorder | None
    log: Log

    @property
    def _root_informer(self) -> Informer:
        return self.informers[self.reconciler.root.resource]

    async def run(self, work: Work, attempt: int) -> Result | None:
        """Reconcile the object of `work`; None when there is no such object any more.

        Raises:
            Exception: whatever the reconciler raised, after the status was written.
        """
        stored = self._root_informer.cache.get(*work.key)
        if stored is None:
            self.applier.forget(work.key)
            return None
        try:
            obj = self.reconciler.root.from_json(stored)
        except InvalidObjectError as error:
            await self._report_invalid(stored, error)
            raise
        current_span().about(obj)
        reconcile_id = f"{random.getrandbits(64):016x}"
        with log_context(
            controller=self.reconciler.name,
            kind=obj.resource.kind,
            namespace=work.key.namespace,
            name=work.key.name,
            generation=obj.metadata.generation,
            resourceVersion=obj.metadata.resource_version,
            reconcileID=reconcile_id,
        ):
            context = Context(
                obj,
                key=work.key,
                reasons=work.reasons,
                attempt=attempt,
                reconcile_id=reconcile_id,
                applier=self.applier,
                client=self.client,
                informers=self.informers,
                recorder=self.recorder,
                log=self.log,
            )
            if obj.metadata.deletion_timestamp is not None:
                return await self._finalize(context, obj)
            if self.reconciler.finalizer is not None:
                obj = await self._with_finalizer(obj, self.reconciler.finalizer)
            return await self._reconcile(context, obj)

    async def _report_invalid(self, stored: bytes, error: InvalidObjectError) -> None:
        answer = await report_invalid(
            self.reconciler.root,
            stored,
            str(error),
            client=self.client,
            recorder=self.recorder,
            condition=STALLED,
        )
        if answer is not None:
            self._root_informer.put(answer)

    async def _with_finalizer(self, obj: CustomResource, finalizer: str) -> CustomResource:
        """Our finalizer goes on before the first effect outside."""
        answer = await set_finalizer(self.client, obj, finalizer, present=True)
        if answer is None:
            return obj
        self._root_informer.put(answer)
        return type(obj).from_json(answer)

    async def _reconcile(self, context: Context, obj: CustomResource) -> Result:
        before = status_as_read(obj)
        conditions = _conditions_of(obj)
        if conditions is not None:
            conditions.speak_of(obj.metadata.generation)
        error: Exception | None = None
        result: object = Result.done()
        try:
            result = await within_deadline(self.reconciler.reconcile(context, obj), self.reconciler.deadline)
        except Exception as caught:
            if classify(caught) in (ErrorClass.CONFLICT, ErrorClass.GONE):
                raise
            error = caught
        self._complete_status(context, obj, error)
        try:
            await self._write_status(obj, before)
        except Exception as unwritten:
            if error is None:
                raise
            self.log.warning("the status could not be written", error=str(unwritten))
        if error is not None:
            raise error
        if not isinstance(result, Result):
            name = type(self.reconciler).__name__
            msg = f"{name}.reconcile returned {result!r}; return Result.done() or Result.after(seconds)"
            raise TypeError(msg)
        return result

    def _complete_status(self, context: Context, obj: CustomResource, error: Exception | None) -> None:
        """Fill in what every status says: the generation it speaks of, and whether we have given up."""
        terminal = error if error is not None and classify(error) is ErrorClass.TERMINAL else None
        conditions = _conditions_of(obj)
        if conditions is not None:
            if terminal is not None:
                conditions.set(
                    Condition(type=STALLED, status="True", reason=reason_of(terminal), message=str(terminal))
                )
            elif error is None:
                conditions.remove(STALLED)
        if terminal is not None:
            context.event(reason_of(terminal), str(terminal), type="Warning")
        if (error is None or terminal is not None) and "observed_generation" in type(obj.status).model_fields:
            obj.status.observed_generation = obj.metadata.generation

    async def _write_status(self, obj: CustomResource, before: dict[str, Any]) -> None:
        metadata = obj.metadata
        answer = await StatusWriter(self.client).write(
            obj.resource,
            {
                "namespace": metadata.namespace,
                "name": metadata.name,
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
            },
            before,
            obj.status_dict(),
        )
        if answer is not None:
            self._root_informer.put(answer)

    async def _finalize(self, context: Context, obj: CustomResource) -> Result:
        """Undo the effects outside, then let the object go."""
        finalizer = self.reconciler.finalizer
        if finalizer is None or finalizer not in obj.metadata.finalizers:
            return Result.done()
        before = status_as_read(obj)
        error: Exception | None = None
        result = Result.done()
        try:
            result = await within_deadline(self.reconciler.finalize(context, obj), self.reconciler.deadline)
        except Exception as caught:  # noqa: BLE001 - raised again once the status is written
            error = caught
        if error is not None or result.requeue_after is not None:
            await self._write_status(obj, before)
            if error is not None:
                raise error
            return result
        answer = await set_finalizer(self.client, obj, finalizer, present=False)
        if answer is not None and orjson.loads(answer)["metadata"].get("finalizers"):
            self._root_informer.put(answer)
        return Result.done()


def _conditions_of(obj: CustomResource) -> Conditions | None:
    conditions = getattr(obj.status, "conditions", None)
    return conditions if isinstance(conditions, Conditions) else None
