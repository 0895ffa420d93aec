"""A TCP proxy that misbehaves: cuts connections, goes silent, delivers byte by byte, cuts lines in two."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import yaml

_CHUNK = 64 * 1024


class Proxy:
    """Stands between a client and the API server; TLS goes through it, so it sees bytes only.

    Attributes:
        silent: while True nothing goes from the server to the client, connections stay open.
        piece: bytes handed on at once, 0 for as they come.
        refuse: while True new connections are closed at once.
        accepted: connections accepted so far.
    """

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        assert parts.hostname is not None
        assert parts.port is not None
        self._target = (parts.hostname, parts.port)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.piece = 0
        self.refuse = False
        self.accepted = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.silent = False
        # They end by themselves once they are cut; asyncio's streams complain of tasks that are cancelled.
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def silent(self) -> bool:
        return not self._flowing.is_set()

    @silent.setter
    def silent(self, value: bool) -> None:
        if value:
            self._flowing.clear()
        else:
            self._flowing.set()

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._writers) // 2

    def cut(self) -> None:
        """Reset every connection."""
        for writer in list(self._writers):
            writer.transport.abort()

    def kubeconfig(self, original: Path, folder: Path) -> Path:
        """A copy of a kubeconfig that leads through this proxy."""
        config = yaml.safe_load(original.read_text())
        for cluster in config["clusters"]:
            cluster["cluster"]["server"] = self.url
        file = folder / "proxied.kubeconfig"
        file.write_text(yaml.safe_dump(config))
        return file

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self.refuse:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with suppress(OSError):
            upstream_reader, upstream_writer = await asyncio.open_connection(*self._target)
            both = {writer, upstream_writer}
            self._writers |= both
            try:
                up = asyncio.ensure_future(self._pump(reader, upstream_writer, down=False))
                down = asyncio.ensure_future(self._pump(upstream_reader, writer, down=True))
                try:
                    await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for half in (up, down):
                        half.cancel()
                    await asyncio.gather(up, down, return_exceptions=True)
            finally:
                self._writers -= both
                for end in both:
                    end.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, down: bool) -> None:
        while data := await reader.read(_CHUNK):
            size = self.piece if down and self.piece else len(data)
            for start in range(0, len(data), size):
                if down:
                    await self._flowing.wait()
                writer.write(data[start : start + size])
                await writer.drain()
                if size < len(data):
                    await asyncio.sleep(0)
