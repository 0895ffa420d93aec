"""GET of an object, and of a collection: consistent pages, past states, tables."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import orjson

from openclaw.testing.cluster.backend import Backend
from openclaw.testing.cluster.forms import Form, accepted_form
from openclaw.testing.cluster.listoptions import Match, check_list_options, parse_position, parse_revision
from openclaw.testing.cluster.request import Answer, Request
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.selection import Selection, select
from openclaw.testing.cluster.statuses import StatusError, bad_request, expired, not_found
from openclaw.testing.cluster.store import Compacted, Entry, key_of
from openclaw.testing.cluster.tables import table

__all__ = ["Listing", "too_large"]

_TOO_OLD = "The resourceVersion for the provided list is too old."
_CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)


@dataclass(frozen=True, slots=True)
class _Page:
    revision: int
    entries: list[Entry]
    more: str = ""
    remaining: int | None = None


class Listing:
    """The reading verbs."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def get(self, target: Target, request: Request) -> Answer:
        """One object."""
        revision = parse_position(request.text("resourceVersion"))
        if revision > self._backend.store.revision:
            raise too_large(revision, self._backend.store.revision)
        entry = self._backend.entry(target.resource, target.namespace, target.name)
        form = accepted_form(request.accept)
        if form is Form.OBJECT:
            return Answer(200, await self._backend.raw(target, entry))
        [obj] = await self._backend.in_version(target, [entry.obj])
        if form is Form.METADATA:
            return Answer.of(_metadata_only(obj))
        return Answer.of(self._table(target, [obj], {"resourceVersion": str(entry.revision)}, request))

    async def page(self, target: Target, request: Request, *, at: int | None = None) -> Answer:
        """The objects of a collection; `at` makes it a list from the past, whatever was asked for."""
        request.number("timeoutSeconds")
        page = self._found(target, request, select(target, request), at)
        metadata: dict[str, Any] = {"resourceVersion": str(page.revision)}
        form = accepted_form(request.accept)
        if page.more or (target.resource.definition is not None and form is Form.OBJECT):
            # Lists of custom resources have an empty one, too.
            metadata["continue"] = page.more or ""
        if page.remaining:
            metadata["remainingItemCount"] = page.remaining
        if form is Form.OBJECT:
            return Answer(200, await self._encoded(target, page.entries, metadata))
        objects = await self._backend.in_version(target, [entry.obj for entry in page.entries])
        if form is Form.METADATA:
            return Answer.of(
                {
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": {key: value for key, value in metadata.items() if value},
                    "items": [_metadata_only(obj) for obj in objects] or None,
                }
            )
        return Answer.of(self._table(target, objects, metadata, request))

    def _table(
        self, target: Target, objects: list[dict[str, Any]], metadata: dict[str, Any], request: Request
    ) -> dict[str, Any]:
        include = request.text("includeObject") or "Metadata"
        if include not in {"Metadata", "Object", "None"}:
            shown = f'includeObject: Invalid value: "{include}": must be '
            raise bad_request(
                f"Unable to convert to Table as requested: {shown}'Metadata', 'Object', 'None', or empty"
            )
        return table(target, objects, metadata, now=self._backend.clock.date(), include=include)

    async def _encoded(self, target: Target, entries: list[Entry], metadata: dict[str, Any]) -> bytes:
        if self._backend.as_stored(target):
            raws = [entry.raw for entry in entries]
        else:
            converted = await self._backend.in_version(target, [entry.obj for entry in entries])
            raws = [orjson.dumps(obj) for obj in converted]
        if target.resource.definition is None:
            # Items of built-in lists do not say their kind.
            raws = [b"{" + raw[raw.index(b'"metadata"') :] for raw in raws]
        head = {"kind": target.resource.list_kind, "apiVersion": target.api_version, "metadata": metadata}
        return b'%s,"items":[%s]}' % (orjson.dumps(head)[:-1], b",".join(raws))

    def _found(self, target: Target, request: Request, selection: Selection, at: int | None) -> _Page:
        match = check_list_options(request)
        request.number("timeoutSeconds")  # Read, though nothing takes that long here.
        limit = max(0, request.number("limit") or 0)
        start, revision, exact = self._where(target, request, match, limit)
        current = self._backend.store.revision
        if at is not None and not start:
            revision, exact = at, True
        if revision > current:
            raise too_large(revision, current)
        if match is Match.ANY:
            limit = 0  # Served from the cache, which knows no pages.
        collection = self._backend.store.collection(target.resource.stored_as)
        if exact:
            try:
                found = collection.at(revision, target.namespace)
            except Compacted:
                raise self._expired(start) from None
        else:
            found, revision = list(collection.scan(target.namespace)), current
        if start:
            found = [entry for entry in found if entry.key > start]
        if selection.matches is not None:
            found = [entry for entry in found if selection.matches(entry.obj)]
        if not limit or len(found) <= limit:
            return _Page(revision, found)
        rest = len(found) - limit
        found = found[:limit]
        token = _token(revision, _relative(found[-1].key, target.namespace))
        return _Page(revision, found, token, None if selection.by_content else rest)

    def _where(self, target: Target, request: Request, match: Match, limit: int) -> tuple[str, int, bool]:
        """The key after which the page begins, the revision, and whether it is that very one."""
        token = request.text("continue")
        if token:
            revision, relative = _read_token(token)
            start = _absolute(relative, target)
            return start, max(revision, 0), revision > 0
        revision = parse_revision(request.text("resourceVersion"))
        # Without a match, a revision that comes with a limit means that very one.
        exact = match is Match.EXACT or (match is Match.UNSET and revision > 0 and limit > 0)
        return "", revision, exact

    @staticmethod
    def _expired(start: str) -> StatusError:
        if not start:
            return expired(_TOO_OLD)
        error = expired(_CONTINUE_TOO_OLD)
        error.continue_token = _token(-1, f"/{start.lstrip('/')}")
        return error

    def one(self, target: Target, at: int) -> bytes:
        """One object as it was at a revision.

        Raises StatusError (404).
        """
        collection = self._backend.store.collection(target.resource.stored_as)
        try:
            entry = collection.get_at(at, key_of(target.namespace, target.name))
        except Compacted:
            entry = collection.entries.get(key_of(target.namespace, target.name))
        if entry is None:
            raise not_found(target.resource.group, target.resource.plural, target.name)
        return entry.raw


def too_large(revision: int, current: int) -> StatusError:
    """504 for a resourceVersion that has not come yet."""
    return StatusError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {revision}, current: {current}",
        details={"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]},
        retry_after=1,
    )


def _metadata_only(obj: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj["metadata"],
    }


def _relative(key: str, namespace: str) -> str:
    return f"/{key.removeprefix(f'{namespace}/').lstrip('/')}"


def _absolute(relative: str, target: Target) -> str:
    name = relative.removeprefix("/")
    if target.namespace:
        return f"{target.namespace}/{name}"
    return name if target.resource.namespaced else f"/{name}"


def _token(revision: int, start: str) -> str:
    text = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": f"{start}\0"})
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _read_token(token: str) -> tuple[int, str]:
    wrong = "invalid continue token: continue key is not valid"
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise bad_request(f"{wrong}: illegal base64 data at input byte 0") from None
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError:
        first = text.decode("latin-1").lstrip()[:1]
        raise bad_request(f"{wrong}: invalid character '{first}' looking for beginning of value") from None
    version = content.get("v", "") if isinstance(content, dict) else ""
    if version != "meta.k8s.io/v1":
        raise bad_request(f"{wrong}: server does not recognize this encoded version {version}")
    revision, start = content.get("rv"), content.get("start")
    if not isinstance(revision, int) or not isinstance(start, str):
        raise bad_request(f"{wrong}: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    return revision, start.removesuffix("\0")
