"""What a shard is told, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw.sharding.options import ShardOptions


def test_a_name_is_enough() -> None:
    assert ShardOptions(name="openclaw-0").group == "openclaw"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "Open_Claw"}, "the shard's name 'Open_Claw' must be a DNS label"),
        ({"name": "a" * 64}, "must be a DNS label"),
        ({"name": "a", "group": ""}, "the shard group '' must be a DNS label"),
        ({"name": "a", "hold_seconds": 0}, "hold seconds: 0 must be above 0"),
        ({"name": "a", "drain_seconds": float("inf")}, "drain seconds: inf must be above 0"),
        ({"name": "a", "fence_seconds": 15}, "must be in this order"),
        ({"name": "a", "renew_seconds": 10}, "must be in this order"),
    ],
)
def test_what_could_not_work_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ShardOptions(**given)
