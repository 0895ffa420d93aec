"""What a JSON API looks like: the requests of a thing's life, and where things are in its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Literal

from openclaw.providers.errors import (
    ExternalAlreadyExists,
    ExternalConflict,
    ExternalInvalid,
    ExternalNotFound,
    ExternalTerminal,
    ExternalThrottled,
    ExternalTransient,
    ExternalUnauthorised,
    ProviderError,
)

__all__ = ["HTTPApi", "HTTPRequest", "Meaning", "error_of"]

Meaning = Literal[
    "Success",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Invalid",
    "Throttled",
    "Unauthorised",
    "Transient",
    "Terminal",
]
"""What a status may mean."""

_MEANINGS: Final[dict[int, Meaning]] = {
    401: "Unauthorised",
    402: "Terminal",
    403: "Unauthorised",
    404: "NotFound",
    407: "Unauthorised",
    408: "Transient",
    409: "Conflict",
    410: "NotFound",
    412: "Conflict",
    423: "Conflict",
    425: "Transient",
    429: "Throttled",
    451: "Terminal",
    501: "Terminal",
    505: "Terminal",
}
_PLAIN: Final[dict[Meaning, type[ProviderError]]] = {
    "NotFound": ExternalNotFound,
    "AlreadyExists": ExternalAlreadyExists,
    "Conflict": ExternalConflict,
    "Invalid": ExternalInvalid,
    "Terminal": ExternalTerminal,
}
# The server says that it has not begun.
_WITHOUT_EFFECT: Final = frozenset({408, 425})


@dataclass(frozen=True, slots=True, kw_only=True)
class HTTPRequest:
    """One request.

    Attributes:
        method: GET, POST, PUT, PATCH or DELETE.
        path: after the API's URL, with `${identity}`, `${name}`, `${namespace}`, `${uid}`.
        meanings: what a status means where it is not what it mostly does.
    """

    method: str
    path: str
    meanings: Mapping[int, Meaning] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HTTPApi:
    """The requests of a kind of thing.

    Attributes:
        get: asks for one thing.
        create: makes one; its body is what is wanted.
        update: changes one, with the same body; None where things can't be changed.
        delete: removes one; None where they can't be removed.
        find: lists those that may be ours; None where the API can't be asked.
        health: asks whether the API answers; None to ask for nothing.
        identity: a pointer to a thing's identity in an answer, where the system chooses it; None where we do.
        state: a pointer to the thing in an answer; "" where the answer is the thing.
        items: a pointer to the things in the answer of `find`.
        owner: a pointer to the field that the owner's uid is written to; None where there is none to spare.
        write_only: pointers to what is sent and never told.
        values: what `${…}` stands for, but for the identity.
    """

    get: HTTPRequest
    create: HTTPRequest
    update: HTTPRequest | None = None
    delete: HTTPRequest | None = None
    find: HTTPRequest | None = None
    health: HTTPRequest | None = None
    identity: str | None = None
    state: str = ""
    items: str = ""
    owner: str | None = None
    write_only: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)


def error_of(
    request: HTTPRequest, status: int, text: str, *, creating: bool, retry_after: float | None
) -> ProviderError | None:
    """The error that an answer stands for; None where it is a success.

    Args:
        request: which was answered.
        status: of the answer.
        text: what it says, without secrets.
        creating: the request makes a thing.
        retry_after: seconds that it asks us to wait.
    """
    meaning = request.meanings.get(status) or _meaning(status, creating=creating)
    code = str(status)
    match meaning:
        case "Success":
            return None
        case "Throttled":
            return ExternalThrottled(text, code=code, retry_after=retry_after)
        case "Unauthorised":
            return ExternalUnauthorised(text, code=code, expired=status == HTTPStatus.UNAUTHORIZED)
        case "Transient":
            unknown = False if status in _WITHOUT_EFFECT else None
            return ExternalTransient(text, code=code, retry_after=retry_after, outcome_unknown=unknown)
        case _:
            return _PLAIN[meaning](text, code=code)


def _meaning(status: int, *, creating: bool) -> Meaning:
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return "Success"
    if creating and status == HTTPStatus.CONFLICT:
        return "AlreadyExists"
    if creating and status == HTTPStatus.NOT_FOUND:
        return "Invalid"  # there is no such collection
    if (known := _MEANINGS.get(status)) is not None:
        return known
    return "Transient" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "Invalid"
