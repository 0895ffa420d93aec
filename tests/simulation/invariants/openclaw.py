"""What the status of an OpenClaw may claim: what the cluster had, a short while ago at the most."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from openclaw.testing.simulation.contracts import Invariant, Violation, World, Write
from tests.simulation.scenarios.openclaw_expected import (
    CHILD_KINDS,
    CLAWS,
    DEPLOYMENTS,
    INGRESSES,
    SERVICES,
    condition,
    controller_uid,
    endpoint_of,
    least_available,
    wants,
)

Object = Mapping[str, Any]
Place = tuple[str, str, str]
"""Kind, namespace and name of a child."""

LAG_SECONDS: Final = 180.0
"""How far behind a claim may be: a watch that lags, a run that is slow, a write that is retried."""

_KEPT: Final = 400
_REPEATED: Final = frozenset({"waiting as asked", "conflict, running again"})


@dataclass(frozen=True, slots=True)
class Moment:
    """A child as it was from a moment on; None: there was none."""

    at: float
    obj: Object | None


class History:
    """What the children were, and what each generation of the roots asked for."""

    def __init__(self) -> None:
        self._children: defaultdict[Place, deque[Moment]] = defaultdict(lambda: deque(maxlen=_KEPT))
        self._specs: dict[tuple[str, int], Object] = {}

    def note(self, write: Write) -> None:
        """Keep what a write made of a child, or of a root's spec."""
        if write.resource in CHILD_KINDS:
            place = write.resource, write.namespace, write.name
            self._children[place].append(Moment(write.at, write.after))
        elif write.resource == CLAWS and write.after is not None:
            metadata = write.after["metadata"]
            self._specs[metadata["uid"], metadata["generation"]] = write.after["spec"]

    def spec(self, uid: str, generation: int) -> Object | None:
        """What a generation asked for."""
        return self._specs.get((uid, generation))

    def since(self, place: Place, begin: float) -> Iterator[Object | None]:
        """All that a child was from `begin` on, oldest first."""
        moments = self._children.get(place)
        if not moments:
            yield None
            return
        first: Object | None = None
        later = []
        for moment in moments:
            if moment.at <= begin:
                first = moment.obj
            else:
                later.append(moment.obj)
        yield first
        yield from later


class _ClaimOfOpenClaws(Invariant):
    """Looks at each status of an OpenClaw that is not the user's own doing."""

    def __init__(self, lag: float = LAG_SECONDS) -> None:
        self._history = History()
        self._lag = lag

    def on_write(self, world: World, write: Write) -> None:
        """Remember children and specs; look at what a status says anew."""
        self._history.note(write)
        if write.resource != CLAWS or write.subresource != "status" or write.actor == "user":
            return
        if write.after is not None and write.before is not None:
            self.claimed(write.at, write.before, write.after)
            self.turned(world, write.before, write.after)

    def turned(self, world: World, before: Object, claw: Object) -> None:
        """Count what a status came to."""

    def claimed(self, at: float, before: Object, claw: Object) -> None:
        """Raise where a claim was never so."""

    def had(
        self, kind: str, claw: Object, component: str, at: float, test: Callable[[Object | None], bool]
    ) -> bool:
        """Whether a child of this root was, not long ago, as `test` wants it; None: it was not there."""
        metadata = claw["metadata"]
        place = kind, metadata["namespace"], f"{metadata['name']}-{component}"
        return any(
            test(obj if obj is not None and controller_uid(obj) == metadata["uid"] else None)
            for obj in self._history.since(place, at - self._lag)
        )

    def generation_of(self, claw: Object, kind: str) -> Object | None:
        """The spec that a condition speaks of."""
        generation = condition(claw, kind).get("observedGeneration")
        return None if generation is None else self._history.spec(claw["metadata"]["uid"], generation)


class AvailableWhenItIs(_ClaimOfOpenClaws):
    """Available is True only where enough pods of both components were available, and the Service was there.

    Enough is what the generation asks for that the condition names. `Progressing` is False only where no
    pods of another image or number were on their way.
    """

    name = "available-when-it-is"

    def claimed(self, at: float, before: Object, claw: Object) -> None:
        """Compare with the Deployments' own status."""
        available = condition(claw, "Available")
        if available.get("status") == "True" and available != condition(before, "Available"):
            self._available(at, claw)
        progressing = condition(claw, "Progressing")
        calm = condition(claw, "Degraded").get("status") == "False"
        if calm and progressing.get("status") == "False" and progressing != condition(before, "Progressing"):
            self._settled(at, claw)

    def turned(self, world: World, before: Object, claw: Object) -> None:
        """Count states, as `OpenClaw A-P-D` for Available, Progressing and Degraded, and how they turn."""
        was, now = _state(before), _state(claw)
        if was != now:
            world.reached(f"OpenClaw {now}")
            world.reached(f"OpenClaw {was} -> {now}")

    def _available(self, at: float, claw: Object) -> None:
        spec = self.generation_of(claw, "Available")
        name = claw["metadata"]["name"]
        if spec is None:
            raise Violation(self.name, f"{name}: Available of a generation that never was")
        for component in ("frontend", "worker"):
            enough = least_available(wants(spec, component))

            def serves(it: Object | None, enough: int = enough) -> bool:
                if it is None or "deletionTimestamp" in it["metadata"]:
                    return False
                found: int = (it.get("status") or {}).get("availableReplicas", 0)
                return found >= enough

            if enough and not self.had(DEPLOYMENTS, claw, component, at, serves):
                generation = condition(claw, "Available")["observedGeneration"]
                raise Violation(
                    self.name,
                    f"{name}: Available of generation {generation}, and never within {self._lag:g} s had "
                    f"{component} {enough} available pods",
                )
        if not self.had(SERVICES, claw, "frontend", at, lambda it: it is not None):
            raise Violation(self.name, f"{name}: Available without a Service")

    def _settled(self, at: float, claw: Object) -> None:
        spec = self.generation_of(claw, "Progressing")
        name = claw["metadata"]["name"]
        if spec is None:
            raise Violation(self.name, f"{name}: Progressing of a generation that never was")
        for component in ("frontend", "worker"):
            wanted, image = wants(spec, component), spec[component]["image"]

            def there(it: Object | None, wanted: int = wanted, image: str = image) -> bool:
                if it is None:
                    return False
                status = it.get("status") or {}
                images = [one["image"] for one in it["spec"]["template"]["spec"]["containers"]]
                counts = {status.get(field, 0) for field in ("replicas", "updatedReplicas")}
                # What is counted may be the pods of an older template.
                told = status.get("observedGeneration", 0) >= it["metadata"]["generation"]
                return told and image in images and counts == {wanted}

            if not self.had(DEPLOYMENTS, claw, component, at, there):
                raise Violation(
                    self.name,
                    f"{name}: not Progressing, and never within {self._lag:g} s had {component} {wanted} "
                    f"pods of {image}, and no others",
                )


class StatusIsOfTheCluster(_ClaimOfOpenClaws):
    """Ready pods and the endpoint are what Deployments, Service and Ingress said not long ago."""

    name = "status-is-of-the-cluster"

    def claimed(self, at: float, before: Object, claw: Object) -> None:
        """Compare what is new in the status."""
        old, new = before.get("status") or {}, claw["status"]
        for component in ("frontend", "worker"):
            field = f"{component}ReadyReplicas"
            told = new.get(field, 0)

            def says(it: Object | None, told: int = told) -> bool:
                found: int = ((it or {}).get("status") or {}).get("readyReplicas", 0)
                return found == told

            if told != old.get(field) and not self.had(DEPLOYMENTS, claw, component, at, says):
                raise Violation(self.name, f"{claw['metadata']['name']}: {field} {told} was never so")
        endpoint = new.get("externalEndpoint")
        if endpoint is not None and endpoint != old.get("externalEndpoint"):
            self._endpoint(at, claw, endpoint)

    def _endpoint(self, at: float, claw: Object, endpoint: str) -> None:
        def publishes(it: Object | None) -> bool:
            rules = [] if it is None else it["spec"].get("rules") or []
            return any(endpoint == f"http://{rule.get('host')}" for rule in rules)

        def leads(it: Object | None) -> bool:
            kinds = ("NodePort", "LoadBalancer")
            claims = ({"spec": {"frontend": {"serviceType": kind}}} for kind in kinds)
            return it is not None and any(endpoint_of(claim, it) == endpoint for claim in claims)

        if not self.had(INGRESSES, claw, "frontend", at, publishes) and not self.had(
            SERVICES, claw, "frontend", at, leads
        ):
            raise Violation(self.name, f"{claw['metadata']['name']}: the endpoint {endpoint} was never so")


class EventsTellOfTurns(Invariant):
    """An Event says that an OpenClaw is available when it has become so, and not again while it stays so.

    A run that has failed, or whose shard has died, may have told it already: each fault and each failed run
    excuses one Event.
    """

    name = "events-tell-of-turns"
    _told = "Available"

    def __init__(self) -> None:
        self._turns: Counter[str] = Counter()
        self._events: dict[str, dict[str, int]] = defaultdict(dict)
        self._failed = 0

    def on_log(self, world: World, shard: str, record: Mapping[str, Any]) -> None:
        """Count the runs that may be repeated."""
        if record["level"] in {"warning", "error"} or record["message"] in _REPEATED:
            self._failed += 1

    def on_write(self, world: World, write: Write) -> None:
        """Count turns, and Events with their repetitions."""
        after = write.after
        if after is None:
            return
        if write.resource == CLAWS and write.subresource == "status":
            was, now = (condition(it or {}, self._told).get("status") for it in (write.before, after))
            if now == "True" != was:
                self._turns[after["metadata"]["uid"]] += 1
        elif write.resource.startswith("events") and after.get("reason") == self._told:
            about = after.get("regarding") or after.get("involvedObject") or {}
            times = (after.get("series") or {}).get("count", 1)
            self._events[about["uid"]][after["metadata"]["name"]] = times

    def at_rest(self, world: World) -> None:
        """Compare."""
        summary = getattr(world, "summary", None)
        excused = self._failed + (sum(summary.faults.values()) if summary is not None else 0)
        for uid, events in self._events.items():
            told, turns = sum(events.values()), self._turns[uid]
            if told > turns + excused:
                text = f"{told} Events say that {uid} is available, which it has become {turns} times"
                raise Violation(self.name, text)


def _state(claw: Object) -> str:
    """The letters of the conditions that are True: `A--`; `?` before there are any."""
    if not condition(claw, "Available"):
        return "?"
    kinds = ("Available", "Progressing", "Degraded")
    return "".join(it[0] if condition(claw, it).get("status") == "True" else "-" for it in kinds)
