"""Marks as annotations: what anybody may have written there, and writes that fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from openclaw.api.httpresource import HTTPResource
from openclaw.kube import Conflict, Forbidden, Unreachable
from openclaw.providers.marks import CREATED, CREATING, IDENTITY, MARKED_FOR, AnnotationMarks, Mark
from openclaw.runtime import Context
from tests.unit.kube.virtual_time import virtual_time

NOW = 1_795_000_000.5
STAMP = "2026-11-18T11:06:40Z"


class Annotating:
    """The part of a context that marks need."""

    def __init__(self, *failures: Exception, **annotations: str) -> None:
        self.obj = HTTPResource.model_construct(spec=cast("Any", None))
        self.obj.metadata.uid = "uid-1"
        self.obj.metadata.annotations = dict(annotations)
        self.failures = list(failures)
        self.insisted: list[bool] = []

    async def annotate(self, annotations: Mapping[str, str | None], *, insist: bool = False) -> None:
        self.insisted.append(insist)
        if self.failures:
            raise self.failures.pop(0)
        there: dict[str, Any] = {**self.obj.metadata.annotations, **annotations}
        self.obj.metadata.annotations = {key: it for key, it in there.items() if it is not None}

    @property
    def marks(self) -> AnnotationMarks:
        return AnnotationMarks(cast("Context", self), self.obj, clock=lambda: NOW)


@virtual_time
async def test_what_was_written_is_read() -> None:
    it = Annotating()
    assert it.marks.read() == Mark()
    await it.marks.pending("thing")
    assert it.marks.read() == Mark("thing", int(NOW), None)
    await it.marks.created("other")
    assert it.marks.read() == Mark("other", None, int(NOW))
    assert it.obj.metadata.annotations == {CREATED: STAMP, IDENTITY: "other", MARKED_FOR: "uid-1"}
    await it.marks.pending("")
    assert it.marks.read() == Mark("", int(NOW), None)
    await it.marks.not_created()
    assert it.marks.read() == Mark()


@virtual_time
async def test_each_pending_mark_is_a_write_also_within_a_second() -> None:
    it = Annotating()
    await it.marks.pending("thing")
    first = dict(it.obj.metadata.annotations)
    await it.marks.pending("thing")
    assert it.obj.metadata.annotations != first


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-45T00:00:00Z", "true"])
def test_a_time_that_is_none_is_long_ago(text: str) -> None:
    assert Annotating(**{CREATING: text}).marks.read() == Mark("", 0.0, None)


@pytest.mark.parametrize("text", [STAMP, "2026-11-18T11:06:40", "2026-11-18T12:06:40+01:00"])
def test_a_time_may_be_written_by_hand(text: str) -> None:
    assert Annotating(**{CREATED: text}).marks.read() == Mark("", None, int(NOW))


def test_another_objects_marks_say_only_where_the_thing_is() -> None:
    theirs = {CREATED: STAMP, CREATING: STAMP, IDENTITY: "thing", MARKED_FOR: "uid-2"}
    assert Annotating(**theirs).marks.read() == Mark("thing")
    assert Annotating(**{**theirs, MARKED_FOR: "uid-1"}).marks.read() == Mark("thing", int(NOW), int(NOW))


@virtual_time
async def test_that_it_was_made_is_insisted_on() -> None:
    it = Annotating(Unreachable("reset"), Unreachable("reset"))
    await it.marks.created("thing")
    assert it.insisted == [True] * 3
    assert it.marks.read().identity == "thing"
    for failures in ([Unreachable("reset")] * 9, [Forbidden(403, "Forbidden")]):
        it = Annotating(*failures)
        with pytest.raises(type(failures[0])):
            await it.marks.created("thing")
        assert len(it.insisted) == min(4, len(failures))


@virtual_time
async def test_that_it_is_about_to_be_made_is_not() -> None:
    it = Annotating(Conflict(409, "Conflict"))
    with pytest.raises(Conflict):
        await it.marks.pending("thing")
    assert it.insisted == [False]
