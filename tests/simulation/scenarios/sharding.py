"""Scenarios of shards: many small objects, and shards that come, go, crash and hang while they change."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from openclaw.kube.errors import AlreadyExists, Conflict, NotFound
from openclaw.runtime.reconciler import Reconciler
from openclaw.testing.simulation.contracts import Invariant, Setting, World
from tests.simulation.scenarios.sharding_kinds import (
    Grain,
    GrainReconciler,
    HeldGrainReconciler,
    SlowGrainReconciler,
)

GRAINS: Final = "grains.simulation.example.com"
CONFIG_MAPS: Final = "configmaps"
_NAMESPACES: Final = ("default", "kube-public")
_WORDS: Final = ("one", "two", "three", "four")


class GrainScenario:
    """Grains are made, changed and deleted; in the end each has its ConfigMap, and no other is left."""

    name = "shards-two"
    shards = 2
    most = 24
    """Grains at the most."""

    def setting(self) -> Setting:
        """Grains, and their reconciler."""
        return Setting(crds=[Grain], reconcilers=self.reconcilers, shards=self.shards)

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[Any]]:
        """Those of one shard; both versions are the same."""
        return [GrainReconciler()]

    def invariants(self) -> Sequence[Invariant]:
        """None but those of every operator."""
        return []

    async def users(self, world: World) -> None:
        """A load of changes, in bursts."""
        chance = world.chance
        names = [f"grain-{number}" for number in range(chance.randint(4, self.most))]
        for name in names:
            await self._create(world, name)
        for _ in range(chance.randint(2, 6)):
            for name in chance.sample(names, chance.randint(1, 4)):
                await self._change(world, name)
            await world.sleep(chance.choice((0.0, 0.1, chance.random() * 5, chance.random() * 40)))

    async def _create(self, world: World, name: str) -> None:
        namespace = world.chance.choice(_NAMESPACES)
        body = {
            "apiVersion": Grain.resource.api_version,
            "kind": "Grain",
            "metadata": {"name": name},
            "spec": {"text": world.chance.choice(_WORDS)},
        }
        with contextlib.suppress(AlreadyExists, Conflict):
            await world.user.create(body, namespace=namespace)

    async def _change(self, world: World, name: str) -> None:
        """Change, spoil or delete a Grain, or make it again."""
        chance = world.chance
        namespace = next((it for it in _NAMESPACES if world.cluster.get(GRAINS, it, name)), None)
        if namespace is None:
            await self._create(world, name)
            return
        what = chance.random()
        with contextlib.suppress(NotFound, Conflict):
            if what < 0.6:
                text = chance.choice(_WORDS)
                await world.user.patch(Grain, namespace, name, {"spec": {"text": text}})
            elif what < 0.75:
                await world.user.patch(
                    "ConfigMap", namespace, name, {"data": {"text": "spoilt", "more": "1"}}
                )
            elif what < 0.85:
                await world.user.delete("ConfigMap", namespace, name)
            else:
                await world.user.delete(Grain, namespace, name)
                if what < 0.93:
                    await self._create(world, name)

    async def unwell(self, world: World) -> str | None:
        """Each Grain has its ConfigMap and says so; no other ConfigMap is there."""
        cluster = world.cluster
        alive = set()
        for grain in cluster.list(GRAINS):
            metadata = grain["metadata"]
            name, namespace = metadata["name"], metadata["namespace"]
            if "deletionTimestamp" in metadata:
                return f"{namespace}/{name} is still going: {metadata.get('finalizers')}"
            page = cluster.get(CONFIG_MAPS, namespace, name)
            if page is None or page["data"] != grain["spec"]:
                return f"{namespace}/{name}: the ConfigMap is {page and page['data']}"
            if page["metadata"]["ownerReferences"][0]["uid"] != metadata["uid"]:
                return f"{namespace}/{name}: the ConfigMap is of a former Grain"
            status = grain.get("status") or {}
            if (status.get("said"), status.get("observedGeneration")) != (
                grain["spec"]["text"],
                metadata["generation"],
            ):
                return f"{namespace}/{name}: generation {metadata['generation']}, the status says {status}"
            alive.add((namespace, name))
        for page in cluster.list(CONFIG_MAPS):
            place = page["metadata"]["namespace"], page["metadata"]["name"]
            if place[1].startswith("grain-") and place not in alive:
                return f"the ConfigMap {'/'.join(place)} is left over"
        return None


class Three(GrainScenario):
    """Three shards."""

    name = "shards-three"
    shards = 3


class Four(GrainScenario):
    """Four shards, few objects: most hand-overs are of slots that hold nothing."""

    name = "shards-four"
    shards = 4
    most = 10


class One(GrainScenario):
    """A group of one: it has nobody to hand over to, and comes back to its own Lease."""

    name = "shards-one"
    shards = 1


class Unsharded(GrainScenario):
    """An operator without shards."""

    name = "unsharded"
    shards = 0


class Held(GrainScenario):
    """Grains with a finalizer: what a shard has begun to finalize another one ends."""

    name = "shards-held"

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[Any]]:
        """Those with the finalizer."""
        return [HeldGrainReconciler()]


class Slow(GrainScenario):
    """Runs last for seconds: shards are paused, cut off, killed and handed over in the middle of them."""

    name = "shards-slow"
    most = 12

    def setting(self) -> Setting:
        """Only what makes a shard lose its slots."""
        kinds = frozenset({"pause", "partition", "crash", "lost-lease-writes", "restart", "scale"})
        return replace(super().setting(), faults=kinds)

    async def users(self, world: World) -> None:
        """A load that does not end before the faults do."""
        names = [f"grain-{number}" for number in range(self.most)]
        for name in names:
            await self._create(world, name)
        for _ in range(40):
            await self._change(world, world.chance.choice(names))
            await world.sleep(world.chance.random() * 8)

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[Any]]:
        """The slow ones."""
        return [SlowGrainReconciler()]


SCENARIOS: Final = (GrainScenario, Three, Four, One, Unsharded, Held, Slow)
