"""OTLP over HTTP in its JSON form: a batch of spans to bytes, and bytes to the collector.

JSON, because it is written right from the spans, by the core, at a fraction of what protobuf's Python objects
cost (docs/tracing.md has the figures). Collectors and Jaeger take both at the same address. Runs on the
exporter's thread.
"""

from __future__ import annotations

import gzip
import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from openclaw._core import encode_spans
from openclaw.telemetry.spanqueue import ExportError
from openclaw.telemetry.spans import Span

__all__ = ["Endpoint", "OtlpJson", "encode"]

_PASSING: Final = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
_ANSWER_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where traces go, as OpenTelemetry's variables say it.

    Attributes:
        url: of the traces, e.g. `http://localhost:4318/v1/traces`.
        headers: sent with each request; may hold credentials.
        timeout: seconds.
        compress: by gzip.
        certificate: file of the CA that the collector is checked against; the system's by default.
        client_certificate: file of our own certificate, and `client_key` its key.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 10.0
    compress: bool = False
    certificate: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Endpoint:
        """Read `OTEL_EXPORTER_OTLP_TRACES_*` and, for what it leaves out, `OTEL_EXPORTER_OTLP_*`.

        Raises:
            ValueError: names the variable that cannot be used.
        """

        def read(name: str) -> str:
            specific = environment.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}", "").strip()
            return specific or environment.get(f"OTEL_EXPORTER_OTLP_{name}", "").strip()

        url = environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "").strip()
        if not url:
            base = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip() or "http://localhost:4318"
            url = f"{base.rstrip('/')}/v1/traces"
        if urlsplit(url).scheme not in ("http", "https"):
            msg = f"OTEL_EXPORTER_OTLP_ENDPOINT {url!r}: expected a URL such as http://localhost:4318"
            raise ValueError(msg)
        try:
            timeout = float(read("TIMEOUT") or 10.0)
        except ValueError:
            timeout = 0.0
        if not timeout > 0:
            msg = f"OTEL_EXPORTER_OTLP_TIMEOUT {read('TIMEOUT')!r}: expected seconds above 0"
            raise ValueError(msg)
        headers = {}
        for pair in filter(None, read("HEADERS").split(",")):
            name, equals, value = pair.partition("=")
            if not equals or not name.strip():
                # Not the text itself: it may be a credential.
                raise ValueError("OTEL_EXPORTER_OTLP_HEADERS: expected NAME=VALUE[,NAME=VALUE…]")
            headers[name.strip()] = unquote(value.strip())
        return cls(
            url=url,
            headers=headers,
            timeout=timeout,
            compress=read("COMPRESSION").lower() == "gzip",
            certificate=read("CERTIFICATE") or None,
            client_certificate=read("CLIENT_CERTIFICATE") or None,
            client_key=read("CLIENT_KEY") or None,
        )


class OtlpJson:
    """Sends batches to one collector.

    Args:
        endpoint: where and how.
        resource: attributes of this process.

    Raises:
        ValueError: a certificate file cannot be read.
    """

    def __init__(self, endpoint: Endpoint, resource: Mapping[str, Any]) -> None:
        self._endpoint = endpoint
        self._resource = resource
        self._headers = {**endpoint.headers, "Content-Type": "application/json"}
        if endpoint.compress:
            self._headers["Content-Encoding"] = "gzip"
        self._opener = urllib.request.build_opener(_NoRedirects, *_tls(endpoint))

    def __call__(self, spans: Sequence[Span]) -> None:
        """Send one batch.

        Raises:
            ExportError: it was not taken.
        """
        body = encode(spans, self._resource)
        if self._endpoint.compress:
            body = gzip.compress(body, 1)
        request = urllib.request.Request(  # noqa: S310 - http and https only, see Endpoint
            self._endpoint.url, data=body, headers=self._headers, method="POST"
        )
        try:
            with self._opener.open(request, timeout=self._endpoint.timeout) as answer:
                answer.read(_ANSWER_BYTES)
        except urllib.error.HTTPError as error:
            error.close()
            msg = f"{self._endpoint.url} answered {error.code} {error.reason}"
            raise ExportError(msg, passing=error.code in _PASSING) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            timed_out = isinstance(reason, TimeoutError)
            text = f"no answer within {self._endpoint.timeout:g} s" if timed_out else str(reason)
            msg = f"{self._endpoint.url}: {text}"
            # One that hangs has had its time.
            raise ExportError(msg, passing=not timed_out) from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Credentials in headers go where they were meant to and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        """Follow none."""
        return


def _tls(endpoint: Endpoint) -> Iterable[urllib.request.HTTPSHandler]:
    if urlsplit(endpoint.url).scheme != "https":
        return ()
    try:
        context = ssl.create_default_context(cafile=endpoint.certificate)
        if endpoint.client_certificate is not None:
            context.load_cert_chain(endpoint.client_certificate, endpoint.client_key)
    except (OSError, ssl.SSLError) as error:
        msg = f"OTEL_EXPORTER_OTLP_CERTIFICATE or OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: {error}"
        raise ValueError(msg) from error
    return (urllib.request.HTTPSHandler(context=context),)


def encode(spans: Sequence[Span], resource: Mapping[str, Any]) -> bytes:
    """An ExportTraceServiceRequest of ended spans, as OTLP's JSON encoding has it."""
    return encode_spans(list(spans), dict(resource))
