"""Figures that others published, which were not measured here."""

from __future__ import annotations

from typing import Final

SOURCE: Final = "timebertt/kubernetes-controller-sharding"
ABOUT: Final = "published data of its thesis: 9,000 roots with 4 children each, webhook and central sharder"

CPU_AT_3: Final = 1.36
MEMORY_AT_3: Final = 1.40
EFFICIENCY_AT_5: Final = 0.65
LABEL_WRITES: Final = 13_500
TAKE_OVER_SECONDS: Final = 30
CREATE_P99_MS: Final = (24, 87)
