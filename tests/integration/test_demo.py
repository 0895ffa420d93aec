"""`openclaw demo` tells its story to the end."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("control_plane", ["memory", "real"])
async def test_the_story_is_told_to_its_end(control_plane: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "openclaw.cli.main", "demo", "--control-plane", control_plane),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    said = out.decode()
    assert process.returncode == 0, said
    for line in (
        "3 shards  unowned 0  contested 0",
        "orders: Available",
        "storefront is rolled out",
        "the drift is put right",
        "exceeded quota: small",
        "storefront has recovered",
        "2 shards  unowned 0  contested 0",
        "its Deployments, Services, ReplicaSets and Pods are gone",
        "26 OpenClaws, 26 of them available and settled",
        "Done: everything converged",
    ):
        assert line in said, (line, said)
    assert re.search(r"openclaw-\d took over", said)


async def test_what_it_cannot_do_it_says_at_once(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "openclaw.cli.main", "demo"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await process.communicate()
    assert process.returncode == 2
    assert b"no samples in examples/openclaw" in err
