"""Prometheus' own promtool says on which days the alerts fire, and with which words."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw.testing.binaries import find_binary
from openclaw.testing.errors import BinaryNotFoundError
from tests.integration.monitored import FOLDER, alerts
from tests.monitoring.alert_cases import CASES, Case


def _rendered(text: str, labels: dict[str, str], value: str) -> str:
    for name, content in labels.items():
        text = text.replace(f"{{{{ $labels.{name} }}}}", content)
    text = text.replace("{{ $value }}", value)
    assert not re.search(r"\{\{", text), f"a label that the alert does not have: {text}"
    return text


def _expected(case: Case) -> list[dict[str, Any]]:
    alert = alerts()[case.alert]
    return [
        {
            "exp_labels": {**labels, "severity": alert["labels"]["severity"]},
            "exp_annotations": {
                name: _rendered(text, labels, case.value) for name, text in alert["annotations"].items()
            },
        }
        for labels in case.fires
    ]


def _promtool(folder: Path, tests: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    try:
        promtool = find_binary("promtool")
    except BinaryNotFoundError as error:
        pytest.skip(str(error))
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["spec"]
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules))
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    (folder / "cases.yaml").write_text(yaml.safe_dump(document))
    return subprocess.run(
        [promtool, "test", "rules", folder / "cases.yaml"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _test(case: Case) -> dict[str, Any]:
    return {
        "name": f"{case.alert}: {case.what}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [
            {"eval_time": f"{case.at}m", "alertname": case.alert, "exp_alerts": _expected(case)}
        ],
    }


def test_they_fire_on_bad_days_and_on_no_other(tmp_path: Path) -> None:
    done = _promtool(tmp_path, [_test(case) for case in CASES])
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_would_say_so_if_one_did_not(tmp_path: Path) -> None:
    quiet = next(case for case in CASES if not case.fires)
    wrong = _test(quiet)
    wrong["alert_rule_test"][0]["exp_alerts"] = _expected(next(case for case in CASES if case.fires))
    done = _promtool(tmp_path, [wrong])
    assert done.returncode != 0
    assert quiet.what in done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(alerts()))
def test_each_has_a_bad_day_and_a_good_one(name: str) -> None:
    assert {bool(case.fires) for case in CASES if case.alert == name} == {True, False}
