"""From the event loop to the collector: a bounded queue and a thread of its own.

Nothing here ever holds up a reconcile. What does not fit is dropped and counted; a collector that is away
costs one warning in five minutes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from openclaw.telemetry.logs import Log
from openclaw.telemetry.spans import Span

__all__ = ["ExportError", "ThreadedSpanQueue"]

log = Log(__name__)

_ATTEMPTS: Final = 3
_RETRY_SECONDS: Final = 1.0
_WARNING_SECONDS: Final = 300.0


class ExportError(Exception):
    """The collector did not take a batch.

    Attributes:
        passing: whether the same batch may be taken a moment later.
    """

    def __init__(self, message: str, *, passing: bool) -> None:
        super().__init__(message)
        self.passing = passing


class ThreadedSpanQueue:
    """Hands batches of spans to `export` on a daemon thread.

    Args:
        export: sends a batch, within a bounded time; raises ExportError.
        capacity: most spans that wait; further ones are dropped.
        batch: most spans sent at once.
        delay: seconds after which a smaller batch is sent.
        on_drop: told why and how many spans were dropped; called from either thread.
    """

    def __init__(
        self,
        export: Callable[[Sequence[Span]], None],
        *,
        capacity: int = 2048,
        batch: int = 512,
        delay: float = 5.0,
        on_drop: Callable[[str, int], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._export = export
        self._capacity = capacity
        self._batch = min(batch, capacity)
        self._delay = delay
        self._on_drop = on_drop
        self._clock = clock
        self._spans: deque[Span] = deque()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._warned_at: float | None = None
        self._lost = 0
        self.exported = 0
        self._thread = threading.Thread(target=self._run, name="openclaw-spans", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """Spans that wait."""
        return len(self._spans)

    def put(self, spans: Sequence[Span]) -> None:
        """Queue the spans of one trace, or drop them all. Takes no lock."""
        waiting = len(self._spans)
        if waiting + len(spans) > self._capacity or self._stopping.is_set():
            self._drop("stop" if self._stopping.is_set() else "queue", len(spans))
            return
        self._spans.extend(spans)
        if waiting + len(spans) >= self._batch:
            self._wake.set()

    def close(self, timeout: float) -> None:
        """Send what is queued; after `timeout` seconds the rest is dropped. Blocks meanwhile."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(timeout)
        left = len(self._spans)
        if self._thread.is_alive() or left:
            self._spans.clear()
            if left:
                self._drop("stop", left)
            log.warning("traces were left unsent", spans=left)

    def _drop(self, reason: str, count: int) -> None:
        self._on_drop(reason, count)

    def _run(self) -> None:
        while True:
            self._wake.wait(self._delay)
            self._wake.clear()
            while batch := self._take():
                self._send(batch)
                if len(self._spans) < self._batch and not self._stopping.is_set():
                    break
            if self._stopping.is_set() and not self._spans:
                return

    def _take(self) -> list[Span]:
        batch: list[Span] = []
        try:
            while len(batch) < self._batch:
                batch.append(self._spans.popleft())
        except IndexError:
            pass  # that was the last one, or `close` has given up waiting
        return batch

    def _send(self, batch: list[Span]) -> None:
        # Its text: the error itself would keep this frame, and so the batch, until garbage is collected.
        error = ""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._export(batch)
            except ExportError as caught:
                error = str(caught)
                if (
                    not caught.passing
                    or attempt == _ATTEMPTS
                    or self._stopping.wait(_RETRY_SECONDS * attempt)
                ):
                    break
            except Exception as caught:  # noqa: BLE001 - this thread must outlive whatever an exporter does
                error = str(caught) or type(caught).__name__
                break
            else:
                self.exported += len(batch)
                self._recovered()
                return
        self._drop("export", len(batch))
        self._lost += len(batch)
        now = self._clock()
        if self._warned_at is None or now - self._warned_at >= _WARNING_SECONDS:
            self._warned_at = now
            log.warning(
                "traces cannot be exported and are dropped; reconciles go on",
                error=error,
                spans=self._lost,
            )

    def _recovered(self) -> None:
        if self._lost:
            log.info("traces are exported again", spans_lost=self._lost)
            self._lost = 0
