"""One run of a reconciler for one object: from the stored bytes to the written status."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from openclaw.api.errors import InvalidObjectError
from openclaw.api.kinds import ResourceKind
from openclaw.api.resource import CustomResource
from openclaw.kube.client import Client
from openclaw.kube.errors import ApiError, NotFound
from openclaw.runtime.apply import Applier
from openclaw.runtime.context import Context
from openclaw.runtime.deadline import within_deadline
from openclaw.runtime.errors import NAMESPACE_TERMINATING, ErrorClass, TerminalError, classify
from openclaw.runtime.failing import STALLED, conditions_of, says_it_fails, state_outcome, warn
from openclaw.runtime.finalizers import set_finalizer
from openclaw.runtime.informer import Informer
from openclaw.runtime.invalid import report_invalid
from openclaw.runtime.queue import Key, Work
from openclaw.runtime.reconciler import Reconciler
from openclaw.runtime.recorder import EventRecorder
from openclaw.runtime.result import Result
from openclaw.runtime.status import StatusWriter, status_as_read
from openclaw.telemetry.context import bind
from openclaw.telemetry.logs import Log
from openclaw.telemetry.spans import current_span

__all__ = ["Runner"]

_FAILED: Final = 500
"""Answers from here on say that the server has failed, perhaps after the effect."""

_NOTHING_TO_SAY: Final = (ErrorClass.CONFLICT, ErrorClass.GONE, ErrorClass.FENCED)


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
        found: told of the object's uid and annotations, before anything is done.
    """

    reconciler: Reconciler[Any]
    client: Client
    informers: Mapping[ResourceKind, Informer]
    applier: Applier
    recorder: EventRecorder | None
    log: Log
    found: Callable[[Work, str, Mapping[str, str] | None], None]
    _unsure: set[Key] = field(default_factory=set, init=False)
    """Roots of which it is not known whether the last write of their status had its effect."""

    @property
    def _root_informer(self) -> Informer:
        return self.informers[self.reconciler.root.resource]

    async def run(self, work: Work, attempt: int, reconcile_id: str) -> Result | None:
        """Reconcile the object of `work`; None when there is no such object any more.

        Which state of the object the run is about is bound to the caller's log context.

        Raises:
            Exception: whatever the reconciler raised, after the status was written.
        """
        if work.key in self._unsure:
            await self._look_again(work.key)
        stored = self._root_informer.cache.get(*work.key)
        if stored is None:
            self.applier.forget(work.key)
            return None
        try:
            obj = self.reconciler.root.from_json(stored)
        except InvalidObjectError as error:
            raw = orjson.loads(stored)["metadata"]
            self.found(work, raw["uid"], raw.get("annotations"))
            await self._report_invalid(stored, error)
            raise
        metadata = obj.metadata
        current_span().about(obj)
        self.found(work, metadata.uid, metadata.annotations)
        bind(generation=metadata.generation, resourceVersion=metadata.resource_version)
        context = self._context(obj, work, attempt, reconcile_id)
        if obj.metadata.deletion_timestamp is not None:
            return await self._finalize(context, obj)
        if self.reconciler.finalizer is not None:
            try:
                obj = await self._with_finalizer(obj, self.reconciler.finalizer)
            except Exception as error:
                await self._end(context, obj, status_as_read(obj), error)
                raise
            # Of the object as it is now: a mark on it is refused on an older one.
            context = self._context(obj, work, attempt, reconcile_id)
        return await self._reconcile(context, obj)

    async def _look_again(self, key: Key) -> None:
        """Read a root whose status may be another than the cache shows.

        A run that comes to what the cache shows writes nothing; and where its watch is behind, the event that
        tells of the former run's status runs nobody.

        Raises:
            KubeError: it could not be read.
        """
        try:
            live = await self.client.get(self.reconciler.root.resource, key.namespace or None, key.name)
        except NotFound:
            pass  # its watch is about to tell
        else:
            self._root_informer.put(live)
        self._unsure.discard(key)

    def _context(self, obj: CustomResource, work: Work, attempt: int, reconcile_id: str) -> Context:
        return Context(
            obj,
            key=work.key,
            reasons=work.reasons,
            attempt=attempt,
            reconcile_id=reconcile_id,
            applier=self.applier,
            client=self.client,
            informers=self.informers,
            reads=[kind.resource for kind in self.reconciler.reads],
            recorder=self.recorder,
            log=self.log,
        )

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
        _speak_of_generation(obj)
        error: Exception | None = None
        result = Result.done()
        try:
            result = await self._run("reconcile", self.reconciler.reconcile(context, obj))
        except Exception as caught:  # noqa: BLE001 - raised again once the status is written
            error = caught
        await self._end(context, obj, before, error)
        if error is not None:
            raise error
        return result

    async def _run(self, method: str, run: Awaitable[object]) -> Result:
        """The result of the user's coroutine.

        Raises:
            Exception: whatever it raised; a TypeError where it returned something else.
        """
        result = await within_deadline(run, self.reconciler.deadline)
        if not isinstance(result, Result):
            name = type(self.reconciler).__name__
            msg = f"{name}.{method} returned {result!r}; return Result.done() or Result.after(seconds)"
            raise TypeError(msg)
        return result

    async def _end(
        self,
        context: Context,
        obj: CustomResource,
        before: dict[str, Any],
        error: Exception | None,
        *,
        action: str = "Reconcile",
    ) -> None:
        """Write the status of a run that succeeded, or failed with `error`.

        Raises:
            Exception: it could not be written, of a run that succeeded.
        """
        if error is not None and classify(error) in _NOTHING_TO_SAY:
            return  # what the status says may be about a state that is no more
        state_outcome(context, obj, error, action=action)
        try:
            await self._write_status(obj, before)
        except BaseException as unwritten:
            if _may_have_had_effect(unwritten):
                self._unsure.add(context.key)
            if not isinstance(unwritten, Exception):
                raise
            if error is None:
                warn(context, unwritten, action=action)
                raise
            self.log.warning("the status could not be written", error=str(unwritten))

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
        if finalizer is None:
            return Result.done()
        before = status_as_read(obj)
        if finalizer not in obj.metadata.finalizers:
            if says_it_fails(obj):  # our part is done, and only others hold it
                await self._end(context, obj, before, None, action="Finalize")
            return Result.done()
        _speak_of_generation(obj)
        error: Exception | None = None
        result = Result.done()
        answer: bytes | None = None
        try:
            result = await self._run("finalize", self.reconciler.finalize(context, obj))
            if result.requeue_after is None:
                answer = await set_finalizer(self.client, obj, finalizer, present=False)
        except Exception as caught:  # noqa: BLE001 - raised again once the status is written
            error = caught
        if error is None and result.requeue_after is None:
            return await self._let_go(context, obj, answer, before)
        if error is not None and classify(error) is ErrorClass.GONE:
            # Unlike a reconcile, this one is still needed: without it the namespace does not go either.
            error = TerminalError(str(error), reason=NAMESPACE_TERMINATING)
        await self._end(context, obj, before, error, action="Finalize")
        if error is not None:
            raise error
        return result

    async def _let_go(
        self, context: Context, obj: CustomResource, answer: bytes | None, before: dict[str, Any]
    ) -> Result:
        """Our finalizer is off, which `answer` shows; the object may have gone with it."""
        if answer is None:
            return Result.done()
        # Also where the object goes with it: until the watch tells, nobody may finalize it again.
        self._root_informer.put(answer)
        metadata = orjson.loads(answer)["metadata"]
        if metadata.get("finalizers"):
            # Others still hold it: what an earlier try has said of us is no longer so.
            obj.metadata.resource_version = metadata["resourceVersion"]
            await self._end(context, obj, before, None, action="Finalize")
        return Result.done()


def _may_have_had_effect(error: BaseException) -> bool:
    """Whether a write that ended so may have been done all the same."""
    if isinstance(error, ApiError):
        return error.code >= _FAILED
    return classify(error) is not ErrorClass.FENCED  # what the fence stops is never sent


def _speak_of_generation(obj: CustomResource) -> None:
    conditions = conditions_of(obj)
    if conditions is not None:
        conditions.speak_of(obj.metadata.generation)
