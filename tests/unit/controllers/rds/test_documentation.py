"""docs/rdsinstance.md says what is so: tables, fields, reasons, annotations, variables; samples fit."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from openclaw.api.rdsinstance import Phase, RDSInstance
from openclaw.controllers.rds import reconciler, settings, steering
from openclaw.controllers.rds.phases import TABLE
from openclaw.controllers.rds.statuses import STATUSES
from openclaw.manifests import custom_resource_definition

ROOT = Path(__file__).parents[4]
DOCUMENT = (ROOT / "docs" / "rdsinstance.md").read_text()
SAMPLES = sorted((ROOT / "examples" / "rdsinstance").glob("*.yaml"))


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("phase_table", ROOT / "tools" / "phase_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def section(title: str) -> str:
    _, _, rest = DOCUMENT.partition(f"\n## {title}")
    assert rest, title
    return rest.partition("\n## ")[0]


def schema(part: str) -> dict[str, Any]:
    crd = custom_resource_definition(RDSInstance)
    whole = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found: dict[str, Any] = whole["properties"][part]
    return found


def fields(of: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, field in of.get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        if "properties" in field:
            yield from fields(field, here)
        else:
            yield here


def test_the_tables_are_drawn_from_the_code() -> None:
    assert tool().drawn(DOCUMENT) == DOCUMENT, "run make phase-table"


def test_the_diagram_shows_every_phase_and_how_to_leave_it() -> None:
    edges = re.findall(r"(\w+|\[\*\]) --> (\w+|\[\*\])", tool().diagram())
    live = {"Creating", "Available", "Modifying", "Degraded"}
    assert {it for edge in edges for it in edge} >= {phase.value for phase in Phase}
    for phase in Phase:
        assert any(source in (phase.value, "Live" if phase.value in live else "") for source, _ in edges), (
            phase
        )


def test_every_field_of_the_spec_is_explained() -> None:
    spec = section("Spec")
    told = set(re.findall(r"`([\w.]+)", spec))
    for path in fields(schema("spec")):
        parts = path.split(".")
        assert any(".".join(parts[first:]) in told for first in range(len(parts))), path


def test_every_field_of_the_status_is_explained() -> None:
    told = set(re.findall(r"`([\w.]+)`", section("Status")))
    missing = set(schema("status")["properties"]) - told
    assert missing == set()


def test_every_default_is_told() -> None:
    for name, field in schema("spec")["properties"].items():
        if "default" in field:
            (line,) = [line for line in section("Spec").splitlines() if line.startswith(f"| `{name}` ")]
            assert f"`{field['default']}`".lower() in line.lower(), name


@pytest.mark.parametrize("reason", sorted({row.reason for row in TABLE}))
def test_every_reason_has_a_way_out(reason: str) -> None:
    assert f"`{reason}`" in section("Conditions, and what to do")


@pytest.mark.parametrize("status", sorted(STATUSES))
def test_every_status_of_rds_is_listed(status: str) -> None:
    assert re.search(rf"(?<![\w-]){re.escape(status)}(?![\w-])", section("Phases"))


@pytest.mark.parametrize("annotation", steering.ALL)
def test_every_annotation_is_explained(annotation: str) -> None:
    assert f"| `{annotation}` |" in section("Annotations")


def test_every_variable_is_explained() -> None:
    code = inspect.getsource(settings)
    for name in re.findall(r'of\("(\w+)"', code):
        assert f"OPENCLAW_RDS_{name}" in DOCUMENT, name
    for phase in settings.RDSSettings().deadlines:
        assert f"OPENCLAW_RDS_DEADLINE_{phase.name}" in DOCUMENT
    for name in re.findall(r'"(VAULT_\w+)"', code):
        assert f"`{name}`" in DOCUMENT, name
    assert "OPENCLAW_RDS_POD_IDENTITY=deny" in DOCUMENT


def test_every_event_of_a_deletion_is_explained() -> None:
    reasons = set(re.findall(r'_let_go\(ctx, obj, "(\w+)"', inspect.getsource(reconciler)))
    assert len(reasons) == 4
    for reason in reasons:
        assert f"`{reason}`" in section("Events")


def test_links_to_samples() -> None:
    named = set(re.findall(r"examples/rdsinstance/([\w-]+\.yaml)", section("Samples")))
    assert named == {file.name for file in SAMPLES}


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.stem)
def test_a_sample_fits_the_type_and_has_no_unknown_field(file: Path) -> None:
    body = yaml.safe_load(file.read_text())
    read = RDSInstance.from_dict(body).to_dict()["spec"]
    assert not list(unknown(body["spec"], read))


def unknown(given: Any, read: Any, path: str = "spec") -> Iterator[str]:
    if isinstance(given, dict):
        for key, value in given.items():
            if key not in read:
                yield f"{path}.{key}"
            else:
                yield from unknown(value, read[key], f"{path}.{key}")
    elif isinstance(given, list):
        for index, (one, other) in enumerate(zip(given, read, strict=True)):
            yield from unknown(one, other, f"{path}[{index}]")
