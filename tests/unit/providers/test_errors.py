"""Errors of providers in the runtime's words."""

from __future__ import annotations

from copy import copy

import pytest

from openclaw.kube import errors as kube_errors
from openclaw.providers import errors
from openclaw.providers.errors import (
    ExternalAlreadyExists,
    ExternalConflict,
    ExternalInvalid,
    ExternalNotFound,
    ExternalTaken,
    ExternalTerminal,
    ExternalThrottled,
    ExternalTransient,
    ExternalUnauthorised,
    ProviderError,
)
from openclaw.runtime import ErrorClass, classify, reason_of
from openclaw.runtime.controller import _wait_of
from openclaw.runtime.failing import text_of


@pytest.mark.parametrize(
    ("error", "kind", "reason", "unknown"),
    [
        (ExternalNotFound("x"), ErrorClass.TRANSIENT, "NotFound", False),
        (ExternalAlreadyExists("x"), ErrorClass.TRANSIENT, "AlreadyExists", False),
        (ExternalConflict("x"), ErrorClass.TRANSIENT, "Conflict", False),
        (ExternalTaken("x"), ErrorClass.TERMINAL, "NameTaken", False),
        (ExternalInvalid("x"), ErrorClass.TERMINAL, "Invalid", False),
        (ExternalThrottled("x"), ErrorClass.THROTTLED, "Throttled", False),
        (ExternalUnauthorised("x"), ErrorClass.TERMINAL, "Unauthorised", False),
        (ExternalTransient("x"), ErrorClass.TRANSIENT, "Transient", True),
        (ExternalTransient("x", outcome_unknown=False), ErrorClass.TRANSIENT, "Transient", False),
        (ExternalTerminal("x"), ErrorClass.TERMINAL, "Terminal", False),
    ],
    ids=lambda it: type(it).__name__ if isinstance(it, Exception) else "",
)
def test_each_has_a_class_a_reason_and_says_what_is_known(
    error: ProviderError, kind: ErrorClass, reason: str, unknown: bool
) -> None:
    assert classify(error) is kind
    assert reason_of(error) == reason
    assert error.outcome_unknown is unknown
    assert text_of(error) == "x"
    again = copy(error)
    assert (type(again), str(again), vars(again)) == (type(error), "x", vars(error))


def test_their_names_are_not_those_of_the_api_server() -> None:
    assert not set(errors.__all__) & set(kube_errors.__all__)


def test_a_wait_that_was_named_is_waited() -> None:
    assert _wait_of(ExternalThrottled("x", retry_after=42)) == 42
    assert _wait_of(ExternalThrottled("x")) > 0
