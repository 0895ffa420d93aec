"""What is to be seen of slots that change their shard: on both sides, and in the runs that follow."""

from __future__ import annotations

from collections.abc import Iterable

from opentelemetry.sdk.trace import ReadableSpan

from openclaw._core import SlotSet, slot
from openclaw.testing import Client, ControlPlane
from tests.integration.framework.kinds import widget
from tests.integration.reliability.waiting import eventually
from tests.integration.sharding.shards import Group, group_of
from tests.integration.telemetry.recorded import Recorded, attributes, ids, links

COUNT = 16


def slots_of(spans: Iterable[ReadableSpan]) -> set[int]:
    return {number for span in spans for number in SlotSet.parse(str(attributes(span)["openclaw.slots"]))}


async def begun(group: Group, shard: str) -> Recorded:
    """The spans of a shard that joins; it has nothing to do any more."""
    recorded = Recorded()
    group.tracers[shard] = recorded.tracer
    await group.begin(shard)
    await eventually(group.quiet, "the end of the work")
    return recorded


async def test_a_hand_over_is_told_by_both_shards_and_is_the_cause_of_the_runs(
    client: Client, api_server: ControlPlane, namespace: str
) -> None:
    made = [await client.create(widget(f"w{number}", namespace, text="one")) for number in range(COUNT)]
    slot_of = {it["metadata"]["name"]: slot(it["metadata"]["uid"]) for it in made}
    async with group_of(str(api_server.kubeconfig), "g", namespace) as group:
        giver = await begun(group, "g-0")
        assert len(giver.roots()) >= COUNT
        gainer = await begun(group, "g-1")
        gained = group.slots("g-1")
        membership = group.managers["g-1"].membership
        assert membership is not None
        ring = membership.ring.id

        # The one lets go what the other begins on, once it has read it.
        assert slots_of(giver.roots("hand-over drain")) == gained
        warm, start = (gainer.roots(f"hand-over {phase}") for phase in ("warm", "start"))
        assert slots_of(warm) == slots_of(start) == gained
        assert {attributes(span)["openclaw.shard"] for span in [*warm, *start]} == {"g-1"}
        assert {attributes(span)["openclaw.shard"] for span in giver.roots("hand-over ")} == {"g-0"}
        assert {link for span in start for link in links(span)} == {("warm", ids(span)) for span in warm}

        # Each object that came with them is run for that, and says so.
        moved = {name for name, number in slot_of.items() if number in gained}
        assert 0 < len(moved) < COUNT
        starts = {number: ids(span) for span in start for number in slots_of([span])}
        for name in moved:
            first, *_ = gainer.runs(name)
            about = attributes(first)
            assert links(first)[0] == ("hand-over", starts[slot_of[name]])
            assert "Widget added" in about["openclaw.reasons"]
            assert (about["openclaw.shard"], about["openclaw.ring"]) == ("g-1", ring)
            assert about["openclaw.slot"] == slot_of[name]
        assert {attributes(run)["openclaw.object.name"] for run in gainer.roots()} == moved

        # More slots, while the watches go on: what is read for them is told apart from other lists.
        await group.stop("g-0")
        await group.settled()
        await eventually(
            lambda: len({str(attributes(it)["openclaw.object.name"]) for it in gainer.roots()}) == COUNT,
            "the others",
        )
        gains = gainer.roots("gain Widget")
        assert {str(gainer.shape(gain)) for gain in gains} == {"('gain Widget', [('GET widgets', [])])"}
        asked = {link for gain in gains for link in links(gain)}
        assert asked <= {("hand-over", ids(span)) for span in gainer.roots("hand-over warm")}
        assert slots_of(giver.roots("hand-over drain")) == set(range(256))
