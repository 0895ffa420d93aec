"""An API call as a span: `PATCH deployments`, `PATCH openclaws/status`; object names are attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from openclaw.kube.errors import ApiError
from openclaw.kube.transport import Response, Transport
from openclaw.telemetry.spans import Span, SpanKind, current_span

__all__ = ["traced_request"]

_OF_A_NAMESPACE = frozenset({"status", "finalize"})


async def traced_request(
    transport: Transport,
    method: str,
    path: str,
    *,
    query: Mapping[str, str] | None = None,
    body: bytes | None = None,
    content_type: str | None = None,
    timeout: float = 30.0,
) -> Response:
    """`transport.request`, as a span under the current one where there is one.

    Raises:
        KubeError: as the transport's.
    """
    with current_span().child(method, SpanKind.CLIENT) as span:
        if not isinstance(span, Span):
            return await transport.request(
                method, path, query=query, body=body, content_type=content_type, timeout=timeout
            )
        _describe(span, method, path)
        try:
            response = await transport.request(
                method, path, query=query, body=body, content_type=content_type, timeout=timeout
            )
        except ApiError as error:
            span.set("http.response.status_code", error.code)
            raise
        span.set("http.response.status_code", response.status)
        return response


class _Target(NamedTuple):
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


def _describe(span: Span, method: str, path: str) -> None:
    target = _target(path)
    short = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
    span.name = f"{method} {short}"
    span.set("http.request.method", method)
    for name, value in (
        ("resource", f"{target.resource}.{target.group}" if target.group else target.resource),
        ("subresource", target.subresource),
        ("namespace", target.namespace),
        ("name", target.name),
    ):
        if value:
            span.set(f"openclaw.api.{name}", value)


def _target(path: str) -> _Target:
    """What a path of the API is about."""
    root, *rest = path.strip("/").split("/")
    group = rest[0] if root == "apis" and rest else ""
    rest = rest[2:] if root == "apis" else rest[1:]
    if not rest:
        return _Target(resource=root)
    namespace = ""
    match rest:
        case ["namespaces", named, resource, *after] if resource not in _OF_A_NAMESPACE:
            namespace, rest = named, [resource, *after]
    resource, name, subresource, *_ = [*rest, "", ""]
    return _Target(group, resource, subresource, namespace, name)
