from __future__ import annotations

import io
import threading
from pathlib import Path

import pytest

from openclaw.testing import binaries, builder
from openclaw.testing.errors import BuildError
from tests.unit.testing.waiting import wait_until

FAKE_GO = """#!/bin/sh
echo "$*" >> "{log}"
case "$1" in
env) echo {version} ;;
list) echo fmt; echo os; [ -f go.mod ] && [ -f go.sum ] ;;
build)
    while [ ! -e "{release}" ]; do /bin/sleep 0.05; done
    echo k8s.io/some/package >&2
    [ -n "{fail}" ] && {{ echo "# k8s.io/broken" >&2; echo "broken.go:1: syntax error" >&2; exit 1; }}
    while [ "$1" != -o ]; do shift; done
    echo built > "$2"; /bin/chmod +x "$2" ;;
esac
"""


class Toolchain:
    """A `go` that writes down how it is called, and builds only when it is released."""

    def __init__(self, folder: Path) -> None:
        self.calls = folder / "calls"
        self.release = folder / "release"
        self.go = folder / "bin" / "go"
        self.go.parent.mkdir()

    def install(self, *, version: str = "go1.26.8", fail: bool = False) -> None:
        script = FAKE_GO.format(
            log=self.calls, version=version, release=self.release, fail="1" if fail else ""
        )
        self.go.write_text(script)
        self.go.chmod(0o755)

    def builds(self) -> list[str]:
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [line for line in lines if line.startswith("build")]


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    it = Toolchain(tmp_path)
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", str(it.go.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return it


def test_what_is_missing_is_built_once_into_the_cache(toolchain: Toolchain) -> None:
    toolchain.install()
    toolchain.release.touch()
    output = io.StringIO()
    builder.build_missing(["etcd", "kube-scheduler"], output)
    builder.build_missing(["etcd", "kube-scheduler"], output)
    assert binaries.look_up("etcd") == binaries.cache_folder() / "etcd"
    etcd, scheduler = toolchain.builds()
    assert etcd.endswith("go.etcd.io/etcd/server/v3")
    assert f"-X k8s.io/component-base/version.gitVersion={binaries.KUBERNETES_VERSION}" in scheduler
    assert "gitMinor=37" in scheduler
    assert "[2/2] kube-scheduler: done" in output.getvalue()


def test_nothing_but_finished_binaries_is_left_in_the_cache(toolchain: Toolchain) -> None:
    toolchain.install()
    toolchain.release.touch()
    (binaries.cache_folder() / ".build-left-by-a-killed-one").mkdir(parents=True)
    builder.build_missing(["etcd"], io.StringIO())
    assert [path.name for path in binaries.cache_folder().iterdir()] == ["etcd"]


def test_a_second_build_waits_for_the_first_and_builds_nothing_again(toolchain: Toolchain) -> None:
    toolchain.install()
    outputs = io.StringIO(), io.StringIO()
    threads = [threading.Thread(target=builder.build_missing, args=(["etcd"], output)) for output in outputs]
    threads[0].start()
    wait_until(toolchain.builds)
    threads[1].start()
    wait_until(lambda: "another build is under way" in outputs[1].getvalue())
    assert binaries.look_up("etcd") is None
    toolchain.release.touch()
    for thread in threads:
        thread.join()
    assert binaries.look_up("etcd") is not None
    assert len(toolchain.builds()) == 1


def test_progress_is_told_while_it_builds(toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "_REPORT_EVERY", 0.0)
    toolchain.install()
    output = io.StringIO()
    thread = threading.Thread(target=builder.build_missing, args=(["etcd"], output))
    thread.start()
    wait_until(lambda: "[1/1] etcd: compiling, 0 of at most 2 packages" in output.getvalue())
    toolchain.release.touch()
    thread.join()
    assert "1 of at most 2 packages" in output.getvalue()


def test_a_failed_build_shows_what_the_compiler_said_and_leaves_no_binary(toolchain: Toolchain) -> None:
    toolchain.install(fail=True)
    toolchain.release.touch()
    with pytest.raises(BuildError, match=r"broken\.go:1: syntax error"):
        builder.build_missing(["etcd"], io.StringIO())
    assert binaries.look_up("etcd") is None


@pytest.mark.parametrize("version", ["go1.25.9", "go1.9", "nonsense"])
def test_an_old_go_is_refused_with_the_version_needed(toolchain: Toolchain, version: str) -> None:
    toolchain.install(version=version)
    with pytest.raises(BuildError, match=rf"(?s){version}.*1\.26 or newer"):
        builder.build_missing(["etcd"], io.StringIO())
    assert not toolchain.builds()


@pytest.mark.parametrize("version", ["go1.26", "go1.26rc1", "go1.30.1", "go2.0"])
def test_a_new_go_is_taken(toolchain: Toolchain, version: str) -> None:
    toolchain.install(version=version)
    toolchain.release.touch()
    builder.build_missing(["etcd"], io.StringIO())
    assert binaries.look_up("etcd") is not None


def test_without_go_the_message_says_what_to_do(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(builder, "_GO_FOLDERS", ())
    assert not toolchain.go.exists()
    assert binaries.main(["etcd"]) == 1
    said = capsys.readouterr().err
    assert "no `go` on PATH" in said
    assert "KUBEBUILDER_ASSETS" in said
