"""Nothing secret gets to where people look."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from openclaw.testing.simulation.contracts import Invariant, Violation, World, Write
from openclaw.testing.simulation.invariants.declared import Declared, describe

__all__ = ["NothingSecret"]

_SHORTEST: Final = 8
# Names, places and numbers stand in Secrets beside what is secret, and in statuses as well.
_HARMLESS: Final = re.compile(r"user|host|port|region|endpoint|database|engine|role|arn|id$", re.IGNORECASE)


class NothingSecret(Invariant):
    """No value of a Secret, and none of the given markers, is in a log line, an Event, a status or metadata.

    Values shorter than eight characters say nothing (`true`, a port) and are not looked for, nor are those
    whose key says that they are a name or a place (`host`, `username`, `region`). A Secret that a shard
    itself writes may hold them; its annotations may not.

    Args:
        declared: the operator.
        markers: further texts that are secret.
    """

    name: Final = "nothing-secret"

    def __init__(self, declared: Declared, markers: Iterable[str] = ()) -> None:
        self._declared = declared
        self._known: dict[bytes, str] = {}
        for marker in markers:
            self._learn(marker, "a marker")

    def _learn(self, value: str, origin: str) -> None:
        if len(value) >= _SHORTEST:
            # As it stands in JSON, without the quotation marks.
            self._known.setdefault(orjson.dumps(value)[1:-1], origin)

    def on_write(self, world: World, write: Write) -> None:
        """Learn what is secret; look for it in what shards write."""
        obj = write.after
        if obj is None:
            return
        if write.resource == "secrets":
            for key, value in _values(obj):
                if not _HARMLESS.search(key):
                    self._learn(value, f"{describe(write.resource, obj)} {key}")
        if self._known and self._declared.by_shard(world, write):
            metadata = {key: it for key, it in obj["metadata"].items() if key != "managedFields"}
            whole = write.resource.startswith("events")
            shown = obj if whole else {"metadata": metadata, "status": obj.get("status")}
            self._look(orjson.dumps(shown), describe(write.resource, obj))

    def on_log(self, world: World, shard: str, record: Mapping[str, Any]) -> None:  # noqa: ARG002 - the contract
        """Look for what is secret in a log line."""
        if self._known:
            self._look(orjson.dumps(record, default=str), f"the log of {shard}")

    def _look(self, text: bytes, where: str) -> None:
        for marker, origin in self._known.items():
            if marker in text:
                raise Violation(self.name, f"{where} has what is secret in {origin}")


def _values(secret: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The values of a Secret, in clear and as they are stored."""
    for key, value in (secret.get("data") or {}).items():
        yield key, value
        try:
            yield key, base64.b64decode(value).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
