"""Names, labels and annotations: the rules that `k8s.io/apimachinery/pkg/util/validation` has for them."""

from __future__ import annotations

import re
from typing import Any, Final

from openclaw.testing.cluster.schema.values import shown
from openclaw.testing.cluster.statuses import Cause

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_QUALIFIED})?"
_PATH_SEGMENT_NOT: Final = {".", ".."}
_MAXIMUM_SUBDOMAIN: Final = 253
_MAXIMUM_LABEL: Final = 63
_ANNOTATIONS_BYTES: Final = 256 * 1024

_ENDS: Final = "and must start and end with an alphanumeric character"
_REGEX: Final = "regex used for validation is "
_WORDS: Final = {
    _SUBDOMAIN: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' "
    f"or '.', {_ENDS} (e.g. 'example.com', {_REGEX}",
    _LABEL: "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    f"{_ENDS} (e.g. 'my-name',  or '123-abc', {_REGEX}",
    _LABEL_1035: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    f"alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', {_REGEX}",
    _QUALIFIED: f"name part must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', {_REGEX}",
    _VALUE: "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    f"{_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', {_REGEX}",
}


def long_name_faults(name: str) -> list[str]:
    """What keeps a name from being a DNS subdomain, in the server's words."""
    return _faults(name, _SUBDOMAIN, _MAXIMUM_SUBDOMAIN)


def short_name_faults(name: str) -> list[str]:
    """What keeps a name from being a DNS label (RFC 1123)."""
    if "." in name and re.fullmatch(_SUBDOMAIN, name):
        long = [f"must be no more than {_MAXIMUM_LABEL} characters"] if len(name) > _MAXIMUM_LABEL else []
        return [*long, "must not contain dots"]
    return _faults(name, _LABEL, _MAXIMUM_LABEL)


def service_name_faults(name: str) -> list[str]:
    """What keeps a name from being a DNS label that starts with a letter (RFC 1035)."""
    return _faults(name, _LABEL_1035, _MAXIMUM_LABEL)


def path_segment_faults(name: str) -> list[str]:
    """What keeps a name out of URLs; all that RBAC asks of a name."""
    if name in _PATH_SEGMENT_NOT:
        return [f"may not be '{name}'"]
    return [f"may not contain '{part}'" for part in "/%" if part in name]


def qualified_name_faults(name: str) -> list[str]:
    """What keeps a name from being a key of labels or annotations."""
    prefix, slash, rest = name.rpartition("/")
    if slash:
        if "/" in prefix:
            words = _WORDS[_QUALIFIED].removeprefix("name part ")
            suffix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            return [f"a valid label key {words}'{_QUALIFIED}') {suffix}"]
        faults = ["prefix part must be non-empty"] if not prefix else []
        faults += [f"prefix part {fault}" for fault in long_name_faults(prefix)] if prefix else []
    else:
        faults = []
    if not rest:
        faults.append("name part must be non-empty")
    elif len(rest) > _MAXIMUM_LABEL:
        faults.append(f"name part must be no more than {_MAXIMUM_LABEL} bytes")
    if not re.fullmatch(_QUALIFIED, rest):
        faults.append(f"{_WORDS[_QUALIFIED]}'{_QUALIFIED}')")
    return faults


def label_value_faults(value: str) -> list[str]:
    """What keeps a text from being the value of a label."""
    return _faults(value, _VALUE, _MAXIMUM_LABEL)


def check_long_name(name: Any, field: str, causes: list[Cause]) -> None:
    """Append what keeps `name` from being a DNS subdomain."""
    if isinstance(name, str):
        causes += [
            Cause.of("FieldValueInvalid", field, fault, shown(name)) for fault in long_name_faults(name)
        ]


def check_labels(labels: Any, field: str, causes: list[Cause]) -> None:
    """Append what is wrong with labels."""
    for key, value in (labels or {}).items():
        _report(qualified_name_faults(key), key, field, causes)
        _report(label_value_faults(value), value, field, causes)


def check_annotations(annotations: Any, field: str, causes: list[Cause]) -> None:
    """Append what is wrong with annotations."""
    size = 0
    for key, value in (annotations or {}).items():
        _report(qualified_name_faults(key.lower()), key, field, causes)
        size += len(key.encode()) + len(value.encode())
    if size > _ANNOTATIONS_BYTES:
        causes.append(
            Cause.of("FieldValueTooLong", field, f"may not be more than {_ANNOTATIONS_BYTES} bytes")
        )


def _faults(name: str, pattern: str, maximum: int) -> list[str]:
    faults = []
    if len(name) > maximum:
        # Labels are counted in bytes, names in characters, or so the server says.
        faults.append(f"must be no more than {maximum} {'bytes' if pattern == _VALUE else 'characters'}")
    if not re.fullmatch(pattern, name):
        faults.append(f"{_WORDS[pattern]}'{pattern}')")
    return faults


def _report(faults: list[str], value: str, field: str, causes: list[Cause]) -> None:
    causes += [Cause.of("FieldValueInvalid", field, fault, shown(value)) for fault in faults]
