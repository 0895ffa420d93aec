"""Writes Grafana's dashboards into deploy/monitoring/dashboards/; with `--check` it only compares.

A panel is a title, a unit and PromQL; where it stands follows from its width.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tools.dashboard_pages import DASHBOARDS, Dashboard, Panel

FOLDER = Path("deploy/monitoring/dashboards")
COLUMNS = 24  # of Grafana's grid
HEIGHT = 7  # of a row of panels, in Grafana's units
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def page(dashboard: Dashboard) -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    top = 0
    for row in dashboard.rows:
        place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
        panels.append({"id": len(panels) + 1, "type": "row", "title": row.title, "gridPos": place})
        top, left = top + 1, 0
        for panel in row.panels:
            if left + panel.width > COLUMNS:
                top, left = top + HEIGHT, 0
            place = {"x": left, "y": top, "w": panel.width, "h": HEIGHT}
            panels.append({"id": len(panels) + 1, "gridPos": place, **_panel(panel)})
            left += panel.width
        top += HEIGHT
    label, metric = dashboard.variable
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "tags": ["openclaw"],
        "schemaVersion": 39,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "links": [{"type": "dashboards", "tags": ["openclaw"], "title": "openclaw", "asDropdown": True}],
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
                _variable("namespace", "controller_runtime_max_concurrent_reconciles"),
                _variable(label, f'{metric}{{namespace=~"$namespace"}}'),
            ]
        },
        "panels": panels,
    }


def _variable(label: str, of: str) -> dict[str, Any]:
    query = f"label_values({of}, {label})"
    return {
        "name": label,
        "type": "query",
        "datasource": DATA_SOURCE,
        "query": {"query": query, "refId": label},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit}
    if panel.bad_above is not None:
        steps = [{"color": "green", "value": None}, {"color": "red", "value": panel.bad_above + 1e-9}]
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
    if panel.kind == "timeseries":
        stacking = {"mode": "normal" if panel.stacked else "none"}
        defaults["custom"] = {"fillOpacity": 10, "showPoints": "never", "stacking": stacking}
    targets = [
        {"refId": chr(ord("A") + at), "expr": query.expr, "legendFormat": query.legend}
        for at, query in enumerate(panel.queries)
    ]
    options: dict[str, Any] = (
        {"reduceOptions": {"calcs": ["lastNotNull"]}}
        if panel.kind == "stat"
        else {"tooltip": {"mode": "multi"}}
    )
    return {
        "type": panel.kind,
        "title": panel.title,
        "datasource": DATA_SOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": options,
        "targets": targets,
    }


def text(dashboard: Dashboard) -> str:
    """The file: a panel a line, so that a difference shows which one."""
    made = page(dashboard)
    panels = ",\n".join(f"  {json.dumps(panel)}" for panel in made.pop("panels"))
    head = "".join(f"{json.dumps(name)}: {json.dumps(value)},\n" for name, value in made.items())
    return f'{{\n{head}"panels": [\n{panels}\n]\n}}\n'


def main() -> int:
    """Write or compare; 1 when a file is not what it should be."""
    stale = []
    for dashboard in DASHBOARDS:
        path = FOLDER / f"{dashboard.uid.removeprefix('openclaw-')}.json"
        wanted = text(dashboard)
        if path.exists() and path.read_text() == wanted:
            continue
        if "--check" in sys.argv[1:]:
            stale.append(path)
        else:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted)
    for path in stale:
        print(f"{path} is not what tools/dashboards.py says: run make dashboards")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
