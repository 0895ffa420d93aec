"""Makes schemas: of built-in kinds, and of CustomResourceDefinitions."""

from __future__ import annotations

from functools import cache

from openclaw.testing.cluster.contracts import Cause, Object
from openclaw.testing.cluster.schema.builtin_schema import BuiltinSchema
from openclaw.testing.cluster.schema.custom_schema import CustomSchema


class SchemaFactory:
    """The `Schemas` of a cluster."""

    def builtin(self, group: str, version: str, kind: str) -> BuiltinSchema:
        """The schema of a built-in kind; the same one for all clusters. Raises LookupError."""
        return _builtin(group, version, kind)

    def custom(self, definition: Object, version: str) -> CustomSchema:
        """The schema that a definition has for a version."""
        return CustomSchema(definition, version)

    def check_definition(self, definition: Object, old: Object | None) -> list[Cause]:
        """What is wrong with a definition."""
        from openclaw.testing.cluster.schema.definition import check_definition

        return check_definition(definition, old)


@cache
def _builtin(group: str, version: str, kind: str) -> BuiltinSchema:
    return BuiltinSchema(group, version, kind)
