"""A request to the cluster, and its answer, as both doors hand them on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from openclaw.testing.cluster.contracts import FieldValidation, User
from openclaw.testing.cluster.statuses import Cause, StatusError, bad_request, invalid

__all__ = ["Answer", "Request", "failure"]

_MAXIMUM_MANAGER = 128
_TRUE = frozenset({"1", "true", "True", "TRUE", "t", "T"})
_FALSE = frozenset({"", "0", "false", "False", "FALSE", "f", "F"})


@dataclass(slots=True)
class Request:
    """What a client asks.

    Attributes:
        path: without the query, percent-encoding undone.
        content_type: without parameters.
        accept: the header as it came.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = ""
    accept: str = "application/json"
    user: User = field(default_factory=User)
    user_agent: str = ""

    def text(self, name: str) -> str:
        """A query parameter; "" when it is missing."""
        return self.query.get(name, "")

    def flag(self, name: str) -> bool:
        """A query parameter that is a boolean."""
        value = self.query.get(name, "")
        if value in _TRUE:
            return True
        if value in _FALSE:
            return False
        raise bad_request(f'strconv.ParseBool: parsing "{value}": invalid syntax')

    def number(self, name: str) -> int | None:
        """A query parameter that is a whole number; None when it is missing."""
        value = self.query.get(name)
        if not value:
            return None
        try:
            return int(value)
        except ValueError:
            raise bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax') from None

    @property
    def is_watch(self) -> bool:
        """Whether the answer is a stream of events."""
        return self.method == "GET" and self.flag("watch")

    def dry_run(self, options: str, given: list[str] | None = None) -> bool:
        """Whether nothing shall be stored.

        Args:
            options: the kind that messages name, such as `CreateOptions`.
            given: what the options in the body say, where there are any.
        """
        values = given or ([self.query["dryRun"]] if "dryRun" in self.query else [])
        if all(value == "All" for value in values):
            return bool(values)
        shown = orjson.dumps(values).decode()
        cause = Cause.of("FieldValueNotSupported", "dryRun", 'supported values: "All"', shown)
        raise invalid("meta.k8s.io", options, "", [cause])

    def field_validation(self, options: str) -> FieldValidation:
        """What becomes of unknown fields."""
        value = self.query.get("fieldValidation") or "Warn"
        try:
            return FieldValidation(value)
        except ValueError:
            known = 'supported values: "", "Ignore", "Strict", "Warn"'
            cause = Cause.of("FieldValueNotSupported", "fieldValidation", known, f'"{value}"')
            raise invalid("meta.k8s.io", options, "", [cause]) from None

    def check_manager(self, options: str) -> None:
        """Raise StatusError (422) for a field manager whose name is too long or cannot be printed."""
        name = self.query.get("fieldManager", "")
        causes = []
        if len(name.encode()) > _MAXIMUM_MANAGER:
            detail = f"may not be more than {_MAXIMUM_MANAGER} bytes"
            causes.append(Cause.of("FieldValueTooLong", "fieldManager", detail))
        for at, letter in enumerate(name):
            if not letter.isprintable():
                detail = f"invalid character U+{ord(letter):04X} (at position {at})"
                causes.append(
                    Cause.of("FieldValueInvalid", "fieldManager", detail, orjson.dumps(name).decode())
                )
                break
        if causes:
            raise invalid("meta.k8s.io", options, "", causes)

    @property
    def manager(self) -> str:
        """The field manager of a write."""
        named = self.query.get("fieldManager")
        if named:
            return named
        return self.user_agent.split("/", 1)[0][:128] or "unknown"


@dataclass(slots=True)
class Answer:
    """What the cluster answers.

    Attributes:
        warnings: texts of Warning headers.
        retry_after: seconds, of a Retry-After header.
    """

    status: int
    body: bytes
    warnings: tuple[str, ...] = ()
    content_type: str = "application/json"
    retry_after: int | None = None

    @classmethod
    def of(cls, value: Any, status: int = 200, warnings: tuple[str, ...] = ()) -> Answer:
        """An answer of parsed JSON."""
        return cls(status, orjson.dumps(value), warnings)


def failure(error: StatusError) -> Answer:
    """The answer of a refusal."""
    body = orjson.dumps(error.to_dict())
    return Answer(error.code, body, error.warnings, retry_after=error.retry_after)
