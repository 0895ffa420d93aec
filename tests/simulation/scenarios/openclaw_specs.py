"""Specs of OpenClaws by chance, over the whole schema: a new field is drawn as soon as the CRD has it."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from openclaw.api.openclaw import OpenClaw
from openclaw.manifests.crd import custom_resource_definition

Object = dict[str, Any]
Path = tuple[str, ...]

QUEUE_SECRET: Final = "hunter2-not-for-logs"
"""Stands in queue addresses, where it should not: it is never to be seen but in the Deployment."""

_STRINGS: Final[dict[str, Sequence[str]]] = {
    "image": ("registry.example.com/shop/web:1.4", "registry.example.com/shop/web:1.5", "web", "a/b:2"),
    "ingressHost": ("shop.example.com", "*.example.com", "example.org"),
    "queue": ("redis.shop:6379", f"amqp://jobs:{QUEUE_SECRET}@rabbitmq.shop:5672/jobs", "q"),
    "imagePullSecrets": ("registry-credentials", "other", "a.b"),
    "nodeSelector": ("ssd", "", "x_y.z"),
}
_KEYS: Final = ("disktype", "example.com/zone", "a")
_MOST_PODS: Final = 3
"""What the schema allows for replicas would only make a simulation slow."""


@cache
def _schema() -> Object:
    (version,) = custom_resource_definition(OpenClaw)["spec"]["versions"]
    found: Object = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


@cache
def fields() -> tuple[Path, ...]:
    """The paths of all fields that are no objects with fields of their own."""
    return tuple(_fields(_schema(), ()))


def _fields(schema: Object, path: Path) -> Iterator[Path]:
    for name, below in schema["properties"].items():
        if "properties" in below:
            yield from _fields(below, (*path, name))
        else:
            yield (*path, name)


def _at(path: Path) -> tuple[Object, bool]:
    """The schema of a field, and whether it has to be there."""
    schema, required = _schema(), True
    for name in path:
        required = name in schema.get("required", ())
        schema = schema["properties"][name]
    return schema, required


def _value(schema: Object, name: str, chance: random.Random) -> Any:
    if "enum" in schema:
        return chance.choice(schema["enum"])
    match schema["type"]:
        case "integer":
            most = _MOST_PODS if name == "replicas" else schema["maximum"]
            return chance.randint(schema["minimum"], most)
        case "string":
            return chance.choice(_STRINGS[name])
        case "array":
            return chance.sample(_STRINGS[name], chance.randint(0, len(_STRINGS[name])))
        case "object":
            keys = chance.sample(_KEYS, chance.randint(0, len(_KEYS)))
            return {key: _value(schema["additionalProperties"], name, chance) for key in keys}
        case other:
            raise LookupError(f"spec field {name}: say here how a value of type {other} is drawn")


def draw(path: Path, chance: random.Random) -> Any:
    """A value for a field; None where it is left out."""
    schema, required = _at(path)
    if not required and chance.random() < 0.25:
        return None
    return _value(schema, path[-1], chance)


def put(spec: Object, path: Path, value: Any) -> Object:
    """The spec with another value in one field; None takes the field away."""
    changed = copy.deepcopy(spec)
    below = changed
    for name in path[:-1]:
        below = below.setdefault(name, {})
    if value is None:
        below.pop(path[-1], None)
    else:
        below[path[-1]] = value
    return changed


def drawn_spec(chance: random.Random) -> Object:
    """A whole spec, with each field drawn."""
    spec: Object = {}
    for path in fields():
        value = draw(path, chance)
        if value is not None:
            spec = put(spec, path, value)
    return spec


def claw(name: str, spec: Object) -> Object:
    """An OpenClaw as a user writes it."""
    return {
        "apiVersion": OpenClaw.resource.api_version,
        "kind": OpenClaw.resource.kind,
        "metadata": {"name": name},
        "spec": spec,
    }
