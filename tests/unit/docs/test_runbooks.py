"""Every alert has a runbook, every runbook is an alert's, and has what somebody needs who was woken by it."""

from __future__ import annotations

import pytest

from tests.integration.monitored import FOLDER, alerts

ROOT = FOLDER.parents[1]
RUNBOOKS = ROOT / "docs" / "runbooks"


@pytest.mark.parametrize("name", sorted(alerts()))
def test_an_alert_has_a_runbook(name: str) -> None:
    alert = alerts()[name]
    path = ROOT / alert["annotations"]["runbook_url"]
    assert path == RUNBOOKS / f"{name}.md"
    text = path.read_text()
    assert text.startswith(f"# {name}\n")
    for heading in ("## Look at\n\n```sh\n", "## Do\n\n- "):
        assert heading in text
    assert {"summary", "description"} <= set(alert["annotations"])
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}


def test_no_runbook_is_left_over() -> None:
    assert {path.stem for path in RUNBOOKS.glob("*.md")} == set(alerts())


def test_the_documentation_lists_them_all() -> None:
    text = (ROOT / "docs" / "running.md").read_text()
    assert [name for name in alerts() if f"[{name}](runbooks/{name}.md)" not in text] == []
