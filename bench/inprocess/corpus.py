"""The events that the benchmarks are about: lines of a watch, pages of a list, chunks of a socket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import orjson

from bench.inprocess.objects import API_VERSIONS, BEAT, BUILDERS, GENERATION, VERSION

KINDS: Final = tuple(BUILDERS)


@dataclass(frozen=True, slots=True)
class Template:
    """An object's JSON with stand-ins for what changes from event to event."""

    body: bytes

    def object(self, version: int, *, generation: int = 1, beat: int = 0) -> bytes:
        """The object at a resourceVersion; `beat` is in its status, or in an annotation."""
        return (
            self.body.replace(VERSION.encode(), b"%d" % version)
            .replace(b"%d" % GENERATION, b"%d" % generation)
            .replace(b"%d" % BEAT, b"%d" % beat)
        )

    def event(self, kind: str, version: int, *, generation: int = 1, beat: int = 0) -> bytes:
        """A line of a watch: ADDED, MODIFIED or DELETED."""
        body = self.object(version, generation=generation, beat=beat)
        return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"


def template(kind: str, number: int) -> Template:
    """The `number`th object of a kind."""
    return Template(orjson.dumps(BUILDERS[kind](number)))


def templates(kind: str, count: int) -> list[Template]:
    """The first objects of a kind."""
    return [template(kind, number) for number in range(count)]


def bookmark(kind: str, version: int) -> bytes:
    """A bookmark of a watch on this kind."""
    metadata = {"creationTimestamp": None, "resourceVersion": str(version)}
    body = {"kind": kind, "apiVersion": API_VERSIONS[kind], "metadata": metadata}
    return orjson.dumps({"type": "BOOKMARK", "object": body}) + b"\n"


def pages(kind: str, bodies: Iterable[bytes], *, version: int, size: int) -> Iterator[bytes]:
    """A list of objects as the pages of a paged response."""
    items = list(bodies)
    for start in range(0, len(items), size):
        left = max(0, len(items) - start - size)
        metadata = {"resourceVersion": str(version)}
        if left:
            metadata |= {"continue": f"token-{start + size}", "remainingItemCount": left}  # type: ignore[dict-item]
        head = orjson.dumps({"kind": f"{kind}List", "apiVersion": API_VERSIONS[kind], "metadata": metadata})
        yield head[:-1] + b',"items":[' + b",".join(items[start : start + size]) + b"]}"


def chunks(lines: Iterable[bytes], size: int) -> list[bytes]:
    """Bytes as a socket gives them: `size` at a time, cut anywhere; 0 for one event a chunk."""
    if size == 0:
        return list(lines)
    stream = b"".join(lines)
    return [stream[start : start + size] for start in range(0, len(stream), size)]
