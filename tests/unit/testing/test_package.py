from __future__ import annotations

import subprocess
import sys
from importlib import import_module, resources

import pytest

import openclaw.testing
from openclaw.testing.binaries import COMPONENTS, KUBERNETES_VERSION


def test_the_pytest_plugin_imports_nothing_heavy() -> None:
    script = "import sys, openclaw.testing.fixtures; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"aiohttp", "cryptography", "kubernetes_asyncio", "pydantic", "yaml", "openclaw.kube"}
    assert heavy.isdisjoint(answer.stdout.split())


def test_every_public_name_is_there() -> None:
    for name in openclaw.testing.__all__:
        assert getattr(openclaw.testing, name) is not None
    with pytest.raises(AttributeError, match="NoSuchName"):
        _ = openclaw.testing.NoSuchName  # type: ignore[attr-defined]


def test_the_go_modules_that_pin_the_binaries_ship_with_the_package() -> None:
    for component in COMPONENTS.values():
        module = resources.files("openclaw.testing") / "gomod" / component.module
        assert component.package in (module / "go.mod").read_text()
        assert (module / "go.sum").read_text()
    kubernetes = resources.files("openclaw.testing") / "gomod" / "kubernetes" / "go.mod"
    assert f"k8s.io/kubernetes {KUBERNETES_VERSION}" in kubernetes.read_text()


def test_the_commands_can_be_imported() -> None:
    for name in ("binaries", "node"):
        assert callable(import_module(f"openclaw.testing.{name}").main)
