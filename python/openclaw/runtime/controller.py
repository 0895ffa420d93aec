"""A controller: subscriptions, the queue, the workers, and what becomes of a key after a run."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import orjson

from openclaw.api.errors import InvalidObjectError
from openclaw.api.kinds import ResourceKind
from openclaw.kube.client import Client
from openclaw.kube.errors import ApiError, KubeError, TooManyRequests
from openclaw.runtime.apply import Applier
from openclaw.runtime.errors import ClassifiedError, ErrorClass, Retry, TerminalError, classify
from openclaw.runtime.informer import Delta, Informer
from openclaw.runtime.lasterrors import LastErrors
from openclaw.runtime.predicates import DeletionChanged, OwnersChanged
from openclaw.runtime.queue import Key, Priority, Queue, QueueClosed, Work
from openclaw.runtime.reconciler import Reconciler, Watch, owned_kinds
from openclaw.runtime.recorder import EventRecorder
from openclaw.runtime.result import Result
from openclaw.runtime.run import Runner
from openclaw.runtime.running import Running
from openclaw.runtime.runspan import RunSpans, asked_by_this_run
from openclaw.runtime.turn import Turn
from openclaw.sharding.fence import Fence
from openclaw.telemetry.context import log_context
from openclaw.telemetry.logs import Log
from openclaw.telemetry.metrics import ControllerMetrics, Outcome
from openclaw.telemetry.spans import current_span
from openclaw.telemetry.tracing import NO_TRACING, Tracer

__all__ = ["Controller"]

_CONFLICTS_AT_ONCE: Final = 3
# What only another change can mend is still tried: a quota or a policy that goes makes no event for us.
_TERMINAL_BOUNDS: Final = (30.0, 120.0)
_THROTTLED_SECONDS: Final = 1.0
# How long a name may have been free before a root that waits for it unheard looks again.
_UNHEARD_SECONDS: Final = 5.0
_NO_SLOT: Final = -1
_SELF: Final = b'{"self":{}}'
# What fails without a defect of the reconciler.
_PASSING: Final = (KubeError, ClassifiedError, TimeoutError)
_NAME_FREED: Final = DeletionChanged() | OwnersChanged()


def _owner_mapping(root: ResourceKind) -> bytes:
    owner: dict[str, Any] = {"group": root.group, "kind": root.kind}
    if not root.namespaced:
        owner["clusterScoped"] = True
    return orjson.dumps({"owner": owner})


class Controller:
    """Runs one reconciler.

    Args:
        reconciler: what to run.
        client: reads and writes.
        informers: the manager's informers by kind; those of root, owned and watched kinds must be there.
        metrics: of this controller.
        concurrency: most runs at once; the reconciler's own by default.
        tracer: records the runs.
        fence: knows the slots that this shard acts on; None where there are no shards.

    Attributes:
        running: the runs under way.
        last_errors: what the latest failing keys failed for.
    """

    def __init__(
        self,
        reconciler: Reconciler[Any],
        *,
        client: Client,
        informers: Mapping[ResourceKind, Informer],
        metrics: ControllerMetrics,
        concurrency: int | None = None,
        tracer: Tracer = NO_TRACING,
        fence: Fence | None = None,
    ) -> None:
        self.name = reconciler.name
        self.reconciler = reconciler
        self.concurrency = concurrency or reconciler.concurrency
        self.log = Log(f"openclaw.controller.{self.name}", controller=self.name)
        self._closing = asyncio.Event()
        self.queue = Queue(on_add=metrics.added, on_retry=metrics.retried)
        self._metrics = metrics
        metrics.set_concurrency(self.concurrency)
        metrics.follow_queue(self.queue.__len__)
        self._root = informers[reconciler.root.resource]
        self.kinds = {reconciler.root.resource: self._root}
        self._subscriptions: dict[ResourceKind, int] = {}
        self._applier = Applier(client, self.kinds, self._subscriptions)
        self._spans = RunSpans(tracer, self.name, reconciler.root.resource, self.kinds, fence)
        self._fence = fence
        self.running = Running()
        self._turn = Turn()
        self.last_errors = LastErrors()
        self._subscribe(informers)
        self.recorder = (
            EventRecorder(client, f"{self.name}.openclaw.dev") if reconciler.emits_events else None
        )
        self._runner = Runner(
            reconciler=reconciler,
            client=client,
            informers=self.kinds,
            applier=self._applier,
            recorder=self.recorder,
            log=self.log,
            found=self._spans.found,
        )

    def _subscribe(self, informers: Mapping[ResourceKind, Informer]) -> None:
        root = self.reconciler.root.resource
        self._root.add_indexes(self.reconciler.indexes)
        self._root.subscribe(self.reconciler.triggers, _SELF, Priority.CHANGE, self._enqueuer(root))
        mapping = _owner_mapping(root)
        for owned in owned_kinds(type(self.reconciler)):
            kind = owned.child.resource
            informer = self.kinds[kind] = informers[kind]
            number = informer.subscribe(owned.triggers, mapping, Priority.CHILD, self._enqueuer(kind))
            self._subscriptions[kind] = number
            informer.subscribe(_NAME_FREED, _SELF, Priority.CHILD, self._releaser(kind))
        for watch in self.reconciler.watches:
            kind = watch.target.resource
            informer = self.kinds[kind] = informers[kind]
            informer.subscribe(watch.triggers, _SELF, Priority.CHILD, self._referrers(watch))

    def _enqueuer(self, kind: ResourceKind) -> Any:
        add, cause = self.queue.add, self._spans.cause
        reasons = {
            reason: (f"{kind.kind} {reason}", self._metrics.trigger(kind.kind, reason))
            for reason in ("added", "updated", "deleted")
        }

        def enqueue(delta: Delta) -> None:
            text, count = reasons[delta.reason]
            count()
            add(delta.key, delta.priority, text, cause=cause(delta, text, kind))

        return enqueue

    def _releaser(self, kind: ResourceKind) -> Any:
        """Enqueue the roots that wait for the name of an object which is none of theirs."""

        def enqueue(delta: Delta) -> None:
            roots = self._applier.released(kind, delta.key.namespace, delta.key.name)
            if not roots:
                return
            reason = f"{kind.kind} {delta.reason}"
            for root in roots:
                cause = self._spans.cause(delta, reason, kind, named=True)
                self.queue.add(root, delta.priority, reason, cause=cause)

        return enqueue

    def _referrers(self, watch: Watch) -> Any:
        """Enqueue the roots that name the object: of its namespace where both have one, else of all."""
        kind, root = watch.target.resource, self._root.kind

        def enqueue(delta: Delta) -> None:
            reason = f"{kind.kind} {delta.reason}"
            for namespace, name in self._root.cache.lookup(watch.index, delta.key.name):
                if not (kind.namespaced and root.namespaced) or namespace == delta.key.namespace:
                    cause = self._spans.cause(delta, reason, kind, named=True)
                    self.queue.add(Key(namespace, name), delta.priority, reason, cause=cause)

        return enqueue

    @property
    def synced(self) -> bool:
        """Whether every cache that the reconciler reads has its first list."""
        return all(informer.synced for informer in self.kinds.values())

    async def run(self) -> None:
        """Wait for the caches, then work until `close`; cancelled runs are abandoned."""
        if not await self._caches_before_close():
            return
        self.log.info("controller started", workers=self.concurrency)
        async with asyncio.TaskGroup() as group:
            for number in range(self.concurrency):
                group.create_task(self._work(), name=f"{self.name}-worker-{number}")

    def close(self) -> None:
        """Begin no more runs; `run` ends with those in flight."""
        self._closing.set()
        self.queue.close()

    async def _caches_before_close(self) -> bool:
        """Wait until every cache is there; False when `close` came first."""
        waiting = [asyncio.ensure_future(it) for it in (self._all_synced(), self._closing.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        return not self._closing.is_set()

    async def _all_synced(self) -> bool:
        with self._spans.tracer.start(f"start {self.name}") as span:
            for informer in self.kinds.values():
                with span.child(f"cache wait {informer.kind.kind}"):
                    await informer.listwatch.synced.wait()
        return True

    async def _work(self) -> None:
        while True:
            waits = not self.queue
            try:
                work = await self.queue.get()
            except QueueClosed:
                return
            if waits:
                self._turn.begin()
            slot = self._slot(work.key)
            try:
                if self._begins_on(slot):
                    with self._within_fence(slot), self.running.during(work.key, slot):
                        await self._process(work)
            finally:
                self.queue.done(work.key)
                if not self._begins_on(slot):
                    self._forget(*self._others([work.key]))
            await self._turn.pause()

    def _slot(self, key: Key) -> int | None:
        """The slot of a root, where there are shards; `_NO_SLOT` of one that is not in the cache."""
        if self._fence is None:
            return None
        slot = self._root.cache.slot_of(*key)
        return _NO_SLOT if slot is None else slot

    def _begins_on(self, slot: int | None) -> bool:
        # What is not in the cache is run too, to forget what is known of it; the fence lets it write nothing.
        return self._fence is None or slot is None or slot == _NO_SLOT or self._fence.begins(slot)

    def _within_fence(self, slot: int | None) -> AbstractContextManager[None]:
        return nullcontext() if self._fence is None or slot is None else self._fence.acting_on(slot)

    def _others(self, keys: Iterable[Key]) -> list[Key]:
        """Those that are not this shard's: the name may be that of a new object by now, in a slot of ours."""
        slots = ((key, self._slot(key)) for key in keys)
        return [key for key, slot in slots if slot == _NO_SLOT or not self._begins_on(slot)]

    def _forget(self, *keys: Key) -> None:
        """Drop all that is known of keys which are another shard's from now on."""
        gone = set(keys)
        self.queue.discard(gone.__contains__)
        for key in keys:
            self.last_errors.forget(key)
            self._applier.forget(key)

    async def drain(self, slots: frozenset[int], seconds: float) -> bool:
        """Begin no more runs of these slots' objects; those under way end, or are cut off after `seconds`.

        What is known of the objects is forgotten. Their deltas must have stopped.

        Returns:
            Whether runs were cut off: a write of theirs may be under way still.
        """
        keys = [Key(*key) for key in self._root.cache.keys_in(slots)]
        gone = set(keys)
        self.queue.discard(gone.__contains__)
        cut = await self.running.end(slots, seconds)
        if cut:
            self.log.warning("runs were cut off: their slots go to another shard", objects=[*map(str, cut)])
        self._forget(*self._others(keys))
        return bool(cut)

    def abandon(self, why: str) -> None:
        """Cut off every run at once: the fence is down."""
        cut = self.running.cut()
        self.queue.discard(lambda _: True)
        if cut:
            self.log.warning("runs were cut off", why=why, objects=[*map(str, cut)])

    async def _process(self, work: Work) -> None:
        """Run once and decide what becomes of the key. Raises nothing but cancellation."""
        run = self._metrics.begin(work.waited)
        outcome: Outcome = "error"
        terminal = panic = False
        attempt = self.queue.failures(work.key) + 1
        reconcile_id = f"{random.getrandbits(64):016x}"
        # Around all of the run, so that what is said of its end can be joined with what it said itself.
        said = log_context(
            controller=self.name,
            kind=self.reconciler.root.resource.kind,
            namespace=work.key.namespace,
            name=work.key.name,
            reconcileID=reconcile_id,
        )
        with said, self._spans.begin(work) as span:
            try:
                result = await self._runner.run(work, attempt, reconcile_id)
                outcome = self._succeeded(work.key, result)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - a run that raises never takes the process down
                kind = classify(error)
                self._spans.failed(span, error, kind)
                self.last_errors.note(work.key, error, kind.value, attempt)
                terminal = kind is ErrorClass.TERMINAL
                panic = kind is ErrorClass.TRANSIENT and not isinstance(error, _PASSING)
                outcome = self._failed(work, error, kind)
            finally:
                failed = outcome == "error"
                run.end(outcome, terminal=terminal and failed, panic=panic and failed, span=span)
                self._spans.complete(span, work, attempt=attempt, result=outcome)

    def _succeeded(self, key: Key, result: Result | None) -> Outcome:
        self.last_errors.forget(key)
        asked = None if result is None else result.requeue_after
        if self._applier.waits_unheard(key):
            at_most = _UNHEARD_SECONDS if asked is None else min(asked, _UNHEARD_SECONDS)
            cause = asked_by_this_run("former child goes")
            self.queue.retry(key, "former child goes", at_most=at_most, cause=cause)
            return "requeue"
        self.queue.forget(key)
        if asked is None:
            return "success"
        delay = asked
        cause = asked_by_this_run("requested", delay)
        self.queue.add(key, Priority.RETRY, "requested", delay=delay, cause=cause)
        return "requeue_after"

    def _failed(self, work: Work, error: Exception, kind: ErrorClass) -> Outcome:
        key = work.key
        fields: dict[str, Any] = {"error": str(error), "attempt": self.queue.failures(key) + 1}
        if kind is ErrorClass.GONE:
            self.queue.forget(key)
            self.log.info("the namespace is being deleted", **fields)
            return "success"
        if kind is ErrorClass.FENCED:
            self.queue.forget(key)
            self.log.info("the object is another shard's", **fields)
            return "success"
        if kind is ErrorClass.THROTTLED:
            wait = _wait_of(error) * random.uniform(1.0, 1.2)
            if isinstance(error, TooManyRequests):
                # What changes meanwhile waits too: the server has asked for it.
                self.queue.hold(key, wait)
            cause = asked_by_this_run("throttled", wait)
            self.queue.add(key, Priority.RETRY, "throttled", delay=wait, cause=cause)
            self.log.info("waiting as asked", **fields, delay_seconds=round(wait, 3))
            return "requeue_after"
        if kind is ErrorClass.CONFLICT:
            at_once = self.queue.failures(key) < _CONFLICTS_AT_ONCE
            cause = asked_by_this_run("conflict")
            delay = self.queue.retry(key, "conflict", at_most=0.0 if at_once else math.inf, cause=cause)
            current_span().set("openclaw.requeue_delay", delay)
            self.log.debug("conflict, running again", **fields, delay_seconds=round(delay, 3))
            return "requeue"
        # A server that is overloaded says 503 and when to come back.
        asked = error.retry_after or 0.0 if isinstance(error, ApiError | ClassifiedError) else 0.0
        at_least, at_most = _TERMINAL_BOUNDS if kind is ErrorClass.TERMINAL else (asked, math.inf)
        delay = self.queue.retry(
            key, "failed", at_least=at_least, at_most=at_most, cause=asked_by_this_run("failed")
        )
        current_span().set("openclaw.requeue_delay", delay)
        expected = isinstance(error, (*_PASSING, TerminalError, InvalidObjectError))
        fields |= {"error_class": kind.value, "delay_seconds": round(delay, 3)}
        if not expected:
            del fields["error"]  # the exception says it, with its type
        say = self.log.error if expected else self.log.exception
        say("reconcile failed", **fields)
        return "error"


def _wait_of(error: Exception) -> float:
    if isinstance(error, Retry):
        return error.after
    if isinstance(error, ApiError | ClassifiedError) and error.retry_after is not None:
        return max(error.retry_after, 0.1)
    return _THROTTLED_SECONDS
