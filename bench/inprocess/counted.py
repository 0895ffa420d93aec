"""Feeds a file of events so many times, and does as little else as can be: run under valgrind.

`python counted.py CONTESTANT EXTENSION FIRST ROUNDS LINES TIMES`; see `bench.inprocess.instructions`.
"""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def ours(extension: str) -> Callable[[bytes], Any]:
    # By its file: the package around it would bring pydantic and the HTTP client into the count.
    spec = importlib.util.spec_from_file_location("_core", extension)
    if spec is None or spec.loader is None:
        raise ImportError(extension)
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    cache = core.Cache(manager="openclaw")
    cache.subscribe(b'{"any":[{"generation":{}},{"deletion":{}}]}', b'{"self":{}}')
    feed: Callable[[bytes], Any] = cache.feed
    return feed


def dicts(name: str) -> Callable[[bytes], Any]:
    loads: Callable[[bytes], Any] = json.loads
    if name == "orjson":
        import orjson

        loads = orjson.loads
    objects: dict[tuple[str, str], Any] = {}

    def feed(chunk: bytes) -> None:
        for line in chunk.splitlines():
            new = loads(line)["object"]
            metadata = new["metadata"]
            key = (metadata["namespace"], metadata["name"])
            old = objects.get(key)
            objects[key] = new
            if old is not None and old["metadata"]["generation"] != metadata["generation"]:
                raise ValueError(key)

    return feed


def main() -> None:
    name, extension, first, rounds, lines, times = sys.argv[1:7]
    feed = ours(extension) if name == "openclaw" else dicts(name)
    feed(Path(first).read_bytes())
    events = Path(rounds).read_bytes().splitlines(keepends=True)
    for round_ in range(int(times)):
        start = round_ * int(lines)
        feed(b"".join(events[start : start + int(lines)]))


main()
