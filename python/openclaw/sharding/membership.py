"""A shard's part in its group: the hand-over's decisions carried out, its questions answered.

The hand-over itself (`openclaw._core.Handover`) is a state machine without IO. Here is the IO: this shard's
Lease is written, all Leases are listed and watched, the host is told which slots to read, run and drop.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, Protocol, Self

from openclaw._core import (
    Cool,
    Drain,
    Ended,
    Handover,
    ListLeases,
    Lost,
    Ring,
    ShardRecord,
    SlotSet,
    Start,
    Warm,
    WriteLease,
)
from openclaw.kube.errors import AlreadyExists, ApiError, Conflict, KubeError, NotFound
from openclaw.kube.transport import Transport
from openclaw.sharding.fence import Fence, boot_clock
from openclaw.sharding.groupview import GroupView
from openclaw.sharding.leases import LeaseRecord, Leases
from openclaw.sharding.leasewatch import watch_leases
from openclaw.sharding.neighbours import Neighbours
from openclaw.sharding.options import ShardOptions
from openclaw.sharding.statustext import StatusText, Workload
from openclaw.sharding.sweep import Sweep
from openclaw.sharding.tenure import Tenures
from openclaw.telemetry.logs import Log
from openclaw.telemetry.shards import HandOver, ShardMetrics
from openclaw.telemetry.spans import NoSpan, Span, SpanContext
from openclaw.telemetry.tracing import NO_TRACING, Tracer

__all__ = ["Host", "Membership", "NameTaken"]

log = Log(__name__)

Slots = frozenset[int]
_Action = WriteLease | ListLeases | Warm | Cool | Start | Drain | Lost | Ended
_HOST_RETRY_SECONDS: Final = 1.0
_LAST_WRITE_SECONDS: Final = 2.0
# One conflict is another process of this name, or an answer that was lost: it is looked into at once.
_CONFLICTS_AT_ONCE: Final = 2
_CONFLICT_SECONDS: Final = (0.05, 1.0)


class NameTaken(Exception):
    """Another process runs under this shard's name; this one acts no more, and must end."""


class Host(Protocol):
    """Whoever reads and runs the objects: see `openclaw.runtime.share.Share`."""

    async def warm(self, slots: Slots) -> None:
        """Read the objects of these slots."""

    def start(self, slots: Slots) -> None:
        """Run them."""

    async def drain(self, slots: Slots, seconds: float) -> None:
        """Begin no more runs of them; those under way end within a bound."""

    def drop(self, slots: Slots) -> None:
        """Forget them."""

    def abandon(self, why: str) -> None:
        """Cut off every run at once."""

    def workload(self) -> Workload:
        """What there is to do; published for people."""


class Membership:
    """Takes part in a group of shards until `leave`, or until it is cancelled.

    Args:
        options: who this shard is.
        transport: how the API server is reached; not fenced, since it is what holds the fence up.
        namespace: where the Leases are.
        host: is told which slots to act on.
        fence: is extended by each renewal.
        metrics: told of renewals and hand-overs.
        covers: which kinds this shard is there for, of which namespaces; told to people.
        tracer: records hand-overs.
        clock: seconds; the fence's.

    Attributes:
        ended: set once this shard takes part no more.
        view: what this shard knows of the group.
    """

    def __init__(
        self,
        options: ShardOptions,
        transport: Transport,
        namespace: str,
        host: Host,
        *,
        fence: Fence,
        metrics: ShardMetrics,
        covers: str = "",
        tracer: Tracer = NO_TRACING,
        clock: Callable[[], float] = boot_clock,
    ) -> None:
        self.options = options
        self.namespace = namespace
        self.ended = asyncio.Event()
        self._host = host
        self._fence = fence
        self._metrics = metrics
        self._tracer = tracer
        self._clock = clock
        self._holder = f"{options.name}_{secrets.token_hex(4)}"
        self._leases = Leases(transport, namespace, options.group, timeout=options.request_seconds)
        self._machine = Handover(
            options.name,
            self._holder,
            duration=options.lease_seconds,
            renew=options.renew_seconds,
            fence=options.fence_seconds,
            relist=options.renew_seconds,
            timeout=options.request_seconds,
            patience=options.drain_seconds,
            longest_hold=options.hold_seconds,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._drains: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._why_ended = ""
        self._failure: Exception | None = None
        self._wanted: frozenset[int] = frozenset()
        self._claimed: dict[int, float] = {}
        self._warmed_by: dict[int, SpanContext] = {}
        self._leave_by: float | None = None
        self._ring = ""
        self._tenures = Tenures()
        self._neighbours = Neighbours(options.name, covers, self._tenures, clock)
        self._status = StatusText(host.workload, self._tenures, clock, covers)
        self._version: str | None = None
        self._conflicts = 0
        self._sweep = Sweep()
        self.view = GroupView(self._machine, fence, options, self._neighbours, clock)
        metrics.follow(self.view.standing)

    @property
    def acting(self) -> SlotSet:
        """The slots that this shard acts on."""
        return self._machine.acting

    @property
    def ring(self) -> Ring:
        """The ring that this shard follows."""
        return self._machine.ring

    async def run(self) -> None:
        """Take part until `leave` has ended it.

        Raises:
            NameTaken: another process has this shard's name.
            RuntimeError: a step of the hand-over failed. What is acted on is not known any more, so nothing
                is.
        """
        watching = asyncio.ensure_future(watch_leases(self._leases, self._told, self._gone))
        try:
            self._step(self._machine.tick)
            await self.ended.wait()
        finally:
            watching.cancel()
            self._close()
        if self._failure is not None:
            raise RuntimeError("a step of the hand-over failed") from self._failure
        if self._why_ended:
            raise NameTaken(
                f"this shard, {self.options.name!r} of {self.options.group!r}, ends: {self._why_ended}. "
                "Give each process a name of its own; in a StatefulSet that is the pod's"
            )

    async def _write_off(self) -> None:
        """Remove the Lease of this shard, which has ended for good."""
        if self._version is not None and not self._why_ended and self._failure is None:
            with contextlib.suppress(KubeError):  # another shard removes it later
                await self._leases.delete(self.options.name, self._version)

    async def leave(self, hold: float | None, within: float | None = None) -> None:
        """Let the runs end, hand the slots over, then end.

        Args:
            hold: the shard comes back under its name: its slots wait for so many seconds. None: it does not.
            within: runs are cut off in time to say so within so many seconds.
        """
        if within is not None:
            self._leave_by = self._clock() + within - _LAST_WRITE_SECONDS
        log.info("leaving the ring", comes_back=hold is not None, slots=len(self._machine.acting))
        self._step(lambda now: self._machine.stop(now, hold=hold))
        await self.ended.wait()
        if hold is None:
            await self._write_off()

    def _close(self) -> None:
        self.ended.set()
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        if self._fence.remaining > 0:
            self._host.abandon("this shard has left the ring")

    # From the outside to the machine.

    def _step(self, step: Callable[[float], Sequence[_Action]]) -> None:
        """Tell the machine of something, and do what it says.

        Where that fails, machine and host may not agree any more on what is acted on: the shard ends.
        """
        if self.ended.is_set():
            return
        try:
            actions = step(self._clock())
            fence = self._machine.fence
            if fence is not None:
                self._fence.extend(fence)
            for action in actions:
                self._do(action)
            self._look()
            self._arm()
        except Exception as error:
            log.exception("a step of the hand-over failed: this shard ends")
            self._failure = error
            self.ended.set()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wake = self._machine.wake
        if wake is not None and not self.ended.is_set():
            delay = max(0.0, wake - self._clock())
            self._timer = asyncio.get_running_loop().call_later(delay, self._step, self._machine.tick)

    def _told(self, lease: LeaseRecord) -> None:
        self._neighbours.saw(lease)
        self._step(lambda now: self._machine.observed(now, lease.shard, lease.version, lease.content or None))

    def unready(self) -> str | None:
        """Why this shard does not do its share, or does not agree with the others; None when all is well."""
        if self.ended.is_set():
            return self._why_ended or "it has left the ring"
        return self.view.unready()

    def _gone(self) -> None:
        self._step(self._machine.hint)

    # From the machine to the outside.

    def _do(self, action: _Action) -> None:
        match action:
            case WriteLease(id=number, resource_version=version, record=record):
                self._claim(record)
                self._spawn(self._write(number, version, record), "lease-write")
            case ListLeases(id=number):
                self._spawn(self._list(number), "lease-list")
            case Warm(ticket=ticket, slots=slots):
                self._wanted |= frozenset(slots)
                self._spawn(self._warm(ticket, slots), "shard-warm")
            case Drain(ticket=ticket, slots=slots):
                draining = self._spawn(self._drain(ticket, slots), "shard-drain")
                self._drains.add(draining)
                draining.add_done_callback(self._drains.discard)
            case Cool(slots=slots):
                self._wanted -= frozenset(slots)
                self._host.drop(frozenset(slots))
            case Start(slots=slots):
                self._start(slots)
            case Lost(slots=slots, reason=reason):
                log.error("the fence is down: nothing is run or written", why=reason, slots=len(slots))
                self._metrics.fence_lost()
                self._metrics.lost(len(slots))
                self._tenures.ceased(slots)
                self._host.abandon(reason)
                for draining in self._drains:  # these slots may be begun again before it has ended
                    draining.cancel()
            case Ended(graceful=graceful, reason=reason):
                self._why_ended = "" if graceful else reason
                self.ended.set()

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a step of the hand-over failed", step=task.get_name(), exc_info=error)

    async def _write(self, number: int, version: str | None, record: str) -> None:
        seconds = self.options.lease_seconds
        name = self.options.name
        try:
            written = await self._leases.write(
                name,
                holder=self._holder,
                content=record,
                status=self._status.write(),
                seconds=seconds,
                version=version,
            )
        except AlreadyExists as error:
            # It is no Lease of the group, as far as lists tell: asked at once, it would be refused at once.
            self._metrics.renewed("conflict")
            log.warning(
                "the name of this shard's Lease is taken, or the Lease has lost its labels",
                error=str(error),
                hint="unless this passes: give the shard another name, or delete that Lease",
            )
            self._step(lambda now: self._machine.write_failed(now, number))
        except (Conflict, NotFound) as error:
            self._metrics.renewed("conflict")
            log.info("the Lease is not as this shard knew it", error=str(error))
            await self._pace_conflicts()
            self._step(lambda now: self._machine.write_conflict(now, number))
        except KubeError as error:
            self._metrics.renewed("error")
            hint = {"hint": "the role must allow it: see deploy/"} if _refused(error) else {}
            log.warning("the Lease could not be written", error=str(error), **hint)
            self._step(lambda now: self._machine.write_failed(now, number))
        else:
            self._metrics.renewed("success")
            self._version = written.version
            self._conflicts = 0
            self._step(lambda now: self._machine.written(now, number, written.version))

    async def _pace_conflicts(self) -> None:
        """Wait, where conflict follows upon conflict: list and write would come at once, for ever."""
        self._conflicts += 1
        many = self._conflicts - _CONFLICTS_AT_ONCE
        if many > 0:
            first, longest = _CONFLICT_SECONDS
            await asyncio.sleep(min(longest, first * 2.0 ** min(many, 10)))

    async def _list(self, number: int) -> None:
        try:
            leases = await self._leases.list()
        except KubeError as error:
            hint = {"hint": "the role must allow it: see deploy/"} if _refused(error) else {}
            log.warning("the shards' Leases could not be listed", error=str(error), **hint)
            self._step(lambda now: self._machine.list_failed(now, number))
            return
        silent = self._sweep.silent(leases, self._clock())
        if silent and self._machine.ring.names[:1] == [self.options.name]:  # one shard does it for all
            self._spawn(self._remove(silent), "lease-sweep")
        self._neighbours.listed(leases)
        told = [(it.shard, it.version, it.content or None) for it in leases]
        self._step(lambda now: self._machine.listed(now, number, told))

    async def _remove(self, silent: list[LeaseRecord]) -> None:
        for lease in silent:
            with contextlib.suppress(KubeError):
                await self._leases.delete(lease.shard, lease.version)
                log.info("removed the Lease of a shard that is no more", gone=lease.shard)

    async def _warm(self, ticket: int, slots: SlotSet) -> None:
        with self._tracer.start("hand-over warm") as span, self._timed("warm"):
            self._describe(span, slots)
            if isinstance(span, Span) and span.sampled:
                self._warmed_by |= dict.fromkeys(slots, span.context)
            while reading := frozenset(slots) & self._wanted:
                try:
                    await self._host.warm(reading)
                    break
                except Exception:
                    # What is not read is not run: try again, and say so.
                    log.exception("slots could not be read", slots=str(slots))
                    await asyncio.sleep(_HOST_RETRY_SECONDS)
        # What was given up before its reading had begun was read all the same.
        if unwanted := reading - self._wanted:
            self._host.drop(unwanted)
        self._step(lambda now: self._machine.warmed(now, ticket, slots))

    def _claim(self, record: str) -> None:
        """Note since when slots are claimed: from then on nobody else may start on them."""
        now = self._clock()
        claims = ShardRecord(record).holds - self._machine.acting
        self._claimed = {slot: self._claimed.get(slot, now) for slot in claims}

    def _start(self, slots: SlotSet) -> None:
        with self._tracer.start("hand-over start") as span:
            self._describe(span, slots)
            for warmed_by in dict.fromkeys(self._warmed_by.pop(slot, None) for slot in slots):
                if warmed_by is not None:
                    span.link(warmed_by, "warm")
            self._host.start(frozenset(slots))
        now = self._clock()
        free = (max(self._claimed.pop(slot, now), self._neighbours.freed(slot)) for slot in slots)
        gap = now - min(free, default=now)
        self._metrics.gained(len(slots))
        self._metrics.took("claim", gap)
        self._tenures.began(slots, gap)
        log.info(
            "slots gained",
            slots=str(slots),
            count=len(slots),
            objects=self._host.workload().objects,
            claim_seconds=round(gap, 3),
        )

    async def _drain(self, ticket: int, slots: SlotSet) -> None:
        with self._tracer.start("hand-over drain") as span, self._timed("drain") as timed:
            self._describe(span, slots)
            try:
                await self._host.drain(frozenset(slots), self._drain_seconds())
            except Exception:
                # The fence is down for these slots, whatever the host did.
                log.exception("slots were not drained in order", slots=str(slots))
        self._metrics.lost(len(slots))
        self._tenures.ceased(slots)
        log.info("slots released", slots=str(slots), count=len(slots), drain_seconds=round(timed.seconds, 3))
        self._step(lambda now: self._machine.drained(now, ticket, slots))

    def _describe(self, span: Span | NoSpan, slots: SlotSet) -> None:
        span.set("openclaw.shard", self.options.name)
        span.set("openclaw.slots", str(slots))

    def _drain_seconds(self) -> float:
        longest = self.options.drain_seconds
        return longest if self._leave_by is None else max(0.0, min(longest, self._leave_by - self._clock()))

    def _timed(self, phase: HandOver) -> _Timed:
        return _Timed(self._clock, lambda seconds: self._metrics.took(phase, seconds))

    def _look(self) -> None:
        """Note what changed of the ring."""
        ring = self._machine.ring
        if ring.id == self._ring:
            return
        self._ring = self._fence.ring = ring.id
        share = ring.share(self.options.name)
        log.info("the ring changed", ring=ring.id, shards=ring.names, share=len(share))


class _Timed:
    """Measures a block, also one that fails."""

    def __init__(self, clock: Callable[[], float], done: Callable[[float], None]) -> None:
        self._clock = clock
        self._done = done
        self._began = 0.0
        self.seconds = 0.0

    def __enter__(self) -> Self:
        self._began = self._clock()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = self._clock() - self._began
        self._done(self.seconds)


def _refused(error: KubeError) -> bool:
    return isinstance(error, ApiError) and error.code in {401, 403}
