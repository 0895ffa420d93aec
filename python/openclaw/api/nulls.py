"""Which nulls of an object's JSON mean something.

Everywhere else an absent field and null are the same, and null is left out. Where a field is `nullable` they
are two values, and leaving null out would change the object.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def admits_null(schema: Json) -> bool:
    """Whether null means something anywhere below the schema."""
    below = [*schema.get("properties", {}).values()]
    below += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    return any(child.get("nullable", False) or admits_null(child) for child in below)


def without_idle_nulls(value: Any, schema: Json) -> Any:
    """The value without the nulls that stand for an absent field."""
    if isinstance(value, dict) and "properties" in schema:
        properties: Json = schema["properties"]
        return {
            key: without_idle_nulls(entry, properties.get(key, {}))
            for key, entry in value.items()
            if entry is not None or key not in properties or properties[key].get("nullable", False)
        }
    if isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        return {
            key: without_idle_nulls(entry, schema["additionalProperties"]) for key, entry in value.items()
        }
    if isinstance(value, list) and "items" in schema:
        return [without_idle_nulls(entry, schema["items"]) for entry in value]
    return value
