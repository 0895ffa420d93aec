"""A simulated world: a cluster, the operator's processes, users, faults, and what watches them."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson

from openclaw.kube.transport import Transport
from openclaw.testing.client import Client
from openclaw.testing.cluster.audit import Audit
from openclaw.testing.cluster.cluster import FakeCluster
from openclaw.testing.cluster.request import Request as Asked
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.store import Change, Name
from openclaw.testing.cluster.watching import Watch
from openclaw.testing.simulation.clocks import EPOCH
from openclaw.testing.simulation.contracts import (
    Act,
    External,
    Invariant,
    Request,
    Setting,
    Violation,
    Write,
)
from openclaw.testing.simulation.history import History
from openclaw.testing.simulation.loop import SimulatedLoop, current_process
from openclaw.testing.simulation.shards import Shards
from openclaw.testing.simulation.summary import Summary
from openclaw.testing.simulation.transport import SimulatedTransport, current_arrival, outside_context

__all__ = ["SimulatedWorld"]

_CLUSTER: Final = "cluster"
_LATENCY: Final = 0.05
"""Seconds until the cluster's own controllers look at a change."""


class SimulatedWorld:
    """As `World` in the contracts. Made on its loop, within `simulated_clocks`.

    Args:
        loop: where everything lives.
        setting: of the scenario.
        seed: of all that is drawn.
        violated: told of each violation.
    """

    def __init__(
        self, loop: SimulatedLoop, setting: Setting, seed: str, violated: Callable[[Violation], None]
    ) -> None:
        self.loop = loop
        self.setting = setting
        self.chance = random.Random(f"users {seed}")
        self.history = History()
        self.digest = hashlib.blake2b(digest_size=16)
        self.summary = Summary()
        self.invariants: list[Invariant] = []
        self.external: External | Any = None
        self._violated = violated
        self._ways = random.Random(f"ways {seed}")
        self.cluster = FakeCluster(
            crds=setting.crds, seed=seed, epoch=EPOCH, **{"latency": _LATENCY, **setting.cluster}
        )
        self.cluster.audit = _Arrivals(self._arrived)

    async def open(self) -> None:
        """Start the cluster, make the system outside; no process of the operator runs yet."""
        await self.cluster.start()
        await asyncio.sleep(4 * _LATENCY)  # until the kinds are served
        self._outside = outside_context()
        self.cluster.store.listen(self._changed)
        self.cluster.faults.at_events(self._count_event)
        transport = SimulatedTransport(
            self.cluster.server,
            actor="user",
            outside=self._outside,
            chance=self._ways,
            reached=lambda: True,
        )
        self.user = Client(transport=transport, field_manager="people")
        if self.setting.external is not None:
            self.external = self.setting.external(self)
            self.external.observe(self._outside_changed)
        self.processes = Shards(
            self.loop,
            self.cluster.server,
            self.setting.shards,
            chance=self._ways,
            outside=self._outside,
            reconcilers=lambda version: self.setting.reconcilers(self, version),
            failed=self._failed,
            note=lambda who, what: self.history.add(self.now(), who, what),
        )

    async def close(self) -> None:
        """Kill what runs; nobody is asked."""
        for shard in self.processes:
            self.processes.kill(shard)
        await self.cluster.stop()

    # The contracts' World

    @property
    def shards(self) -> Sequence[str]:
        """The names of those that run."""
        return [shard.name for shard in self.processes.running()]

    def now(self) -> float:
        """Seconds of simulated time."""
        return self.loop.now

    def acts(self) -> Sequence[Act]:
        """The reconciles at work."""
        return self.processes.acts()

    def transport(self, shard: str) -> Transport:
        """The connection of a shard."""
        found = next(it for it in self.processes if it.name == shard)
        if found.transport is None:
            raise LookupError(f"{shard} does not run")
        return found.transport

    def note(self, text: str) -> None:
        """A line of history."""
        self.history.add(self.now(), _actor(), text.replace("%", "%%"))

    def reached(self, what: str) -> None:
        """Count a state or transition that the run came to."""
        self.summary.reached[what] += 1

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def until(self, what: str, check: Callable[[], Any], seconds: float = 600.0) -> Any:
        """Wait until `check` is true."""
        end = self.now() + seconds
        while not (found := check()):
            if self.now() >= end:
                raise Violation("converges", f"{what}: not within {seconds:g} s")
            await asyncio.sleep(0.5)
        return found

    # What invariants are told

    def tell(self, of: Callable[[Invariant], None]) -> None:
        """Ask each invariant; a violation is noted, and never reaches whoever is at work."""
        for invariant in self.invariants:
            try:
                of(invariant)
            except Violation as violation:
                self.history.add(self.now(), "INVARIANT", "%s", str(violation))
                self._violated(violation)

    def happened(self, kind: str, detail: str = "") -> None:
        """A fault took place."""
        self.summary.faults[kind] += 1
        self.history.add(self.now(), "FAULT", "%s %s", kind, detail)

    def turn(self) -> None:
        """Ask the invariants that look from time to time."""
        self.tell(lambda it: it.on_turn(self))

    def _changed(self, name: Name, change: Change) -> None:
        group, plural = name
        arrival = current_arrival()
        actor, verb, subresource = _CLUSTER, "update", ""
        if arrival is not None:
            arrival.changed = True
            actor, verb, subresource = arrival.actor, *_verb_of(arrival.request)
        self.digest.update(f"{self.now()} {actor} {change.type} ".encode() + change.entry.raw)
        metadata = change.entry.obj["metadata"]
        write = Write(
            at=self.now(),
            actor=actor,
            verb=verb,
            resource=f"{plural}.{group}" if group else plural,
            subresource=subresource,
            namespace=metadata.get("namespace") or "",
            name=metadata["name"],
            before=None if change.before is None else change.before.obj,
            after=None if change.type == "DELETED" else change.entry.obj,
        )
        self.history.add(
            write.at,
            actor,
            "%s %s %s/%s at %s",
            change.type,
            write.resource,
            write.namespace,
            write.name,
            change.revision,
        )
        self.tell(lambda it: it.on_write(self, write))
        self.turn()

    def _arrived(self, target: Target, asked: Asked, verb: str, code: int) -> None:
        arrival = current_arrival()
        if arrival is None or arrival.actor == "user":
            return
        resource = target.resource.qualified
        where = f"{resource} {target.subresource} {target.namespace} {target.name}"
        self.digest.update(f"{self.now()} {arrival.actor} {verb} {where} {code}".encode())
        self.summary.counts["requests"] += 1
        self.summary.requests[f"{verb} {resource}"] += 1
        self.summary.codes[str(code)] += 1
        self.history.add(
            self.now(),
            arrival.actor,
            "%s %s%s %s/%s -> %s",
            verb,
            resource,
            f"/{target.subresource}" if target.subresource else "",
            target.namespace,
            target.name,
            code,
        )
        if verb == "watch":
            return
        request = Request(
            at=self.now(),
            actor=arrival.actor,
            verb=verb,
            resource=resource,
            subresource=target.subresource,
            namespace=target.namespace,
            name=target.name,
            body=_parsed(asked.body),
            code=code,
            changed=arrival.changed,
        )
        self.tell(lambda it: it.on_request(self, request))

    def _count_event(self, _watch: Watch, _change: Change, _kind: str) -> None:
        self.summary.counts["events"] += 1

    def _outside_changed(self, actor: str, operation: str, facts: Mapping[str, Any]) -> None:
        self.history.add(self.now(), actor or _actor(), "%s %s", operation, facts)
        self.tell(lambda it: it.on_external(self, actor or _actor(), operation, facts))

    def _failed(self, name: str, error: BaseException) -> None:
        self._violated(Violation("runs", f"{name} ended by {error!r}"))

    @contextmanager
    def listening_to_logs(self) -> Iterator[None]:
        """Lines of the operator go to the history and the invariants."""
        logger = logging.getLogger("openclaw")
        handler = _Lines(self)
        level, propagate = logger.level, logger.propagate
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


class _Arrivals(Audit):
    """Tells of each request as the API server answers it; keeps none."""

    def __init__(self, told: Callable[[Target, Asked, str, int], None]) -> None:
        super().__init__()
        self._told = told

    def record(self, target: Target, request: Asked, verb: str, code: int) -> None:
        """Tell of it."""
        self._told(target, request, verb, code)


class _Lines(logging.Handler):
    def __init__(self, world: SimulatedWorld) -> None:
        super().__init__()
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        process = current_process()
        if process is None:
            return
        fields = getattr(record, "fields", {})
        message = record.getMessage()
        line = {"level": record.levelname.lower(), "logger": record.name, "message": message, **fields}
        if record.exc_info is not None:
            line["exception"] = repr(record.exc_info[1])
        self._world.history.add(self._world.now(), process.name, "log: %s %s", message, fields)
        self._world.tell(lambda it: it.on_log(self._world, process.name, line))


def _actor() -> str:
    arrival = current_arrival()
    if arrival is not None:
        return arrival.actor
    process = current_process()
    return "world" if process is None else process.name


def _verb_of(request: Asked) -> tuple[str, str]:
    last = request.path.rpartition("/")[2]
    verb = {"POST": "create", "PUT": "update", "DELETE": "delete"}.get(request.method, "patch")
    if request.content_type.startswith("application/apply-patch"):
        verb = "apply"
    return verb, last if last in {"status", "scale"} else ""


def _parsed(body: bytes) -> dict[str, Any] | None:
    if not body:
        return None
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
