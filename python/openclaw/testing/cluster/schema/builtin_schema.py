"""The schema of a built-in kind."""

from __future__ import annotations

from copy import deepcopy
from functools import cached_property
from typing import Any

from openclaw.testing.cluster.contracts import Cause, Decoded, FieldValidation, Object
from openclaw.testing.cluster.json_body import duplicate_fields, merged_duplicates, read_object
from openclaw.testing.cluster.kinds.rules import builtin_causes
from openclaw.testing.cluster.schema.builtin_data import builtin_data, kind_node
from openclaw.testing.cluster.schema.builtin_defaults import builtin_defaults
from openclaw.testing.cluster.schema.decoding import cannot_be_handled, reported
from openclaw.testing.cluster.schema.go_values import GoValueError, go_read, go_write, zero_object
from openclaw.testing.cluster.schema.node import Node
from openclaw.testing.cluster.schema.pruning import prune


class BuiltinSchema:
    """Decodes, completes and checks objects of a built-in kind as kube-apiserver does.

    Raises LookupError when there is no such kind.
    """

    typed = True
    """Whether Go has a struct for it: fields have zero values, strategic merge patch works."""

    def __init__(self, group: str, version: str, kind: str) -> None:
        node = kind_node(group, version, kind)
        if node is None:
            message = f"no built-in kind {kind} in {group or 'core'}/{version}"
            raise LookupError(message)
        self.node: Node = node
        self.kind = kind
        self.version = version
        self.api_version = f"{group}/{version}" if group else version

    def decode(self, body: bytes, validation: FieldValidation) -> Decoded:
        """The object in a body."""
        obj = read_object(body, self.kind)
        duplicates = duplicate_fields(body, obj)
        if duplicates:
            obj = merged_duplicates(body)
        return self.complete(obj, validation, duplicates)

    def complete(
        self, obj: Object, validation: FieldValidation, duplicates: list[str] | None = None
    ) -> Decoded:
        """The object pruned, normalised and with defaults. Raises StatusError."""
        kind, api_version = obj.get("kind") or self.kind, obj.get("apiVersion") or self.api_version
        if kind != self.kind or api_version != self.api_version:
            raise self._other_kind(kind, api_version)
        try:
            read = go_read(self.node, obj)
        except GoValueError as error:
            raise cannot_be_handled(self.version, self.kind, self.kind, str(error)) from None
        unknown: list[str] = []
        pruned = prune(self.node, read, unknown)
        done = self._completed({**pruned, "apiVersion": api_version, "kind": kind})
        if (obj.get("metadata") or {}).get("managedFields") == []:
            # Go tells an empty list from none; it asks to forget all managers.
            done = {**done, "metadata": {**done["metadata"], "managedFields": []}}
        return reported(done, unknown, duplicates or [], validation, version=self.version, kind=self.kind)

    def default(self, obj: Object) -> Object:
        """The object completed once more."""
        return self.complete(obj, FieldValidation.IGNORE).object

    def after_apply(self, obj: Object) -> Object:
        """A merged object with defaults."""
        return self.complete(obj, FieldValidation.IGNORE).object

    def validate(self, obj: Object, old: Object | None, subresource: str = "") -> list[Cause]:
        """What is wrong with the object."""
        return builtin_causes(self.node, self.kind, obj, old, subresource)

    @cached_property
    def zero(self) -> Object:
        """What Go writes of an object in which nothing was set."""
        return zero_object(self.node)

    def openapi(self) -> Object:
        """The schema without references."""
        key = f"{self.api_version}/{self.kind}"
        data = builtin_data()
        inlined: Object = _inlined(data["schemas"][data["kinds"][key]], data["schemas"], ())
        return inlined

    def _completed(self, obj: Object) -> Object:
        written = go_write(self.node, obj)
        defaulted = builtin_defaults(self.node, written)
        # Structs that only the defaults made have fields that are always written, too.
        done: Object = written if defaulted is written else go_write(self.node, defaulted)
        return done

    def _other_kind(self, kind: Any, api_version: Any) -> Exception:
        version = str(api_version).rpartition("/")[2]
        if f"{api_version}/{kind}" not in builtin_data()["kinds"]:
            why = f'no kind "{kind}" is registered for version "{api_version}" in scheme'
        else:
            package = self.api_version.rpartition("/")[0].partition(".")[0] or "core"
            why = f"converting ({version}.{kind}) to ({package}.{self.kind}): unknown conversion"
        return cannot_be_handled(version, kind, self.kind, why)


def _inlined(schema: Any, definitions: Object, above: tuple[str, ...]) -> Any:
    if isinstance(schema, list):
        return [_inlined(one, definitions, above) for one in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    rest = {key: value for key, value in schema.items() if key not in {"$ref", "x-go"}}
    if isinstance(reference, str):
        if reference in above:
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        return {**_inlined(deepcopy(definitions[reference]), definitions, (*above, reference)), **rest}
    return {key: _inlined(value, definitions, above) for key, value in rest.items()}
