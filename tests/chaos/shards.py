"""Shards as processes that can be killed, paused and cut off; each start is a user of its own."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path
from typing import Final

from openclaw.testing import ControlPlane
from tests.integration.reliability.operator_process import OperatorProcess
from tests.integration.reliability.proxy import Proxy

__all__ = ["GROUP", "USERS", "Shard"]

GROUP: Final = "chaos"
USERS: Final = "chaos-shard:"
_TARGET: Final = Path(__file__).with_name("operator.py")


class Shard:
    """One shard, on its own way to the API server."""

    def __init__(self, plane: ControlPlane, name: str, namespace: str, folder: Path) -> None:
        self.name = name
        self._plane = plane
        self._namespace = namespace
        self._folder = folder
        self._starts = 0
        self.proxy = Proxy(plane.url)
        self.process: OperatorProcess | None = None

    async def start(self) -> None:
        """Start a process under the shard's name."""
        if self._starts == 0:
            await self.proxy.__aenter__()
        self._starts += 1
        user = f"{USERS}{self.name}.{self._starts}"
        own = await asyncio.to_thread(self._plane.kubeconfig_for, user, ["system:masters"])
        folder = self._folder / f"{self.name}.{self._starts}"
        folder.mkdir()
        kubeconfig = self.proxy.kubeconfig(own, folder)
        arguments = [str(_TARGET), "--namespace", self._namespace, "--shard", self.name]
        arguments += ["--shard-group", GROUP, "--lease-namespace", self._namespace]
        self.process = OperatorProcess(kubeconfig, folder / "log", arguments)
        self.process.start()

    @property
    def running(self) -> bool:
        """Whether its latest process is there."""
        return self.process is not None and self.process.running

    def send(self, number: signal.Signals) -> None:
        """Send a signal to its latest process."""
        assert self.process is not None
        self.process.signal(number)

    async def kill(self) -> None:
        """End it as a crash does."""
        if self.running:
            self.send(signal.SIGKILL)
            assert self.process is not None
            await self.process.wait()

    async def stop(self) -> None:
        """End it in order; without a StatefulSet that is for good."""
        assert self.process is not None
        assert await self.process.stop() == 0, self.process.tail()

    async def close(self) -> None:
        """End everything."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                self.send(signal.SIGCONT)
        await self.kill()
        await self.proxy.__aexit__(None, None, None)
