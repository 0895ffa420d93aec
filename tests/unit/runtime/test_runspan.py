"""What a run is said to be caused by."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from openclaw.api.builtin import ConfigMap
from openclaw.runtime.informer import Delta
from openclaw.runtime.queue import Key, Priority
from openclaw.runtime.runspan import Cause, RunSpans
from openclaw.telemetry.spans import Span, SpanKind, child_span
from openclaw.telemetry.tracing import RecordingTracer


class Forget:
    def put(self, spans: Sequence[Span]) -> None:
        """Whatever it is."""

    def close(self, timeout: float) -> None:
        """Nothing waits."""


TRACER = RecordingTracer(Forget(), lambda _id, _name: True)
SPANS = RunSpans(TRACER, "things", ConfigMap.resource, {})


def cause() -> Cause:
    delta = Delta(Key("a", "b"), "added", Priority.CHILD, "uid")
    found = SPANS.cause(delta, "ConfigMap added", ConfigMap.resource)
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "link"), [("list ConfigMap", ""), ("hand-over start", "hand-over")])
def test_a_list_and_a_hand_over_lead_to_the_runs_of_what_they_bring(name: str, link: str) -> None:
    with TRACER.start(name) as root:
        assert isinstance(root, Span)
        assert (cause().origin, cause().link) == (root.context, link)


def test_a_run_in_which_an_event_is_handed_out_has_not_caused_it() -> None:
    assert cause().origin is None
    with TRACER.start("reconcile things/ConfigMap", SpanKind.CONSUMER):
        assert cause().origin is None
        with child_span("PATCH configmaps", SpanKind.CLIENT):
            assert cause().origin is None
