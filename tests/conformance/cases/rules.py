"""CEL rules of schemas."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases.schema import widget
from tests.conformance.collecting import Collection, Story
from tests.conformance.recording import Client

case = Collection("rules")

_CREATED: dict[str, Any] = {
    "all hold": {"rules": {"a": 1, "b": 2, "c": "abc", "list": ["xa"], "x-y": 3, "wait": "2m"}},
    "own message": {"rules": {"a": 4, "b": 1}},
    "the rule is the message": {"rules": {"a": 9}},
    "message expression, reason and path": {"rules": {"a": 3}},
    "reason required": {"rules": {"b": 13}},
    "regular expression": {"rules": {"c": "A1"}},
    "quantity": {"rules": {"quantity": "1Ki"}},
    "quantity that is none": {"rules": {"quantity": "x"}},
    "quantity large enough": {"rules": {"quantity": "2Mi"}},
    "list": {"rules": {"list": ["xa", "b"]}},
    "escaped name": {"rules": {"x-y": 0}},
    "duration": {"rules": {"wait": "30s"}},
    "several": {"rules": {"a": 9, "b": 1, "c": "1"}},
    "missing field": {"unchecked": {}},
    "field is there": {"unchecked": {"a": 1}},
    "not evaluated when the structure is wrong": {"rules": {"a": 9, "b": "x"}},
    "transition rule of a new object": {"grows": 5, "fixed": "x"},
    "optional old self of a new object": {"once": "x"},
}


def _created(spec: Any) -> Story:
    async def story(k: Client) -> None:
        await k.create("widgets", widget({"size": "s", **spec}))

    return story


for name, spec in _CREATED.items():
    case.add(name, _created(spec))


@case
async def transition_rules(k: Client) -> None:
    await k.create("widgets", widget({"size": "s", "grows": 5, "fixed": "x", "once": "x"}))
    for spec in (
        {"grows": 6},
        {"grows": 4},
        {"grows": None},
        {"grows": 1},
        {"fixed": "y"},
        {"fixed": None},
        {"once": "y"},
        {"once": "x"},
        {"grows": 0, "fixed": "z", "once": "q"},
    ):
        await k.merge("widgets", "w", {"spec": spec})


@case
async def unchanged_values_are_not_judged_again(k: Client) -> None:
    await k.create("widgets", widget({"size": "s", "rules": {"a": 1, "b": 2}}))
    await k.merge("widgets", "w", {"metadata": {"labels": {"a": "b"}}})
    await k.merge("widgets", "w", {"spec": {"rules": {"a": 4}}})


def _definition(k: Client, schema: Any) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True}
    return {
        "metadata": {"name": f"foos.{k.ns}.io"},
        "spec": {
            "group": f"{k.ns}.io",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [
                {**version, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}}}
            ],
        },
    }


def _compiled(rule: Any) -> Story:
    async def story(k: Client) -> None:
        properties = {
            "a": {"type": "string", "maxLength": 10},
            "i": {"type": "integer"},
            "n": {"type": "number"},
            "l": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 5}},
            "m": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "integer"}},
            "x": {"x-kubernetes-int-or-string": True, "maxLength": 5},
            "o": {"type": "object", "properties": {"p": {"type": "boolean"}}},
        }
        schema = {"type": "object", "properties": properties, "x-kubernetes-validations": [rule]}
        await k.create("customresourcedefinitions", _definition(k, schema), dryRun="All")

    return story


_RULES = [
    "self.b == 1",
    "self.a + 1 == 2",
    "self.a",
    "self.",
    "oldSelf.a == 'x'",
    "self.a.foo()",
    "size(self.a) > 3",
    "has(self.a)",
    "self.a == 1",
    "self.i > 1.5",
    "self.n > 1",
    "self.n > 1.0",
    "self.l.all(x, x > 1)",
    "self.l.all(x, x.size() > 1)",
    "self.m.all(key, self.m[key] > 1)",
    "self.m.all(key, self.m[key] == 'x')",
    "self.x == 'a' || self.x == 1",
    "self.o.p",
    "self.o.q",
    "self.o.p == 'x'",
    "self.?a.orValue('x') == 'x'",
    "foo == 1",
    "duration(self.a) > duration('1h')",
    "self.i in [1, 2, 3]",
    "self.i in ['a']",
    "self.l.isSorted()",
    "isURL(self.a)",
    "self.a.find('b') == 'b'",
    "1 + 1",
    "true",
]
for text in _RULES:
    case.add(f"compile {text}", _compiled({"rule": text}))

_FIELDS: dict[str, Any] = {
    "message with a line break": {"rule": "true", "message": "a\nb"},
    "no rule": {"rule": ""},
    "unknown reason": {"rule": "true", "reason": "X"},
    "path to nowhere": {"rule": "true", "fieldPath": ".zz"},
    "path to a field": {"rule": "true", "fieldPath": ".o.p"},
    "message expression that is no text": {"rule": "true", "messageExpression": "1"},
    "empty message": {"rule": "true", "message": " "},
    "old self is optional": {"rule": "oldSelf.hasValue()", "optionalOldSelf": True},
}
for name, rule in _FIELDS.items():
    case.add(name, _compiled(rule))
