"""The parameters of lists and watches that say which state is meant, and how they may be combined."""

from __future__ import annotations

import enum

from openclaw.testing.cluster.request import Request
from openclaw.testing.cluster.statuses import Cause, StatusError, bad_request, invalid

__all__ = ["Match", "check_list_options", "check_watch_options", "parse_position", "parse_revision"]

_NOT_WITH_CONTINUE = "resourceVersionMatch is forbidden when continue is provided"


class Match(enum.Enum):
    """How `resourceVersion` is meant."""

    UNSET = enum.auto()
    ANY = enum.auto()
    EXACT = enum.auto()
    NOT_OLDER_THAN = enum.auto()


def check_list_options(request: Request) -> Match:
    """How the resourceVersion of a list is meant.

    Raises StatusError for what may not be combined; follows `ValidateListOptions` of apimachinery.
    """
    match, revision = request.text("resourceVersionMatch"), request.text("resourceVersion")
    if request.query.get("sendInitialEvents") is not None:
        raise _forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    if request.text("continue"):
        if match:
            raise _forbidden(
                "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"
            )
        if revision not in {"", "0"}:
            raise bad_request("specifying resource version is not allowed when using continue")
    if match and not revision:
        raise _forbidden(
            "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
        )
    if match == "Exact" and revision == "0":
        raise _forbidden(
            "resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        )
    if match not in {"", "Exact", "NotOlderThan"}:
        raise _unsupported(match)
    if revision == "0" and not request.text("continue"):
        return Match.ANY
    return {"": Match.UNSET, "Exact": Match.EXACT, "NotOlderThan": Match.NOT_OLDER_THAN}[match]


def check_watch_options(request: Request) -> bool:
    """Whether the watch begins with the initial events and the bookmark that ends them.

    Raises StatusError for what may not be combined.
    """
    match, initial = request.text("resourceVersionMatch"), request.query.get("sendInitialEvents")
    if request.text("continue"):
        raise _forbidden(
            "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"
        )
    if initial is None:
        if match:
            raise _forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        return False
    if not match:
        raise _forbidden(
            "resourceVersionMatch",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        )
    if match != "NotOlderThan":
        raise _unsupported(match)
    return request.flag("sendInitialEvents")


def parse_revision(text: str) -> int:
    """A resourceVersion; 0 where there is none.

    Raises StatusError (400).
    """
    if not text:
        return 0
    if not text.isascii() or not text.isdigit():
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def parse_position(text: str) -> int:
    """A resourceVersion of a get or a watch; 0 where there is none.

    Raises StatusError (500, as kube-apiserver).
    """
    try:
        return parse_revision(text)
    except StatusError as error:
        message = error.message.removeprefix("invalid resource version: ")
        raise StatusError(500, "", message) from None


def _forbidden(field: str, detail: str) -> StatusError:
    cause = Cause.of("FieldValueForbidden", field, detail)
    return invalid("meta.k8s.io", "ListOptions", "", [cause])


def _unsupported(match: str) -> StatusError:
    cause = Cause.of(
        "FieldValueNotSupported",
        "resourceVersionMatch",
        'supported values: "Exact", "NotOlderThan", ""',
        f'"{match}"',
    )
    return invalid("meta.k8s.io", "ListOptions", "", [cause])
