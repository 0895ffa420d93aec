"""The functions that Kubernetes adds to CEL, as far as the library has no own.

https://kubernetes.io/docs/reference/using-api/cel/ lists them. What the library's types cannot
hold (quantities, URLs, addresses) is a map with one key that no object has.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from cel_expr_python import cel

from openclaw.testing.cluster.quantity import format_quantity, parse_quantity
from openclaw.testing.cluster.schema.formats import FORMATS
from openclaw.testing.cluster.schema.values import go_pattern

_QUANTITY: Final = "$quantity"
_URL: Final = "$url"
_IP: Final = "$ip"
_CIDR: Final = "$cidr"

_TYPE = cel.Type
_DYN: Final = cel.Type.DYN
_BOOL: Final = cel.Type.BOOL
_INT: Final = cel.Type.INT
_STRING: Final = cel.Type.STRING
_LIST: Final = cel.Type.List(cel.Type.DYN)


def functions() -> list[Any]:
    """The declarations."""
    return [*_quantities(), *_urls(), *_addresses(), *_lists(), *_texts()]


def _declare(
    name: str,
    result: Any,
    parameters: Sequence[Any],
    implementation: Callable[..., Any],
    *,
    member: bool = True,
) -> Any:
    identifier = f"kubernetes_{name.replace('.', '_')}_{len(parameters)}"
    overload = cel.Overload(identifier, result, list(parameters), member, implementation)
    return cel.FunctionDecl(name, [overload])


def _parses(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return check


def _number(value: Any) -> Fraction:
    return parse_quantity(value[_QUANTITY]) if isinstance(value, dict) else Fraction(value)


def _quantity(value: Fraction) -> dict[str, str]:
    return {_QUANTITY: format_quantity(value)}


def _quantities() -> Iterable[Any]:
    def parsed(text: str) -> dict[str, str]:
        return _quantity(parse_quantity(text))

    def sign(value: Any) -> int:
        number = _number(value)
        return (number > 0) - (number < 0)

    def whole(value: Any) -> int:
        number = _number(value)
        if number.denominator != 1:
            message = "cannot convert value to integer"
            raise ValueError(message)
        return number.numerator

    yield _declare("quantity", _DYN, [_STRING], parsed, member=False)
    yield _declare("isQuantity", _BOOL, [_STRING], _parses(parse_quantity), member=False)
    yield _declare("isGreaterThan", _BOOL, [_DYN, _DYN], lambda a, b: _number(a) > _number(b))
    yield _declare("isLessThan", _BOOL, [_DYN, _DYN], lambda a, b: _number(a) < _number(b))
    yield _declare(
        "compareTo", _INT, [_DYN, _DYN], lambda a, b: (_number(a) > _number(b)) - (_number(a) < _number(b))
    )
    yield _declare("sign", _INT, [_DYN], sign)
    yield _declare("isInteger", _BOOL, [_DYN], lambda a: _number(a).denominator == 1)
    yield _declare("asInteger", _INT, [_DYN], whole)
    yield _declare("asApproximateFloat", _TYPE.DOUBLE, [_DYN], lambda a: float(_number(a)))
    yield _declare("add", _DYN, [_DYN, _DYN], lambda a, b: _quantity(_number(a) + _number(b)))
    yield _declare("sub", _DYN, [_DYN, _DYN], lambda a, b: _quantity(_number(a) - _number(b)))


def _urls() -> Iterable[Any]:
    def parse(text: str) -> dict[str, str]:
        if not FORMATS["uri"](text):
            message = f"URL parse error during conversion from string: {text}"
            raise ValueError(message)
        return {_URL: text}

    def part(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda value: read(urlsplit(value[_URL]))

    yield _declare("url", _DYN, [_STRING], parse, member=False)
    yield _declare("isURL", _BOOL, [_STRING], _parses(parse), member=False)
    yield _declare("getScheme", _STRING, [_DYN], part(lambda url: url.scheme))
    yield _declare("getHost", _STRING, [_DYN], part(lambda url: url.netloc.rpartition("@")[2]))
    yield _declare("getHostname", _STRING, [_DYN], part(lambda url: url.hostname or ""))
    yield _declare("getPort", _STRING, [_DYN], part(lambda url: str(url.port or "")))
    yield _declare("getEscapedPath", _STRING, [_DYN], part(lambda url: url.path))
    yield _declare("getQuery", _DYN, [_DYN], part(lambda url: parse_qs(url.query)))


def _addresses() -> Iterable[Any]:
    def address(value: Any) -> Any:
        return ipaddress.ip_address(value[_IP] if isinstance(value, dict) else value)

    def network(value: Any) -> Any:
        return ipaddress.ip_interface(value[_CIDR] if isinstance(value, dict) else value).network

    def contains(value: Any, inner: Any) -> bool:
        outer, candidate = network(value), network(inner)
        return bool(outer.version == candidate.version and candidate.subnet_of(outer))

    def parse_cidr(text: str) -> dict[str, str]:
        if not FORMATS["cidr"](text):
            message = f"network address parse error during conversion from string: {text}"
            raise ValueError(message)
        return {_CIDR: text}

    yield _declare("ip", _DYN, [_STRING], lambda text: {_IP: str(ipaddress.ip_address(text))}, member=False)
    yield _declare("isIP", _BOOL, [_STRING], _parses(ipaddress.ip_address), member=False)
    yield _declare("family", _INT, [_DYN], lambda value: address(value).version)
    yield _declare("isLoopback", _BOOL, [_DYN], lambda value: address(value).is_loopback)
    yield _declare("isUnspecified", _BOOL, [_DYN], lambda value: address(value).is_unspecified)
    yield _declare("isLinkLocalMulticast", _BOOL, [_DYN], lambda value: address(value).is_multicast)
    yield _declare("isLinkLocalUnicast", _BOOL, [_DYN], lambda value: address(value).is_link_local)
    yield _declare("isGlobalUnicast", _BOOL, [_DYN], lambda value: _global_unicast(address(value)))
    yield _declare("cidr", _DYN, [_STRING], parse_cidr, member=False)
    yield _declare("isCIDR", _BOOL, [_STRING], FORMATS["cidr"], member=False)
    yield _declare("containsIP", _BOOL, [_DYN, _DYN], lambda value, ip: address(ip) in network(value))
    yield _declare("containsCIDR", _BOOL, [_DYN, _DYN], contains)
    yield _declare("prefixLength", _INT, [_DYN], lambda value: network(value).prefixlen)
    yield _declare("masked", _DYN, [_DYN], lambda value: {_CIDR: str(network(value))})


def _global_unicast(address: Any) -> bool:
    return not (
        address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    )


def _lists() -> Iterable[Any]:
    def extreme(choose: Callable[[Any], Any], word: str) -> Callable[[Any], Any]:
        def of(items: list[Any]) -> Any:
            if not items:
                message = f"{word} called on empty list"
                raise ValueError(message)
            return choose(items)

        return of

    def find(items: Any, wanted: Any) -> int:
        if isinstance(items, str):
            return items.find(wanted)
        return items.index(wanted) if wanted in items else -1

    yield _declare("sum", _DYN, [_LIST], sum)
    yield _declare("min", _DYN, [_LIST], extreme(min, "min"))
    yield _declare("max", _DYN, [_LIST], extreme(max, "max"))
    yield _declare("isSorted", _BOOL, [_LIST], lambda items: all(a <= b for a, b in pairwise(items)))
    yield _declare("sets.contains", _BOOL, [_LIST, _LIST], lambda a, b: all(x in a for x in b), member=False)
    yield _declare(
        "sets.equivalent",
        _BOOL,
        [_LIST, _LIST],
        lambda a, b: all(x in a for x in b) and all(x in b for x in a),
        member=False,
    )
    yield _declare(
        "sets.intersects", _BOOL, [_LIST, _LIST], lambda a, b: any(x in a for x in b), member=False
    )


def _texts() -> Iterable[Any]:
    def first(text: str, pattern: str) -> str:
        match = go_pattern(pattern).search(text)
        return match[0] if match else ""

    def every(text: str, pattern: str) -> list[str]:
        return [match[0] for match in go_pattern(pattern).finditer(text)]

    yield _declare("find", _STRING, [_STRING, _STRING], first)
    yield _declare("findAll", _LIST, [_STRING, _STRING], every)
