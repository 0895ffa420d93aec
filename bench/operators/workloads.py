"""The workloads. Each takes a session and returns plain data; all of a session share its control plane."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bench.operators.process import memory
from bench.operators.session import Meter, Session

Result = dict[str, Any]

MAIN: Final = "bench"
"""The namespace in which w1 to w4 have their Widgets."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is done. `quiet` and `settle` are in seconds."""

    rounds: int = 3
    checked: int = 40
    created: int = 3000
    patched: int = 2000
    patches: int = 20_000
    bumped: int = 2000
    paced: int = 600
    pace: float = 30.0
    trickle: int = 3000
    trickle_pace: float = 60.0
    cold: int = 20_000
    empty_starts: int = 2
    cold_starts: int = 3
    quiet: float = 6.0
    settle: float = 10.0


QUICK: Final = Sizes(
    rounds=1,
    created=2000,
    patched=1000,
    patches=4000,
    bumped=1000,
    paced=90,
    trickle=600,
    cold=5000,
    empty_starts=1,
    cold_starts=2,
    quiet=3.0,
    settle=4.0,
)


class Course:
    """One peer's way through the workloads of a round."""

    def __init__(self, session: Session, sizes: Sizes) -> None:
        self._session, self._sizes = session, sizes
        self._populated = 0
        self._elsewhere = 0
        self._empty: list[Result] = []

    def run(self, name: str) -> Result:
        """Run one workload by its name."""
        return _COURSE[name](self)

    def before(self, names: list[str]) -> None:
        """What must be measured while there are no objects yet."""
        if "w2" in names:
            self._empty = [self._cold_start(0) for _ in range(self._sizes.empty_starts)]

    def check(self) -> Result:
        """Correctness: create, update, damage a ConfigMap, delete another."""
        session, n = self._session, self._sizes.checked
        operator = session.running_operator()

        def step(command: str, **flags: object) -> Result:
            done = session.driver(command, "check", n=n, **flags)
            operator.sampler.wait_quiet(window=1.5)
            return done

        step("create", timeout="60s")
        self._elsewhere += n
        created = session.driver("verify", "check", n=n)
        step("bump", revision=1, timeout="60s")
        bumped = session.driver("verify", "check", n=n, revision=1)
        drift = step("drift", revision=1, timeout="20s")
        repaired = session.driver("verify", "check", n=n, revision=1)
        wrong = {"created": created, "bumped": bumped, "repaired": repaired}
        return {"drift": drift, **{name: found["problems"] for name, found in wrong.items()}}

    def w1(self) -> Result:
        """Converge: Widgets created as fast as the server takes them."""
        self._session.running_operator()
        return self._populate(self._sizes.created)

    def w2(self) -> Result:
        """Cold start: the operator starts where all is right already, and has nothing to write."""
        session, sizes = self._session, self._sizes
        session.running_operator()
        if self._populated < sizes.cold:
            self._populate(sizes.cold - self._populated)
        session.stop_operator()
        total = self._populated + self._elsewhere
        full = [self._cold_start(total) for _ in range(sizes.cold_starts)]
        base = min(start["memory"]["rss"] for start in self._empty)
        for start in full:
            start["bytes_per_widget"] = (start["memory"]["rss"] - base) / total
        disturbed = any(start["disturbed"] for start in full)
        return {"n": total, "empty": self._empty, "full": full, "disturbed": disturbed}

    def w3(self) -> Result:
        """Irrelevant events: status patches that change no generation."""
        n, patches = self._sizes.patched, self._sizes.patches
        self._at_least(n)
        return self._measured("storm", MAIN, n=n, patches=patches, timeout="15m") | {"n": patches}

    def w4(self) -> Result:
        """Spec updates: the spec of each Widget changes once."""
        n = self._sizes.bumped
        self._at_least(n)
        result = self._measured("bump", MAIN, n=n, revision=1, timeout="15m")
        return result | {"n": n, "verify": self._session.driver("verify", MAIN, n=n, revision=1)}

    def w5(self) -> Result:
        """Latency without a backlog: Widgets created at a modest, fixed rate."""
        n = self._sizes.paced
        self._session.running_operator()
        result = self._measured("create", "paced", n=n, rate=self._sizes.pace, timeout="15m")
        self._elsewhere += n
        return result | {"n": n, "verify": self._session.driver("verify", "paced", n=n)}

    def w6(self) -> Result:
        """Irrelevant trickle: the same status patches at a fixed rate, so that events come one at a time."""
        n, patches = self._sizes.patched, self._sizes.trickle
        self._at_least(n)
        flags = {"n": n, "patches": patches, "rate": self._sizes.trickle_pace, "timeout": "15m"}
        return self._measured("storm", MAIN, **flags) | {"n": patches}

    def _at_least(self, n: int) -> None:
        self._session.running_operator()
        if self._populated < n:
            self._populate(n - self._populated)

    def _populate(self, n: int) -> Result:
        result = self._measured("create", MAIN, n=n, start=self._populated, timeout="30m")
        verified = self._session.driver("verify", MAIN, n=n, start=self._populated)
        self._populated += n
        return result | {"n": n, "verify": verified}

    def _measured(self, command: str, namespace: str, **flags: object) -> Result:
        session = self._session
        session.plane.create_namespace(namespace)
        meter = Meter(session)
        load = session.driver(command, namespace, **flags)
        rest = session.operator.sampler.wait_quiet(window=session.quiet)
        return {"load": load, "rest_s": round(rest - meter.began, 3), **meter.read(load["driver_cpu_s"])}

    def _cold_start(self, expected: int) -> Result:
        """Start over `expected` Widgets, come to rest, and stop."""
        session = self._session
        operator = session.start_operator()
        meter = Meter(session)
        # The first moments are its own start, not rest.
        time.sleep(1)
        rest = operator.sampler.wait_quiet(window=session.quiet, timeout=300)
        time.sleep(self._sizes.settle)
        through = operator.sampler.reconciled(expected) if expected else None
        result = meter.read() | {"rest_s": round(rest, 2), "through_s": through and round(through, 2)}
        result |= {"operator_cpu_s": operator.sampler.samples[-1].cpu, "memory": memory(operator.pid)}
        session.stop_operator()
        return result


_COURSE: Final[dict[str, Callable[[Course], Result]]] = {
    "check": Course.check,
    "w1": Course.w1,
    "w3": Course.w3,
    "w4": Course.w4,
    "w5": Course.w5,
    "w6": Course.w6,
    # Last: it ends the operator.
    "w2": Course.w2,
}

WORKLOADS: Final = tuple(_COURSE)
"""In the order in which they are run."""


def titles() -> dict[str, str]:
    """What each workload is."""
    return {name: (function.__doc__ or "").strip() for name, function in sorted(_COURSE.items())}
