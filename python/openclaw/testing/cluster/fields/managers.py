"""Entries of `metadata.managedFields`, read and written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from openclaw.testing.cluster.fields.sets import FieldSet, union

Object = dict[str, Any]

APPLY: Final = "Apply"
UPDATE: Final = "Update"
MAXIMUM_UPDATERS: Final = 10
"""Of more than so many managers that update, the oldest become one."""
_ANCIENT: Final = "ancient-changes"


class ManagerKey(NamedTuple):
    """What tells two entries apart. The version only counts for updates."""

    manager: str
    operation: str
    api_version: str
    subresource: str


@dataclass(frozen=True, slots=True)
class Managed:
    """What one manager owns.

    Attributes:
        api_version: of its fields.
        time: of its last change; "" for none.
    """

    fields: FieldSet
    api_version: str
    time: str = ""


Managers = dict[ManagerKey, Managed]


def manager_key(manager: str, operation: str, api_version: str, subresource: str) -> ManagerKey:
    """The key of an entry."""
    return ManagerKey(manager, operation, "" if operation == APPLY else api_version, subresource)


def read_managers(entries: Any) -> Managers:
    """The managers of an object; none when the entries cannot be read."""
    managers: Managers = {}
    for entry in entries or ():
        fields = entry.get("fieldsV1")
        if entry.get("operation") not in {APPLY, UPDATE} or (
            fields is not None and not isinstance(fields, dict)
        ):
            return {}
        key = manager_key(
            entry.get("manager", ""),
            entry["operation"],
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
        )
        managers[key] = Managed(fields or {}, entry.get("apiVersion", ""), entry.get("time") or "")
    return managers


def write_managers(managers: Managers) -> list[Object]:
    """The entries, in the server's order: applied ones first, then by time."""
    ordered = sorted(
        managers.items(),
        key=lambda item: (
            item[0].operation,
            item[1].time,
            item[0].manager,
            item[1].api_version,
            item[0].subresource,
        ),
    )
    return [_entry(key, managed) for key, managed in ordered]


def _entry(key: ManagerKey, managed: Managed) -> Object:
    entry: Object = {"manager": key.manager, "operation": key.operation, "apiVersion": managed.api_version}
    if managed.time:
        entry["time"] = managed.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": managed.fields}
    if key.subresource:
        entry["subresource"] = key.subresource
    return entry


def is_reset(entries: Any) -> bool:
    """Whether a client asks to forget all managers: an empty list, or one empty entry."""
    return entries == [] or (isinstance(entries, list) and len(entries) == 1 and not any(entries[0].values()))


def capped(managers: Managers) -> Managers:
    """With the oldest updaters merged, one a version, when there are too many."""
    updaters = [key for key in managers if key.operation == UPDATE]
    excess = len(updaters) - MAXIMUM_UPDATERS
    if excess <= 0:
        return managers
    result = dict(managers)
    first: dict[str, ManagerKey] = {}
    for key in sorted(updaters, key=lambda one: (managers[one].time, one)):
        if excess <= 0:
            break
        managed = managers[key]
        version = managed.api_version
        if version not in first:
            first[version] = key
            continue
        bucket = ManagerKey(_ANCIENT, UPDATE, version, "")
        if bucket not in result:
            result[bucket] = result.pop(first[version])
        gathered = union(managed.fields, result[bucket].fields)
        result[bucket] = replace(result[bucket], fields=gathered, time=managed.time)
        if key != bucket:
            del result[key]
        excess -= 1
    return result


def all_fields(managers: Iterable[Managed]) -> FieldSet:
    """What any of these own."""
    result: FieldSet = {}
    for managed in managers:
        result = union(result, managed.fields)
    return result
