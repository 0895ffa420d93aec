"""Formats of strings that a custom resource's schema may ask for.

The list is that of `k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go`; a format that is not
in it is no rule.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Final
from urllib.parse import urlsplit

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_HOSTNAME: Final = re.compile(r"([a-zA-Z0-9_]([a-zA-Z0-9_-]{0,62}[a-zA-Z0-9_])?\.?)+")
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_MAC: Final = re.compile(r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}|([0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}")
_DATE_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})?")
_DURATION: Final = re.compile(r"([+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w))+|0")
_WORDY_DURATION: Final = re.compile(
    r"\d+\s*(nanosecond|microsecond|millisecond|second|minute|hour|day|week)s?"
)
_UUID: Final = r"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}"
_MAXIMUM_LABEL: Final = 63
_MAXIMUM_SUBDOMAIN: Final = 253


def _uuid(version: str = "[0-9a-f]", variant: str = "[0-9a-f]") -> Callable[[str], bool]:
    return _matches(_UUID.format(version=version, variant=variant), re.IGNORECASE)


def _matches(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.fullmatch(text) is not None


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return check


def _date_time(text: str) -> bool:
    if not _DATE_TIME.fullmatch(text):
        return False
    return _parses(datetime.fromisoformat)(text.upper())


def _uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return (bool(parts.scheme) or text.startswith("/")) and " " not in text


def _base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return True


def _short_name(text: str) -> bool:
    return len(text) <= _MAXIMUM_LABEL and _LABEL.fullmatch(text) is not None


def _long_name(text: str) -> bool:
    return len(text) <= _MAXIMUM_SUBDOMAIN and all(_LABEL.fullmatch(part) for part in text.split("."))


def _duration(text: str) -> bool:
    return _DURATION.fullmatch(text) is not None or _WORDY_DURATION.fullmatch(text) is not None


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "byte": _base64,
    "cidr": _parses(lambda text: ipaddress.ip_interface(text if "/" in text else "no prefix")),
    "creditcard": _matches(r"[0-9 -]{13,23}"),
    "date": _parses(date.fromisoformat),
    "date-time": _date_time,
    "datetime": _date_time,
    "duration": _duration,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": lambda text: _HOSTNAME.fullmatch(text) is not None,
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "isbn": _matches("[0-9X -]{10,17}"),
    "isbn10": _matches("[0-9X -]{10,13}"),
    "isbn13": _matches("[0-9 -]{13,17}"),
    "k8s-long-name": _long_name,
    "k8s-short-name": _short_name,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "rgbcolor": _matches(r"rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)"),
    "ssn": _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "uri": _uri,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
}
"""Format to check."""
