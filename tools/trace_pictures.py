"""Draws traces of a running operator into docs/pictures: `make trace-pictures`.

The stack of `make observe` is started; of what its Jaeger has, one trace a picture is waited for and drawn.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from html import escape
from pathlib import Path
from typing import Final

from openclaw.testing.observe import Observed, Trace, TraceSpan, TraceStore
from openclaw.testing.observe.load import NAMESPACE
from openclaw.testing.observe.show import causes
from openclaw.testing.observe.waterfall import Row, describe, duration, rows

FOLDER: Final = Path("docs/pictures")
WAIT: Final = 180.0  # seconds

ROW, MARGIN, LABELS, BARS, NOTES = 22, 16, 430, 420, 400  # pixels
COLOURS: Final = {"openclaw": "#2f6db5", "apiserver": "#8a99a8"}
OUTSIDE: Final = "#c9792b"
FAILED: Final = "#b8352f"
NAMES: Final = {"openclaw": "the operator", "apiserver": "kube-apiserver, and what it asks etcd"}
FONT: Final = "ui-monospace, Menlo, Consolas, monospace"
TICKS: Final = 4


def colour(span: TraceSpan) -> str:
    """The colour of a span's bar."""
    if span.error is not None and span.service == "openclaw":
        return FAILED
    if "openclaw.external.provider" in span.attributes:
        return OUTSIDE
    return COLOURS.get(span.service, "#666666")


def text(x: float, y: float, content: str, **attributes: str) -> str:
    """One line of text."""
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:g}" y="{y:g}"{given}>{escape(content)}</text>'


def bar(x: float, y: float, width: float, height: float, fill: str) -> str:
    """A rectangle."""
    return f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}" fill="{fill}"/>'


def clipped(content: str, most: int) -> str:
    """No longer than so many characters."""
    return content if len(content) <= most else f"{content[: most - 1]}…"


def drawn(title: str, trace: Trace, led_by: Sequence[str]) -> str:
    """The trace as SVG."""
    found = rows(trace)
    whole = max(row.begins + row.span.seconds for row in found)
    top = MARGIN + ROW * (2 + len(led_by))
    height = top + ROW * (len(found) + 3)
    width = MARGIN * 2 + LABELS + BARS + NOTES
    left = MARGIN + LABELS
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" font-size="12" fill="#1c2733">',
        bar(0, 0, width, height, "#ffffff"),
        text(MARGIN, MARGIN + 12, title, font_size="15", font_weight="bold"),
    ]
    for number, line in enumerate(led_by, start=1):
        parts.append(text(MARGIN, MARGIN + 12 + ROW * number, clipped(line, 170), fill="#55626f"))
    bottom = top + ROW * len(found)
    for tick in range(TICKS + 1):
        x = left + BARS * tick / TICKS
        parts.append(f'<line x1="{x:g}" y1="{top - 4}" x2="{x:g}" y2="{bottom}" stroke="#dde3e8"/>')
        parts.append(
            text(
                x,
                top - 8,
                duration(whole * tick / TICKS) if tick else "0",
                text_anchor="middle",
                fill="#55626f",
            )
        )
    for number, row in enumerate(found):
        parts += line_of(row, top + ROW * number, left, whole)
    parts += legend(bottom + ROW, left)
    return "\n".join([*parts, "</svg>", ""])


def line_of(row: Row, y: float, left: float, whole: float) -> list[str]:
    """The label, the bar and what is said of one span."""
    begins, length = row.begins / whole * BARS, max(2.0, row.span.seconds / whole * BARS)
    # Of a path what tells it from others: where it ends.
    name = re.sub(r" /\S*\{:namespace\}(?=/)", " …", row.span.name)
    label = clipped(name, int((LABELS - row.depth * 14) / 7.3) - 10)
    took = duration(row.span.seconds)
    return [
        text(MARGIN + row.depth * 14, y + 15, label),
        text(left - 8, y + 15, took, text_anchor="end", fill="#55626f"),
        bar(left + begins, y + 4, length, ROW - 8, colour(row.span)),
        text(left + BARS + 10, y + 15, clipped(describe(row.span), 54), fill="#3b4854"),
    ]


def legend(y: float, left: float) -> list[str]:
    """Whose bars are which."""
    parts, x = [], left
    for name, fill in [(NAMES[it], COLOURS[it]) for it in COLOURS] + [
        ("outside", OUTSIDE),
        ("failed", FAILED),
    ]:
        parts += [
            bar(x, y, 12, 12, fill),
            text(x + 18, y + 11, name),
        ]
        x += 40 + 7.3 * len(name)
    return parts


async def waited_for(check: Callable[[], Awaitable[Trace | None]]) -> Trace:
    """The trace, once it is there.

    Raises:
        TimeoutError: it did not come.
    """
    async with asyncio.timeout(WAIT):
        while True:
            try:
                if (trace := await check()) is not None:
                    return trace
            except LookupError:
                pass  # its root is still to come
            await asyncio.sleep(0.5)


def complete(trace: Trace) -> bool:
    """Whether the API server's part of every request has arrived."""
    asked = [
        span
        for span in trace.spans
        if span.name.split(" ")[0] in ("PATCH", "POST", "GET") and span.call and span.service == "openclaw"
    ]
    return bool(asked) and all(trace.children(span) for span in asked)


def of_change(jaeger: TraceStore) -> Callable[[], Awaitable[Trace | None]]:
    """A run of an OpenClaw in which a Deployment differed."""

    async def check() -> Trace | None:
        found = await jaeger.find(
            "reconcile openclaws/OpenClaw", {"openclaw.reasons": '["OpenClaw updated"]'}
        )
        good = [it for it in found if it.named("PATCH deployments") and complete(it)]
        return good[-1] if good else None

    return check


def of_child(jaeger: TraceStore) -> Callable[[], Awaitable[Trace | None]]:
    """A run for a Deployment's event, joined to the run that wrote the Deployment."""

    async def check() -> Trace | None:
        found = await jaeger.find(
            "reconcile openclaws/OpenClaw", {"openclaw.reasons": '["Deployment updated"]'}
        )
        good = [it for it in found if it.root.links and it.named("PATCH openclaws/status") and complete(it)]
        return good[-1] if good else None

    return check


def of_database(jaeger: TraceStore) -> Callable[[], Awaitable[Trace | None]]:
    """The run that made a database, after it had to wait."""

    async def check() -> Trace | None:
        found = await jaeger.find("aws-rds create", {"openclaw.external.result": "success"})
        good = [it for it in found if complete(it)]
        return next((it for it in good if it.root.links), None)

    return check


async def draw() -> None:
    """Write the pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    async with Observed.running(claws=6) as observed:
        if observed.jaeger is None:
            raise RuntimeError("there is no Jaeger, though traces were asked for")
        jaeger = observed.jaeger.store
        for name, title, check in (
            ("trace-change", "A user has changed an OpenClaw", of_change(jaeger)),
            ("trace-child", "A Deployment has become ready", of_child(jaeger)),
            ("trace-database", "A database is made outside of the cluster", of_database(jaeger)),
        ):
            trace = await waited_for(check)
            about = trace.root.attributes
            whole = f"{title}: {NAMESPACE}/{about['openclaw.object.name']}"
            file = FOLDER / f"{name}.svg"
            file.write_text(drawn(whole, trace, await causes(jaeger, trace)))
            sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    asyncio.run(draw())
