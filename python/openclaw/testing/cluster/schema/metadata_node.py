"""ObjectMeta, which all kinds have."""

from __future__ import annotations

from functools import cache

from openclaw.testing.cluster.schema.builtin_data import definition_node
from openclaw.testing.cluster.schema.node import Node


@cache
def object_meta() -> Node:
    """The node of `metadata`."""
    return definition_node("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
