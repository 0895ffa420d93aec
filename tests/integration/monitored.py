"""What deploy/monitoring asks Prometheus, and the metrics that it names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "monitoring"
EXTERNAL = ("external_api_", "resource_phase")
"""How the names of those metrics begin that an operator has with things outside of the cluster."""


def alerts() -> dict[str, dict[str, Any]]:
    """The alerts by name."""
    groups = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["spec"]["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def panels() -> dict[str, str]:
    """The expressions of the dashboards by where they are: `shards.json: Fences lost A`."""
    found = {}
    for file in sorted((FOLDER / "dashboards").glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel.get("targets", ()):
                found[f"{file.name}: {panel['title']} {target['refId']}"] = target["expr"]
    return found


def variables() -> list[str]:
    """The selectors from which the dashboards' variables take their values."""
    found = [
        variable
        for file in (FOLDER / "dashboards").glob("*.json")
        for variable in json.loads(file.read_text())["templating"]["list"]
        if variable["type"] == "query"
    ]
    return [it["query"]["query"].removeprefix("label_values(").rpartition(",")[0] for it in found]


def metrics_of(expression: str) -> set[str]:
    """The metrics that an expression of PromQL names: what is no function, label, number or keyword."""
    rest = re.sub(r"\{[^}]*\}|\[[^]]*\]", "", expression)
    rest = re.sub(r"\b(by|without)\s*\([^)]*\)", "", rest)
    return set(re.findall(r"\b[a-z_][a-z0-9_]*\b(?!\s*\()", rest))


def metrics_named() -> set[str]:
    """All metrics that alerts and dashboards name."""
    expressions = [alert["expr"] for alert in alerts().values()] + [*panels().values(), *variables()]
    return set().union(*map(metrics_of, expressions))


def names_in(exposition: str) -> set[str]:
    """The names of the samples in Prometheus' text."""
    return {re.split(r"[{ ]", line)[0] for line in exposition.splitlines() if line and line[0] != "#"}
