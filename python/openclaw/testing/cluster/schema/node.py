"""A schema, read once from OpenAPI, in the form that pruning, defaulting, validation and merging walk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

ListKind = Literal["atomic", "set", "map"]

_EXTENSION: Final = "x-kubernetes-"


@dataclass(slots=True, eq=False, weakref_slot=True)
class Node:
    """What may be at one place of an object.

    Attributes:
        type: of JSON Schema; "" for a value that may have any.
        properties: known fields of an object.
        additional: what the values of a map are.
        items: what the items of a list are.
        preserve: unknown fields stay.
        embedded: an object with apiVersion, kind and metadata of its own.
        list_kind: how two lists are merged, and what must be unique.
        keys: of the items of a list map.
        atomic: an object that is owned and replaced as a whole.
        strategy: of strategic merge patch: `merge`, `replace`, `retainKeys`; several with commas.
        merge_key: of strategic merge patch.
        struct: the name of the Go struct, such as `v1.Container`; built-in kinds only.
        mark: how Go writes the field, see `go_types.MARK`; built-in kinds only.
        raw: the OpenAPI schema, for the rules of values.
        rules: `x-kubernetes-validations`.
        checked: whether there is any rule at or below this node.
        ruled: whether there is any `x-kubernetes-validations` at or below.
        defaulted: whether there is any default at or below.
    """

    type: str = ""
    properties: dict[str, Node] = field(default_factory=dict)
    additional: Node | None = None
    items: Node | None = None
    nullable: bool = False
    preserve: bool = False
    embedded: bool = False
    int_or_string: bool = False
    list_kind: ListKind = "atomic"
    keys: tuple[str, ...] = ()
    atomic: bool = False
    has_default: bool = False
    default: Any = None
    required: tuple[str, ...] = ()
    strategy: str = ""
    merge_key: str = ""
    struct: str = ""
    mark: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)
    rules: tuple[Mapping[str, Any], ...] = ()
    ruled: bool = False

    def child(self, key: str) -> Node | None:
        """The node of a field of an object or a map; None for an unknown field."""
        return self.properties.get(key) or self.additional


class Compiler:
    """Reads OpenAPI schemas; `$ref`s are looked up in `definitions` and may be recursive."""

    def __init__(self, definitions: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._definitions = definitions or {}
        self._known: dict[str, Node] = {}

    def named(self, name: str) -> Node:
        """The node of a definition."""
        if name not in self._known:
            node = self._known[name] = Node()
            self._fill_named(node, name, {})
        return self._known[name]

    def node(self, schema: Mapping[str, Any]) -> Node:
        """The node of a schema."""
        reference = schema.get("$ref")
        if reference is None:
            node = Node()
            self._fill(node, schema)
            return node
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        if not siblings:
            return self.named(reference)
        # The same definition with another default or merge strategy; kept apart by its text.
        key = f"{reference} {json.dumps(siblings, sort_keys=True)}"
        if key not in self._known:
            node = self._known[key] = Node()
            self._fill_named(node, reference, siblings)
        return self._known[key]

    def _fill_named(self, node: Node, name: str, siblings: Mapping[str, Any]) -> None:
        node.struct = ".".join(name.split(".")[-2:])
        self._fill(node, {**self._definitions[name], **siblings})

    def _fill(self, node: Node, schema: Mapping[str, Any]) -> None:
        node.raw = schema
        node.type = schema.get("type", "")
        node.nullable = schema.get("nullable", False)
        node.int_or_string = (
            schema.get(f"{_EXTENSION}int-or-string", False) or schema.get("format") == "int-or-string"
        )
        node.preserve = schema.get(f"{_EXTENSION}preserve-unknown-fields", False)
        node.embedded = schema.get(f"{_EXTENSION}embedded-resource", False)
        node.list_kind = schema.get(f"{_EXTENSION}list-type", "atomic")
        node.keys = tuple(schema.get(f"{_EXTENSION}list-map-keys", ()))
        node.atomic = schema.get(f"{_EXTENSION}map-type") == "atomic"
        node.strategy = schema.get(f"{_EXTENSION}patch-strategy", "")
        node.merge_key = schema.get(f"{_EXTENSION}patch-merge-key", "")
        node.mark = schema.get("x-go", "")
        node.required = tuple(schema.get("required", ()))
        node.rules = tuple(schema.get(f"{_EXTENSION}validations") or ())
        if "default" in schema:
            node.has_default, node.default = True, schema["default"]
        node.properties = {name: self.node(below) for name, below in schema.get("properties", {}).items()}
        if isinstance(schema.get("items"), dict):
            node.items = self.node(schema["items"])
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict):
            node.additional = self.node(additional)
        elif additional:
            node.additional = Node(preserve=True)
        if self._definitions and not (node.properties or node.additional or node.items):
            # In Go a value that holds what it was given: a RawExtension, a default.
            node.preserve = node.type in {"", "object"}
        below = [*node.properties.values(), node.items, node.additional]
        node.ruled = bool(node.rules) or any(it is not None and it.ruled for it in below)


def path_of(parent: str, key: str) -> str:
    """The path of a field: `spec.replicas`; a key that is no identifier stays as it is, as in the server."""
    return f"{parent}.{key}" if parent else key
