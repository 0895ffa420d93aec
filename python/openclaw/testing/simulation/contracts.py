"""What a simulation is made of: a scenario, the invariants checked all along, and the world they see.

A run is fixed by its scenario, its seed and its plan of faults: the order in which tasks run, the faults,
names, uids and clocks all come from there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from openclaw.runtime.reconciler import Reconciler

if TYPE_CHECKING:
    from openclaw.kube.transport import Transport
    from openclaw.testing.client import Client
    from openclaw.testing.cluster.cluster import FakeCluster

__all__ = [
    "Act",
    "External",
    "Invariant",
    "Request",
    "Scenario",
    "Setting",
    "Violation",
    "World",
    "Write",
]

Object = dict[str, Any]


class Violation(AssertionError):
    """An invariant does not hold. The message names it, the object, and what was found."""

    def __init__(self, invariant: str, text: str) -> None:
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant
        self.text = text


@dataclass(frozen=True, slots=True)
class Write:
    """A change of an object in the cluster.

    Attributes:
        at: seconds of simulated time.
        actor: who did it: the name of a shard, `user`, or the cluster's own controller.
        verb: create, update, patch, apply, delete.
        resource: plural and group, such as `deployments.apps`.
        before: the object as it was; None when it was made.
        after: the object as it is; None when it is gone.
    """

    at: float
    actor: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    before: Object | None
    after: Object | None


@dataclass(frozen=True, slots=True)
class Request:
    """A request that a shard sent, whatever became of it.

    Attributes:
        at: seconds of simulated time at which it reached the server.
        changed: whether the server's state is another after it.
    """

    at: float
    actor: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    body: Object | None
    code: int
    changed: bool


@dataclass(frozen=True, slots=True)
class Act:
    """A reconcile at work: from `began` until it ended, its process died or was paused for good.

    Attributes:
        key: namespace and name of the root.
        slot: that of the root.
        fenced: whether the shard's fence would let it write now.
    """

    shard: str
    controller: str
    key: tuple[str, str]
    uid: str
    slot: int
    began: float
    fenced: bool


class External(Protocol):
    """A system outside of the cluster, such as a cloud, with faults of its own."""

    def faults(self) -> Mapping[str, Callable[[random.Random], Callable[[], None]]]:
        """Faults by name: each is switched on with a source of chance, and gives back how to end it."""
        ...

    def observe(self, report: Callable[[str, str, Mapping[str, Any]], None]) -> None:
        """From now on `report(actor, operation, facts)` is called at each call that changes something."""
        ...


@dataclass(frozen=True, slots=True)
class Setting:
    """What a scenario begins with.

    Attributes:
        crds: what is served: see `FakeCluster`.
        reconcilers: makes the reconcilers of one shard, given the world and the version of the operator (0 or
            1: two versions run at once during a roll-out).
        shards: how many; 0 for one operator that is not sharded.
        external: makes the system outside.
        settle: seconds of simulated time within which all has to be well once faults and users have stopped.
        faults: kinds of faults that are drawn; None for all that there are.
    """

    crds: Sequence[Any]
    reconcilers: Callable[[World, int], Sequence[Reconciler[Any]]]
    shards: int = 2
    external: Callable[[World], External] | None = None
    settle: float = 1800.0
    faults: frozenset[str] | None = None
    cluster: Mapping[str, Any] = field(default_factory=dict)


class Scenario(Protocol):
    """What users do, and what has to be true at the end."""

    @property
    def name(self) -> str:
        """As it is called on the command line."""
        ...

    def setting(self) -> Setting:
        """What there is at the start; made anew for each run."""
        ...

    def invariants(self) -> Sequence[Invariant]:
        """What has to hold, besides what holds for every operator; made anew for each run."""
        ...

    async def users(self, world: World) -> None:
        """What users do, as `world.user`, while faults go on. Draw from `world.chance` only."""
        ...

    async def unwell(self, world: World) -> str | None:
        """What is not yet as it has to be at the end; None once all is well. Asked again and again."""
        ...


class Invariant:
    """What has to hold all along. Override what it needs; raise `Violation`."""

    name: str = ""

    def on_write(self, world: World, write: Write) -> None:
        """After each change of an object, at the moment of the change."""

    def on_request(self, world: World, request: Request) -> None:
        """After each request of a shard."""

    def on_external(self, world: World, actor: str, operation: str, facts: Mapping[str, Any]) -> None:
        """At each change of the system outside."""

    def on_turn(self, world: World) -> None:
        """From time to time (at least after each change of an object, and once in each simulated second)."""

    def on_log(self, world: World, shard: str, record: Mapping[str, Any]) -> None:
        """For each line that a shard logs."""

    def at_rest(self, world: World) -> None:
        """Once all is well: faults and users have stopped, and nothing is left to do."""


class World(Protocol):
    """A simulated world. All of it lives on one event loop, in virtual time."""

    @property
    def cluster(self) -> FakeCluster:
        """The API server, its controllers and its store; `cluster.get` and `cluster.list` read it at once."""
        ...

    @property
    def external(self) -> Any:
        """The system outside; None when there is none."""
        ...

    @property
    def user(self) -> Client:
        """An administrator's client; no fault touches it."""
        ...

    @property
    def chance(self) -> random.Random:
        """For what users do. Faults and the scheduler have sources of their own."""
        ...

    @property
    def shards(self) -> Sequence[str]:
        """The names of the shards that run now."""
        ...

    def now(self) -> float:
        """Seconds of simulated time since the start."""
        ...

    def acts(self) -> Sequence[Act]:
        """The reconciles at work at this moment, in all shards, of paused ones too."""
        ...

    def transport(self, shard: str) -> Transport:
        """The connection of a shard, for what a reconciler of its own needs."""
        ...

    def note(self, text: str) -> None:
        """A line of the run's history."""
        ...

    def reached(self, what: str) -> None:
        """Count a state or a transition that the run came to; the summary of runs tells them."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let simulated time pass."""
        ...

    async def until(self, what: str, check: Callable[[], Any], seconds: float = 600.0) -> Any:
        """Wait until `check` is true; Violation `converges` when it is not within simulated seconds."""
        ...
