"""Objects as JSON: which they are, and how messages show them."""

from __future__ import annotations

from typing import Any, Final

import orjson

_SHOWN: Final = 2000  # characters


def selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    """The query parameters of these selectors, of those that say something."""
    given = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: selector for name, selector in given.items() if selector}


def same(item: dict[str, Any], other: dict[str, Any] | None) -> bool:
    """Whether both are the same object, perhaps at different times."""
    return other is not None and item["metadata"]["uid"] == other["metadata"]["uid"]


def key(item: dict[str, Any]) -> tuple[str, str]:
    """Namespace and name."""
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def describe(objects: list[dict[str, Any]] | None, note: list[str]) -> str:
    """What was seen last, for the message of a timeout."""
    trouble = f" ({note[0]})" if note else ""
    if objects is None:
        return f"it could not be read{trouble}"
    if not objects:
        return f"it does not exist{trouble}"
    shown = [{**item, "metadata": {**item["metadata"], "managedFields": None}} for item in objects]
    text = orjson.dumps(shown[0] if len(shown) == 1 else shown).decode()
    cut = f"{text[:_SHOWN]} … ({len(text)} characters)" if len(text) > _SHOWN else text
    return f"last seen{trouble}: {cut}"
