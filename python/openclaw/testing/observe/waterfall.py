"""A trace in lines: what was under what, when it began, how long it took, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from openclaw.testing.observe.traces import Trace, TraceSpan

__all__ = ["Row", "as_text", "describe", "duration", "rows"]

_OPERATOR: Final = "openclaw"
_WIDTH: Final = 32  # characters of the bars
_PATHS: Final = 2
_ERROR: Final = 120  # characters


@dataclass(frozen=True, slots=True)
class Row:
    """One span.

    Attributes:
        tree: the lines that lead to it from above, as text.
        depth: how many spans it is under.
        begins: seconds after the trace began.
    """

    span: TraceSpan
    tree: str
    depth: int
    begins: float


def rows(trace: Trace, *, steps: bool = False) -> list[Row]:
    """The spans in the order of a tree, from the root.

    Args:
        trace: of a run, or of anything else.
        steps: also what the API server does between taking a request and asking etcd.

    Raises:
        LookupError: its root has not arrived (yet).
    """
    root = trace.root
    return [
        Row(span, tree, depth, (span.start - root.start) / 1e9)
        for span, tree, depth in _below(trace, root, "", 0, steps=steps)
    ]


def _below(
    trace: Trace, span: TraceSpan, indent: str, depth: int, *, steps: bool
) -> Iterator[tuple[TraceSpan, str, int]]:
    if depth == 0:
        yield span, "", 0
    children = list(_shown(trace, span, steps=steps))
    for number, child in enumerate(children, start=1):
        last = number == len(children)
        yield child, indent + ("└─ " if last else "├─ "), depth + 1
        yield from list(_below(trace, child, indent + ("   " if last else "│  "), depth + 1, steps=steps))


def _shown(trace: Trace, span: TraceSpan, *, steps: bool) -> Iterator[TraceSpan]:
    for child in trace.children(span):
        if steps or not child.step or child.service == _OPERATOR:
            yield child
        else:
            yield from _shown(trace, child, steps=steps)


def describe(span: TraceSpan) -> str:
    """What there is to say of a span besides its name and its times."""
    about = span.attributes
    told = [_name(about)]
    if span.name == "diff":
        paths = [str(given["openclaw.path"]) for name, given in span.events if name == "changed"]
        more = f"and {len(paths) - _PATHS} more" if len(paths) > _PATHS else ""
        told += [*paths[:_PATHS], more] if paths else ["no drift"]
    if span.service == _OPERATOR:
        told.append(str(about.get("http.response.status_code", "")))
    told += [str(about.get(f"openclaw.{name}", "")) for name in ("result", "external.result", "event.reason")]
    wait = about.get("openclaw.external.throttle_wait")
    told.append(f"wait {duration(float(wait))}" if isinstance(wait, (int, float)) else "")
    breaker = about.get("openclaw.external.breaker", "closed")
    told.append("" if breaker == "closed" else f"breaker {breaker}")
    told.append(f"on {about['openclaw.shard']}" if "openclaw.shard" in about else "")
    told.append(f"slots {about['openclaw.slots']}" if "openclaw.slots" in about else "")
    if span.error is not None and span.service == _OPERATOR:
        told.append(f"failed: {span.error.partition(chr(10))[0][:_ERROR]}")
    return "  ".join(filter(None, told))


def _name(about: Mapping[str, object]) -> str:
    if "openclaw.object.name" in about:
        return f"{about['openclaw.object.namespace']}/{about['openclaw.object.name']}"
    if "openclaw.child.name" in about:
        return f"{about['openclaw.child.kind']} {about['openclaw.child.name']}"
    return str(about.get("openclaw.api.name", ""))


def duration(seconds: float) -> str:
    """A time for people: `840 µs`, `12.3 ms`, `1.52 s`."""
    if seconds < 1e-3:  # noqa: PLR2004 - a millisecond
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds:.2f} s"


def as_text(trace: Trace, *, steps: bool = False) -> str:
    """The trace as a tree with bars.

    Raises:
        LookupError: its root has not arrived (yet).
    """
    found = rows(trace, steps=steps)
    whole = max(row.begins + row.span.seconds for row in found) or 1e-9
    names = [f"{row.tree}{row.span.name}" for row in found]
    width = max(map(len, names))
    lines = []
    for row, name in zip(found, names, strict=True):
        first = min(int(row.begins / whole * _WIDTH), _WIDTH - 1)
        length = max(1, min(round(row.span.seconds / whole * _WIDTH), _WIDTH - first))
        bar = f"{' ' * first}{'█' * length}".ljust(_WIDTH)
        took = duration(row.span.seconds)
        lines.append(f"{name:<{width}}  {took:>8} ▕{bar}▏ {describe(row.span)}".rstrip())
    return "\n".join(lines)
