"""A transport that fails at a chosen request, as a crash of the process or of the network would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import Enum
from pathlib import Path

from openclaw.kube import ConfigSource, Response, Transport, Unreachable


class Fault(Enum):
    """What happens at the chosen request."""

    CRASH_BEFORE = "the process dies before the request is sent"
    CRASH_AFTER = "the process dies when the request has had its effect"
    LOST_BEFORE = "the request is lost"
    LOST_AFTER = "the request has its effect, the answer is lost"

    @property
    def crash(self) -> bool:
        return self in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)


class FaultyTransport(Transport):
    """Counts requests (watches included) and fails at number `at`, once.

    Attributes:
        requests: what was asked for, in order.
        crashed: set when the process would have died; from then on nothing is sent.
    """

    def __init__(self, kubeconfig: Path, *, at: int = 0, fault: Fault | None = None) -> None:
        super().__init__(ConfigSource(kubeconfig), user_agent="openclaw-faulty")
        self._at = at
        self._fault = fault
        self.requests: list[str] = []
        self.crashed = asyncio.Event()

    async def _begin(self, what: str) -> bool:
        """Whether it fails at this request; never comes back once the process is dead."""
        await self._die_if_crashed()
        self.requests.append(what)
        fails = self._fault is not None and len(self.requests) == self._at
        if fails and self._fault is Fault.CRASH_BEFORE:
            self.crashed.set()
        if fails and self._fault is Fault.LOST_BEFORE:
            raise Unreachable(f"{what}: lost on the way")
        await self._die_if_crashed()
        return fails

    async def _end(self, what: str, *, fails: bool) -> None:
        if fails and self._fault is Fault.CRASH_AFTER:
            self.crashed.set()
        await self._die_if_crashed()
        if fails and self._fault is Fault.LOST_AFTER:
            raise Unreachable(f"{what}: the answer was lost")

    async def _die_if_crashed(self) -> None:
        if self.crashed.is_set():
            await asyncio.Event().wait()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 30.0,
    ) -> Response:
        what = f"{method} {path}"
        fails = await self._begin(what)
        answer = await super().request(
            method, path, query=query, body=body, content_type=content_type, timeout=timeout
        )
        await self._end(what, fails=fails)
        return answer

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        what = f"WATCH {path}"
        fails = await self._begin(what)
        async with super().stream(path, query=query, idle_timeout=idle_timeout) as chunks:
            await self._end(what, fails=fails)
            yield chunks
