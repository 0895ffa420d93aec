"""All chance that production code asks for comes from the seed while a simulation runs."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["seeded_chance"]


@contextmanager
def seeded_chance(seed: str) -> Iterator[None]:
    """Within the block the module `random` draws from the seed, and so do the tokens of `secrets`.

    Those are drawn apart: how often a process is started must not change what the others do.
    """
    tokens = random.Random(f"tokens {seed}")
    state, former = random.getstate(), secrets.token_hex
    random.seed(f"process {seed}")
    secrets.token_hex = lambda nbytes=None: tokens.randbytes(nbytes or secrets.DEFAULT_ENTROPY).hex()
    try:
        yield
    finally:
        secrets.token_hex = former
        random.setstate(state)
