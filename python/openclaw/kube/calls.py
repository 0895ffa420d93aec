"""An API call as a span: `PATCH deployments`, `PATCH openclaws/status`; object names are attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from openclaw.kube.errors import ApiError
from openclaw.kube.transport import Response, Transport
from openclaw.telemetry.spans import Attribute, Span, SpanKind, current_span

__all__ = ["traced_request"]

_CLIENT: Final = SpanKind.CLIENT
_OF_A_NAMESPACE: Final = frozenset({"status", "finalize"})


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
    with current_span().child(method, _CLIENT) as span:
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


def _describe(span: Span, method: str, path: str) -> None:
    """Say what a path of the API is about."""
    parts = path.strip("/").split("/")
    group = parts[1] if parts[0] == "apis" and len(parts) > 1 else ""
    at = 3 if group else 2
    attributes: dict[str, Attribute] = {"http.request.method": method}
    span.attributes = attributes
    if len(parts) <= at:
        attributes["openclaw.api.resource"] = parts[0]
        span.name = f"{method} {parts[0]}"
        return
    namespace = ""
    if parts[at] == "namespaces" and len(parts) > at + 2 and parts[at + 2] not in _OF_A_NAMESPACE:
        namespace = parts[at + 1]
        at += 2
    resource = parts[at]
    attributes["openclaw.api.resource"] = f"{resource}.{group}" if group else resource
    span.name = f"{method} {resource}"
    if len(parts) > at + 2:
        attributes["openclaw.api.subresource"] = parts[at + 2]
        span.name = f"{method} {resource}/{parts[at + 2]}"
    if namespace:
        attributes["openclaw.api.namespace"] = namespace
    if len(parts) > at + 1:
        attributes["openclaw.api.name"] = parts[at + 1]
