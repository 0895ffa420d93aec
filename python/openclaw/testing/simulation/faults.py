"""What planned faults do, while they last."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from openclaw.testing.cluster.faults import Fault, RequestInfo, WatchFault
from openclaw.testing.cluster.store import Change
from openclaw.testing.cluster.watching import Watch
from openclaw.testing.simulation.plan import PlannedFault
from openclaw.testing.simulation.shards import Shard
from openclaw.testing.simulation.transport import current_arrival

if TYPE_CHECKING:
    from openclaw.testing.simulation.world import SimulatedWorld

__all__ = ["inflict"]

_LATEST: Final = 3.0
"""Seconds that a request is under way at most: less than from the end of a fence to that of its Lease."""

_MOST_LAG: Final = 20.0
_SHORT_AWAY: Final = 30.0
_STEPS: Final = 4_000
_POINTS_SECONDS: Final = 1_000.0
"""How long a point that is counted is waited for."""

_LEASES: Final = "leases.coordination.k8s.io"

_RequestFault = Callable[[random.Random, RequestInfo], "Fault | None"]


async def inflict(world: SimulatedWorld, fault: PlannedFault) -> None:
    """Wait until it is time, and have it happen; returns when it is over, and what it did is undone."""
    await asyncio.sleep(fault.at - world.now())
    if fault.kind in _EVENTS:
        await _events(world, fault)
    elif fault.kind in _REQUESTS:
        await _requests(world, fault, _REQUESTS[fault.kind])
    elif fault.kind.startswith("external:"):
        await _external(world, fault)
    else:
        await _ACTIONS[fault.kind](world, fault, random.Random(fault.seed))


def _shard(world: SimulatedWorld, fault: PlannedFault) -> Shard:
    return world.processes.all[fault.shard % len(world.processes.all)]


# What happens to shards


async def _crash(world: SimulatedWorld, fault: PlannedFault, _chance: random.Random) -> None:
    shard = _shard(world, fault)
    if not shard.running:
        return
    world.happened(fault.kind, shard.name)
    world.processes.kill(shard)
    await asyncio.sleep(fault.seconds)
    if shard.wanted:
        world.processes.start(shard)


async def _crash_at_step(world: SimulatedWorld, fault: PlannedFault, chance: random.Random) -> None:
    shard = _shard(world, fault)
    if shard.process is None:
        return
    process, crashed = shard.process, asyncio.Event()

    def crash() -> None:
        world.happened(fault.kind, f"{shard.name} at its step {process.steps}")
        world.processes.kill(shard)
        crashed.set()

    process.on_crash = crash
    process.crash_at = process.steps + 1 + int(chance.random() ** 2 * _STEPS)
    try:
        async with asyncio.timeout(60 + fault.seconds):
            await crashed.wait()
    except TimeoutError:
        process.crash_at = None
        return
    await asyncio.sleep(min(fault.seconds, _SHORT_AWAY))
    if shard.wanted:
        world.processes.start(shard)


async def _pause(world: SimulatedWorld, fault: PlannedFault, _chance: random.Random) -> None:
    process = _shard(world, fault).process
    if process is None or process.paused:
        return
    world.happened(fault.kind, process.name)
    world.loop.pause(process)
    await asyncio.sleep(fault.seconds)
    world.loop.resume(process)
    world.note(f"{process.name} goes on")


async def _partition(world: SimulatedWorld, fault: PlannedFault, _chance: random.Random) -> None:
    shard = _shard(world, fault)
    world.happened(fault.kind, shard.name)
    shard.cut_off += 1
    for watch in shard.transport.watches if shard.transport is not None else ():
        watch.lag(fault.seconds)
    await asyncio.sleep(fault.seconds)
    shard.cut_off -= 1
    world.note(f"{shard.name} reaches the API server again")


async def _restart(world: SimulatedWorld, fault: PlannedFault, chance: random.Random) -> None:
    shard = _shard(world, fault)
    if not shard.running:
        return
    world.happened(fault.kind, shard.name)
    await world.processes.leave(shard, chance.choice((5.0, 60.0)))
    await asyncio.sleep(fault.seconds)
    if shard.wanted:
        world.processes.start(shard)


async def _scale(world: SimulatedWorld, fault: PlannedFault, _chance: random.Random) -> None:
    shards = world.processes
    there = [shard for shard in shards if shard.wanted]
    if len(there) > 1 and fault.strength < 0.5:  # noqa: PLR2004 - half of them
        shard = there[-1]
        world.happened(fault.kind, f"down, without {shard.name}")
        shard.wanted = False
        await shards.leave(shard)
    else:
        away = [shard for shard in shards if not shard.wanted]
        shard = away[0] if away else shards.add()
        world.happened(fault.kind, f"up, with {shard.name}")
        shard.wanted = True
        shards.start(shard)


async def _roll_out(world: SimulatedWorld, fault: PlannedFault, _chance: random.Random) -> None:
    world.happened(fault.kind)
    for shard in reversed(world.processes.all):
        if not shard.wanted:
            continue
        await world.processes.leave(shard)
        shard.version = 1 - shard.version
        world.processes.start(shard)
        await asyncio.sleep(fault.seconds / 4)


async def _drift(world: SimulatedWorld, fault: PlannedFault, _chance: random.Random) -> None:
    process = _shard(world, fault).process
    if process is None:
        return
    world.happened(fault.kind, process.name)
    process.set_rate(world.now(), 1 + (fault.strength - 0.5) / 50)
    await asyncio.sleep(fault.seconds)
    process.set_rate(world.now(), 1.0)


async def _compaction(world: SimulatedWorld, fault: PlannedFault, chance: random.Random) -> None:
    world.happened(fault.kind)
    world.cluster.compact()
    if chance.random() < fault.strength:
        world.cluster.cut_watches()


async def _late_controllers(world: SimulatedWorld, fault: PlannedFault, _chance: random.Random) -> None:
    world.happened(fault.kind)
    world.cluster.controllers.pause()
    await asyncio.sleep(fault.seconds)
    world.cluster.controllers.resume()


# One fault at a point that is counted


async def _crash_at_request(world: SimulatedWorld, fault: PlannedFault, _chance: random.Random) -> None:
    number = 0
    crashed: asyncio.Queue[Shard] = asyncio.Queue()

    def hook(_info: RequestInfo) -> Fault | None:
        nonlocal number
        arrival = current_arrival()
        if arrival is None or arrival.actor == "user":
            return None
        number += 1
        if number == fault.seed:
            crashed.put_nowait(next(it for it in world.processes if it.name == arrival.actor))
            return Fault(hang=True, lose_answer=True)
        return None

    end = world.cluster.faults.at_requests(hook)
    try:
        async with asyncio.timeout(_POINTS_SECONDS):
            shard = await crashed.get()
    except TimeoutError:
        return
    finally:
        end()
    world.happened(fault.kind, f"{fault.seed}, of {shard.name}")
    world.processes.kill(shard)
    await asyncio.sleep(fault.seconds)
    world.processes.start(shard)


async def _at_event(world: SimulatedWorld, fault: PlannedFault, _chance: random.Random) -> None:
    number = 0
    over = asyncio.Event()

    def hook(watch: Watch, _change: Change, kind: str) -> WatchFault | None:
        nonlocal number
        number += 1
        if number != fault.seed:
            return None
        world.happened(fault.kind, f"{number}, {kind} {watch.target.resource.qualified}")
        over.set()
        if fault.kind == "stale-from-event":
            return WatchFault(lag=fault.seconds)
        if fault.kind == "forgotten-event":
            # After the change is stored, and before the client is back.
            world.loop.call_soon(world.cluster.compact)
        return WatchFault(drop=True, cut=True)

    end = world.cluster.faults.at_events(hook)
    try:
        async with asyncio.timeout(_POINTS_SECONDS):
            await over.wait()
    except TimeoutError:
        return
    finally:
        end()


# What happens to requests


def _late(chance: random.Random, _info: RequestInfo) -> Fault:
    return Fault(delay=chance.random() * _LATEST, answer_delay=chance.random() * _LATEST)


def _hanging(chance: random.Random, info: RequestInfo) -> Fault:
    return Fault(hang=True, lose_answer=info.writes and chance.random() < 0.5)  # noqa: PLR2004 - half of them


def _conflict(_chance: random.Random, info: RequestInfo) -> Fault | None:
    return Fault.conflict(info) if info.verb in {"update", "patch", "apply", "delete"} else None


def _failure(chance: random.Random, _info: RequestInfo) -> Fault:
    return chance.choice((Fault.unavailable, Fault.broken, Fault.timeout))()


def _lease_lost(chance: random.Random, info: RequestInfo) -> Fault | None:
    if info.resource != _LEASES or not info.writes:
        return None
    return chance.choice((Fault(lose_request=True), Fault(lose_answer=True), Fault(hang=True)))


_REQUESTS: Final[dict[str, _RequestFault]] = {
    "late-requests": _late,
    "lost-requests": lambda _chance, _info: Fault(lose_request=True),
    "lost-answers": lambda _chance, _info: Fault(lose_answer=True),
    "hanging": _hanging,
    "conflicts": _conflict,
    "throttling": lambda chance, _info: Fault.throttle(chance.randint(1, 5)),
    "failures": _failure,
    "lost-lease-writes": _lease_lost,
}


async def _requests(world: SimulatedWorld, fault: PlannedFault, draw: _RequestFault) -> None:
    chance = random.Random(fault.seed)
    whose = _shard(world, fault).name if fault.shard >= 0 else ""

    def hook(info: RequestInfo) -> Fault | None:
        arrival = current_arrival()
        if arrival is None or arrival.actor == "user" or whose not in {"", arrival.actor}:
            return None
        if info.verb == "watch" or chance.random() >= fault.strength:
            return None
        found = draw(chance, info)
        if found is not None:
            world.happened(fault.kind, f"{arrival.actor}: {info.verb} {info.resource} {info.name}")
        return found

    end = world.cluster.faults.at_requests(hook)
    await asyncio.sleep(fault.seconds)
    end()


# What happens to watches


def _lag(chance: random.Random) -> WatchFault:
    return WatchFault(lag=chance.random() * _MOST_LAG)


_EVENTS: Final[dict[str, Callable[[random.Random], WatchFault]]] = {
    "repeated-events": lambda chance: WatchFault(repeat=chance.randint(1, 2)),
    "broken-watches": lambda _chance: WatchFault(cut=True),
    "ended-watches": lambda chance: chance.choice((WatchFault(end=True), WatchFault(expire=True))),
    "late-events": _lag,
}


async def _events(world: SimulatedWorld, fault: PlannedFault) -> None:
    chance = random.Random(fault.seed)
    draw = _EVENTS[fault.kind]

    def hook(watch: Watch, _change: Change, kind: str) -> WatchFault | None:
        if chance.random() >= fault.strength / 2:
            return None
        world.happened(fault.kind, f"{kind} {watch.target.resource.qualified}")
        return draw(chance)

    end = world.cluster.faults.at_events(hook)
    await asyncio.sleep(fault.seconds)
    end()


# What happens outside


async def _forgotten(world: SimulatedWorld, fault: PlannedFault, chance: random.Random) -> None:
    def hook(watch: Watch, _change: Change, kind: str) -> WatchFault | None:
        # What is deleted meanwhile is what a list does not tell.
        if chance.random() >= fault.strength / (1 if kind == "DELETED" else 4):
            return None
        world.happened(fault.kind, f"{kind} {watch.target.resource.qualified}")
        # After the change is stored, and before the client is back.
        world.loop.call_soon(world.cluster.compact)
        return WatchFault(drop=True, cut=True)

    end = world.cluster.faults.at_events(hook)
    await asyncio.sleep(fault.seconds)
    end()


async def _external(world: SimulatedWorld, fault: PlannedFault) -> None:
    if world.external is None:
        return
    start = world.external.faults().get(fault.kind.partition(":")[2])
    if start is None:
        return
    world.happened(fault.kind)
    end = start(random.Random(fault.seed))
    await asyncio.sleep(fault.seconds)
    end()


_ACTIONS: Final[dict[str, Callable[[SimulatedWorld, PlannedFault, random.Random], Awaitable[None]]]] = {
    "crash": _crash,
    "crash-at-step": _crash_at_step,
    "pause": _pause,
    "partition": _partition,
    "restart": _restart,
    "scale": _scale,
    "roll-out": _roll_out,
    "drift": _drift,
    "compaction": _compaction,
    "late-controllers": _late_controllers,
    "forgotten-events": _forgotten,
    "crash-at-request": _crash_at_request,
    "stale-from-event": _at_event,
    "missed-event": _at_event,
    "forgotten-event": _at_event,
}
