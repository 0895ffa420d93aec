from openclaw.runtime.inflight import InFlight


class Told:
    def __init__(self) -> None:
        self.deltas: list[tuple[str, str]] = []
        self.in_flight: InFlight[str, str] = InFlight(lambda key, delta: self.deltas.append((key, delta)))


def test_without_a_write_nothing_is_held() -> None:
    told = Told()
    assert not told.in_flight.hold("web", "u1", "updated")


def test_what_the_answer_covers_is_dropped_and_the_rest_is_handed_on_in_order() -> None:
    told = Told()
    with told.in_flight.writing("web") as write:
        assert told.in_flight.hold("web", "u1", "own event")
        assert told.in_flight.hold("web", "u2", "another child")
        assert told.in_flight.hold("web", "u3", "a third")
        assert not told.in_flight.hold("other", "u1", "another root")
        write.settled.add("u1")
        assert told.deltas == []
    assert told.deltas == [("web", "another child"), ("web", "a third")]
    assert not told.in_flight.hold("web", "u1", "later")


def test_a_write_that_fails_drops_nothing() -> None:
    told = Told()
    try:
        with told.in_flight.writing("web"):
            told.in_flight.hold("web", "u1", "updated")
            raise OSError
    except OSError:
        pass
    assert told.deltas == [("web", "updated")]


def test_writes_that_overlap_hold_until_the_last_is_answered() -> None:
    told = Told()
    with told.in_flight.writing("web") as first:
        with told.in_flight.writing("web") as second:
            told.in_flight.hold("web", "u1", "first")
            told.in_flight.hold("web", "u2", "second")
            second.settled.add("u2")
        assert told.deltas == []
        first.settled.add("u1")
    assert told.deltas == []
