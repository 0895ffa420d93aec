"""What must survive the process between two runs: that a thing is being made, was made, and under which name.

Kept in annotations of the object, as crossplane-runtime does: a backup that leaves the status out keeps them,
and the write before a create is refused on an old state of the object.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from openclaw.api import CustomResource
from openclaw.kube import KubeError
from openclaw.runtime import Context, ErrorClass, classify

__all__ = ["CREATED", "CREATING", "IDENTITY", "MARKED_FOR", "AnnotationMarks", "Mark", "Marks"]

CREATING: Final = "external.openclaw.dev/create-pending"
"""When the call that makes the thing was about to be sent; stays until it is known what came of it."""
CREATED: Final = "external.openclaw.dev/create-succeeded"
"""When it was seen to be made, or adopted."""
IDENTITY: Final = "external.openclaw.dev/identity"
"""The identity under which it was made."""

MARKED_FOR: Final = "external.openclaw.dev/marked-for"
"""The uid of the object that was marked: a copy of it, or one restored from a backup, made nothing."""
_ATTEMPTS: Final = 4


@dataclass(frozen=True, slots=True)
class Mark:
    """What is known of the thing's making.

    Attributes:
        identity: under which it was made or is being made; "" before.
        pending_at: seconds since 1970 when a create was about to be sent whose outcome is not known.
        created_at: seconds since 1970 when it was seen to be made.
    """

    identity: str = ""
    pending_at: float | None = None
    created_at: float | None = None


class Marks(Protocol):
    """Where marks are kept."""

    def read(self) -> Mark:
        """The mark as this run knows it."""

    async def pending(self, identity: str) -> None:
        """Say that a create is about to be sent; "" where only its answer will tell the identity.

        Raises:
            Conflict: the object was changed meanwhile: nothing may be sent.
            KubeError: it is not known whether the mark is there: nothing may be sent.
        """

    async def created(self, identity: str) -> None:
        """Say that it is there.

        Raises:
            KubeError: the mark could not be written.
        """

    async def not_created(self) -> None:
        """Take the pending mark away: the create had no effect.

        Raises:
            KubeError: the mark could not be written.
        """


class AnnotationMarks:
    """Marks as annotations of the root.

    Args:
        ctx: of the run.
        obj: the root.
        clock: seconds since 1970.
    """

    def __init__(self, ctx: Context, obj: CustomResource, *, clock: Callable[[], float] = time.time) -> None:
        self._ctx = ctx
        self._obj = obj
        self._clock = clock

    def read(self) -> Mark:
        """As in the protocol. Of marks that are another object's, only where the thing is counts."""
        annotations = self._obj.metadata.annotations
        if annotations.get(MARKED_FOR, self._obj.uid) != self._obj.uid:
            return Mark(identity=annotations.get(IDENTITY, ""))
        return Mark(
            identity=annotations.get(IDENTITY, ""),
            pending_at=_seconds(annotations, CREATING),
            created_at=_seconds(annotations, CREATED),
        )

    async def pending(self, identity: str) -> None:
        """As in the protocol. Written for each attempt, so that each is on the newest state of the object."""
        before = self._obj.metadata.annotations.get(CREATING)
        stamp = _stamp(self._clock())
        if stamp == before:  # the same second: a write all the same, for the sake of its condition
            stamp = _stamp(self._clock() + 1)
        marks = {CREATING: stamp, CREATED: None, IDENTITY: identity or None, MARKED_FOR: self._obj.uid}
        await self._ctx.annotate(marks)

    async def created(self, identity: str) -> None:
        """As in the protocol. Tried a few times: where the system chose the identity, only this tells it."""
        stamp = _stamp(self._clock())
        marks = {CREATING: None, CREATED: stamp, IDENTITY: identity, MARKED_FOR: self._obj.uid}
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._ctx.annotate(marks, insist=True)
            except KubeError as error:
                if attempt == _ATTEMPTS or classify(error) is not ErrorClass.TRANSIENT:
                    raise
                await asyncio.sleep(random.uniform(0.1, 0.3) * 2**attempt)
            else:
                return

    async def not_created(self) -> None:
        """As in the protocol."""
        await self._ctx.annotate({CREATING: None})


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _seconds(annotations: Mapping[str, str], name: str) -> float | None:
    """The time under `name`. What is there and is none, as anybody may write anything, is long ago."""
    text = annotations.get(name)
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return parsed.replace(tzinfo=parsed.tzinfo or UTC).timestamp()
