"""CustomResourceDefinitions: what they define is served, changed, and withdrawn with all its objects."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

from openclaw.testing.cluster.deleting import DeleteOptions
from openclaw.testing.cluster.internal import Internal
from openclaw.testing.cluster.kindnames import CLEANUP, DEFINITIONS
from openclaw.testing.cluster.store import Change, Entry, Name

__all__ = ["DefinitionController"]

Object = dict[str, Any]


_USED: Final = {"plural": "resources", "singular": "resources", "kind": "kinds", "listKind": "kinds"}
"""Names that must be no other's, and among which."""


class DefinitionController:
    """The naming, establishing and finalizing controllers of apiextensions-apiserver."""

    def __init__(self, internal: Internal) -> None:
        self._internal = internal
        self._served: dict[str, Object] = {}

    def keys(self, name: Name, change: Change) -> Iterator[Hashable]:
        """A definition that changed, or whose objects went while it is on its way out."""
        if name == DEFINITIONS:
            if change.type == "DELETED":
                self._withdraw(change.entry)
            else:
                yield change.entry.obj["metadata"]["name"]
        elif change.type == "DELETED" and f"{name[1]}.{name[0]}" in self._served:
            yield f"{name[1]}.{name[0]}"

    async def sync(self, key: Hashable) -> float | None:
        """Look at one definition."""
        entry = self._internal.get(DEFINITIONS, "", str(key))
        if entry is None:
            return None
        if "deletionTimestamp" in entry.obj["metadata"]:
            await self._finish(entry)
            return None
        after = await self._internal.set_status(DEFINITIONS, entry, self._status(entry.obj))
        if after is None:
            return 0.0
        self._serve(after)
        return None

    def _status(self, definition: Object) -> Object:
        spec, status = definition["spec"], definition.get("status") or {}
        storage = next(one["name"] for one in spec["versions"] if one["storage"])
        accepted, taken = self._names(definition)
        known = {one["type"]: one for one in status.get("conditions") or ()}
        established = known.get("Established", {}).get("status") == "True"
        conditions = [
            self._condition(known, "NamesAccepted", "True", "NoConflicts", "no conflicts found")
            if taken is None
            else self._condition(known, "NamesAccepted", "False", taken[0], taken[1])
        ]
        if taken is None or established:
            said = ("True", "InitialNamesAccepted", "the initial names have been accepted")
        else:
            said = ("False", "NotAccepted", "not all names are accepted")
        conditions.append(self._condition(known, "Established", *said))
        stored = list(dict.fromkeys([*(status.get("storedVersions") or ()), storage]))
        return {"conditions": conditions, "acceptedNames": accepted, "storedVersions": stored}

    def _condition(
        self, known: dict[str, Object], kind: str, status: str, reason: str, message: str
    ) -> Object:
        before = known.get(kind, {})
        same = before.get("status") == status
        return {
            "type": kind,
            "status": status,
            "lastTransitionTime": before.get("lastTransitionTime")
            if same
            else self._internal.backend.clock.timestamp(),
            "reason": reason,
            "message": message,
        }

    def _names(self, definition: Object) -> tuple[Object, tuple[str, str] | None]:
        """The names that can be had; and why others cannot: reason and message."""
        spec = definition["spec"]
        names, before = spec["names"], (definition.get("status") or {}).get("acceptedNames") or {}
        others = [
            other["spec"]["names"]
            for other in self._served.values()
            if other["spec"]["group"] == spec["group"]
            and other["metadata"]["name"] != definition["metadata"]["name"]
        ]
        resources = {name for one in others for name in (one["plural"], one.get("singular"), *_short(one))}
        kinds = {name for one in others for name in (one["kind"], one.get("listKind"))}
        accepted, taken = {**names, "plural": "", "kind": ""}, None
        for key, used in _USED.items():
            wanted = names.get(key)
            if wanted in (resources if used == "resources" else kinds):
                taken = f"{key[0].upper()}{key[1:]}Conflict", f'"{wanted}" is already in use'
                accepted[key] = before.get(key, "")
            elif wanted is not None:
                accepted[key] = wanted
        for name in _short(names):
            if name in resources:
                taken = "ShortNamesConflict", f'"{name}" is already in use'
                accepted["shortNames"] = before.get("shortNames", [])
        return {key: value for key, value in accepted.items() if value or key in {"plural", "kind"}}, taken

    def _serve(self, entry: Entry) -> None:
        definition = entry.obj
        conditions = {one["type"]: one["status"] for one in definition["status"]["conditions"]}
        called = definition["metadata"]["name"]
        before = self._served.get(called)
        if conditions.get("Established") != "True":
            return
        if before is not None and before["spec"] == definition["spec"]:
            return
        self._served[called] = definition
        resource = self._internal.backend.registry.serve(definition)
        if before is None:
            # Nothing is known of the time before it was served.
            store = self._internal.backend.store
            store.collection(resource.stored_as).forget(store.revision)
        if before is not None:
            # The server makes a new storage; whoever watches the old one has to come again.
            self._internal.server.watching.end_all(
                lambda watch: watch.target.resource.stored_as == resource.stored_as
            )

    async def _finish(self, entry: Entry) -> None:
        spec, metadata = entry.obj["spec"], entry.obj["metadata"]
        name: Name = (spec["group"], spec["names"]["plural"])
        for found in self._internal.list(name):
            if "deletionTimestamp" not in found.obj["metadata"]:
                self._internal.delete(name, found, DeleteOptions(policy="Background"))
        if next(self._internal.list(name), None) is not None:
            return
        finalizers = [one for one in metadata.get("finalizers") or () if one != CLEANUP]
        self._internal.changed_metadata(DEFINITIONS, entry, finalizers=finalizers)

    def _withdraw(self, entry: Entry) -> None:
        definition = entry.obj
        self._served.pop(definition["metadata"]["name"], None)
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        self._internal.server.watching.end_all(
            lambda watch: watch.target.resource.stored_as == (group, plural)
        )
        self._internal.backend.registry.withdraw(group, plural)
        self._internal.backend.store.drop((group, plural))


def _short(names: Object) -> list[str]:
    return list(names.get("shortNames") or ())
