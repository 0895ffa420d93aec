from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from openclaw.testing import places
from openclaw.testing.errors import ControlPlaneError


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    (tmp_path / "disk").mkdir()
    monkeypatch.setattr(places, "_MEMORY_FOLDER", folder)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "disk"))
    return folder


@pytest.mark.parametrize(("free", "chosen"), [(places._MEMORY_WANTED, "memory"), (64 * 1024**2, "disk")])
def test_data_is_in_memory_where_there_is_room(
    memory: Path, monkeypatch: pytest.MonkeyPatch, free: int, chosen: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    folder = places.new_folder()
    assert folder.parent.parent.name == chosen
    assert folder.parent in places.base_folders()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_base_folder_that_is_a_link_is_refused(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    _, on_disk = places.base_folders()
    elsewhere = memory / "elsewhere"
    elsewhere.mkdir()
    on_disk.symlink_to(elsewhere)
    with pytest.raises(ControlPlaneError, match=f"openclaw-{os.getuid()}"):
        places.base_folder()


def test_ports_are_different_and_nobody_listens_on_them() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ports = places.free_ports(5)
        assert len(set(ports)) == 5
        assert server.getsockname()[1] not in ports


def test_a_port_that_is_in_use_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        used = server.getsockname()[1]
        monkeypatch.setattr(places, "_PORTS", range(used, used + 1))
        with pytest.raises(ControlPlaneError, match="free ports"):
            places.free_ports(1)
