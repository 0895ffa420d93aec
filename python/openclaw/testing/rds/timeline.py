"""What an instance's status goes through after each call, and for how long."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Generic, Self, TypeVar

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Stage:
    """A status and how long it is kept, in seconds of the stand-in's clock; infinity keeps it."""

    status: str
    seconds: float


def _stages(*stages: tuple[str, float]) -> tuple[Stage, ...]:
    return tuple(Stage(status, seconds) for status, seconds in stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timelines:
    """The stages that follow each call, before the instance is `available` (or gone) again.

    The defaults are of the order of what RDS takes. After a modification the instance is `available` for a
    moment although nothing has been done yet; a test that wants none of that gives a timeline of its own.

    Attributes:
        create: after CreateDBInstance.
        modify: after a change that is applied at once; the new values are there at its end.
        upgrade: instead of `modify`, when the engine's version changes.
        password: instead of `modify`, when only the master password changes.
        storage: after the new values are there, when the storage has grown.
        delete: after DeleteDBInstance.
    """

    create: tuple[Stage, ...] = _stages(("creating", 240), ("backing-up", 60))
    modify: tuple[Stage, ...] = _stages(("available", 5), ("modifying", 120))
    upgrade: tuple[Stage, ...] = _stages(("available", 5), ("upgrading", 300))
    password: tuple[Stage, ...] = _stages(("available", 5), ("resetting-master-credentials", 30))
    storage: tuple[Stage, ...] = _stages(("storage-optimization", 600))
    delete: tuple[Stage, ...] = _stages(("deleting", 120))

    def scaled(self, factor: float) -> Self:
        """The same stages, each `factor` times as long."""
        return replace(
            self,
            **{
                each.name: tuple(
                    Stage(stage.status, stage.seconds * factor) for stage in getattr(self, each.name)
                )
                for each in fields(self)
            },
        )

    @classmethod
    def instant(cls) -> Self:
        """Everything is done when the call returns."""
        return cls(create=(), modify=(), upgrade=(), password=(), storage=(), delete=())


class History(Generic[State]):
    """A thing's states by time, past and foreseen; None where it is not there.

    What is foreseen holds until the next `plan`. Nothing has to run for time to have its effect.
    """

    def __init__(self) -> None:
        self._times: list[float] = []
        self._states: list[State | None] = []

    def copy(self) -> History[State]:
        """Another one with the same states."""
        made: History[State] = History()
        made._times, made._states = list(self._times), list(self._states)
        return made

    def at(self, time: float) -> State | None:
        """The state at that time."""
        index = bisect_right(self._times, time) - 1
        return self._states[index] if index >= 0 else None

    def between(self, since: float, until: float) -> list[State | None]:
        """The states of that time, oldest first, from that which was there at its beginning."""
        first, last = bisect_right(self._times, since) - 1, bisect_right(self._times, until)
        began = [None] if first < 0 else []
        return began + self._states[max(0, first) : last]

    def replace(self, now: float, change: Callable[[State], State]) -> None:
        """Change the present state and all foreseen ones; time goes on as planned."""
        start = bisect_right(self._times, now) - 1
        later = zip(self._times[start:], self._states[start:], strict=True)
        changed = [(at, None if state is None else change(state)) for at, state in later]
        del self._times[start + 1 :], self._states[start + 1 :]
        self.plan(now, [(0.0, changed[0][1])])
        self._times += [at for at, _ in changed[1:]]
        self._states += [state for _, state in changed[1:]]

    def plan(self, now: float, states: Iterable[tuple[float, State | None]]) -> None:
        """From now on: each state, and for how many seconds; the last one stays, whatever its length.

        Foreseen states that have not come yet are dropped.
        """
        keep = bisect_right(self._times, now)
        del self._times[keep:], self._states[keep:]
        time = now
        for seconds, state in states:
            if self._times and self._times[-1] == time:
                self._states[-1] = state
            else:
                self._times.append(time)
                self._states.append(state)
            time += seconds
            if time == float("inf"):
                return
