"""Random sequences of requests, and how they are played."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.conformance.recording import Client

Object = dict[str, Any]

_GROUP = "conformance.example.com/v1"
_NAMES = st.sampled_from(["a", "b"])
_KINDS = st.sampled_from(["configmaps", "widgets", "widgets"])
_WORDS = st.sampled_from(["s", "t"])
_SMALL = st.integers(0, 4)
_ITEM = st.fixed_dictionaries(
    {"name": st.sampled_from(["x", "y", "z"])},
    optional={"value": _SMALL, "nested": st.fixed_dictionaries({}, optional={"a": _WORDS, "b": _WORDS})},
)
_ITEMS = st.lists(_ITEM, max_size=3, unique_by=lambda item: str(item["name"]))
_PORT = st.fixed_dictionaries(
    {"port": st.integers(80, 81)},
    optional={"protocol": st.sampled_from(["TCP", "UDP"]), "name": _WORDS},
)
_PORTS = st.lists(_PORT, max_size=3, unique_by=lambda port: (port["port"], port.get("protocol", "TCP")))
_OPEN = st.recursive(
    _SMALL | _WORDS | st.booleans(),
    lambda below: (
        st.dictionaries(st.sampled_from(["p", "q"]), below, max_size=2) | st.lists(below, max_size=2)
    ),
    max_leaves=4,
)
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "replicas": _SMALL,
    "whole": st.sampled_from([3, 6, 7]),
    "text": st.sampled_from(["ab", "abc", "b"]),
    "choice": st.sampled_from(["a", "b", "c"]),
    "flag": st.booleans(),
    "set": st.lists(st.sampled_from(["u", "v", "w"]), max_size=3, unique=True),
    "items": _ITEMS,
    "ports": _PORTS,
    "counts": st.dictionaries(st.sampled_from(["m", "n"]), _SMALL, max_size=2),
    "open": st.dictionaries(st.sampled_from(["p", "q"]), _OPEN, max_size=2),
    "whole_map": st.fixed_dictionaries({}, optional={"a": _WORDS, "b": _WORDS}),
    "whole_list": st.lists(st.fixed_dictionaries({}, optional={"a": _WORDS}), max_size=2),
    "numbers": st.lists(_SMALL, max_size=2),
    "defaulted": _SMALL,
    "nullable": st.none() | _WORDS,
    "deep": st.fixed_dictionaries({}, optional={"a": _WORDS, "b": _SMALL}),
    "rules": st.fixed_dictionaries({}, optional={"a": st.integers(0, 6), "b": _SMALL}),
    "grows": _SMALL,
}
_SPEC = st.fixed_dictionaries({"size": _WORDS}, optional=_FIELDS)
_PARTIAL = st.fixed_dictionaries({}, optional={"size": _WORDS, **_FIELDS})
_PATCHED = st.fixed_dictionaries(
    {}, optional={"size": _WORDS, **{name: it | st.none() for name, it in _FIELDS.items()}}
)
_DATA = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2", ""]), max_size=3)
_LABELS = st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(["1", "2"]), max_size=2)
_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "labels": _LABELS,
        "annotations": _LABELS,
        "finalizers": st.lists(st.sampled_from(["a.b/c", "a.b/d"]), max_size=2, unique=True),
    },
)
_MANAGERS = st.sampled_from(["m", "n"])
_CONDITION = st.fixed_dictionaries(
    {"type": st.sampled_from(["Ready", "Done"]), "status": st.sampled_from(["True", "False"])}
)
_STATUS = st.fixed_dictionaries(
    {},
    optional={
        "phase": _WORDS,
        "replicas": _SMALL,
        "conditions": st.lists(_CONDITION, max_size=2, unique_by=lambda one: str(one["type"])),
    },
)


@dataclass(frozen=True)
class Step:
    """A request to come."""

    verb: str
    resource: str
    name: str
    metadata: Object
    spec: Object
    data: Object
    manager: str
    force: bool


def _step(verb: str, spec: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    resource = st.just("widgets") if verb in {"status", "apply status"} else _KINDS
    return st.builds(Step, st.just(verb), resource, _NAMES, _METADATA, spec, _DATA, _MANAGERS, st.booleans())


_ANY_STEPS = st.lists(
    st.one_of(
        _step("create", _SPEC),
        _step("apply", _SPEC),
        _step("apply", _PARTIAL),
        _step("merge", _PATCHED),
        _step("put", _SPEC),
        _step("json", _PARTIAL),
        _step("status", _STATUS),
        _step("apply status", _STATUS),
        _step("delete", st.just({})),
    ),
    min_size=3,
    max_size=12,
)
_FIRST = st.tuples(_step("create", _SPEC) | _step("apply", _SPEC), _step("apply", _SPEC))
STEPS = st.builds(lambda first, others: [*first, *others], _FIRST, _ANY_STEPS)
"""Some requests to objects of two names and two kinds."""


def _body(step: Step, content: Object) -> Object:
    kind = {"widgets": ("Widget", _GROUP), "configmaps": ("ConfigMap", "v1")}[step.resource]
    metadata = {"name": step.name, **step.metadata}
    return {"apiVersion": kind[1], "kind": kind[0], "metadata": metadata, **content}


async def play(k: Client, steps: list[Step]) -> None:
    """Send them all, and look at what is there in the end."""
    for step in steps:
        content = {"data": step.data} if step.resource == "configmaps" else {"spec": step.spec}
        await _play(k, step, content)
    await k.list("widgets")
    for name in ("a", "b"):
        await k.get("configmaps", name)


async def _play(k: Client, step: Step, content: Object) -> None:
    resource, name, manager = step.resource, step.name, step.manager
    match step.verb:
        case "create":
            await k.create(resource, _body(step, content), fieldManager=manager)
        case "apply":
            await k.apply(resource, name, _body(step, content), manager, force=step.force)
        case "merge":
            await k.merge(resource, name, {"metadata": step.metadata, **content}, fieldManager=manager)
        case "put":
            now = await k.get(resource, name, record=False)
            body = _body(step, content)
            body["metadata"]["resourceVersion"] = now["metadata.resourceVersion"]
            await k.put(resource, name, body, fieldManager=manager)
        case "json":
            (field, value), *_ = [*content.items()]
            operations = [{"op": "add", "path": f"/{field}/{key}", "value": it} for key, it in value.items()]
            await k.json(resource, name, operations, fieldManager=manager)
        case "status":
            await k.merge(resource, name, {"status": step.spec}, "status", fieldManager=manager)
        case "apply status":
            body = _body(step, {"status": step.spec})
            await k.apply(resource, name, body, manager, subresource="status", force=step.force)
        case _:
            await k.delete(resource, name)
