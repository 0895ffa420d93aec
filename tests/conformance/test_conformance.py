"""Each case, told to a kube-apiserver and to the embedded server: the same answers, field by field.

`python -m tests.conformance.report` prints how many agree. What may differ is in `limits.py` and in
`docs/testing.md`; a difference elsewhere is a fault of the embedded server.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.conformance.collecting import Case, all_cases, differences, run
from tests.conformance.doors import FakeDoor, RealDoor
from tests.conformance.limits import LIMITS

_CASES = all_cases()
_DOCS = Path(__file__).parents[2] / "docs" / "testing.md"


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
async def test_the_embedded_server_answers_as_the_real_one(
    case: Case, real_door: RealDoor, fake_door: FakeDoor
) -> None:
    number = _CASES.index(case)
    real, fake = await asyncio.gather(run(case, real_door, number), run(case, fake_door, number))
    found = differences(real, fake)
    if case.name in LIMITS:
        assert found, f"{case.name} agrees by now: take it out of limits.py and the documentation"
        return
    assert not found, "\n".join([f"{case.name}: the embedded server differs", *found[:20]])


def test_every_limit_is_a_case_and_is_documented() -> None:
    names = {case.name for case in _CASES}
    text = " ".join(_DOCS.read_text().split())
    for name, words in LIMITS.items():
        assert name in names, f"limits.py names {name!r}, which is no case"
        assert words in text, f"docs/testing.md does not say {words!r}"


def test_the_documented_count_is_that_of_the_cases() -> None:
    """Every case agrees but the limits, or a test above fails."""
    agreeing = len(_CASES) - len(LIMITS)
    assert f"{agreeing} of {len(_CASES)} cases get the same answers" in _DOCS.read_text()


def test_a_difference_is_found() -> None:
    """The comparison itself can fail."""
    from tests.conformance.recording import Seen

    one = Seen("GET /x", 200, {"a": [1, {"b": "c"}], "d": None}, ())
    assert not differences([one], [one])
    for other in (
        Seen("GET /x", 201, one.body, ()),
        Seen("GET /x", 200, {"a": [1, {"b": "d"}], "d": None}, ()),
        Seen("GET /x", 200, {"a": [1, {"b": "c"}]}, ()),
        Seen("GET /x", 200, {"a": [1], "d": None}, ()),
        Seen("GET /x", 200, one.body, ("warning",)),
        Seen("GET /y", 200, one.body, ()),
    ):
        assert differences([one], [other])
    assert differences([one], [])
