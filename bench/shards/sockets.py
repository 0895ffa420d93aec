"""Bytes that processes read from and wrote to the API server, as the kernel counts them for each connection.

`ss` (of iproute2) shows them. Nothing is put in between: a relay would change how events are gathered in
reads. They are bytes on the connection, with TLS. A connection that ended between two looks counts as of the
last look.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

_INODE: Final = re.compile(r"\bino:(\d+)")
_RECEIVED: Final = re.compile(r"\bbytes_received:(\d+)")
_SENT: Final = re.compile(r"\bbytes_acked:(\d+)")


class Bytes(NamedTuple):
    """Of a process."""

    read: int
    written: int


def available() -> bool:
    """Whether bytes can be counted here."""
    return shutil.which("ss") is not None


def parse(text: str) -> dict[int, Bytes]:
    """What `ss -tineH` says, by the inode of the socket."""
    found = {}
    inode = None
    for line in text.splitlines():
        if not line[:1].isspace():
            match = _INODE.search(line)
            inode = None if match is None else int(match[1])
        elif inode is not None:
            received, sent = _RECEIVED.search(line), _SENT.search(line)
            found[inode] = Bytes(int(received[1]) if received else 0, int(sent[1]) if sent else 0)
    return found


class Traffic:
    """Counts the bytes between processes and one port on loopback.

    Args:
        port: the API server's.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._seen: dict[int, dict[int, Bytes]] = {}

    def look(self, pids: list[int]) -> None:
        """Read the counts of these processes' connections now."""
        if not available():
            return
        command = ["ss", "-tineH", "dst", f"127.0.0.1:{self._port}"]
        counts = parse(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for pid in pids:
            known = self._seen.setdefault(pid, {})
            known.update({inode: counts[inode] for inode in _inodes(pid) if inode in counts})

    def of(self, pid: int) -> Bytes:
        """All bytes of a process as of the last look."""
        known = self._seen.get(pid, {}).values()
        return Bytes(sum(it.read for it in known), sum(it.written for it in known))


def _inodes(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                name = str(link.readlink())
                if name.startswith("socket:["):
                    found.append(int(name[8:-1]))
    return found
