"""What production code draws in a simulation comes from the seed; before and after, from the machine."""

from __future__ import annotations

import random
import secrets

import pytest

from openclaw.testing.simulation.chance import seeded_chance


def _drawn(seed: str) -> tuple[float, str, str]:
    with seeded_chance(seed):
        return random.random(), secrets.token_hex(4), secrets.token_hex()


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    assert _drawn("shards 1") == _drawn("shards 1")
    assert not set(_drawn("shards 1")) & set(_drawn("shards 2"))


def test_tokens_change_nothing_that_others_draw() -> None:
    with seeded_chance("shards 1"):
        secrets.token_hex(4)
        after = random.random()
    assert after == _drawn("shards 1")[0]


def test_afterwards_all_is_as_before() -> None:
    tokens, state = secrets.token_hex, random.getstate()

    def fail_within() -> None:
        with seeded_chance("shards 1"):
            random.random()
            raise KeyError

    with pytest.raises(KeyError):
        fail_within()
    assert secrets.token_hex is tokens
    assert random.getstate() == state
