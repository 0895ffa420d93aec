"""Jaeger on loopback: what it is told at its start, and what it can be asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
import yaml

from openclaw.testing.binaries import find_binary
from openclaw.testing.observe.backends import LOOPBACK, QueryError, ask
from openclaw.testing.observe.traces import Trace, parse_traces

__all__ = ["Jaeger", "TraceStore"]

_MOST_TRACES: Final = 100_000


@dataclass(frozen=True, slots=True)
class TraceStore:
    """Any Jaeger, as far as it is asked.

    Attributes:
        url: where its API and page are.
    """

    url: str

    async def ready(self) -> bool:
        """Whether it answers questions."""
        try:
            await self.services()
        except (QueryError, aiohttp.ClientError, TimeoutError):
            return False
        return True

    async def services(self) -> list[str]:
        """Who has sent spans.

        Raises:
            QueryError: it does not answer as a Jaeger does.
        """
        found: list[str] = (await ask(f"{self.url}/api/services"))["data"] or []
        return found

    async def find(
        self,
        operation: str | None,
        attributes: Mapping[str, str] | None = None,
        *,
        service: str = "openclaw",
        most: int = 50,
    ) -> list[Trace]:
        """Traces with a span of this name that has these attributes, the earliest first.

        Args:
            operation: the name of a span; None for any.
            attributes: of that span, as text.
            service: whose span it is.
            most: how many, the latest ones.

        Raises:
            QueryError: it was asked for what cannot be.
        """
        # This search knows attributes, and the other one (/api/v3/traces) does not; but only that one tells
        # the attributes of links.
        parameters = {
            "service": service,
            **({} if operation is None else {"operation": operation}),
            "tags": json.dumps(dict(attributes or {})),
            "limit": str(most),
        }
        found = (await ask(f"{self.url}/api/traces", parameters))["data"]
        traces = [await self.trace(it["traceID"]) for it in found]
        return sorted(traces, key=lambda trace: trace.spans[0].start)

    async def trace(self, trace_id: str) -> Trace:
        """One trace, as much of it as has arrived.

        Raises:
            LookupError: there is none (yet).
        """
        try:
            answer = await ask(f"{self.url}/api/v3/traces/{trace_id}")
        except QueryError as error:
            raise LookupError(f"no trace {trace_id}: {error}") from error
        (found,) = parse_traces(answer["result"])
        return found


@dataclass(frozen=True, slots=True)
class Jaeger:
    """A Jaeger that keeps traces in memory.

    Attributes:
        http_port: takes OTLP over HTTP, the operator's.
        grpc_port: takes OTLP over gRPC, the API server's.
        query_port: of its API.
        other_ports: two more, for what it serves besides.
    """

    http_port: int
    grpc_port: int
    query_port: int
    other_ports: Sequence[int]

    @property
    def store(self) -> TraceStore:
        """To be asked."""
        return TraceStore(f"http://{LOOPBACK}:{self.query_port}")

    @property
    def otlp_url(self) -> str:
        """For OTEL_EXPORTER_OTLP_ENDPOINT."""
        return f"http://{LOOPBACK}:{self.http_port}"

    def command(self, folder: Path) -> list[str | Path]:
        """Its command line; writes its configuration into `folder`.

        Raises:
            BinaryNotFoundError: it is not on this machine; says how to get it.
        """
        binary = find_binary("jaeger")
        query_grpc, metrics = self.other_ports
        at = f"{LOOPBACK}:"
        config = {
            "service": {
                "extensions": ["jaeger_storage", "jaeger_query"],
                "pipelines": {
                    "traces": {
                        "receivers": ["otlp"],
                        "processors": ["batch"],
                        "exporters": ["jaeger_storage_exporter"],
                    }
                },
                "telemetry": {
                    "logs": {"level": "warn"},
                    "metrics": {
                        "readers": [
                            {"pull": {"exporter": {"prometheus": {"host": LOOPBACK, "port": metrics}}}}
                        ]
                    },
                },
            },
            "extensions": {
                "jaeger_query": {
                    "storage": {"traces": "memory"},
                    "http": {"endpoint": f"{at}{self.query_port}"},
                    "grpc": {"endpoint": f"{at}{query_grpc}"},
                },
                "jaeger_storage": {"backends": {"memory": {"memory": {"max_traces": _MOST_TRACES}}}},
            },
            "receivers": {
                "otlp": {
                    "protocols": {
                        "grpc": {"endpoint": f"{at}{self.grpc_port}"},
                        "http": {"endpoint": f"{at}{self.http_port}"},
                    }
                }
            },
            "processors": {"batch": {"timeout": "200ms"}},
            "exporters": {"jaeger_storage_exporter": {"trace_storage": "memory"}},
        }
        file = folder / "jaeger.yaml"
        file.write_text(yaml.safe_dump(config))
        return [binary, f"--config={file}"]
