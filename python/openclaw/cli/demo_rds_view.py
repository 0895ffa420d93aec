"""What the table of the RDS demo shows of an RDSInstance."""

from __future__ import annotations

from typing import Any

from openclaw.cli.demo_screen import Cell, Row

__all__ = ["RDSView"]

_PHASES = {"Available": True, "Degraded": False, "Failed": False}


class RDSView:
    """As `kubectl get rdsinstances` shows them, with RDS' own status and what of the spec has been seen."""

    title = "kubectl get rdsinstances -A"
    headings: tuple[str, ...] = (
        "SPEC SEEN",
        "PHASE",
        "RDS STATUS",
        "CLASS",
        "STORAGE",
        "VERSION",
        "AVAILABLE",
        "SYNCED",
    )

    def row(self, item: dict[str, Any]) -> Row:
        """The row of an object as the API server has it."""
        status, metadata = item.get("status") or {}, item["metadata"]
        observed = status.get("observed") or {}
        conditions = {found["type"]: found["status"] for found in status.get("conditions") or ()}
        generation = f"{status.get('observedGeneration', 0)} of {metadata['generation']}"
        phase = status.get("phase", "-")
        storage = f"{observed['allocatedStorage']} GiB" if "allocatedStorage" in observed else "-"
        facts = (
            observed.get("status", "-"),
            observed.get("dbInstanceClass", "-"),
            storage,
            observed.get("engineVersion", "-"),
        )
        states = {name: conditions.get(name, "-") for name in ("Available", "Synced")}
        said = " ".join(f"{name.lower()} {value}" for name, value in states.items())
        return Row(
            name=f"{metadata['namespace']}/{metadata['name']}",
            cells=(
                Cell(generation),
                Cell(phase, good=_PHASES.get(phase)),
                *map(Cell, facts),
                *(Cell(value, good=value == "True") for value in states.values()),
            ),
            line=f"{phase}, in RDS {' '.join(facts)}, {said} (generation {generation})",
        )
