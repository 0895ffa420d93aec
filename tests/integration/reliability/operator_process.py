"""`openclaw run` as a process of its own, and what it says of itself."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tests.integration.reliability.waiting import eventually

_ENDS_WITHIN = 30.0

OPENCLAW = "openclaw.controllers.openclaw:OpenClawReconciler"
"""The TARGET of the OpenClaw operator alone, for tests that count what it does."""


class OperatorProcess:
    """The operator, logging JSON to a file; killed at the end of the `async with` block at the latest.

    Args:
        kubeconfig: who it is.
        log: where its standard error goes.
        arguments: more arguments of `openclaw run`, a target among them.
        stderr: instead of the file `log`.
        environment: added to ours.
    """

    def __init__(
        self,
        kubeconfig: Path | str,
        log: Path,
        arguments: Sequence[str] = (),
        *,
        stderr: int | IO[bytes] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command = [sys.executable, "-m", "openclaw.cli.main", "run", "--kubeconfig", str(kubeconfig)]
        self._command += ["--metrics-address", "127.0.0.1:0", "--log-format", "json", *arguments]
        self._environment = {**os.environ, **(environment or {})}
        self._stderr = stderr
        self._process: subprocess.Popen[bytes] | None = None
        self._base: str | None = None
        self.log = log

    async def __aenter__(self) -> Self:
        if not self.running:
            self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.running:
            self.signal(signal.SIGKILL)
            await self.wait()

    def start(self) -> None:
        """Start it (again)."""
        assert not self.running, "it runs already"
        self._base = None
        with self.log.open("wb") as file:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file if self._stderr is None else self._stderr,
                env=self._environment,
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    async def wait(self, timeout: float = _ENDS_WITHIN) -> int:
        """Its exit status, once it has ended."""
        assert self._process is not None
        process = self._process
        await eventually(
            lambda: process.poll() is not None, f"the end of the operator; {self.tail()}", timeout=timeout
        )
        return process.returncode

    async def stop(self) -> int:
        """SIGTERM, and its exit status."""
        self.signal(signal.SIGTERM)
        return await self.wait()

    async def ready(self, timeout: float = 60.0) -> Self:
        """Wait until /readyz is ok."""

        async def check() -> bool:
            assert self.running, f"it ended: {self.tail()}"
            return (await self.readyz())[0] == 200

        await eventually(check, f"the operator's readiness; {self.log}", timeout=timeout)
        return self

    # What it says

    def records(self) -> list[dict[str, Any]]:
        """The records of its log. Every line must be one."""
        text = self.log.read_text(errors="replace")
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def said(self, message: str) -> list[dict[str, Any]]:
        """The records with this message."""
        return [record for record in self.records() if record["message"] == message]

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    async def get(self, path: str) -> tuple[int, str]:
        """GET of its own HTTP server: status and body; OSError while there is none."""
        if self._base is None:
            self._base = f"http://{self.said('serving metrics and health')[0]['address']}"
        return await asyncio.to_thread(_get, self._base + path)

    async def readyz(self) -> tuple[int, str]:
        return await self.get("/readyz")

    async def healthz(self) -> tuple[int, str]:
        return await self.get("/healthz")

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that have these labels."""
        _, body = await self.get("/metrics")
        total = 0.0
        for line in body.splitlines():
            sample, _, value = line.rpartition(" ")
            if sample.split("{")[0] == name and all(
                f'{key}="{text}"' in sample for key, text in labels.items()
            ):
                total += float(value)
        return total


def _get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error, suppress(OSError):
            return error.code, error.read().decode()
        return error.code, ""
