"""Objects, watch lines and list pages to feed a cache with."""

from __future__ import annotations

import json
from typing import Any


def thing(name: str, version: int, **sections: Any) -> dict[str, Any]:
    """Return an object of namespace `n` whose uid is `uid-` and its name."""
    metadata = {"name": name, "namespace": "n", "uid": f"uid-{name}", "resourceVersion": str(version)}
    metadata |= sections.pop("metadata", {})
    return {"apiVersion": "v1", "kind": "Thing", "metadata": metadata, **sections}


def line(kind: str, body: dict[str, Any]) -> bytes:
    """Return one line of a watch."""
    return json.dumps({"type": kind, "object": body}, ensure_ascii=False).encode() + b"\n"


def page(version: int, *items: dict[str, Any], token: str = "", remaining: int | None = None) -> bytes:
    """Return one page of a list response."""
    metadata = {"resourceVersion": str(version), "continue": token, "remainingItemCount": remaining}
    return json.dumps({"kind": "ThingList", "metadata": metadata, "items": list(items)}).encode()
