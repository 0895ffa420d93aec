"""Spec updates at a steady rate in the background, and how long each took to be acted on."""

from __future__ import annotations

import statistics
import threading
from typing import Any, Final, Self

from bench.shards.loads import SETTLED
from bench.shards.plane import Plane

_BATCH_SECONDS: Final = 5.0


class Pressure:
    """Changes specs while it is entered.

    Args:
        plane: where the Widgets are.
        settled: how many there are.
        rate: updates a second.
        revision: nobody used it before, nor those after it.
    """

    def __init__(self, plane: Plane, *, settled: int, rate: float, revision: int) -> None:
        self._plane = plane
        self._n = min(settled, round(rate * _BATCH_SECONDS))
        self._rate = rate
        self._revision = revision
        self._halt = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: Exception | None = None
        self.batches: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._halt.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    @property
    def latencies(self) -> dict[str, float]:
        """In ms: the median of the batches' medians; the worst batch's 99th percentile and maximum."""
        told = [it["latency_ms"] for it in self.batches]
        return {
            "p50": statistics.median(it["p50"] for it in told),
            "p99": max(it["p99"] for it in told),
            "max": max(it["max"] for it in told),
            "updates": sum(it["n"] for it in self.batches),
        }

    def _run(self) -> None:
        try:
            while not self._halt.is_set():
                self._revision += 1
                flags = {"n": self._n, "rate": self._rate, "revision": self._revision, "timeout": "90s"}
                self.batches.append(self._plane.drive("bump", SETTLED, **flags))
        except Exception as error:  # noqa: BLE001 - raised where the block ends
            self._error = error
