"""Where a control plane lives: its folder, and its ports on loopback."""

from __future__ import annotations

import os
import random
import shutil
import socket
import stat
import tempfile
from pathlib import Path
from typing import Final

from openclaw.testing.errors import ControlPlaneError

_MEMORY_FOLDER: Final = Path("/dev/shm")  # noqa: S108  (a private folder is made below it)
_MEMORY_WANTED: Final = 2 * 1024**3  # bytes; etcd's logs, its database and an audit log
_PORTS: Final = range(20000, 30000)


def base_folders() -> list[Path]:
    """Every folder that `base_folder` may choose, or chose earlier; they need not exist."""
    return [parent / f"openclaw-{os.getuid()}" for parent in (_MEMORY_FOLDER, Path(tempfile.gettempdir()))]


def base_folder() -> Path:
    """The folder that the folders of all control planes of this user are in; made when absent.

    It is in memory where there is room: etcd writes much, and none of it is to last.

    Raises ControlPlaneError when the folder belongs to somebody else.
    """
    memory = _MEMORY_FOLDER.is_dir() and os.access(_MEMORY_FOLDER, os.W_OK)
    roomy = memory and shutil.disk_usage(_MEMORY_FOLDER).free >= _MEMORY_WANTED
    in_memory, on_disk = base_folders()
    base = in_memory if roomy else on_disk
    base.mkdir(mode=0o700, exist_ok=True)
    status = base.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise ControlPlaneError(f"{base} is not a folder of this user; remove it")
    return base


def new_folder() -> Path:
    """A new, empty, private folder under the base folder."""
    return Path(tempfile.mkdtemp(prefix="control-plane-", dir=base_folder()))


def free_ports(count: int) -> list[int]:
    """Different ports that nobody listens on now; somebody else may take one before it is used.

    They are below the range that the kernel takes the local ports of connections from, so that a port
    is still free when a server that was killed comes back to it.
    """
    found: list[int] = []
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe:
            # As servers do: connections of an earlier server that linger do not matter.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise ControlPlaneError(
        f"fewer than {count} free ports on 127.0.0.1 from {_PORTS.start} to {_PORTS.stop}"
    )
