"""Draws the state machine of RDSInstance into docs/rdsinstance.md; with `--check` it only compares."""

import sys
from pathlib import Path

from openclaw.api.rdsinstance import Phase
from openclaw.controllers.rds.phases import TABLE, Poll, Row
from openclaw.controllers.rds.settings import RDSSettings
from openclaw.controllers.rds.statuses import STATUSES, Stage

LIVE = (Phase.CREATING, Phase.AVAILABLE, Phase.MODIFYING, Phase.DEGRADED)
LONG = 90.0
DOCUMENT = Path("docs/rdsinstance.md")
STAGES = {
    Stage.BUILDING: "Creating",
    Stage.SERVING: "Available",
    Stage.CHANGING: "Modifying",
    Stage.IMPAIRED: "Degraded",
    Stage.BROKEN: "Failed",
    Stage.GOING: "Deleting",
}


def table() -> str:
    """The rows: what was seen, what it leads to, the conditions, when to look again."""
    lines = [
        "| what was seen | in | leads to | reason | Synced | Degraded | look again |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in TABLE:
        named = {tuple(Phase): "any", LIVE: "a live one"}
        phases = named.get(row.after) or ", ".join(it.value for it in row.after)
        to = row.to.value if row.to is not None else "the same phase"
        synced = {True: "True", False: "False", None: "Unknown"}[row.synced]
        told = row.to is not None or row.degraded
        conditions = f"{synced} | {row.degraded}" if told else "as before | as before"
        lines.append(
            f"| {row.signal.value} | {phases} | {to} | `{row.reason}` | {conditions} | {row.poll.value} |"
        )
    return "\n".join(lines)


def diagram() -> str:
    """The phases and what leads from one to another, for mermaid."""
    edges: dict[tuple[str, str], list[str]] = {}
    for row in TABLE:
        for source in _sources(row):
            if row.to is not None and source is not row.to:
                reasons = edges.setdefault((source.value, row.to.value), [])
                if row.reason not in reasons:
                    reasons.append(row.reason)
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> Pending", "    state Live {"]
    lines += [_edge(*it) for it in edges.items() if _inside(*it[0])]
    lines += [
        "    }",
        *dict.fromkeys(_edge(_outer(it[0]), it[1]) for it in edges.items() if not _inside(*it[0])),
    ]
    lines += [
        "    Failed --> Pending: spec or Secret changed",
        "    Deleting --> [*]: seen to be gone",
        "```",
    ]
    return "\n".join(lines)


def _inside(source: str, to: str) -> bool:
    return source in LIVE and to in LIVE


def _outer(edge: tuple[str, str]) -> tuple[str, str]:
    """What leads out of a live phase leads out of all of them."""
    source, to = edge
    return ("Live" if source in LIVE else source), to


def _edge(edge: tuple[str, str], reasons: list[str]) -> str:
    return f"    {edge[0]} --> {edge[1]}: {', '.join(reasons)}"


def _sources(row: Row) -> tuple[Phase, ...]:
    return tuple(it for it in row.after if it is not Phase.FAILED or row.to is Phase.DELETING)


def intervals() -> str:
    """The interval and the deadline of each phase."""
    settings = RDSSettings()
    lines = ["| phase | interval | deadline |", "|---|---|---|"]
    for phase in Phase:
        poll, deadline = settings.polls.get(phase), settings.deadlines.get(phase)
        lines.append(f"| {phase.value} | {_span(poll)} | {_span(deadline)} |")
    lines.append(f"| {Poll.SLOW.value} | {_span(settings.slow)} | |")
    return "\n".join(lines)


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "none"
    return f"{seconds / 60:.0f} min" if seconds > LONG else f"{seconds:.0f} s"


def statuses() -> str:
    """RDS' words by the phase that they stand for."""
    lines = ["| phase | RDS' statuses; **bold** ones serve meanwhile |", "|---|---|"]
    for stage, phase in STAGES.items():
        words = (
            f"**{word}**" if rule.serving else word for word, rule in STATUSES.items() if rule.stage is stage
        )
        lines.append(f"| {phase} | {', '.join(words)} |")
    return "\n".join(lines)


def drawn(text: str) -> str:
    """The document with each part between its markers drawn anew."""
    for name, part in (
        ("table", table),
        ("diagram", diagram),
        ("intervals", intervals),
        ("statuses", statuses),
    ):
        begin, end = f"<!-- {name}: drawn by tools/phase_table.py -->\n", f"<!-- end of {name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise SystemExit(f"{DOCUMENT} has no part {name!r} between {begin.strip()!r} and {end!r}")
        text = f"{before}{begin}{part()}\n{end}{after}"
    return text


def main() -> int:
    """Write the document, or with `--check` say whether it is in step."""
    text = DOCUMENT.read_text()
    new = drawn(text)
    if "--check" in sys.argv[1:]:
        if new != text:
            print(f"{DOCUMENT} is not in step with the tables; run {' '.join(sys.argv[:1])}")
        return int(new != text)
    DOCUMENT.write_text(new)
    print(f"{'unchanged' if new == text else 'wrote'} {DOCUMENT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
