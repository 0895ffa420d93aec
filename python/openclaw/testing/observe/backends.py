"""Prometheus on loopback: what it is told at its start, and what it can be asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import yaml

from openclaw.testing.binaries import find_binary

__all__ = ["Prometheus", "QueryError", "ask"]

LOOPBACK: Final = "127.0.0.1"
_TIMEOUT: Final = aiohttp.ClientTimeout(total=15)


class QueryError(Exception):
    """A question was refused; the message is what the server said."""


async def ask(url: str, parameters: Mapping[str, str] | None = None) -> Any:
    """The JSON that is answered.

    Raises:
        QueryError: another status than 200.
    """
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
        return f"http://{LOOPBACK}:{self.port}"

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
            f"--web.listen-address={LOOPBACK}:{self.port}",
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
        answer = await ask(f"{self.url}/api/v1/query", {"query": expression})
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    async def alerts(self) -> dict[str, str]:
        """The alerts that are pending or firing, and which of the two."""
        answer = await ask(f"{self.url}/api/v1/alerts")
        return {alert["labels"]["alertname"]: alert["state"] for alert in answer["data"]["alerts"]}

    async def rule_names(self) -> set[str]:
        """The names of the alerts that it evaluates."""
        answer = await ask(f"{self.url}/api/v1/rules")
        return {rule["name"] for group in answer["data"]["groups"] for rule in group["rules"]}
