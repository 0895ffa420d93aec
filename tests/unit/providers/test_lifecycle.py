"""The order of one external reconcile: made once, whatever is lost and whenever it dies."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest

from openclaw.kube import Conflict
from openclaw.providers.errors import (
    ExternalInvalid,
    ExternalTaken,
    ExternalTerminal,
    ExternalThrottled,
    ExternalTransient,
)
from openclaw.providers.lifecycle import Adoption, Lifecycle, Outcome, Policy, Step
from openclaw.providers.marks import Mark
from openclaw.providers.resilience.guarded import guarded
from openclaw.providers.resilience.settings import ResilienceSettings
from tests.unit.kube.virtual_time import run, virtual_time
from tests.unit.providers.fakes import (
    OTHER,
    OWNER,
    FindingProvider,
    Observed,
    Provider,
    System,
    Wanted,
    When,
    guard_of,
)


class Died(BaseException):
    """The process is no more."""


class Marks:
    """On an object that is there as long as the test."""

    def __init__(self, clock: Clock) -> None:
        self.mark = Mark()
        self.clock = clock
        self.written: list[str] = []
        self.conflict = False

    def read(self) -> Mark:
        return self.mark

    async def pending(self, identity: str) -> None:
        if self.conflict:
            raise Conflict(409, "Conflict")
        await self._write("pending", Mark(identity, self.clock.now, None))

    async def created(self, identity: str) -> None:
        await self._write("created", Mark(identity, None, self.clock.now))

    async def not_created(self) -> None:
        await self._write("not_created", replace(self.mark, pending_at=None))

    async def _write(self, what: str, mark: Mark) -> None:
        await asyncio.sleep(0)
        self.clock.step(f"mark {what} before")
        self.mark = mark
        self.written.append(what)
        self.clock.step(f"mark {what} after")


class Clock:
    """Wall time, and the steps at which the process may die."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.steps = 0
        self.dies_at: int | None = None

    def __call__(self) -> float:
        return self.now

    def step(self, _: str) -> None:
        self.steps += 1
        if self.steps == self.dies_at:
            raise Died


class World:
    def __init__(
        self, system: System | None = None, policy: Policy | None = None, *, finds: bool = False
    ) -> None:
        self.system = system or System()
        self.clock = Clock()
        self.marks = Marks(self.clock)
        self.policy = policy or Policy()
        self.provider = FindingProvider(self.system) if finds else Provider(self.system)
        self.system.on_call = self.step

    def step(self, operation: str, when: When) -> None:
        self.clock.step(f"{operation} {when}")

    @property
    def it(self) -> Lifecycle[Wanted, Observed, None]:
        return Lifecycle(self.provider, self.marks, self.policy, clock=self.clock)

    def wanted(self, size: int = 1) -> Wanted:
        return Wanted("" if self.system.names_itself else "thing-1", OWNER, size)

    async def converge(self, size: int = 1, sent: str | None = None) -> Outcome[Observed]:
        return await self.it.converge(self.wanted(size), sent=sent)

    async def remove(self) -> Outcome[Observed]:
        return await self.it.remove(self.wanted().identity, OWNER, None)


@virtual_time
async def test_a_life() -> None:
    world = World()
    assert (await world.converge()).step is Step.CREATED
    assert (await world.converge()).step is Step.IN_SYNC
    updated = await world.converge(5)
    assert updated.step is Step.UPDATED
    assert updated.observed is not None
    assert updated.observed.size == 5
    assert (await world.converge(5, updated.sent)).step is Step.IN_SYNC
    assert (await world.remove()).step is Step.DELETING
    world.clock.now += 61
    assert (await world.remove()).step is Step.GONE
    assert world.marks.written == ["pending", "created"]
    assert world.system.calls == ["get", "create", "get", "get", "update", "get", "get", "delete", "get"]


@virtual_time
async def test_on_an_old_state_of_the_object_nothing_is_made() -> None:
    world = World()
    world.marks.conflict = True
    with pytest.raises(Conflict):
        await world.converge()
    assert world.system.calls == ["get"]


@virtual_time
async def test_what_is_held_back_is_not_marked() -> None:
    world = World()
    provider = guarded(world.provider, guard_of(ResilienceSettings(rate=0.1, burst=1)))
    with pytest.raises(ExternalThrottled):
        await Lifecycle(provider, world.marks).converge(world.wanted())
    assert (world.system.calls, world.marks.written) == (["get"], [])


@virtual_time
async def test_a_create_that_was_refused_leaves_no_mark() -> None:
    world = World()

    def refuse(operation: str, when: When) -> None:
        if operation == "create":
            raise ExternalInvalid("no such class")

    world.system.on_call = refuse
    with pytest.raises(ExternalInvalid):
        await world.converge()
    assert world.marks.mark.pending_at is None
    assert (await world.remove()).step is Step.GONE


@virtual_time
async def test_a_refusal_does_not_tell_what_became_of_an_earlier_create() -> None:
    world = World()

    def lose(operation: str, when: When) -> None:
        if (operation, when) == ("create", "after"):
            raise ExternalTransient("reset")

    world.system.on_call = lose
    with pytest.raises(ExternalTransient):
        await world.converge()
    world.system.hidden.add("thing-1")  # it was made, and is not visible yet

    def refuse(operation: str, when: When) -> None:
        if operation == "create":
            raise ExternalThrottled("too many requests")

    world.system.on_call = refuse
    with pytest.raises(ExternalThrottled):
        await world.converge()
    world.system.on_call = world.step
    assert world.marks.mark.pending_at is not None
    assert (await world.remove()).step is Step.DELETING, "it is waited for"
    world.system.hidden.clear()
    await world.remove()
    assert world.system.calls[-1] == "delete"


@virtual_time
@pytest.mark.parametrize("finds", [False, True])
@pytest.mark.parametrize("names_itself", [False, True])
@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_a_create_of_unknown_outcome_makes_no_second_one(
    names_itself: bool, finds: bool, lost: str
) -> None:
    world = World(System(names_itself=names_itself), finds=finds)

    def lose(operation: str, when: When) -> None:
        if operation == "create" and when == ("before" if lost == "request" else "after"):
            raise ExternalTransient("reset")

    world.system.on_call = lose
    with pytest.raises(ExternalTransient):
        await world.converge()
    world.system.on_call = world.step
    if names_itself and not finds:
        world.clock.now += 600
        for action in (world.converge, world.remove):
            with pytest.raises(ExternalTerminal, match="create-pending"):
                await action()
        return
    for _ in range(2):
        world.clock.now += (await world.converge()).wait + 1
    assert (await world.converge()).step is Step.IN_SYNC
    assert (len(world.system.things), world.system.made) == (1, 1)


@virtual_time
async def test_what_was_just_made_may_not_be_visible_yet() -> None:
    world = World()
    await world.converge()
    world.system.hidden.add("thing-1")
    world.clock.now += 20
    outcome = await world.converge()
    assert outcome.step is Step.AWAITED
    assert outcome.wait == pytest.approx(40)
    # A deletion does not take it for gone either.
    outcome = await world.remove()
    assert outcome.step is Step.DELETING
    assert outcome.wait == pytest.approx(40)
    world.clock.now += 41
    # Then it is taken for gone; and the system itself refuses a second one.
    assert (await world.converge()).step is Step.AWAITED
    assert world.system.made == 1


@virtual_time
@pytest.mark.parametrize("off", [-1e6, 1e6])
async def test_a_clock_that_was_wrong_is_not_waited_for(off: float) -> None:
    world = World()
    world.marks.mark = Mark("thing-1", None, world.clock.now + off)
    assert (await world.converge()).step is Step.CREATED


@virtual_time
async def test_what_was_made_and_is_gone_is_made_again_or_told() -> None:
    for recreate, step in ((True, Step.CREATED), (False, Step.ABSENT)):
        world = World(policy=Policy(recreate=recreate))
        await world.converge()
        world.system.things.clear()
        world.clock.now += 61
        assert (await world.converge()).step is step


@virtual_time
async def test_to_observe_only_changes_nothing() -> None:
    world = World(policy=Policy(create=False, update=False))
    assert (await world.converge()).step is Step.ABSENT
    for owner in (OWNER.uid, OTHER.uid, None):
        world.system.things["thing-1"] = Observed("thing-1", owner, 3)
        outcome = await world.converge(5)
        assert outcome.step is Step.DRIFTED
        assert str(outcome.drift) == "size: 3 -> 5"
        assert (await world.converge(3)).step is Step.IN_SYNC
    assert world.marks.written == []
    assert set(world.system.calls) == {"get"}


@virtual_time
@pytest.mark.parametrize(
    ("owner", "adopt", "taken"),
    [
        (None, "Never", True),
        (OTHER.uid, "Never", True),
        (None, "Unowned", False),
        (OTHER.uid, "Unowned", True),
        (None, "Any", False),
        (OTHER.uid, "Any", False),
    ],
)
async def test_what_is_there_already_becomes_ours_only_when_asked(
    owner: str | None, adopt: Adoption, taken: bool
) -> None:
    world = World(policy=Policy(adopt=adopt))
    world.system.things["thing-1"] = Observed("thing-1", owner, 3)
    if taken:
        with pytest.raises(ExternalTaken, match="adoption"):
            await world.converge(5)
        assert (await world.remove()).step is Step.GONE
        assert world.system.things
        assert world.marks.mark == Mark()
    else:
        outcome = await world.converge(5)
        assert (outcome.step, outcome.observed, str(outcome.drift)) == (
            Step.ADOPTED,
            Observed("thing-1", owner, 3),
            "size: 3 -> 5",
        )
        assert (await world.converge(5)).step is Step.UPDATED
        await world.remove()
        assert not world.system.things
    assert "create" not in world.system.calls


@virtual_time
async def test_without_owner_marks_a_thing_is_ours_when_we_said_so_before_it_was_there() -> None:
    policy = Policy(owner_marks=False)
    world = World(System(marks_owners=False), policy)
    world.system.things["thing-1"] = Observed("thing-1", None, 1)
    with pytest.raises(ExternalTaken):
        await world.converge()
    world.system.things.clear()
    assert (await world.converge()).step is Step.CREATED
    assert (await world.converge()).step is Step.IN_SYNC
    await world.remove()
    assert not world.system.things


@virtual_time
async def test_an_update_that_changes_nothing_is_sent_once() -> None:
    world = World(System(stubborn=True))
    await world.converge()
    sent = None
    steps = []
    for _ in range(5):
        outcome = await world.converge(5, sent)
        sent = outcome.sent
        steps.append(outcome.step)
    assert steps == [Step.UPDATED, *[Step.UNSETTLED] * 4]
    assert world.system.calls.count("update") == 1
    # Something else is wanted: that is tried; and so is the same when somebody asks.
    assert (await world.converge(6, sent)).step is Step.UPDATED
    assert (await world.converge(5, None)).step is Step.UPDATED


@virtual_time
async def test_what_no_update_can_mend_is_not_sent() -> None:
    world = World()
    await world.converge(5)
    outcome = await world.converge(1)
    assert outcome.step is Step.DRIFTED
    assert outcome.drift.refused
    assert "update" not in world.system.calls


@virtual_time
async def test_what_is_on_its_way_out_is_only_waited_for() -> None:
    world = World()
    await world.converge()
    outcome = await world.it.remove("thing-1", OWNER, None, going=lambda _: True)
    assert outcome.step is Step.DELETING
    assert "delete" not in world.system.calls


@virtual_time
async def test_what_was_never_asked_for_needs_no_call_to_go() -> None:
    world = World(System(names_itself=True))
    assert (await world.remove()).step is Step.GONE
    assert world.system.calls == []


@pytest.mark.parametrize("removed_at_once", [False, True])
@pytest.mark.parametrize("marks_owners", [False, True])
@pytest.mark.parametrize("names_itself", [False, True])
def test_dead_at_any_step_there_is_one_thing_and_in_the_end_none(
    names_itself: bool, marks_owners: bool, removed_at_once: bool
) -> None:
    """A life in which the process dies at each step in turn and is started again."""

    async def life(dies_at: int | None) -> int:
        system = System(names_itself=names_itself, marks_owners=marks_owners or names_itself)
        world = World(system, Policy(owner_marks=system.marks_owners), finds=names_itself)
        world.clock.dies_at = dies_at

        async def until(step: Step, size: int) -> None:
            sent: str | None = None
            for _ in range(20):
                try:
                    outcome = await (world.remove() if step is Step.GONE else world.converge(size, sent))
                except Died:
                    continue
                finally:
                    assert len(system.things) <= 1
                sent = outcome.sent
                if outcome.step is step:
                    return
                world.clock.now += outcome.wait + 1
            raise AssertionError(f"never {step}")

        if not removed_at_once:
            await until(Step.IN_SYNC, 1)
            await until(Step.IN_SYNC, 2)
            assert system.made == 1
        else:
            with suppress(Died):
                await world.converge()
        world.clock.now += 61
        await until(Step.GONE, 2)
        assert not system.things
        return world.clock.steps

    steps = run(life(None))
    assert steps > 5
    for at in range(1, steps + 1):
        run(life(at))
