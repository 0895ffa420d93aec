from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.testing import binaries
from openclaw.testing.errors import BinaryNotFoundError


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The three folders that are looked in, all empty."""
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return {
        "assets": tmp_path / "assets",
        "path": tmp_path / "path",
        "cache": tmp_path / "cache" / "openclaw" / "control-plane" / binaries.KUBERNETES_VERSION,
    }


def test_assets_come_before_path_and_path_before_the_cache(places: dict[str, Path]) -> None:
    for place in ("cache", "path", "assets"):
        expected = executable(places[place] / "etcd")
        assert binaries.look_up("etcd") == expected


def test_each_binary_is_looked_for_by_itself(places: dict[str, Path]) -> None:
    etcd = executable(places["assets"] / "etcd")
    scheduler = executable(places["cache"] / "kube-scheduler")
    assert binaries.look_up("etcd") == etcd
    assert binaries.look_up("kube-scheduler") == scheduler
    asked = [name for name, component in binaries.COMPONENTS.items() if component.of == "control-plane"]
    assert binaries.missing(asked) == ["kube-apiserver", "kube-controller-manager", "kubectl"]


def test_what_observes_is_kept_by_its_own_version_and_built_when_it_is_asked_for(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    cache = places["cache"].parents[1]
    jaeger = executable(cache / "jaeger" / binaries.JAEGER_VERSION / "jaeger")
    assert binaries.look_up("jaeger") == jaeger
    with pytest.raises(BinaryNotFoundError, match=r"binaries promtool` \(or `make prometheus`\)"):
        binaries.find_binary("promtool")
    for name, component in binaries.COMPONENTS.items():
        if component.of == "control-plane":
            executable(places["cache"] / name)
    assert binaries.main([]) == 0
    assert "jaeger" not in capsys.readouterr().out


def test_a_file_that_can_not_be_executed_is_none(places: dict[str, Path]) -> None:
    executable(places["assets"] / "etcd").chmod(0o644)
    assert binaries.look_up("etcd") is None


def test_without_assets_the_others_are_looked_in(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS")
    found = executable(places["cache"] / "etcd")
    assert binaries.find_binary("etcd") == found


def test_the_cache_is_in_the_home_folder_when_nothing_else_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = tmp_path / ".cache" / "openclaw" / "control-plane" / binaries.KUBERNETES_VERSION
    assert binaries.cache_folder() == expected


def test_a_missing_binary_says_where_it_was_looked_for_and_how_to_get_it(places: dict[str, Path]) -> None:
    with pytest.raises(BinaryNotFoundError) as caught:
        binaries.find_binary("kube-apiserver")
    for part in ("kube-apiserver", str(places["assets"]), str(places["cache"]), "make control-plane"):
        assert part in str(caught.value)


def test_the_command_prints_what_is_found_and_builds_nothing(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    etcd = executable(places["path"] / "etcd")
    assert binaries.main(["etcd"]) == 0
    assert capsys.readouterr().out.split() == ["etcd", str(etcd)]


def test_the_command_refuses_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        binaries.main(["kube-everything"])
    assert "kube-everything" in capsys.readouterr().err
