"""Drift, and secrets in descriptors."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw.providers.credentials.source import Credentials
from openclaw.providers.descriptors import Difference, Drift, SecretStr

GROW = Difference("size", "2", "1")
SHRINK = Difference("size", "1", "2", "can't shrink")


def test_drift_is_false_where_there_is_none() -> None:
    assert not Drift()
    assert Drift((GROW,))


def test_what_no_update_can_mend_is_told_apart() -> None:
    drift = Drift((GROW, SHRINK))
    assert drift.updatable == (GROW,)
    assert drift.refused == (SHRINK,)
    assert str(drift) == "size: 1 -> 2; size: 2 -> 1 (can't shrink)"
    assert list(drift) == [GROW, SHRINK]


def test_the_digest_is_of_what_an_update_is_sent_for() -> None:
    assert Drift((GROW,)).digest == Drift((GROW, SHRINK)).digest
    assert Drift((GROW,)).digest != Drift((Difference("size", "3", "1"),)).digest
    assert Drift((GROW,)).digest != Drift((Difference("other", "2", "1"),)).digest
    # The same in the next process.
    assert Drift((GROW,)).digest == "70afe213bb840509"


def test_secrets_are_in_no_repr() -> None:
    @dataclass(frozen=True)
    class Wanted:
        password: SecretStr

    assert "hunter2" not in repr(Wanted(SecretStr("hunter2")))
    credentials = Credentials({"token": "hunter2"})
    assert "hunter2" not in repr(credentials) + str(credentials)
