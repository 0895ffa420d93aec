"""Selectors of slots."""

from urllib.parse import quote_plus

from hypothesis import given
from hypothesis import strategies as st

from openclaw.kube.selection import SLOTS, Selected, by_label, by_uid

ALL = frozenset(range(SLOTS))


def ranges(selected: Selected) -> list[tuple[int, int]]:
    """The ranges of a selector, read as the server reads them."""
    found = []
    for part in selected.query["shardSelector"].split(" || "):
        assert part.startswith("shardRange(object.metadata.uid, '0x")
        first, end = (text.strip(" '") for text in part.removesuffix(")").split(",")[1:])
        for text in (first, end):
            assert text == text.lower()
            assert len(text) == 18 or text == "0x10000000000000000"
        found.append((int(first, 16), int(end, 16)))
    return found


def test_neighbours_are_one_range() -> None:
    selected = by_uid(frozenset({0, 1, 2, 128, 254, 255}))
    assert selected.exact
    assert selected.query["shardSelector"] == (
        "shardRange(object.metadata.uid, '0x0000000000000000', '0x0300000000000000') || "
        "shardRange(object.metadata.uid, '0x8000000000000000', '0x8100000000000000') || "
        "shardRange(object.metadata.uid, '0xfe00000000000000', '0x10000000000000000')"
    )


def test_all_slots_need_no_selector() -> None:
    assert by_uid(ALL) == Selected({}, exact=False)
    assert by_label("l")(ALL) == Selected({"labelSelector": "l"}, exact=False)


def test_labels_are_named_in_order() -> None:
    selected = by_label("example.com/slot")(frozenset({10, 9, 0}))
    assert selected == Selected({"labelSelector": "example.com/slot in (0,9,10)"}, exact=True)


@given(st.frozensets(st.integers(0, SLOTS - 1), min_size=1))
def test_every_slot_is_in_a_range_and_the_selector_is_never_too_long(slots: frozenset[int]) -> None:
    selected = by_uid(slots)
    if slots == ALL:
        return
    assert len(quote_plus(selected.query["shardSelector"])) <= 7000
    found = ranges(selected)
    covered = {slot for slot in range(SLOTS) if any(first <= slot << 56 < end for first, end in found)}
    assert covered == slots if selected.exact else covered > slots


def test_scattered_slots_are_joined_with_what_is_between_them() -> None:
    selected = by_uid(frozenset(range(0, SLOTS, 2)))
    assert not selected.exact
    assert len(ranges(selected)) > 60
    assert by_uid(frozenset(range(0, SLOTS, 4))).exact
