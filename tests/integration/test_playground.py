"""`python -m openclaw.testing`: a control plane by a command."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from pathlib import Path

import pytest

from openclaw.kube import Unreachable
from openclaw.testing import Client
from openclaw.testing.__main__ import main

CRDS = Path(__file__).parents[2] / "crds"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_says_how_to_use_it_and_ends_at_a_signal(number: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "openclaw.testing", "--crds", str(CRDS)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    said = ""
    while "Ctrl-C" not in said:
        line = await process.stdout.readline()
        assert line, said
        said += line.decode()
    found = re.search(r"export KUBECONFIG=(\S+)", said)
    assert found is not None, said
    async with Client(found[1]) as client:
        assert await client.list("OpenClaw") == []
        process.send_signal(number)
        out, err = await process.communicate()
        assert (process.returncode, err) == (0, b"")
        assert b"has ended" in out
        assert not Path(found[1]).exists()
        with pytest.raises(Unreachable):
            await client.list("OpenClaw")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nodes", "-1"], "-1 is not at least 0"),
        (["--crds", "no-such-file.yaml"], "no-such-file.yaml is neither a file nor a folder"),
        (["--crds", "."], ". is neither a file nor a folder with"),
    ],
)
def test_what_it_cannot_do_it_says_at_once(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_binary_that_is_missing_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("KUBEBUILDER_ASSETS", "PATH", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert main([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: etcd not found")
