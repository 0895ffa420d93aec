"""Lays the facts of a place over the schema of its type: bounds, list and map types, rules."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

from openclaw.api.cel import literal
from openclaw.api.facts import Facts
from openclaw.api.markers import ModelOptions, Rule

Json = dict[str, Any]

_LENGTHS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


def overlay(schema: Json, facts: Facts) -> Json:
    """The schema with the facts added; the given one is not changed."""
    schema = _described(schema, facts)
    lower, upper = _LENGTHS.get(schema.get("type", ""), ("minLength", "maxLength"))
    _put(schema, "format", facts.format)
    _put(schema, "enum", list(facts.enum) if facts.enum is not None else None)
    _put_bound(schema, "minimum", "exclusiveMinimum", facts.ge, facts.gt, tightest=max)
    _put_bound(schema, "maximum", "exclusiveMaximum", facts.le, facts.lt, tightest=min)
    _put(schema, "multipleOf", facts.multiple_of)
    _put(schema, lower, facts.min_length)
    _put(schema, upper, facts.max_length)
    rules = list(facts.rules)
    if facts.pattern is not None and facts.pattern_message is not None:
        # A failed `pattern` answers with the bare expression; a rule can say what is allowed.
        rules.insert(0, Rule(rule=f"self.matches({literal(facts.pattern)})", message=facts.pattern_message))
    else:
        _put(schema, "pattern", facts.pattern)
    if facts.immutable:
        rules.append(Rule(rule="self == oldSelf", message="the field is immutable: it can't be changed"))
    _put(schema, "nullable", facts.nullable or None)
    _put(schema, "x-kubernetes-list-type", facts.list_type)
    _put(schema, "x-kubernetes-list-map-keys", list(facts.list_map_keys) or None)
    _put(schema, "x-kubernetes-map-type", facts.map_type)
    _put(schema, "x-kubernetes-embedded-resource", facts.embedded_resource or None)
    _put(schema, "x-kubernetes-preserve-unknown-fields", facts.preserve_unknown or None)
    add_rules(schema, rules)
    return schema


def overlay_options(schema: Json, options: ModelOptions) -> None:
    """Add the facts of a model as a whole to its schema."""
    _put(schema, "minProperties", options.min_properties)
    _put(schema, "maxProperties", options.max_properties)
    _put(schema, "x-kubernetes-map-type", options.map_type)
    _put(schema, "x-kubernetes-embedded-resource", options.embedded_resource or None)
    _put(schema, "x-kubernetes-preserve-unknown-fields", options.preserve_unknown or None)
    add_rules(schema, options.rules)


def add_rules(schema: Json, rules: Sequence[Rule]) -> None:
    """Append rules to the schema's validations, each expression once: the server refuses a doubled one."""
    entries = list(schema.get("x-kubernetes-validations", ()))
    known = {entry["rule"] for entry in entries}
    for rule in rules:
        if rule.rule not in known:
            known.add(rule.rule)
            entries.append(rule.to_schema())
    if entries:
        schema["x-kubernetes-validations"] = entries


def _described(schema: Json, facts: Facts) -> Json:
    description = (
        schema.get("description") if facts.description is None else inspect.cleandoc(facts.description)
    )
    if facts.examples:
        shown = ", ".join(
            example if isinstance(example, str) else json.dumps(example) for example in facts.examples
        )
        word = "Example" if len(facts.examples) == 1 else "Examples"
        description = f"{description or ''}\n{word}: {shown}".strip()
    rest = {key: value for key, value in schema.items() if key != "description"}
    return {"description": description, **rest} if description else rest


def _put(schema: Json, key: str, value: Any) -> None:
    if value is not None:
        schema[key] = value


def _put_bound(
    schema: Json,
    bound: str,
    exclusive: str,
    inclusive_limit: float | None,
    exclusive_limit: float | None,
    *,
    tightest: Any,
) -> None:
    # The exclusive bound is a flag on the inclusive one, so only the tighter of the two can be said.
    if exclusive_limit is not None and (
        inclusive_limit is None or tightest(inclusive_limit, exclusive_limit) == exclusive_limit
    ):
        schema[bound] = exclusive_limit
        schema[exclusive] = True
    else:
        _put(schema, bound, inclusive_limit)
