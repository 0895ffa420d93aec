"""What the workload controllers share: objects that belong to others, and how pods stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, floor
from typing import Any

from openclaw._core import fnv1a64
from openclaw.testing.cluster.clock import seconds_of
from openclaw.testing.cluster.store import Entry

__all__ = [
    "available_in",
    "controller_of",
    "failed",
    "is_active",
    "is_ready",
    "owned_by",
    "owner_reference",
    "portion",
    "set_condition",
    "template_hash",
]

Object = dict[str, Any]

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def controller_of(obj: Object) -> Object | None:
    """The owner reference of the controller."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def owned_by(entries: Iterable[Entry], uid: str) -> list[Entry]:
    """Those that this object controls."""
    found = []
    for entry in entries:
        owner = controller_of(entry.obj)
        if owner is not None and owner["uid"] == uid:
            found.append(entry)
    return found


def owner_reference(owner: Object) -> Object:
    """The reference to a controller."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_active(pod: Object) -> bool:
    """Whether a pod counts: neither finished nor on its way out."""
    return "deletionTimestamp" not in pod["metadata"] and phase(pod) not in {"Succeeded", "Failed"}


def phase(pod: Object) -> str:
    """`status.phase`."""
    return str((pod.get("status") or {}).get("phase", "Pending"))


def failed(pod: Object) -> bool:
    """Whether it ended badly."""
    return phase(pod) == "Failed"


def _ready_condition(pod: Object) -> Object | None:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == "Ready" and one["status"] == "True"), None)


def is_ready(pod: Object) -> bool:
    """Whether it is Ready."""
    return _ready_condition(pod) is not None


def available_in(pod: Object, min_ready_seconds: int, now: float) -> float | None:
    """Seconds until a pod counts as available (0: it does); None while it is not ready. `now` is the date."""
    condition = _ready_condition(pod)
    if condition is None:
        return None
    return max(0.0, seconds_of(condition["lastTransitionTime"]) + min_ready_seconds - now)


def portion(value: Any, total: int, *, up: bool) -> int:
    """An IntOrString of a total; `25%` rounds up or down."""
    if isinstance(value, str):
        share = int(value.rstrip("%")) * total / 100
        return ceil(share) if up else floor(share)
    return int(value)


def template_hash(template: Object, salt: str = "") -> str:
    """A short name for a pod template: the same for the same template."""
    import orjson

    number = fnv1a64(orjson.dumps(template, option=orjson.OPT_SORT_KEYS).decode() + salt)
    letters = []
    for _ in range(10):
        number, letter = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return "".join(letters)


def set_condition(
    conditions: Iterable[Object], new: Object, now: str, *, update_time: bool = False
) -> list[Object]:
    """Conditions with another one, unless that says it already: status and reason, as Kubernetes compares.

    `lastTransitionTime` moves only with the status.
    """
    kept = list(conditions)
    place = next((number for number, one in enumerate(kept) if one["type"] == new["type"]), None)
    before = kept[place] if place is not None else {}
    if (before.get("status"), before.get("reason")) == (new["status"], new["reason"]):
        return kept
    full: Object = {"type": new["type"], "status": new["status"]}
    if update_time:
        full["lastUpdateTime"] = now
    same = before.get("status") == new["status"]
    full["lastTransitionTime"] = before["lastTransitionTime"] if same else now
    full |= {"reason": new["reason"], "message": new["message"]}
    if place is None:
        kept.append(full)
    else:
        kept[place] = full
    return kept


def oldest_first(entries: Iterable[Entry], key: Callable[[Object], Any] = lambda _: 0) -> list[Entry]:
    """By `key`, then by age."""
    return sorted(
        entries, key=lambda entry: (key(entry.obj), entry.obj["metadata"]["creationTimestamp"], entry.key)
    )
