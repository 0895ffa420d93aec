"""`openclaw run --shards N`: the shards of one machine, each a process, kept alive until a signal."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Final

from openclaw.kube.backoff import Backoff
from openclaw.telemetry.logs import Log

__all__ = ["run_shards", "shard_names"]

log = Log(__name__)

_LIVED_SECONDS: Final = 30.0
_START_SECONDS: Final = 5.0
_WRONG_USAGE: Final = 2


class _Shard:
    """One process, begun again when it dies."""

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        self.name = name
        self._command = [sys.executable, "-m", "openclaw.cli.main", "run", *arguments]
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Until it ends by itself, after a signal or for wrong usage; its exit status."""
        loop = asyncio.get_running_loop()
        backoff = Backoff(0.5, 30.0)
        for attempt in itertools.count():
            began = loop.time()
            # A session of its own: a Ctrl-C reaches it through us, once.
            process = await asyncio.create_subprocess_exec(*self._command, start_new_session=True)
            self._process = process
            status = await process.wait()
            if self._stopping.is_set() or status in (0, _WRONG_USAGE):
                return status
            if attempt == 0 and status > 0 and loop.time() - began < _START_SECONDS:
                return status  # it has said why it cannot begin, such as for lack of a kubeconfig
            if loop.time() - began > _LIVED_SECONDS:
                backoff.reset()
            delay = backoff.next()
            log.warning(
                "a shard ended, beginning it again", shard=self.name, status=status, delay_seconds=delay
            )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay)
            if self._stopping.is_set():
                return status
        raise AssertionError("endless")

    def signal(self, number: signal.Signals) -> None:
        """Pass a signal on; after it the process is not begun again."""
        self._stopping.set()
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)


async def _run(shards: Sequence[_Shard]) -> int:
    loop = asyncio.get_running_loop()

    def pass_on(number: signal.Signals) -> None:
        for shard in shards:
            shard.signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, pass_on, number)
    running = [asyncio.ensure_future(shard.run()) for shard in shards]
    try:
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        if any(task.done() and task.result() for task in running):
            # One that cannot work at all: neither can the others.
            pass_on(signal.SIGTERM)
        statuses = await asyncio.gather(*running)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
    return next((status for status in statuses if status), 0)


def run_shards(count: int, arguments_of: Callable[[int, str], Sequence[str]]) -> int:
    """Run `count` shards as processes until a signal; the first exit status that is not 0, or 0.

    Args:
        count: how many.
        arguments_of: from a shard's number and name to its arguments of `openclaw run`.
    """
    names = shard_names(count)
    return asyncio.run(_run([_Shard(name, arguments_of(i, name)) for i, name in enumerate(names)]))


def shard_names(count: int) -> list[str]:
    """The names of this machine's shards."""
    # The machine's name in theirs: shards of two machines are no incarnations of each other.
    host = (
        re.sub(r"[^a-z0-9]+", "-", socket.gethostname().partition(".")[0].lower())[:50].strip("-") or "local"
    )
    return [f"{host}-{number}" for number in range(count)]
