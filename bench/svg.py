"""Horizontal bar charts as SVG, legible on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

WIDTH: Final = 860
LABEL: Final = 300
BAR: Final = 20
ROW: Final = 28
TOP: Final = 64

_STYLE: Final = """
text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-size:16px;font-weight:600}.note{fill:#656d76}
.bar{fill:#8c959f}.ours{fill:#1a7f37}.span{stroke:#656d76;stroke-width:1.5}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#8d96a0}.bar{fill:#6e7681}.ours{fill:#3fb950}}
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a chart: the median, and how far the rounds were apart."""

    label: str
    value: float
    low: float
    high: float
    ours: bool = False


def chart(title: str, note: str, bars: Sequence[Bar], *, digits: int = 0) -> str:
    """A chart of one bar a row, in the order given, with a thin line from the lowest to the highest round."""
    top = max((bar.high for bar in bars), default=1.0) or 1.0
    scale = (WIDTH - LABEL - 110) / top
    height = TOP + ROW * len(bars) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text class="title" x="12" y="26">{escape(title)}</text>',
        f'<text class="note" x="12" y="46">{escape(note)}</text>',
    ]
    for number, bar in enumerate(bars):
        y = TOP + ROW * number
        length = max(bar.value * scale, 1.0)
        middle = y + BAR / 2
        shade, after = "ours" if bar.ours else "bar", LABEL + max(length, bar.high * scale) + 8
        ends = (LABEL + bar.low * scale, LABEL + bar.high * scale)
        span = f'x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{middle}" y2="{middle}"'
        size = f'x="{LABEL}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2"'
        parts += [
            f'<text x="{LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(bar.label)}</text>',
            f'<rect class="{shade}" {size}/>',
            f'<line class="span" {span}/>',
            f'<text x="{after:.1f}" y="{y + 15}">{bar.value:,.{digits}f}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
