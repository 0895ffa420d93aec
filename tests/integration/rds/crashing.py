"""An operator that dies at a chosen call, be it to Kubernetes or to RDS, before or after its effect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openclaw.runtime import Manager
from openclaw.testing.cluster import faults as kube
from openclaw.testing.rds import HANG, HANG_AFTER, Call, Fault
from tests.integration.rds.simulated import AGENT, Simulation


class Wire(Fault):
    """Counts the operator's writes to Kubernetes and all its calls of RDS, together, in their order.

    Attributes:
        calls: what was asked for.
        died: set when the process would have died; from then on nothing that it asks for happens.
    """

    def __init__(self, world: Simulation, namespace: str, account: str) -> None:
        super().__init__(HANG, times=None)
        self._world = world
        self._namespace = namespace
        self._account = account
        self._at = 0
        self._after = False
        self.calls: list[str] = []
        self.died = asyncio.Event()
        world.rds.faults.add(self)
        world.cluster.faults.at_requests(self._request)

    def arm(self, at: int, *, after: bool) -> None:
        """Die at the call of that number, counted from now; 0 does not die."""
        self._at, self._after = at, after
        self.calls.clear()
        self.died.clear()

    def _dies(self, what: str) -> bool:
        self.calls.append(what)
        if len(self.calls) != self._at:
            return False
        self.died.set()
        return True

    def _request(self, info: kube.RequestInfo) -> kube.Fault | None:
        if info.user_agent != AGENT or info.namespace != self._namespace or not info.writes:
            return None
        if self.died.is_set():
            return kube.Fault(hang=True)
        what = f"{info.verb} {info.resource}{info.subresource and '/' + info.subresource} {info.name}"
        return kube.Fault(hang=True, lose_answer=self._after) if self._dies(what) else None

    def takes(self, call: Call) -> bool:
        if call.account != self._account:
            return False
        if self.died.is_set():
            self.outcome = HANG
            return True
        self.outcome = HANG_AFTER if self._after else HANG
        return self._dies(call.operation)

    @asynccontextmanager
    async def operator(self, at: int = 0, *, after: bool = False) -> AsyncIterator[Manager]:
        """The operator, which dies at call number `at`; at the end of the block at the latest."""
        self.arm(at, after=after)
        async with self._world.operator(namespace=self._namespace) as manager:
            yield manager
            # What it does while it is being ended does not happen: a killed process does nothing.
            self.died.set()
