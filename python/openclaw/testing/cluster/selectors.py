"""Label, field and shard selectors: parsed once, then asked of objects.

The grammar of label selectors is that of `k8s.io/apimachinery/pkg/labels`, of field selectors that of
`pkg/fields`; the shard selector is KEP-5866's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from openclaw._core import fnv1a64
from openclaw.testing.cluster.schema.names import label_value_faults, qualified_name_faults
from openclaw.testing.cluster.statuses import bad_request

__all__ = ["Matches", "field_selector", "label_selector", "matches_labels", "shard_selector"]

Object = dict[str, Any]
Matches = Callable[[Object], bool]
"""Says whether a selector selects an object."""

Requirement = Callable[[Mapping[str, str]], bool]

_TOKEN: Final = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)\s*")
_OPERATORS: Final = frozenset({"=", "==", "!=", "in", "notin", "<", ">"})
_END: Final = ""


@lru_cache(maxsize=1024)
def label_selector(text: str) -> Matches | None:
    """What a `labelSelector` selects; None for everything.

    Raises StatusError (400) for one that cannot be read.
    """
    requirements = _Labels(text).parse()
    if not requirements:
        return None

    def matches(obj: Object) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return all(requirement(labels) for requirement in requirements)

    return matches


class _Labels:
    """A recursive descent over `a=b,c in (d,e),!f,g>1`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    def parse(self) -> list[Requirement]:
        requirements = []
        while self._peek() != _END:
            requirements.append(self._requirement())
            word = self._next()
            if word == _END:
                break
            if word != ",":
                raise bad_request(f"found '{word}', expected: ',' or 'end of string'")
            if self._peek() == _END:
                raise bad_request("found '', expected: identifier after ','")
        return requirements

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _next(self) -> str:
        word = self._peek()
        self._at += 1
        return word

    def _requirement(self) -> Requirement:
        word = self._next()
        if word == "!":
            key = self._key(self._next())
            return lambda labels: key not in labels
        key = self._key(word)
        if self._peek() in {_END, ","}:
            return lambda labels: key in labels
        operator = self._next()
        if operator not in _OPERATORS:
            expected = "in, notin, =, ==, !=, gt, lt"
            raise bad_request(f"unable to parse requirement: found '{operator}', expected: {expected}")
        if operator in {"in", "notin"}:
            values = frozenset(map(self._value, self._list()))
            if operator == "in":
                return lambda labels: labels.get(key) in values
            return lambda labels: labels.get(key) not in values
        value = "" if self._peek() in {_END, ","} else self._value(self._next())
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        if operator in {"<", ">"}:
            return self._compared(key, operator, value)
        return lambda labels: labels.get(key) == value

    def _list(self) -> list[str]:
        if self._next() != "(":
            raise bad_request(f"found '{self._tokens[self._at - 1]}' expected: '('")
        values: list[str] = []
        while True:
            word = self._next()
            if word == _END:
                raise bad_request("unable to parse requirement: found '', expected: ',' or ')'")
            if word == ")":
                return values or [""]
            if word != ",":
                values.append(word)

    @staticmethod
    def _compared(key: str, operator: str, value: str) -> Requirement:
        try:
            bound = int(value)
        except ValueError:
            raise bad_request(
                f'unable to parse requirement: values[0]: Invalid value: "{value}": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ) from None

        def compared(labels: Mapping[str, str]) -> bool:
            try:
                found = int(labels[key])
            except (KeyError, ValueError):
                return False
            return found > bound if operator == ">" else found < bound

        return compared

    @staticmethod
    def _key(text: str) -> str:
        if text in {_END, *"=!(),<>"} or text in {"==", "!="}:
            raise bad_request(f"found '{text}', expected: !, identifier, or 'end of string'")
        for fault in qualified_name_faults(text):
            raise bad_request(f'unable to parse requirement: <nil>: Invalid value: "{text}": {fault}')
        return text

    @staticmethod
    def _value(text: str) -> str:
        if text in {"=", "==", "!=", "!", "(", ")", "<", ">"}:
            raise bad_request(f"found '{text}', expected: identifier")
        for fault in label_value_faults(text):
            raise bad_request(f'unable to parse requirement: values[0]: Invalid value: "{text}": {fault}')
        return text


def matches_labels(selector: Mapping[str, Any] | None, labels: Mapping[str, str] | None) -> bool:
    """Whether a `LabelSelector` (`matchLabels`, `matchExpressions`) selects an object with these labels.

    None selects nothing, an empty one everything.
    """
    if selector is None:
        return False
    labels = labels or {}
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for expression in selector.get("matchExpressions") or ():
        key, values = expression["key"], expression.get("values") or ()
        holds = {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }[expression["operator"]]
        if not holds:
            return False
    return True


Read = Callable[[Object], str]
"""The text that a selectable field of an object has."""


def field_selector(text: str, fields: Mapping[str, Read], unknown: Callable[[str], str]) -> Matches | None:
    """What a `fieldSelector` selects; None for everything.

    Args:
        fields: how to read the fields that may be named.
        unknown: the message for one that may not.

    Raises StatusError (400).
    """
    terms = [_field_term(term) for term in _split_terms(text) if term]
    if not terms:
        return None
    tests: list[tuple[Read, str, bool]] = []
    for name, wanted, equal in terms:
        if name not in fields:
            raise bad_request(unknown(name))
        tests.append((fields[name], wanted, equal))

    def matches(obj: Object) -> bool:
        return all((read(obj) == wanted) is equal for read, wanted, equal in tests)

    return matches


def _split_terms(text: str) -> Sequence[str]:
    return re.split(r"(?<!\\),", text)


def _field_term(term: str) -> tuple[str, str, bool]:
    for operator, equal in (("!=", False), ("==", True), ("=", True)):
        name, found, value = term.partition(operator)
        if found:
            return name, re.sub(r"\\([\\,=])", r"\1", value), equal
    raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")


_SHARD: Final = re.compile(
    r"\s*shardRange\(\s*object\.metadata\.(uid|namespace)\s*,\s*'0x([0-9a-f]{16})'\s*,"
    r"\s*'0x([0-9a-f]{16}|10000000000000000)'\s*\)\s*"
)


@lru_cache(maxsize=256)
def shard_selector(text: str) -> Matches | None:
    """What a `shardSelector` selects: ranges, start inclusive and end exclusive, of a field's FNV-1a hash.

    Raises StatusError (400) for one that cannot be read.
    """
    if not text:
        return None
    ranges: list[tuple[str, int, int]] = []
    for part in text.split("||"):
        match = _SHARD.fullmatch(part)
        if match is None:
            raise bad_request(
                f"invalid shardSelector: {part.strip()!r}: expected "
                "shardRange(object.metadata.uid, '0x<16 hex digits>', '0x<16 hex digits>')"
            )
        start, end = int(match[2], 16), int(match[3], 16)
        if start >= end:
            raise bad_request(f"invalid shardSelector: the range {part.strip()!r} is empty")
        ranges.append((match[1], start, end))
    if len({name for name, _, _ in ranges}) > 1:
        raise bad_request("invalid shardSelector: all ranges must be of the same field")

    def matches(obj: Object) -> bool:
        metadata = obj["metadata"]
        return any(start <= fnv1a64(metadata.get(name, "")) < end for name, start, end in ranges)

    return matches
