"""What the demo's table shows of an OpenClaw."""

from __future__ import annotations

from typing import Any

from openclaw.cli.demo_screen import Cell, Row

__all__ = ["ClawView"]

_GOOD = {"Available": "True", "Progressing": "False", "Degraded": "False"}


class ClawView:
    """As `kubectl get openclaws` shows them, with what of the spec the operator has seen."""

    title = "kubectl get openclaws -A"
    headings = ("SPEC SEEN", "FRONTEND", "WORKER", "ENDPOINT", *(name.upper() for name in _GOOD))

    def row(self, item: dict[str, Any]) -> Row:
        """The row of an object as the API server has it."""
        spec, status, metadata = item["spec"], item.get("status") or {}, item["metadata"]
        conditions = {found["type"]: found["status"] for found in status.get("conditions") or ()}
        generation = f"{status.get('observedGeneration', 0)} of {metadata['generation']}"
        frontend = f"{status.get('frontendReadyReplicas', 0)}/{spec['frontend']['replicas']}"
        worker = f"{status.get('workerReadyReplicas', 0)}/{spec['worker']['replicas']}"
        endpoint = status.get("externalEndpoint", "-")
        states = {name: conditions.get(name, "-") for name in _GOOD}
        said = " ".join(f"{name.lower()} {value}" for name, value in states.items())
        return Row(
            name=f"{metadata['namespace']}/{metadata['name']}",
            cells=(
                *map(Cell, (generation, frontend, worker, endpoint)),
                *(Cell(value, good=value == _GOOD[name]) for name, value in states.items()),
            ),
            line=f"frontend {frontend} worker {worker} endpoint {endpoint} {said} (generation {generation})",
        )
