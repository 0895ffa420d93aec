"""`openclaw run` and `python greeting.py`: what can't begin says why in a line."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.cli.main import main
from openclaw.runtime import Manager, Options, Reconciler
from tests.integration.framework.kinds import Widget, WidgetProbe

EXAMPLE = Path(__file__).parents[3] / "examples/greeting/greeting.py"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--grace", "-1"], "--grace: -1 is not at least 0"),
        (["--grace", "nan"], "--grace: nan is not at least 0"),
        (["--grace", "soon"], "--grace: invalid"),
        (["--concurrency", "0"], "--concurrency: 0 is not at least 1"),
        (["--field-manager", ""], "the field manager's name '' must be 1 to 128 printable"),
        (["--field-manager", "é" * 65], "must be 1 to 128 printable"),
        (["--field-manager", "a\tb"], r"'a\tb' must be 1 to 128 printable"),
        (["--metrics-address", "nowhere"], "expected HOST:PORT"),
    ],
)
def test_a_flag_that_cannot_be_meant(flags: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["run", *flags])
    except SystemExit as ended:  # argparse
        status = int(str(ended.code))
    assert status == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("field_manager", ["a", "my operator", "x" * 128, "é" * 64])
def test_field_managers_that_the_server_takes(field_manager: str) -> None:
    assert Options(field_manager=field_manager).field_manager == field_manager


def test_two_reconcilers_of_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Second(WidgetProbe, Reconciler[Widget]):
        """Of the same kind."""

    with pytest.raises(
        TypeError, match=r"WidgetProbe and Second are both called 'widgets'.*name = 'widgets-"
    ):
        Manager(WidgetProbe(), Second())

    (tmp_path / "two.py").write_text(
        EXAMPLE.read_text().replace(
            'if __name__ == "__main__"', "class Another(GreetingReconciler): ...\nif 0"
        )
    )
    assert main(["run", "two.py"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "GreetingReconciler and Another are both called 'greetings'" in line
    assert "FILE_OR_MODULE:CLASS" in line


def _run(*command: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: it for name, it in os.environ.items() if not name.startswith(("KUBE", "OTEL_"))}
    return subprocess.run(
        [sys.executable, *command],
        env={**environment, "HOME": str(home), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_file_run_by_python_says_in_a_line_that_there_is_no_configuration(tmp_path: Path) -> None:
    ended = _run(str(EXAMPLE), home=tmp_path)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("no Kubernetes configuration: set KUBECONFIG")


def test_the_command_says_so_under_its_own_name(tmp_path: Path) -> None:
    ended = _run("-m", "openclaw.cli.main", "run", home=tmp_path)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("openclaw run: no Kubernetes configuration")


@pytest.mark.parametrize("flag", ["--metrics-address", "--debug-address"])
def test_an_address_that_is_taken_is_told_without_an_error_number(tmp_path: Path, flag: str) -> None:
    (tmp_path / "config").write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        flags = (
            [flag, address] if flag == "--metrics-address" else ["--metrics-address", "none", flag, address]
        )
        ended = _run(
            "-m", "openclaw.cli.main", "run", *flags, home=tmp_path, KUBECONFIG=str(tmp_path / "config")
        )
    assert ended.returncode == 1
    line = ended.stderr.splitlines()[-1]
    assert line.startswith(f"openclaw run: cannot listen on {address}")
    assert "Errno" not in line
    assert line.count(address) == 1
    assert flag in line
