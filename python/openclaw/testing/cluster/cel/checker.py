"""The types of a schema for CEL's type checker, by way of protobuf's descriptors.

Objects with known fields become messages, so that `self.spec.repilcas` is refused
when the definition is made.
"""

from __future__ import annotations

import re
from typing import Any, Final

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from openclaw.testing.cluster.cel.environment import ExpressionError, compiled, extensions
from openclaw.testing.cluster.cel.identifiers import escaped
from openclaw.testing.cluster.schema.metadata_node import object_meta
from openclaw.testing.cluster.schema.node import Node

_PACKAGE: Final = "schema"
_SCALARS: Final = {
    "boolean": FieldDescriptorProto.TYPE_BOOL,
    "integer": FieldDescriptorProto.TYPE_INT64,
    "number": FieldDescriptorProto.TYPE_DOUBLE,
    "string": FieldDescriptorProto.TYPE_STRING,
}
_WELL_KNOWN: Final = {
    "date-time": ".google.protobuf.Timestamp",
    "datetime": ".google.protobuf.Timestamp",
    "date": ".google.protobuf.Timestamp",
    "duration": ".google.protobuf.Duration",
}
_FAULT: Final = "<input>:"
_NUMBERS: Final = re.compile(
    r"no matching overload for '_(<|>|<=|>=)_' applied to '\((int|uint|double), (int|uint|double)\)'"
)
"""What Kubernetes compares and this checker does not."""
_OPTIONAL: Final = "cel.bind(oldSelf, optional.of(oldSelf), "
"""An optional type has no name by which a variable could be declared."""
_ANY: Final = ".google.protobuf.Value"
_PLAIN_TYPES: Final = {
    "boolean": cel.Type.BOOL,
    "integer": cel.Type.INT,
    "number": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
}


class TypeChecker:
    """Checks the expressions at one place of a schema.

    Args:
        node: what `self` is.
        root: it is a whole object.
    """

    def __init__(self, node: Node, *, root: bool = False) -> None:
        self._file = descriptor_pb2.FileDescriptorProto(
            name="schema.proto", package=_PACKAGE, syntax="proto3"
        )
        known = (timestamp_pb2, duration_pb2, struct_pb2, wrappers_pb2)
        self._file.dependency.extend(it.DESCRIPTOR.name for it in known)
        self._pool = DescriptorPool()
        for module in known:
            self._pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        self._self_type = self._type(node, root=root)
        self._pool.Add(self._file)
        self._environment = cel.NewEnv(
            descriptor_pool=self._pool,
            variables={"self": self._self_type, "oldSelf": self._self_type},
            extensions=extensions(),
        )

    def check(self, text: str, *, optional_old_self: bool = False) -> str:
        """The name of the expression's type, such as `BOOL`. Raises ExpressionError."""
        wrapped = f"{_OPTIONAL}{text})" if optional_old_self else text
        try:
            program = compiled(self._environment, wrapped)
        except ExpressionError as error:
            message = _unwrapped(str(error)) if optional_old_self else str(error)
            if all(_NUMBERS.search(line) for line in message.splitlines() if _FAULT in line):
                return "BOOL"
            raise ExpressionError(message) from None
        name: str = program.return_type().name()
        return name

    def _type(self, node: Node, *, root: bool) -> Any:
        if node.int_or_string or (node.preserve and not node.properties and not root):
            return cel.Type.DYN
        if node.type == "array":
            return cel.Type.List(self._type(node.items, root=False) if node.items else cel.Type.DYN)
        if node.type == "object":
            if node.additional is not None:
                return cel.Type.Map(cel.Type.STRING, self._type(node.additional, root=False))
            return cel.Type(self._message(node, root=root or node.embedded))
        format_ = node.raw.get("format", "")
        if format_ in _WELL_KNOWN and node.type == "string":
            return cel.Type.DURATION if format_ == "duration" else cel.Type.TIMESTAMP
        if format_ == "byte":
            return cel.Type.BYTES
        return _PLAIN_TYPES.get(node.type, cel.Type.DYN)

    def _message(self, node: Node, *, root: bool = False) -> str:
        message = self._file.message_type.add(name=f"Object{len(self._file.message_type)}")
        properties = dict(node.properties)
        if root:
            meta = object_meta()
            names = {key: meta.properties[key] for key in ("name", "generateName")}
            properties |= {
                "apiVersion": Node(type="string"),
                "kind": Node(type="string"),
                "metadata": Node(type="object", properties=names),
            }
        for number, (name, below) in enumerate(properties.items(), 1):
            identifier = escaped(name)
            if identifier is not None:
                field = message.field.add(
                    name=identifier, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL
                )
                self._field(field, below, message)
        return f"{_PACKAGE}.{message.name}"

    def _field(self, field: Any, node: Node, message: Any) -> None:
        if node.int_or_string or (node.preserve and not node.properties):
            field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, _ANY
        elif node.type == "array":
            if node.items is None or node.items.type == "array" or node.items.additional is not None:
                field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, _ANY
            else:
                self._field(field, node.items, message)
            field.label = FieldDescriptorProto.LABEL_REPEATED
        elif node.type == "object" and node.additional is not None:
            self._map(field, node.additional, message)
        elif node.type == "object":
            name = self._message(node, root=node.embedded)
            field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{name}"
        elif node.type == "string" and node.raw.get("format") in _WELL_KNOWN:
            field.type = FieldDescriptorProto.TYPE_MESSAGE
            field.type_name = _WELL_KNOWN[node.raw["format"]]
        elif node.type == "string" and node.raw.get("format") == "byte":
            field.type = FieldDescriptorProto.TYPE_BYTES
        elif node.type in _SCALARS:
            field.type = _SCALARS[node.type]
        else:
            field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, _ANY

    def _map(self, field: Any, values: Node, message: Any) -> None:
        entry = message.nested_type.add(name=f"{_entry_name(field.name)}Entry")
        entry.options.map_entry = True
        entry.field.add(
            name="key",
            number=1,
            label=FieldDescriptorProto.LABEL_OPTIONAL,
            type=FieldDescriptorProto.TYPE_STRING,
        )
        value = entry.field.add(name="value", number=2, label=FieldDescriptorProto.LABEL_OPTIONAL)
        if values.type == "array" or values.additional is not None:
            value.type, value.type_name = FieldDescriptorProto.TYPE_MESSAGE, _ANY
        else:
            self._field(value, values, message)
        field.label = FieldDescriptorProto.LABEL_REPEATED
        field.type = FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{message.name}.{entry.name}"


def _unwrapped(message: str) -> str:
    """An error's text as if the expression had not been wrapped."""
    width = len(_OPTIONAL)
    message = re.sub(r"<input>:1:(\d+)", lambda match: f"<input>:1:{int(match[1]) - width}", message)
    message = message.replace(_OPTIONAL, "").replace(f" | {'.' * width}", " | ")
    return re.sub(r"(?m)^( \| .*)\)$", r"\1", message)


def _entry_name(field: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in field.split("_"))
