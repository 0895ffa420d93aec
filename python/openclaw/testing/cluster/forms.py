"""In which form a client wants objects: whole, only their metadata, or as rows of a table."""

from __future__ import annotations

import enum
from functools import lru_cache

from openclaw.testing.cluster.statuses import StatusError

__all__ = ["Form", "accepted_form"]


_ACCEPTED = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_KNOWN = frozenset({*_ACCEPTED, "*/*", "application/*", "text/html"})


class Form(enum.Enum):
    """What `as=` of an Accept header says."""

    OBJECT = enum.auto()
    METADATA = enum.auto()
    TABLE = enum.auto()


@lru_cache(maxsize=64)
def accepted_form(accept: str) -> Form:
    """The first form of an Accept header that can be had as JSON.

    Raises StatusError (406) when there is none.
    """
    for media in accept.split(","):
        kind, *parameters = (part.strip() for part in media.split(";"))
        if kind not in {"application/json", "*/*", "application/*"}:
            continue
        wanted = dict(parameter.partition("=")[::2] for parameter in parameters)
        match wanted.get("as"):
            case None:
                return Form.OBJECT
            case "Table":
                return Form.TABLE
            case "PartialObjectMetadata" | "PartialObjectMetadataList":
                return Form.METADATA
    kinds = {media.split(";")[0].strip() for media in accept.split(",")}
    if kinds.isdisjoint(_KNOWN) and accept.strip():
        message = f"only the following media types are accepted: {', '.join(_ACCEPTED)}"
        raise StatusError(406, "NotAcceptable", message)
    return Form.OBJECT
