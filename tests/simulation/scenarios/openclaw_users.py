"""What users, and others beside the operator, do with OpenClaws and their children."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from openclaw.api.builtin import Deployment, Ingress, Service
from openclaw.api.openclaw import OpenClaw
from openclaw.kube.errors import Invalid
from openclaw.testing.simulation.contracts import World
from tests.simulation.scenarios import openclaw_specs as specs
from tests.simulation.scenarios.openclaw_expected import CHILD_KINDS, CLAWS
from tests.simulation.scenarios.refusals import refusals

Object = dict[str, Any]
Place = tuple[str, str]
"""Namespace and name of an OpenClaw."""
Action = Callable[[], Awaitable[None]]

CHILD_CLASSES: Final = (Deployment, Service, Ingress)
FOREIGN: Final = "people.example.com/held"
"""A finalizer of other people."""
_PROPAGATIONS: Final = ("Background", "Background", "Foreground", "Orphan")


class Users:
    """Users of some OpenClaws.

    Args:
        world: where they live; all chance is `world.chance`.
        places: the OpenClaws that they have to do with, which need not exist.
    """

    def __init__(self, world: World, places: Sequence[Place]) -> None:
        self.world = world
        self.places = places
        self._chance = world.chance
        self._foreign: list[tuple[str, str, str]] = []

    async def namespaces(self) -> None:
        """Make the namespaces that are missing."""
        for namespace in dict.fromkeys(it for it, _ in self.places):
            if self.world.cluster.get("namespaces", None, namespace) is None:
                with refusals():
                    await self.world.user.create(
                        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
                    )

    def place(self) -> Place:
        """One of the places."""
        return self._chance.choice(self.places)

    def live(self, place: Place) -> Object | None:
        """The OpenClaw of a place as it is now."""
        return self.world.cluster.get(CLAWS, *place)

    async def pause(self, longest: float = 60.0) -> None:
        """Let a while pass: mostly less than a second, now and then a long one."""
        seconds = self._chance.choice(
            (0.0, 0.01, 0.1, self._chance.random(), self._chance.random() * longest)
        )
        await self.world.sleep(seconds)

    # With OpenClaws

    async def create(self, place: Place) -> None:
        """Make an OpenClaw, by chance with what others put there from the start."""
        namespace, name = place
        body = specs.claw(name, specs.drawn_spec(self._chance))
        if self._chance.random() < 0.3:
            body["metadata"]["labels"] = {"team": "shop"}
            body["metadata"]["annotations"] = {"example.com/ticket": "42"}
        with refusals():
            await self.world.user.create(body, namespace=namespace)

    async def change(self, place: Place) -> None:
        """Change one field of a spec."""
        path = self._chance.choice(specs.fields())
        await self.set(place, path, specs.draw(path, self._chance))

    async def set(self, place: Place, path: specs.Path, value: Any) -> None:
        """Put a value into a field of a spec; None takes the field away."""
        patch: Any = value
        for name in reversed(path):
            patch = {name: patch}
        with refusals():
            await self.world.user.patch(OpenClaw, *place, {"spec": patch})

    async def replace_whole(self, place: Place) -> None:
        """Change many fields at once."""
        with refusals():
            spec = specs.drawn_spec(self._chance)
            await self.world.user.patch(OpenClaw, *place, [{"op": "replace", "path": "/spec", "value": spec}])

    async def scale_to_zero_and_back(self, place: Place) -> None:
        """No pods for a while."""
        component = self._chance.choice(("frontend", "worker"))
        await self.set(place, (component, "replicas"), 0)
        await self.pause()
        await self.set(place, (component, "replicas"), self._chance.randint(1, 3))

    async def publish_and_hide(self, place: Place) -> None:
        """The Ingress comes, and goes."""
        await self.set(place, ("frontend", "ingressHost"), "shop.example.com")
        await self.pause()
        await self.set(place, ("frontend", "ingressHost"), None)

    async def delete(self, place: Place) -> None:
        """Delete an OpenClaw in one of the three ways."""
        with refusals():
            await self.world.user.delete(OpenClaw, *place, propagation=self._chance.choice(_PROPAGATIONS))

    async def recreate(self, place: Place) -> None:
        """Delete an OpenClaw, and make one of the same name as soon as it goes."""
        await self.delete(place)
        for _ in range(3):
            if self.live(place) is None:
                break
            await self.world.sleep(0.01)
        await self.create(place)

    async def hold(self, place: Place) -> None:
        """Others put a finalizer on an OpenClaw, and take it off after a while."""
        live = self.live(place)
        if live is None or "deletionTimestamp" in live["metadata"]:
            return
        held = live["metadata"].get("finalizers") or []
        if FOREIGN in held:
            return
        patch = {"metadata": {"resourceVersion": live["metadata"]["resourceVersion"]}}
        patch["metadata"]["finalizers"] = [*held, FOREIGN]
        with refusals():
            await self.world.user.patch(OpenClaw, *place, patch)
            self._foreign.append((CLAWS, *place))

    async def decorate(self, place: Place) -> None:
        """Others label and annotate an OpenClaw, and put a condition of their own into its status."""
        number = str(self._chance.randint(1, 9))
        metadata = {"labels": {"cost-centre": number}, "annotations": {"example.com/seen": number}}
        with refusals():
            await self.world.user.patch(OpenClaw, *place, {"metadata": metadata})
            live = self.live(place) or {}
            conditions = [
                it for it in (live.get("status") or {}).get("conditions") or () if it["type"] != "Audited"
            ]
            audited = {
                "type": "Audited",
                "status": "True",
                "reason": "Seen",
                "message": number,
                "lastTransitionTime": live["metadata"]["creationTimestamp"],
            }
            await self.world.user.patch(
                OpenClaw,
                *place,
                {
                    "metadata": {"resourceVersion": live["metadata"]["resourceVersion"]},
                    "status": {"conditions": [*conditions, audited]},
                },
                subresource="status",
            )

    # With children

    def child(self, place: Place) -> tuple[Any, Object] | None:
        """A child of an OpenClaw, with its class; None where there is none."""
        found = [
            (kind, obj)
            for kind, resource in zip(CHILD_CLASSES, CHILD_KINDS, strict=True)
            for obj in self.world.cluster.list(resource, place[0])
            if obj["metadata"]["name"].startswith(f"{place[1]}-")
        ]
        return self._chance.choice(found) if found else None

    async def delete_child(self, place: Place) -> None:
        """Delete a child."""
        found = self.child(place)
        if found is not None:
            with refusals():
                await self.world.user.delete(
                    found[0],
                    place[0],
                    found[1]["metadata"]["name"],
                    propagation=self._chance.choice(("Background", "Foreground")),
                )

    async def spoil_child(self, place: Place) -> None:
        """Change what the operator states."""
        found = self.child(place)
        if found is None:
            return
        kind, obj = found
        name = obj["metadata"]["name"]
        patch: Mapping[str, Any] | Sequence[Any]
        what = self._chance.randrange(4)
        if what == 0:
            patch = {"metadata": {"labels": {"app.kubernetes.io/part-of": "somebody-elses"}}}
        elif what == 1:
            patch = {"metadata": {"labels": {"openclaw.dev/slot": None}}}
        elif kind is Deployment:
            if what == 2:
                patch = {"spec": {"replicas": self._chance.randint(0, 4)}}
            else:
                image = "/spec/template/spec/containers/0/image"
                patch = [{"op": "replace", "path": image, "value": "evil:1"}]
        elif kind is Service:
            patch = [{"op": "replace", "path": "/spec/ports/0/targetPort", "value": 1}]
        else:
            patch = [{"op": "replace", "path": "/spec/rules/0/host", "value": "evil.example.com"}]
        with refusals():
            await self.world.user.patch(kind, place[0], name, patch)

    async def adorn_child(self, place: Place) -> None:
        """Put something onto a child that the operator does not state."""
        found = self.child(place)
        if found is None:
            return
        kind, obj = found
        number = str(self._chance.randint(1, 9))
        patch: Object = {
            "metadata": {"labels": {"cost-centre": number}, "annotations": {"example.com/seen": number}}
        }
        if kind is Deployment:
            patch["spec"] = {"minReadySeconds": 0, "revisionHistoryLimit": self._chance.randint(2, 9)}
        elif kind is Ingress:
            patch["spec"] = {"ingressClassName": "nginx"}
        else:
            patch["spec"] = {"sessionAffinity": self._chance.choice(("None", "ClientIP"))}
        with refusals():
            await self.world.user.patch(kind, place[0], obj["metadata"]["name"], patch)

    async def hold_child(self, place: Place) -> None:
        """Others put a finalizer on a child."""
        found = self.child(place)
        if found is None or "deletionTimestamp" in found[1]["metadata"]:
            return
        kind, obj = found
        metadata = obj["metadata"]
        held = metadata.get("finalizers") or []
        if FOREIGN in held:
            return
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": [*held, FOREIGN]}}
        with refusals():
            await self.world.user.patch(kind, place[0], metadata["name"], patch)
            self._foreign.append((kind.resource.qualified, place[0], metadata["name"]))

    async def balance_load(self, place: Place) -> None:
        """A cloud gives a Service its address."""
        name = f"{place[1]}-frontend"
        address = f"192.0.2.{self._chance.randint(1, 9)}"
        with refusals(Invalid):  # it may be of another type by now
            await self.world.user.patch(
                Service,
                place[0],
                name,
                {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}},
                subresource="status",
            )

    async def release(self) -> None:
        """Others take all of their finalizers off again."""
        while self._foreign:
            resource, namespace, name = self._foreign[-1]
            live = self.world.cluster.get(resource, namespace, name)
            held = (live or {}).get("metadata", {}).get("finalizers") or ()
            if live is None or FOREIGN not in held:
                self._foreign.pop()
                continue
            kind = next(it for it in (OpenClaw, *CHILD_CLASSES) if it.resource.qualified == resource)
            patch = {
                "resourceVersion": live["metadata"]["resourceVersion"],
                "finalizers": [it for it in held if it != FOREIGN],
            }
            with refusals():  # what was changed meanwhile is read again
                await self.world.user.patch(kind, namespace, name, {"metadata": patch})
