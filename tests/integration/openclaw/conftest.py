"""The OpenClaw operator under its generated role, on the control plane that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from openclaw.controllers import SHIPPED
from openclaw.manifests import generate
from openclaw.testing import ControlPlane
from tests.integration.openclaw.operator_process import OperatorProcess
from tests.integration.openclaw.plain import apply_all

SYSTEM = "openclaw-under-test"


@pytest.fixture(scope="session")
def operator_kubeconfig(control_plane: ControlPlane) -> Path:
    """Of the operator's service account, with the role that `openclaw manifests` writes and no other."""
    control_plane.create_namespace(SYSTEM)
    files = generate(SHIPPED, image="openclaw:test", namespace=SYSTEM, name=SYSTEM)
    apply_all(control_plane, [it for it in yaml.safe_load_all(files["deploy/base/rbac.yaml"]) if it])
    return control_plane.service_account_kubeconfig(SYSTEM, SYSTEM)


@pytest.fixture(scope="module")
def operator(operator_kubeconfig: Path) -> Iterator[OperatorProcess]:
    """One operator a module: no other test's operator runs beside it, and its log is of this module."""
    with OperatorProcess(operator_kubeconfig) as running:
        yield running
