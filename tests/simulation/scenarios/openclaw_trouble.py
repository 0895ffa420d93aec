"""Scenarios of the OpenClaw operator in which the cluster does not do what is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from openclaw.api.builtin import Deployment, Ingress, Service
from openclaw.api.openclaw import OpenClaw
from openclaw.testing.cluster.faults import Fault, RequestInfo
from openclaw.testing.cluster.statuses import forbidden, internal
from openclaw.testing.podstatus import Outcome, PodBehaviour
from openclaw.testing.simulation.contracts import World
from tests.simulation.scenarios.openclaw import SEVERAL, OpenClawScenario, do
from tests.simulation.scenarios.openclaw_expected import (
    CHILD_KINDS,
    CLAWS,
    children_unwell,
    condition,
    status_unwell,
    wants,
)
from tests.simulation.scenarios.openclaw_users import Place, Users
from tests.simulation.scenarios.refusals import refusals

Object = Mapping[str, Any]

_BAD: Final = (Outcome.NEVER_READY, Outcome.CRASH_LOOP, Outcome.IMAGE_PULL_FAILURE, Outcome.CREATING)
_COMPONENTS: Final = ("frontend", "worker")
_QUOTAS: Final = (
    {"count/deployments.apps": "0"},
    {"count/deployments.apps": "1"},
    {"services": "0"},
    {"count/ingresses.networking.k8s.io": "0"},
    {"pods": "1"},
    {"count/replicasets.apps": "0"},
)


class Fate:
    """How the pods of each component fare; the `decide` of the cluster's workloads."""

    def __init__(self, startup: float) -> None:
        self.broken: dict[tuple[str, str, str], Outcome] = {}
        self._startup = startup

    def __call__(self, pod: Object) -> PodBehaviour:
        """As its component does."""
        labels = pod["metadata"].get("labels") or {}
        place = (
            pod["metadata"]["namespace"],
            labels.get("app.kubernetes.io/instance", ""),
            labels.get("app.kubernetes.io/component", ""),
        )
        return PodBehaviour(self.broken.get(place, Outcome.READY), self._startup)


class Pods(OpenClawScenario):
    """Pods fail and recover; in the end some may be broken for good, and the status has to say so."""

    name = "openclaw-pods"
    places = SEVERAL[:2]

    async def users(self, world: World) -> None:
        """Break and mend components while specs change."""
        chance = world.chance
        fate = Fate(chance.choice((0.0, 0.5, 3.0)))
        workloads = world.cluster.workloads
        workloads.decide = fate
        users = Users(world, self.places[: chance.randint(1, 2)])
        await users.namespaces()
        for place in users.places:
            await users.create(place)

        async def break_pods(place: Place) -> None:
            fate.broken[*place, chance.choice(_COMPONENTS)] = chance.choice(_BAD)
            workloads.refresh()

        async def mend_pods(place: Place) -> None:
            for component in _COMPONENTS:
                fate.broken.pop((*place, component), None)
            workloads.refresh()

        async def stall(_: Place) -> None:
            workloads.stall()
            await users.pause(700.0)
            workloads.resume()

        deeds = (break_pods, break_pods, mend_pods, stall, users.change, users.scale_to_zero_and_back)
        for _ in range(chance.randint(2, 6)):
            await chance.choice(deeds)(users.place())
            await users.pause(chance.choice((20.0, 700.0)))
        if chance.random() < 0.6:
            for place in users.places:
                await mend_pods(place)

    async def unwell(self, world: World) -> str | None:
        """Right, also of what stays broken: not available, and degraded with a reason."""
        fate = world.cluster.workloads.decide
        broken = fate.broken if isinstance(fate, Fate) else {}
        for claw in world.cluster.list(CLAWS):
            metadata, spec = claw["metadata"], claw["spec"]
            place = metadata["namespace"], metadata["name"]
            down = [it for it in _COMPONENTS if (*place, it) in broken and wants(spec, it)]
            unwell = children_unwell(world.cluster, claw)
            unwell = unwell or (_broken_unwell(claw, down) if down else status_unwell(world.cluster, claw))
            if unwell:
                return unwell
        return None


def _broken_unwell(claw: Object, down: list[str]) -> str | None:
    """What a status fails to say of components whose pods never become ready."""
    generation = claw["metadata"]["generation"]
    for kind, wanted in (("Available", "False"), ("Degraded", "True"), ("Progressing", "False")):
        found = condition(claw, kind)
        if found.get("status") != wanted or found.get("observedGeneration") != generation:
            return f"{claw['metadata']['name']}: {kind} is {dict(found)}, though {down} never get ready"
    told = condition(claw, "Degraded")["message"]
    missing = [it for it in down if it not in told]
    return f"{claw['metadata']['name']}: Degraded does not name {missing}: {told}" if missing else None


class Refusals(OpenClawScenario):
    """Writes are refused for a while: by quotas, by admission webhooks, by a name that is taken."""

    name = "openclaw-refusals"
    places = SEVERAL[:2]

    async def users(self, world: World) -> None:
        """Put obstacles in the way, and take them away again."""
        chance = world.chance
        users = Users(world, self.places[: chance.randint(1, 2)])
        await users.namespaces()
        obstacles = [self._quota, self._webhook, self._taken]
        if chance.random() < 0.5:
            for place in users.places:
                await users.create(place)
        for _ in range(chance.randint(1, 3)):
            end = await chance.choice(obstacles)(world, users)
            for place in users.places:
                await users.create(place)
            deeds = (users.change, users.delete_child, users.spoil_child, users.recreate)
            await do(world, users, deeds, 0, 3)
            await users.pause(chance.choice((5.0, 300.0)))
            await end()

    @staticmethod
    async def _quota(world: World, users: Users) -> Callable[[], Any]:
        """A quota leaves no room."""
        namespace, _ = users.place()
        body = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "tight"},
            "spec": {"hard": dict(world.chance.choice(_QUOTAS))},
        }
        with refusals():
            await world.user.create(body, namespace=namespace)

        async def end() -> None:
            with refusals():
                await world.user.delete("ResourceQuota", namespace, "tight")

        return end

    @staticmethod
    async def _webhook(world: World, users: Users) -> Callable[[], Any]:  # noqa: ARG004 - as the others
        """An admission webhook refuses a kind of child, or cannot be called."""
        kind = world.chance.choice(CHILD_KINDS)
        plural, _, group = kind.partition(".")
        away = world.chance.random() < 0.5

        def refuse(info: RequestInfo) -> Fault | None:
            if info.resource != kind or not info.writes or info.subresource or info.verb == "delete":
                return None
            name = "policy.example.com"
            if away:
                return Fault(error=internal(f'failed calling webhook "{name}": connection refused'))
            text = f'admission webhook "{name}" denied the request: not today'
            return Fault(error=forbidden(group, plural, info.name, text))

        stop = world.cluster.faults.at_requests(refuse)

        async def end() -> None:
            stop()

        return end

    @staticmethod
    async def _taken(world: World, users: Users) -> Callable[[], Any]:
        """Somebody else's object has the name of a child; perhaps a namesake of the root controls it."""
        namespace, name = users.place()
        kind = world.chance.choice((Deployment, Service, Ingress))
        child = f"{name}-frontend"
        metadata: dict[str, Any] = {"name": child, "labels": {"of": "somebody-else"}}
        body = {
            "apiVersion": kind.resource.api_version,
            "kind": kind.resource.kind,
            "metadata": metadata,
            "spec": _SPECS[kind.resource.kind],
        }
        made: list[str] = []
        with refusals():
            if world.chance.random() < 0.5:
                namesake = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
                owner = (await world.user.create(namesake, namespace=namespace))["metadata"]["uid"]
                reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": owner}
                metadata["ownerReferences"] = [{**reference, "controller": True}]
            made.append((await world.user.create(body, namespace=namespace))["metadata"]["uid"])

        async def end() -> None:
            with refusals():
                await world.user.delete("ConfigMap", namespace, name)
            for uid in made:
                with refusals():
                    await world.user.delete(kind, namespace, child, uid=uid)

        return end


_SPECS: Final[dict[str, Any]] = {
    "Deployment": {
        "replicas": 1,
        "selector": {"matchLabels": {"of": "somebody-else"}},
        "template": {
            "metadata": {"labels": {"of": "somebody-else"}},
            "spec": {"containers": [{"name": "it", "image": "it:1"}]},
        },
    },
    "Service": {"ports": [{"name": "it", "port": 1}], "selector": {"of": "somebody-else"}},
    "Ingress": {
        "defaultBackend": {"service": {"name": "it", "port": {"number": 1}}},
    },
}


class Recreated(OpenClawScenario):
    """The garbage collector is late: what a former OpenClaw of the name has left is still there."""

    name = "openclaw-recreated"

    async def users(self, world: World) -> None:
        """Delete and make again at once, while the cluster's own controllers stand still."""
        users = Users(world, self.places)
        await users.namespaces()
        (place,) = users.places
        await users.create(place)
        for _ in range(world.chance.randint(1, 4)):
            await users.pause()
            world.cluster.controllers.pause()
            with refusals():
                await world.user.delete(OpenClaw, *place, propagation="Background")
            await users.pause(2.0)
            await users.create(place)
            await users.change(place)
            await users.pause(30.0)
            world.cluster.controllers.resume()


SCENARIOS: Final = (Pods, Recreated, Refusals)
