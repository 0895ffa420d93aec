"""Runs of scenarios: what faults do, what is found, and that the same seed gives the same run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from openclaw.api import ConfigMap, CustomResource, Model
from openclaw.runtime import Context, Reconciler, Result
from openclaw.testing.simulation.contracts import Invariant, Setting, Violation, World, Write
from openclaw.testing.simulation.finding import find_scenarios
from openclaw.testing.simulation.many import Job, run_job
from openclaw.testing.simulation.plan import KINDS, Plan, PlannedFault
from openclaw.testing.simulation.run import simulate
from openclaw.testing.simulation.shrink import shrink
from openclaw.testing.simulation.systematic import systematic_jobs

_ROOT = Path(__file__).parents[4]


class Note(CustomResource, group="runs.example.com", version="v1"):
    class Spec(Model):
        text: str = ""

    spec: Spec = Spec()


class NoteReconciler(Reconciler[Note]):
    name: ClassVar = "notes"
    owns: ClassVar = (ConfigMap,)

    async def reconcile(self, ctx: Context, obj: Note) -> Result:
        await ctx.apply(ConfigMap(name=obj.name, data={"text": obj.spec.text}))
        return Result.done()


class Notes:
    """Three Notes, which change for some minutes."""

    name = "notes"
    shards = 2
    settle = 1800.0

    def setting(self) -> Setting:
        """Notes."""
        return Setting(crds=[Note], reconcilers=self.reconcilers, shards=self.shards, settle=self.settle)

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[Any]]:
        return [NoteReconciler()]

    def invariants(self) -> Sequence[Invariant]:
        return []

    async def users(self, world: World) -> None:
        for name in "abc":
            body = {"apiVersion": "runs.example.com/v1", "kind": "Note", "metadata": {"name": name}}
            await world.user.create(body, namespace="default")
        for number in range(12):
            name = world.chance.choice("abc")
            await world.user.patch(Note, "default", name, {"spec": {"text": str(number)}})
            await world.sleep(10)

    async def unwell(self, world: World) -> str | None:
        for note in world.cluster.list("notes.runs.example.com"):
            name = note["metadata"]["name"]
            page = world.cluster.get("configmaps", "default", name)
            if page is None or page["data"] != {"text": note["spec"].get("text", "")}:
                return f"{name}: the ConfigMap is {page and page['data']}"
        return None


def _fault(kind: str, seed: int = 7, **more: Any) -> PlannedFault:
    values = {"at": 5.0, "seconds": 30.0, "shard": 1, "strength": 1.0} | more
    return PlannedFault(kind=kind, seed=seed, **values)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_of_fault_takes_place_and_passes(kind: str) -> None:
    outcome = simulate(Notes(), 1, Plan([_fault(kind)]))
    assert outcome.violation is None, outcome.violation
    assert outcome.summary.faults[kind] > 0
    assert any("FAULT" in line and kind in line for line in outcome.history.lines())


def test_the_same_seed_is_the_same_run() -> None:
    one, two = simulate(Notes(), 5), simulate(Notes(), 5)
    assert one.history.lines() == two.history.lines()
    assert (one.trace, str(one.plan)) == (two.trace, str(two.plan))
    assert len({simulate(Notes(), seed).trace for seed in range(4)}) == 4


@pytest.mark.parametrize("scenario", ["shards-three", "openclaw-life", "rds-life"])
def test_neither_is_it_another_in_another_process(scenario: str) -> None:
    """Whatever the hashes of texts are, which the order of sets follows."""
    code = (
        "import hashlib, sys\n"
        "from openclaw.testing.simulation.finding import find_scenarios\n"
        "from openclaw.testing.simulation.run import simulate\n"
        f"scenario = find_scenarios(['tests.simulation.scenarios'])[{scenario!r}]\n"
        "for seed in (3, 4):\n"
        "    outcome = simulate(scenario(), seed)\n"
        "    print(hashlib.sha256('\\n'.join(outcome.history.lines()).encode()).hexdigest(), outcome.trace)\n"
    )
    said = set()
    for number in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": number}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=_ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        said.add(done.stdout)
    assert len(said) == 1, said


def test_a_request_has_its_effect_although_its_sender_is_dead() -> None:
    plan = Plan([_fault("late-requests", strength=1.0, at=0.0, seconds=60.0), _fault("crash", at=11.0)])
    outcome = simulate(Notes(), 3, plan)
    assert outcome.violation is None, outcome.violation
    lines = outcome.history.lines()
    killed = next(number for number, line in enumerate(lines) if "operator-1" in line and "is killed" in line)
    back = next(
        number for number, line in enumerate(lines) if number > killed and "operator-1    started" in line
    )
    assert any("operator-1" in line and "->" in line for line in lines[killed:back])


class Offended(Invariant):
    """Somebody must not write a word."""

    name = "offended"

    def __init__(self, word: str) -> None:
        self._word = word

    def on_write(self, world: World, write: Write) -> None:
        """Look at ConfigMaps."""
        if write.resource == "configmaps" and write.after and write.after["data"]["text"] == self._word:
            raise Violation(self.name, f"{write.actor} wrote {self._word}")


class Offending(Notes):
    name = "offending"

    def invariants(self) -> Sequence[Invariant]:
        return [Offended("3")]


def test_a_violation_ends_the_run_and_disturbs_nobody() -> None:
    outcome = simulate(Offending(), 1, Plan())
    assert outcome.violation is not None
    assert outcome.violation.invariant == "offended"
    assert "INVARIANT" in outcome.history.lines()[-1] or any(
        "INVARIANT" in line for line in outcome.history.lines(12)
    )


class Fragile(Notes):
    """Is not well any more once a watch was broken."""

    name = "fragile"
    settle = 20.0

    async def unwell(self, world: World) -> str | None:
        return "broken" if world.summary.faults["broken-watches"] else None  # type: ignore[attr-defined]


def test_what_never_gets_well_is_a_violation_and_its_plan_is_cut_short() -> None:
    faults = [
        _fault("late-events", 1),
        _fault("broken-watches", 2),
        _fault("conflicts", 3),
        _fault("pause", 4, seconds=4.0),
    ]
    outcome = simulate(Fragile(), 1, Plan(faults))
    assert outcome.violation is not None
    assert outcome.violation.invariant == "converges"
    assert "not within 20 s: broken" in str(outcome.violation)
    short = shrink(Fragile, outcome, most=30)
    assert [fault.kind for fault in short.plan.faults] == ["broken-watches"]
    assert short.plan.faults[0].seconds < 30
    assert short.violation is not None


def test_every_request_and_every_event_is_a_point() -> None:
    quiet = simulate(Notes(), 2, Plan()).summary.counts
    jobs = list(systematic_jobs("notes", Notes, 2))
    labels = [job.label.split(" of ")[0] for job in jobs]
    assert labels[0] == "nothing"
    assert [it for it in labels if it.startswith("crash")] == [
        f"crash {number}" for number in range(1, quiet["requests"] + 1)
    ]
    assert sum(it.startswith("stale view") for it in labels) == quiet["events"]
    assert sum(it.startswith("missed event") for it in labels) == quiet["events"]
    assert sum(it.startswith("forgotten event") for it in labels) == quiet["events"]
    few = list(systematic_jobs("notes", Notes, 2, most=3))
    assert len(few) == 1 + 4 * 3
    for job in few:
        result = run_job(job, Notes)
        assert result.failure is None, result.failure


class Spinning(Notes):
    name = "spinning"

    async def users(self, world: World) -> None:
        while True:
            await world.sleep(0)


class Broken(Notes):
    name = "broken"

    async def users(self, world: World) -> None:
        raise KeyError("no such user")


@pytest.mark.parametrize(
    ("scenario", "invariant", "text"),
    [(Spinning, "ends", "does not come to rest"), (Broken, "scenario", "no such user")],
)
def test_a_scenario_that_spins_or_fails_is_a_failure(
    scenario: type[Notes], invariant: str, text: str
) -> None:
    result = run_job(Job(scenario.name, 1, "none"), scenario)
    assert result.failure is not None
    assert result.failure.invariant == invariant
    assert text in result.failure.text


def test_a_module_without_scenarios_is_told() -> None:
    with pytest.raises(LookupError, match=r"openclaw\.api has no list SCENARIOS"):
        find_scenarios(["openclaw.api"])
    assert "shards-three" in find_scenarios(["tests.simulation.scenarios"])
