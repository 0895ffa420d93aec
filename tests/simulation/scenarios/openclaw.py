"""Scenarios of the OpenClaw operator: what its users do, and what has to come of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from openclaw.api.openclaw import OpenClaw
from openclaw.controllers.openclaw import OpenClawReconciler
from openclaw.runtime.reconciler import Reconciler
from openclaw.testing.simulation.contracts import Invariant, Setting, World
from openclaw.testing.simulation.invariants import Declared, NothingSecret
from tests.simulation.invariants.openclaw import AvailableWhenItIs, EventsTellOfTurns, StatusIsOfTheCluster
from tests.simulation.scenarios.openclaw_expected import CLAWS, children_unwell, status_unwell
from tests.simulation.scenarios.openclaw_specs import QUEUE_SECRET
from tests.simulation.scenarios.openclaw_users import Place, Users
from tests.simulation.scenarios.openclaw_versions import LaterReconciler

Deed = Callable[[Place], Awaitable[None]]

ONE: Final[Sequence[Place]] = (("shop", "web"),)
SEVERAL: Final[Sequence[Place]] = (("shop", "web"), ("shop", "mail"), ("lab", "web"))


class OpenClawScenario:
    """What the scenarios of OpenClaws have in common. `users` and `name` are each one's own."""

    name = ""
    places: Sequence[Place] = ONE
    shards = 2

    def setting(self) -> Setting:
        """The shipped reconciler, of both versions of the operator."""
        return Setting(crds=[OpenClaw], reconcilers=self.reconcilers, shards=self.shards)

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[OpenClaw]]:
        """Those of one shard."""
        return [OpenClawReconciler()]

    def invariants(self) -> Sequence[Invariant]:
        """What an OpenClaw's status may claim."""
        secret = NothingSecret(Declared([OpenClawReconciler()]), [QUEUE_SECRET])
        return [AvailableWhenItIs(), StatusIsOfTheCluster(), EventsTellOfTurns(), secret]

    async def users(self, world: World) -> None:
        """What users do."""
        raise LookupError(f"{self.name}: no users")

    async def unwell(self, world: World) -> str | None:
        """Each OpenClaw has its children and says so; no namespace and no OpenClaw hangs in its deletion."""
        for namespace in world.cluster.list("namespaces"):
            if "deletionTimestamp" in namespace["metadata"]:
                return f"the namespace {namespace['metadata']['name']} is still going"
        for claw in world.cluster.list(CLAWS):
            if "deletionTimestamp" in claw["metadata"]:
                return f"{claw['metadata']['name']} is being deleted: {claw['metadata'].get('finalizers')}"
            unwell = children_unwell(world.cluster, claw) or status_unwell(world.cluster, claw)
            if unwell:
                return unwell
        return None


async def do(world: World, users: Users, deeds: Sequence[Deed], least: int, most: int) -> None:
    """Some deeds by chance, with pauses between them."""
    for _ in range(world.chance.randint(least, most)):
        await world.chance.choice(deeds)(users.place())
        await users.pause()


class Life(OpenClawScenario):
    """OpenClaws come, change in each field, and go; one of the same name follows at once."""

    name = "openclaw-life"
    places = SEVERAL

    async def users(self, world: World) -> None:
        """Create, change, scale, publish, delete, recreate."""
        users = Users(world, self.places[: world.chance.randint(1, len(self.places))])
        await users.namespaces()
        for place in users.places:
            await users.create(place)
        deeds = (
            users.change,
            users.change,
            users.change,
            users.replace_whole,
            users.scale_to_zero_and_back,
            users.publish_and_hide,
            users.balance_load,
            users.create,
            users.delete,
            users.recreate,
        )
        await do(world, users, deeds, 2, 8)


class Alone(Life):
    """The same with one operator that is not sharded."""

    name = "openclaw-alone"
    shards = 0


class Rollout(Life):
    """The same while another version of the operator is rolled out.

    The versions differ harmlessly: the later one says by an annotation of the Deployment which it is. So
    what one shard has written is not what another would write, and every object is written again once; what
    an OpenClaw asks for is the same.
    """

    name = "openclaw-rollout"

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[OpenClaw]]:
        """Those of one shard, of its version."""
        return super().reconcilers(world, version) if version == 0 else [LaterReconciler()]


class Others(OpenClawScenario):
    """Others have their hands in it: on the objects, and on their children."""

    name = "openclaw-others"
    places = SEVERAL[:2]

    async def users(self, world: World) -> None:
        """Labels, annotations, finalizers, conditions; stated fields spoiled, children deleted."""
        users = Users(world, self.places[: world.chance.randint(1, 2)])
        await users.namespaces()
        for place in users.places:
            await users.create(place)
        await users.pause(20.0)
        deeds = (
            users.decorate,
            users.adorn_child,
            users.adorn_child,
            users.spoil_child,
            users.spoil_child,
            users.delete_child,
            users.hold,
            users.hold_child,
            users.change,
            users.recreate,
        )
        await do(world, users, deeds, 4, 12)
        await users.pause()
        await users.release()


class Deletion(OpenClawScenario):
    """An OpenClaw is deleted at every stage of its making, and another one has its name at once."""

    name = "openclaw-deletion"

    async def users(self, world: World) -> None:
        """Create, wait a moment, delete; again and again."""
        users = Users(world, self.places)
        await users.namespaces()
        (place,) = users.places
        for _ in range(world.chance.randint(2, 5)):
            await users.create(place)
            if world.chance.random() < 0.3:
                await users.hold_child(place)
            # A stage is a few turns of the event loop long.
            for _ in range(world.chance.randint(0, 40)):
                await world.sleep(0.0)
            await users.pause(5.0)
            await users.delete(place)
            if world.chance.random() < 0.5:
                await users.pause(5.0)
        if world.chance.random() < 0.5:
            await users.create(place)
        await users.release()


class NamespaceGoes(OpenClawScenario):
    """A whole namespace is deleted, with what is in it; one of the same name follows."""

    name = "openclaw-namespace"
    places = SEVERAL

    async def users(self, world: World) -> None:
        """Make OpenClaws, delete their namespace in the middle of it."""
        users = Users(world, self.places)
        await users.namespaces()
        for place in users.places:
            await users.create(place)
        await do(world, users, (users.change, users.decorate, users.delete, users.hold_child), 0, 3)
        await world.user.delete("Namespace", None, "shop")
        await do(world, users, (users.change, users.create, users.delete), 0, 3)
        await users.pause()
        await users.release()
        await world.until(
            "the namespace is gone", lambda: world.cluster.get("namespaces", None, "shop") is None
        )
        if world.chance.random() < 0.7:
            await users.namespaces()
            await users.create(self.places[0])


SCENARIOS: Final = (Life, Alone, Rollout, Others, Deletion, NamespaceGoes)
