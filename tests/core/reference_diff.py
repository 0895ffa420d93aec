"""What the diff means, written down plainly: the Rust core is held against it."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from tests.core.reference import equal

IDENTITY = {
    "name",
    "namespace",
    "managedFields",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "generation",
}
AMOUNT_MAPS = {"limits", "requests", "capacity", "hard", "allocatable"}
LIMIT_RANGE_MAPS = {"default", "defaultRequest", "max", "min", "maxLimitRequestRatio"}
AMOUNT_FIELDS = {"sizeLimit", "divisor", "storage", "averageValue"}
SUFFIXES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


@dataclass
class Owned:
    """The fields that a manager owns under one place."""

    fields: dict[str, Owned] = field(default_factory=dict)
    items: list[tuple[dict[str, Any], Owned]] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    places: dict[int, Owned] = field(default_factory=dict)

    @property
    def leaf(self) -> bool:
        return not (self.fields or self.items or self.values or self.places)


@dataclass(frozen=True)
class Place:
    """Where a value is; whether it is an amount there, and whether the values of the map there are."""

    path: tuple[str, ...] = ()
    amount: bool = False
    amounts: bool = False

    def enter(self, key: str) -> Place:
        """Go to a field of the map here."""
        step = f"[{_json(key)}]" if not key or any(sign in key for sign in './[]" ') else f".{key}"
        amounts = key in AMOUNT_MAPS or (self.amounts and key in LIMIT_RANGE_MAPS)
        return Place((*self.path, step), self.amounts or key in AMOUNT_FIELDS, amounts)

    def item(self, step: str) -> Place:
        """Go to an item of the list here."""
        return replace(self, path=(*self.path, f"[{step}]"))

    def __str__(self) -> str:
        return "".join(self.path).removeprefix(".")


def owned_by(live: dict[str, Any], manager: str) -> Owned | None:
    """What the manager's server-side apply of the whole object owns, of all API versions together."""
    trees = [
        entry.get("fieldsV1") or {}
        for entry in (live.get("metadata") or {}).get("managedFields") or []
        if entry.get("manager") == manager
        and entry.get("operation") == "Apply"
        and not entry.get("subresource")
    ]
    return _owned(_union(trees)) if trees else None


def _union(trees: list[dict[str, Any]]) -> dict[str, Any]:
    keys = sorted({key for tree in trees for key in tree})
    return {key: _union([tree[key] for tree in trees if key in tree]) for key in keys}


def _owned(tree: dict[str, Any]) -> Owned:
    owned = Owned()
    for key, below in tree.items():
        rest = key[2:]
        match key[:2]:
            case "f:":
                owned.fields[rest] = _owned(below)
            case "k:":
                owned.items.append((json.loads(rest), _owned(below)))
            case "v:":
                owned.values.append(json.loads(rest))
            case "i:":
                owned.places[int(rest)] = _owned(below)
    owned.places = dict(sorted(owned.places.items()))
    return owned


def diff(intent: dict[str, Any], live: dict[str, Any], manager: str) -> list[str]:
    """The lines that `openclaw._core.diff` returns."""
    live = dict(live)
    if "stringData" not in live and intent.get("stringData") and live.get("data"):
        live["stringData"] = {
            key: text
            for key, text in intent["stringData"].items()
            if isinstance(text, str) and live["data"].get(key) == base64.b64encode(text.encode()).decode()
        }
    owned = owned_by(live, manager)
    if owned is None:
        return [f"metadata.managedFields[manager={manager}]"]
    lines: list[str] = []
    _map(intent, live, owned, Place(), lines)
    return lines


def _ignored(key: str, place: Place) -> bool:
    if place.path == (".metadata",):
        return key in IDENTITY
    return not place.path and key in {"apiVersion", "kind", "status"}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _empty(value: Any) -> bool:
    if isinstance(value, dict):
        return all(one is None for one in value.values())
    return value == [] if isinstance(value, list) else False


def _map(
    intent: dict[str, Any], live: dict[str, Any], owned: Owned | None, place: Place, lines: list[str]
) -> None:
    for key, wanted in sorted(intent.items()):
        if wanted is not None and not _ignored(key, place):
            _value(wanted, live.get(key), owned.fields.get(key) if owned else None, place.enter(key), lines)
    gone = [key for key in sorted(owned.fields) if intent.get(key) is None] if owned else []
    lines += [f"- {place.enter(key)}" for key in gone if not _ignored(key, place)]


def _value(wanted: Any, found: Any, owned: Owned | None, place: Place, lines: list[str]) -> None:
    if found is None:
        if not _empty(wanted):
            lines.append(f"+ {place}")
        elif owned and not owned.leaf:
            lines.append(f"- {place}")
    elif isinstance(wanted, dict) and isinstance(found, dict):
        if owned is None and _empty(wanted):
            lines.append(f"@ {place}")
        elif owned is None or not owned.leaf:
            _map(wanted, found, owned, place, lines)
        elif not _empty(wanted) and not same(wanted, found, place):
            lines.append(f"~ {place}")
    elif isinstance(wanted, list) and isinstance(found, list):
        _list(wanted, found, owned, place, lines)
    else:
        _whole(wanted, found, owned, place, lines)


def _whole(wanted: Any, found: Any, owned: Owned | None, place: Place, lines: list[str]) -> None:
    if not same(wanted, found, place):
        lines.append(f"~ {place}")
    elif owned is None:
        lines.append(f"@ {place}")


def _list(wanted: list[Any], found: list[Any], owned: Owned | None, place: Place, lines: list[str]) -> None:
    if owned is None and place.path == (".metadata", ".ownerReferences"):
        _list_map(wanted, found, Owned(), place, lines)
    elif owned is None and place.path == (".metadata", ".finalizers"):
        _set(wanted, found, [], place, lines)
    elif owned is not None and owned.items:
        _list_map(wanted, found, owned, place, lines)
    elif owned is not None and owned.values:
        _set(wanted, found, owned.values, place, lines)
    elif owned is not None and owned.places:
        for at, one in enumerate(wanted):
            # Unlike a field's, a null here is an item.
            compare = _whole if found[at : at + 1] == [None] else _value
            there = found[at] if at < len(found) else None
            compare(one, there, owned.places.get(at), place.item(str(at)), lines)
        lines += [f"- {place.item(str(at))}" for at in owned.places if at >= len(wanted)]
    else:
        _whole(wanted, found, owned, place, lines)


def _set(wanted: list[Any], found: list[Any], owned: list[Any], place: Place, lines: list[str]) -> None:
    def has(values: list[Any], value: Any) -> bool:
        return any(same(other, value) for other in values)

    lines += [
        f"{'@' if has(found, value) else '+'} {place.item(_json(value))}"
        for value in wanted
        if not has(found, value) or not has(owned, value)
    ]
    lines += [f"- {place.item(_json(value))}" for value in owned if not has(wanted, value)]


def _given(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else None


def _fits(item: Any, candidate: Any, keys: list[str]) -> bool:
    given = [key for key in keys if _given(item, key) is not None]
    return bool(given) and all(
        _given(candidate, key) is not None and same(item[key], candidate[key]) for key in given
    )


def _list_map(wanted: list[Any], found: list[Any], owned: Owned, place: Place, lines: list[str]) -> None:  # noqa: C901
    keys = sorted(owned.items[0][0]) if owned.items else ["uid"]
    free, unused, missing = list(range(len(found))), list(range(len(owned.items))), []

    def ours(candidate: Any) -> int | None:
        for at, (known, _) in enumerate(owned.items):
            if all(equal(known.get(key), _given(candidate, key)) for key in keys):
                return at
        return None

    def name(item: Any) -> str:
        given = [(key, _given(item, key)) for key in keys if _given(item, key) is not None]
        return ",".join(f"{k}={v if isinstance(v, str) else _json(v)}" for k, v in given)

    def rank(item: Any, at: int) -> int:
        # Rather what is ours, and of that what does not state a key that the item leaves to the server.
        entry = ours(found[at])
        if entry is None:
            return 2
        return int(any(_given(item, key) is None and key in owned.items[entry][1].fields for key in keys))

    for item in sorted(wanted, key=lambda item: any(_given(item, key) is None for key in keys)):
        fitting = [at for at in free if _fits(item, found[at], keys)]
        here = place.item(name(item))
        if not fitting:
            missing.append(item)
            lines.append(f"+ {here}")
            continue
        chosen = min(fitting, key=lambda at: rank(item, at))
        free.remove(chosen)
        entry = ours(found[chosen])
        if entry in unused:
            unused.remove(entry)
        if entry is None:
            _foreign({k: v for k, v in item.items() if k not in keys}, found[chosen], here, lines)
        elif owned.items[entry][1].leaf:
            _whole(item, found[chosen], owned.items[entry][1], here, lines)
        else:
            _map(item, found[chosen], owned.items[entry][1], here, lines)
    for at in unused:
        known = owned.items[at][0]
        if not any(_fits(item, known, keys) for item in missing):
            lines.append(f"- {place.item(name(known))}")


def _foreign(rest: dict[str, Any], found: dict[str, Any], place: Place, lines: list[str]) -> None:
    """An item that is there, but is not ours: what else is not ours in it need not be told."""
    below: list[str] = []
    _map(rest, found, None, place, below)
    lines += [f"@ {place}", *(line for line in below if not line.startswith("@"))]


def same(wanted: Any, found: Any, place: Place | None = None) -> bool:
    """Whether two values mean the same."""
    place = place or Place()
    if isinstance(wanted, list) and isinstance(found, list):
        return len(wanted) == len(found) and all(
            same(w, f, place) for w, f in zip(wanted, found, strict=True)
        )
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(
            same(value, found.get(key), place.enter(key))
            for key, value in wanted.items()
            if value is not None
        ) and all(
            value is None or wanted.get(key) is not None or _defaulted(key, value, found)
            for key, value in found.items()
        )
    return equal(wanted, found) or (place.amount and amount(wanted) == amount(found) is not None)


def _defaulted(key: str, value: Any, beside: dict[str, Any]) -> bool:  # noqa: PLR0911 (a table)
    claim = _given(beside.get("spec"), "accessModes") is not None
    match key, value:
        case "apiVersion", "v1":
            return "fieldPath" in beside or claim
        case "kind", "PersistentVolumeClaim":
            return claim
        case "divisor", "0":
            return "resource" in beside
        case "protocol", "TCP":
            return "port" in beside
        case "volumeMode", "Filesystem":
            return "accessModes" in beside
        case "apiGroup", "rbac.authorization.k8s.io":
            return beside.get("kind") in ("User", "Group")
        case "expirationSeconds", 3600:
            return "path" in beside
        case "status", _:
            return (value == "True" and "type" in beside) or (not isinstance(value, str) and claim)
    return False


def amount(value: Any) -> Fraction | None:
    """A quantity's amount; None when it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    match = re.fullmatch(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([a-zA-Z]*|[eE][+-]?[0-9]{1,4})", text)
    if not match:
        return None
    number, suffix = Fraction(match[1]), str(match[2])
    if suffix in BINARY:
        return number * Fraction(1024) ** BINARY[suffix]
    if suffix in SUFFIXES:
        return number * Fraction(10) ** SUFFIXES[suffix]
    return number * Fraction(10) ** int(suffix[1:]) if re.fullmatch(r"[eE][+-]?[0-9]+", suffix) else None
