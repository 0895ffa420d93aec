"""The operator as a process of its own, as it runs in a cluster: `openclaw run` under its generated role."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

Record = dict[str, Any]


class OperatorProcess:
    """Runs `openclaw run` and keeps what it logs. Use it as a context manager."""

    def __init__(self, kubeconfig: Path, *arguments: str) -> None:
        self._command = [
            *(sys.executable, "-m", "openclaw.cli.main", "run"),
            *("--kubeconfig", str(kubeconfig), "--metrics-address", "none", "--log-format", "json"),
            *arguments,
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._news = threading.Condition()
        self._ended = False
        self.records: list[Record] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start, and wait until the caches are filled and the workers run."""
        begun = len(self.records)
        self._ended = False
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        self.wait_for(lambda records: any(it["message"] == "controller started" for it in records[begun:]))

    def stop(self) -> None:
        """SIGTERM; then wait for the end, by SIGKILL where it does not come."""
        process, self._process = self._process, None
        if process is None or self._reader is None:
            return
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._reader.join()
        if process.stdout is not None:
            process.stdout.close()

    def wait_for(self, condition: Callable[[list[Record]], Any], timeout: float = 60.0) -> None:
        """Wait until `condition` of all log records holds; fails with the end of the log."""
        deadline = time.monotonic() + timeout
        with self._news:
            while not condition(self.records):
                left = deadline - time.monotonic()
                assert left > 0, f"not logged in {timeout:g} s; the log ends:\n{self._tail()}"
                assert not self._ended, f"the operator has ended:\n{self._tail()}"
                self._news.wait(left)

    def of(self, namespace: str, name: str | None = None) -> list[Record]:
        """The log records about a namespace, or about one object in it."""
        return [
            it
            for it in list(self.records)
            if it.get("namespace") == namespace and (name is None or it.get("name") == name)
        ]

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                record = {"level": "raw", "message": line.decode(errors="replace").rstrip()}
            with self._news:
                self.records.append(record)
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _tail(self) -> str:
        return "\n".join(str(it) for it in self.records[-15:])
