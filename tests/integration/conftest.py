"""Tests on a real control plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).parent
_CRDS = _HERE.parents[1] / "crds"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def control_plane_options() -> dict[str, Any]:
    # Known before the controller manager starts, so that its garbage collector watches them from the first.
    return {"crds": sorted(_CRDS.glob("*.yaml"))}


@pytest.fixture(scope="session")
def api_server_options() -> dict[str, Any]:
    return {"crds": sorted(_CRDS.glob("*.yaml"))}
