"""Keeps secrets out of whatever leaves the process as text: logs, health reports, events.

By key where there is one (`password=…`, `{"token": …}`, the data of a Secret), by shape where there is
none (bearer tokens, JSON web tokens, passwords in URLs). Names of and references to Secret objects stay:
without them a message about a missing Secret says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

__all__ = ["REDACTED", "is_secret_key", "redact_text", "redact_value"]

REDACTED = "[redacted]"
"""What stands where a secret was."""

_MAX_DEPTH = 8
_TOO_DEEP = "…"

_SECRET_KEY = re.compile(
    r"passw|passphrase|secret|token|authorization|credential|cookie|bearer"
    r"|(?:api|access|private|signing|encryption)[_-]?key|key[_-]?data|dockerconfig",
    re.IGNORECASE,
)
# What only tells about a secret: its object's name, its kind, its age.
_ABOUT_A_SECRET = re.compile(
    r"(?:names?|refs?|references?|namespaces?|kinds?|types?|hash|digest|version|count|seconds|policy|mount|key)$"
    r"|secrets$|^continue",
    re.IGNORECASE,
)
_SECRET_KEY_ITSELF = re.compile(
    r"(?:api|access|private|signing|encryption|secret)[_-]?(?:access[_-]?)?key$", re.IGNORECASE
)
_SECRET_SECTIONS = frozenset({"data", "stringData", "binaryData"})

# Every alternative begins where few texts do and runs over a text once: the time taken is linear.
_TEXT = re.compile(
    r"(?P<scheme>\b(?:Bearer|Basic)\s+)[\w.~+/=-]{6,}"
    r"|(?<![\w-])eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?"
    r"|(?P<user>://[^/\s:@]*:)[^/\s@]+(?P<at>@)"
    r"""|(?P<key>(?:passw(?:or)?d|passphrase|token|secret[_-]?(?:access[_-]?)?key|client[_-]?secret"""
    r"""|api[_-]?key|private[_-]?key|authorization)["']?\s*[:=]\s*["']?(?:(?:Bearer|Basic)\s+)?)"""
    r"""(?!\[redacted\])[^\s"',;&}\]]+"""
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.IGNORECASE | re.DOTALL,
)


# A text without any of these has no match; to look for them costs a tenth of the expression.
_SIGNS = ("bearer", "basic", "eyj", "://", "passw", "passphrase", "token", "secret", "key", "auth", "-----")


@lru_cache(maxsize=1024)
def is_secret_key(key: str) -> bool:
    """Whether a value under `key` is to be hidden: `password` is, `passwordSecretRef` is not."""
    if _SECRET_KEY.search(key) is None:
        return False
    return _SECRET_KEY_ITSELF.search(key) is not None or _ABOUT_A_SECRET.search(key) is None


def redact_text(text: str) -> str:
    """`text` with everything that has a secret's shape replaced by `REDACTED`."""
    folded = text.casefold()
    for sign in _SIGNS:
        if sign in folded:
            return _TEXT.sub(_replacement, text)
    return text


def redact_value(value: Any, key: str = "") -> Any:
    """A copy of `value` without secrets; `key` is the name that it goes under.

    Mappings and sequences are walked to a depth of 8; what is deeper is cut off. Objects of other types are
    returned as they are.
    """
    return _redact(value, key, 0)


def _redact(value: Any, key: str, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        # A number under a secret's key is a limit or an age, but for the rare numeric password.
        return (
            REDACTED if isinstance(value, int) and not isinstance(value, bool) and key in _NUMERIC else value
        )
    if key and is_secret_key(key):
        return REDACTED
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return redact_text(bytes(value).decode("utf-8", "replace"))
    if depth >= _MAX_DEPTH and isinstance(value, Mapping | list | tuple | set | frozenset):
        return _TOO_DEEP
    if isinstance(value, Mapping):
        return _redact_mapping(value, depth + 1)
    if isinstance(value, list | tuple | set | frozenset):
        return [_redact(item, "", depth + 1) for item in value]
    return value


_NUMERIC = frozenset({"password", "passwd", "pin"})


def _redact_mapping(mapping: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    is_secret_object = mapping.get("kind") == "Secret"
    # An environment variable or a header: {"name": "DB_PASSWORD", "value": "…"}.
    name = mapping.get("name")
    names_a_secret = isinstance(name, str) and is_secret_key(name)
    redacted: dict[str, Any] = {}
    for raw_key, value in mapping.items():
        key = str(raw_key)
        if is_secret_object and key in _SECRET_SECTIONS and isinstance(value, Mapping):
            redacted[key] = dict.fromkeys(map(str, value), REDACTED)
        elif names_a_secret and key == "value":
            redacted[key] = REDACTED
        else:
            redacted[key] = _redact(value, key, depth)
    return redacted


def _replacement(match: re.Match[str]) -> str:
    before = match["scheme"] or match["user"] or match["key"] or ""
    return f"{before}{REDACTED}{match['at'] or ''}"
