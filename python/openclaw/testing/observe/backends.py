"""Prometheus and Jaeger on loopback: what they are told at their start, and what they can be asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import yaml

from openclaw.testing.binaries import find_binary

__all__ = ["Jaeger", "Prometheus", "QueryError"]

_LOOPBACK: Final = "127.0.0.1"
_TIMEOUT: Final = aiohttp.ClientTimeout(total=15)
_MOST_TRACES: Final = 100_000


class QueryError(Exception):
    """A question was refused; the message is what the server said."""


async def _ask(url: str, parameters: Mapping[str, str] | None = None) -> Any:
    async with (
        aiohttp.ClientSession(timeout=_TIMEOUT) as session,
        session.get(url, params=parameters) as answer,
    ):
        text = await answer.text()
        if answer.status != 200:  # noqa: PLR2004 - OK
            raise QueryError(f"{url}: {answer.status}: {text.strip()[:500]}")
        return json.loads(text)


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A Prometheus that scrapes the shards each second.

    Attributes:
        port: of its API.
        targets: from the name of a pod to the address of its `/metrics`. The series get the labels
            `namespace` and `pod`, as a ServiceMonitor gives them.
        rules: a PrometheusRule, whose groups it evaluates.
        namespace: the label's value.
    """

    port: int
    targets: Mapping[str, str]
    rules: Path
    namespace: str = "openclaw-system"

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{_LOOPBACK}:{self.port}"

    def command(self, folder: Path) -> list[str | Path]:
        """Its command line; writes its files into `folder`.

        Raises:
            BinaryNotFoundError: it is not on this machine; says how to get it.
        """
        binary = find_binary("prometheus")
        groups = folder / "rules.yaml"
        groups.write_text(yaml.safe_dump(yaml.safe_load(self.rules.read_text())["spec"]))
        static = [
            {"targets": [address], "labels": {"namespace": self.namespace, "pod": pod}}
            for pod, address in self.targets.items()
        ]
        config = folder / "prometheus.yaml"
        config.write_text(
            yaml.safe_dump(
                {
                    "global": {"scrape_interval": "1s", "evaluation_interval": "5s"},
                    "rule_files": [str(groups)],
                    "scrape_configs": [{"job_name": "openclaw", "static_configs": static}],
                }
            )
        )
        return [
            binary,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'prometheus-data'}",
            f"--web.listen-address={_LOOPBACK}:{self.port}",
            "--log.level=warn",
        ]

    async def ready(self) -> bool:
        """Whether it answers questions."""
        try:
            await self.query("vector(1)")
        except (QueryError, aiohttp.ClientError, TimeoutError):
            return False
        return True

    async def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an instant query, each with `metric` and `value`.

        Raises:
            QueryError: the expression is wrong.
        """
        answer = await _ask(f"{self.url}/api/v1/query", {"query": expression})
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    async def alerts(self) -> dict[str, str]:
        """The alerts that are pending or firing, and which of the two."""
        answer = await _ask(f"{self.url}/api/v1/alerts")
        return {alert["labels"]["alertname"]: alert["state"] for alert in answer["data"]["alerts"]}

    async def rule_names(self) -> set[str]:
        """The names of the alerts that it evaluates."""
        answer = await _ask(f"{self.url}/api/v1/rules")
        return {rule["name"] for group in answer["data"]["groups"] for rule in group["rules"]}


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
    def url(self) -> str:
        """Where its API and page are."""
        return f"http://{_LOOPBACK}:{self.query_port}"

    @property
    def otlp_url(self) -> str:
        """For OTEL_EXPORTER_OTLP_ENDPOINT."""
        return f"http://{_LOOPBACK}:{self.http_port}"

    def command(self, folder: Path) -> list[str | Path]:
        """Its command line; writes its configuration into `folder`.

        Raises:
            BinaryNotFoundError: it is not on this machine; says how to get it.
        """
        binary = find_binary("jaeger")
        query_grpc, metrics = self.other_ports
        at = f"{_LOOPBACK}:"
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
                            {"pull": {"exporter": {"prometheus": {"host": _LOOPBACK, "port": metrics}}}}
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

    async def ready(self) -> bool:
        """Whether it answers questions."""
        try:
            await self.services()
        except (QueryError, aiohttp.ClientError, TimeoutError):
            return False
        return True

    async def services(self) -> list[str]:
        """Who has sent spans."""
        return (await _ask(f"{self.url}/api/services"))["data"] or []

    async def traces(self, service: str, operation: str, **tags: str) -> list[dict[str, Any]]:
        """Traces with a span of this service and name that has these tags, latest first.

        A dot in the name of a tag is written as two underscores: `openclaw__object__name="shop"`.
        """
        wanted = {name.replace("__", "."): value for name, value in tags.items()}
        parameters = {"service": service, "operation": operation, "tags": json.dumps(wanted), "limit": "50"}
        found: list[dict[str, Any]] = (await _ask(f"{self.url}/api/traces", parameters))["data"]
        return found

    async def trace(self, trace_id: str) -> dict[str, Any]:
        """One trace.

        Raises:
            QueryError: there is none.
        """
        found: dict[str, Any] = (await _ask(f"{self.url}/api/traces/{trace_id}"))["data"][0]
        return found
