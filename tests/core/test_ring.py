"""`openclaw._core.SlotSet` and `Ring` through the binding: values and errors as documented."""

from __future__ import annotations

import pytest

from openclaw import _core
from openclaw._core import Ring, SlotSet


def test_a_set_of_slots() -> None:
    few = SlotSet([3, 7, 8, 255])
    assert list(few) == [3, 7, 8, 255]
    assert (len(few), 7 in few, 9 in few, -1 in few, 256 in few) == (4, True, False, False, False)
    assert (str(few), repr(few)) == ("3,7-8,255", "SlotSet.parse('3,7-8,255')")
    assert few.runs() == [(3, 3), (7, 8), (255, 255)]
    assert SlotSet.parse(str(few)) == SlotSet.from_hex(few.hex()) == few
    assert SlotSet.all() - few | few == SlotSet.all()
    assert few & SlotSet.parse("0-7") == SlotSet({3, 7})
    assert SlotSet([3]).issubset(few)
    assert not few.issubset(SlotSet([3]))
    assert not SlotSet()
    assert {few: 1}[SlotSet([255, 8, 7, 3])] == 1
    assert few != "3,7-8,255"


def test_what_is_no_slot_is_refused() -> None:
    for bad in (256, -1):
        with pytest.raises(OverflowError):
            SlotSet([bad])
    with pytest.raises(ValueError, match="9-3"):
        SlotSet.parse("1,9-3")
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        SlotSet.from_hex("ff")


def test_selectors() -> None:
    assert SlotSet.parse("0-127").shard_selector() == (
        "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
    )
    assert SlotSet.parse("255").shard_selector() == (
        "shardRange(object.metadata.uid, '0xff00000000000000', '0x10000000000000000')"
    )
    scattered = SlotSet(range(0, 256, 2))
    assert scattered.shard_selector() is None
    assert scattered.shard_selector(longest=20_000) is not None
    assert SlotSet().shard_selector() is None
    assert SlotSet([1, 2]).label_selector() == "openclaw.dev/slot in (1,2)"
    assert SlotSet([1]).label_selector("example.com/part") == "example.com/part in (1)"
    assert SlotSet().label_selector() is None


def test_a_ring() -> None:
    names = [f"openclaw-{number}" for number in range(3)]
    ring = Ring(reversed(names))
    assert ring.names == names
    assert ring == Ring([*names, names[0]])
    assert ring.id == Ring(names).id != Ring(names[:2]).id
    assert [len(ring.share(name)) for name in names] == [85, 86, 85]
    assert [ring.owner(slot) for slot in range(256)] == ring.owners
    assert all(slot in ring.share(owner) for slot, owner in enumerate(ring.owners))
    assert not ring.share("another")
    assert (Ring([]).owners, Ring([]).owner(0)) == ([], None)
    assert len(Ring(names, slots=4).owners) == 4


def test_a_uid_has_the_slot_that_its_selector_selects() -> None:
    uid = "2f8a9c1e-5b7d-4a3f-9e61-0c4d8b2a7f35"
    selector = SlotSet([_core.slot(uid)]).shard_selector()
    assert selector is not None
    start, end = (int(part, 16) for part in selector.split("'")[1::2])
    assert start <= _core.fnv1a64(uid) < end
