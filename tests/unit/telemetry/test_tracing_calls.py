"""Requests as spans, and the header that lets the API server continue the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from aiohttp import web

from openclaw.kube import ConfigSource, Transport
from openclaw.kube.calls import traced_request
from openclaw.kube.errors import NotFound
from openclaw.kube.transport import Response
from openclaw.telemetry.spans import Span, parse_traceparent
from openclaw.telemetry.tracing import RecordingTracer


class Gather:
    def __init__(self) -> None:
        self.spans: list[Span] = []

    def put(self, spans: Sequence[Span]) -> None:
        self.spans += spans

    def close(self, timeout: float) -> None:
        """Nothing waits."""


class Answers(Transport):
    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self._error = error

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 30.0,
    ) -> Response:
        if self._error is not None:
            raise self._error
        return Response(200, b"{}")


@pytest.fixture
def gather() -> Gather:
    return Gather()


@pytest.fixture
def tracer(gather: Gather) -> RecordingTracer:
    return RecordingTracer(gather, lambda _id, _name: True)


@pytest.mark.parametrize(
    ("path", "short", "target"),
    [
        ("/api/v1/namespaces/a/pods/b", "pods", {"resource": "pods", "namespace": "a", "name": "b"}),
        (
            "/apis/apps/v1/namespaces/a/deployments/b/status",
            "deployments/status",
            {"resource": "deployments.apps", "subresource": "status", "namespace": "a", "name": "b"},
        ),
        ("/apis/apps/v1/deployments", "deployments", {"resource": "deployments.apps"}),
        ("/api/v1/namespaces/a/pods", "pods", {"resource": "pods", "namespace": "a"}),
        ("/api/v1/namespaces/a", "namespaces", {"resource": "namespaces", "name": "a"}),
        ("/api/v1/namespaces", "namespaces", {"resource": "namespaces"}),
        (
            "/api/v1/namespaces/a/status",
            "namespaces/status",
            {"resource": "namespaces", "subresource": "status", "name": "a"},
        ),
        ("/api/v1/nodes/n", "nodes", {"resource": "nodes", "name": "n"}),
        ("/version", "version", {"resource": "version"}),
        ("/apis", "apis", {"resource": "apis"}),
    ],
)
async def test_a_request_is_named_by_what_it_is_about(
    tracer: RecordingTracer, gather: Gather, path: str, short: str, target: dict[str, str]
) -> None:
    with tracer.start("root"):
        await traced_request(Answers(), "GET", path)
    span = gather.spans[0]
    assert span.name == f"GET {short}"
    assert span.attributes == {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        **{f"openclaw.api.{name}": value for name, value in target.items()},
    }


async def test_a_failure_has_its_code(tracer: RecordingTracer, gather: Gather) -> None:
    transport = Answers(NotFound(404, "NotFound", "no such pod"))
    with tracer.start("root"), pytest.raises(NotFound):
        await traced_request(transport, "GET", "/api/v1/namespaces/a/pods/b")
    span = gather.spans[0]
    assert span.error == "NotFound"
    assert (span.attributes or {})["http.response.status_code"] == 404


async def test_the_header_names_the_span_of_the_request(
    tracer: RecordingTracer, gather: Gather, tmp_path: Path
) -> None:
    seen: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers.get("traceparent"))
        return web.Response(text="{}")

    app = web.Application()
    app.router.add_get("/api/v1/nodes", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        kubeconfig = tmp_path / "config"
        kubeconfig.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
            f"clusters: [{{name: a, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n"
            "users: [{name: a, user: {}}]\n"
            "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
        )
        async with Transport(ConfigSource(str(kubeconfig))) as transport:
            with tracer.start("root"):
                await traced_request(transport, "GET", "/api/v1/nodes")
            await traced_request(transport, "GET", "/api/v1/nodes")
    finally:
        await runner.cleanup()
    traced, untraced = seen
    assert traced is not None
    assert parse_traceparent(traced) == gather.spans[0].context
    assert untraced is None
