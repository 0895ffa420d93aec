"""Slots that are gained while a watch goes on: they are listed by themselves, and nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from openclaw.api.kinds import ResourceKind
from openclaw.kube.backoff import Backoff
from openclaw.kube.errors import KubeError
from openclaw.kube.interruption import delay_after, tell_interruption
from openclaw.kube.lister import Lister
from openclaw.kube.sink import Batch, Sink
from openclaw.kube.wants import Wants
from openclaw.telemetry.logs import Log
from openclaw.telemetry.spans import Span, current_span
from openclaw.telemetry.tracing import Tracer

__all__ = ["Gainer"]

log = Log(__name__)


class Gainer:
    """Lists what is wanted in a task of its own, until it is there.

    Args:
        kind: what is listed.
        sink: gets the pages.
        lister: reads them.
        on_gained: called with what takes a list into the sink and returns its batch; from before that on no
            byte of the open watch may be fed any more.
        on_fault: called when it gave up for a reason that is not the server's: everything must be listed.
        tracer: records lists.
        backoff: how long to wait after failures.
        server: its address, for the log.

    Attributes:
        wants: the slots that are wanted.
    """

    def __init__(
        self,
        kind: ResourceKind,
        sink: Sink,
        lister: Lister,
        on_gained: Callable[[Callable[[], Batch]], None],
        on_fault: Callable[[], None],
        *,
        tracer: Tracer,
        backoff: Backoff,
        server: Callable[[], str],
    ) -> None:
        self._kind = kind
        self._sink = sink
        self._lister = lister
        self._on_gained = on_gained
        self._on_fault = on_fault
        self._tracer = tracer
        self._backoff = backoff
        self._server = server
        self._task: asyncio.Task[None] | None = None
        self.wants = Wants()

    @property
    def busy(self) -> bool:
        """Whether the task is under way."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Begin, when something is wanted and the task is not under way."""
        if self.wants.slots and not self.busy:
            self._task = asyncio.create_task(self._run(), name=f"gain-{self._kind.plural}")

    def cancel(self) -> None:
        """Let the task end soon."""
        if self._task is not None:
            self._task.cancel()

    async def stop(self) -> None:
        """End the task; what it listed so far is forgotten, what is wanted is not."""
        if self._task is not None and self.busy:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        asked_by = current_span()
        while slots := self.wants.slots:
            try:
                with self._tracer.start(f"gain {self._kind.kind}") as span:
                    if isinstance(asked_by, Span) and asked_by.sampled:
                        span.link(asked_by.context, "hand-over")
                    await self._list(slots)
                self._backoff.reset()
            except KubeError as error:
                delay = delay_after(error, self._backoff)
                message = "gained slots could not be listed, trying again"
                tell_interruption(
                    log, message, error, kind=self._kind, server=self._server(), delay=delay, lasts=True
                )
                await asyncio.sleep(delay)
            except Exception:
                # Whatever is wrong with a part: the whole needs nothing to be brought together with.
                log.exception("gained slots could not be listed, listing everything", kind=self._kind.kind)
                self._on_fault()
                return

    async def _list(self, slots: frozenset[int]) -> None:
        self._sink.begin_gain(slots)
        try:
            await self._lister.read(slots)
        except BaseException:
            self._sink.abort_relist()
            raise
        wanted = self.wants.slots
        if not slots & wanted:
            self._sink.abort_relist()
            return
        self._sink.drop(slots - wanted)
        self._on_gained(self._sink.commit_relist)
        self.wants.settle(self._sink.kept)
