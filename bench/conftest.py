"""What all benchmarks share: a debug build is refused, and each says what it measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from openclaw import _core

Record = Callable[..., None]


def pytest_configure(config: pytest.Config) -> None:
    if _core.build_profile != "release" and not config.getoption("--benchmark-disable"):
        raise pytest.UsageError(
            f"openclaw._core is a {_core.build_profile} build: benchmarks mean nothing. Run `make setup`."
        )


@pytest.fixture
def record(benchmark: Any) -> Record:
    """Say what one round of this benchmark is: its suite, case, kind, contestant, and how many operations."""

    def say(**about: Any) -> None:
        benchmark.extra_info.update(about)

    return say
