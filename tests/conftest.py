"""What holds for every test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_cluster_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may reach the cluster that the user happens to work with."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
