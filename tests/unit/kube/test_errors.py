"""What answers of the API server mean."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw.kube.errors import ApiError, Conflict, Invalid, status_error


def _refusal(*fields: str) -> dict[str, Any]:
    causes = [{"field": field, "reason": "FieldValueInvalid", "message": "no"} for field in fields]
    return {"kind": "Status", "code": 422, "reason": "Invalid", "details": {"causes": causes}}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (_refusal("spec.replicas"), Invalid),
        (_refusal(), Invalid),
        ({"code": 422, "reason": "Invalid"}, Invalid),
        (_refusal("metadata.uid"), Conflict),
        ({"code": 409, "reason": "Conflict"}, Conflict),
    ],
)
def test_a_patch_of_an_object_that_was_made_anew_meanwhile_meets_a_conflict(
    status: dict[str, Any], expected: type[ApiError]
) -> None:
    """The server says 422, for the uid cannot be changed; it means that somebody else came first."""
    assert type(status_error(status)) is expected
