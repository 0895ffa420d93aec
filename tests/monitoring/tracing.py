"""What is looked for in a Jaeger, and waited for: spans arrive in batches, parts of a trace not together."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import aiohttp

from openclaw.telemetry.spans import Span
from openclaw.telemetry.tracing import RecordingTracer
from openclaw.testing.observe import Trace, TraceSpan, TraceStore
from openclaw.testing.observe.load import NAMESPACE
from openclaw.testing.observe.traces import Link
from tests.integration.reliability.waiting import eventually

T = TypeVar("T")


class _Nowhere:
    def put(self, spans: list[Span]) -> None:
        """Forget them."""

    def close(self, timeout: float) -> None:
        """Nothing waits."""


NOWHERE: Final = RecordingTracer(_Nowhere(), lambda _id, _name: True)  # type: ignore[arg-type]
"""Samples all, so that requests carry the context of their spans, and sends them to nobody."""


async def first(what: str, check: Callable[[], Awaitable[list[T]]]) -> T:
    """The first of what `check` finds, once it finds anything."""
    found: list[T] = await eventually(check, what, timeout=120.0, interval=0.5)
    return found[0]


async def followed(jaeger: TraceStore, link: Link) -> Trace:
    """The trace that a link leads to, with its root."""

    async def there() -> list[Trace]:
        trace = await jaeger.trace(link.trace_id)
        return [trace] if trace.root.end else []

    return await first(f"what led to it by {link.cause!r}", there)


async def runs(jaeger: TraceStore, name: str, reason: str | None) -> list[Trace]:
    """The runs of an OpenClaw of the load's namespace, all or those that had this reason, earliest first."""
    wanted = {"openclaw.object.namespace": NAMESPACE, "openclaw.object.name": name}
    found = await jaeger.find("reconcile openclaws/OpenClaw", wanted)
    return [it for it in found if reason is None or reason in _reasons(it)]


def _reasons(run: Trace) -> tuple[Any, ...]:
    reasons = run.root.attributes["openclaw.reasons"]
    assert isinstance(reasons, tuple)
    return reasons


def sent(trace: Trace, name: str) -> list[TraceSpan]:
    """The operator's requests of this name in a run."""
    return [span for span in trace.under(trace.root) if span.name == name and span.service == "openclaw"]


def claw(name: str) -> dict[str, Any]:
    """An OpenClaw that the load leaves alone."""
    return {
        "apiVersion": "apps.openclaw.dev/v1alpha1",
        "kind": "OpenClaw",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "frontend": {"image": "registry.example.com/shop/web:1.4"},
            "worker": {"image": "registry.example.com/shop/worker:1.4", "queue": "redis.shop:6379"},
        },
    }


async def deployed(otlp_url: str) -> str:
    """A span of somebody who is about to change an object, sent to Jaeger; its context in W3C's form."""
    trace_id, span_id = secrets.token_hex(16), secrets.token_hex(8)
    now = time.time_ns()
    span = {"traceId": trace_id, "spanId": span_id, "name": "deploy", "kind": 1}
    span |= {"startTimeUnixNano": str(now), "endTimeUnixNano": str(now + 1_000_000)}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "pipeline"}}]}
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{otlp_url}/v1/traces", json=body) as answer,
    ):
        assert answer.status == 200, await answer.text()
    return f"00-{trace_id}-{span_id}-01"
