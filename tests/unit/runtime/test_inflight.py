from collections.abc import Iterator
from contextlib import contextmanager

from openclaw.runtime.inflight import InFlight, Write


class Told:
    """Objects known at versions, and the deltas that were handed on."""

    def __init__(self) -> None:
        self.deltas: list[str] = []
        self.known: dict[str, str] = {}
        self.in_flight: InFlight[str, str] = InFlight(lambda _, delta: self.deltas.append(delta))

    @contextmanager
    def writing(self, uid: str) -> Iterator[Write]:
        with self.in_flight.writing("web", lambda: self.known.get(uid)) as write:
            yield write

    def event(self, uid: str, version: str, delta: str) -> None:
        self.known[uid] = version
        assert self.in_flight.hold("web", uid, delta)


def test_without_a_write_nothing_is_held() -> None:
    told = Told()
    assert not told.in_flight.hold("web", "a", "updated")


def test_the_event_of_the_write_is_dropped_and_the_rest_is_handed_on_in_order() -> None:
    told = Told()
    with told.writing("a") as write:
        told.event("a", "11", "own event")
        told.event("b", "12", "another child")
        told.event("c", "13", "a third")
        assert not told.in_flight.hold("other", "a", "another root")
        write.answer = ("a", "11")
        assert told.deltas == []
    assert told.deltas == ["another child", "a third"]
    assert not told.in_flight.hold("web", "a", "later")


def test_what_others_wrote_before_ours_is_handed_on() -> None:
    told = Told()
    with told.writing("a") as write:
        told.event("a", "10", "theirs")
        told.event("a", "11", "ours")
        write.answer = ("a", "11")
    assert told.deltas == ["theirs"]


def test_what_others_wrote_after_ours_is_handed_on() -> None:
    told = Told()
    with told.writing("a") as write:
        told.event("a", "11", "ours")
        told.event("a", "12", "theirs")
        write.answer = ("a", "11")
    assert told.deltas == ["theirs"]


def test_a_write_that_fails_drops_nothing() -> None:
    told = Told()
    try:
        with told.writing("a"):
            told.event("a", "11", "updated")
            raise OSError
    except OSError:
        pass
    assert told.deltas == ["updated"]


def test_writes_that_overlap_hold_until_the_last_is_answered() -> None:
    told = Told()
    with told.writing("a") as first:
        with told.writing("b") as second:
            told.event("a", "11", "first")
            told.event("b", "12", "second")
            second.answer = ("b", "12")
        assert told.deltas == []
        first.answer = ("a", "11")
    assert told.deltas == []


def test_what_comes_after_an_answer_is_not_covered_by_it_while_another_write_goes_on() -> None:
    told = Told()
    with told.writing("b") as second:
        with told.writing("a") as first:
            told.event("a", "11", "ours")
            first.answer = ("a", "11")
        told.event("a", "12", "ready")
        told.event("b", "13", "ours too")
        second.answer = ("b", "13")
    assert told.deltas == ["ready"]
