"""Claims and volumes that are deleted stay while something uses them; follows `pkg/controller/volume`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final, NamedTuple

from openclaw.testing.cluster.controllers.owned import phase
from openclaw.testing.cluster.internal import Internal
from openclaw.testing.cluster.kindnames import PODS, VOLUME_CLAIMS, VOLUMES
from openclaw.testing.cluster.store import Change, Key, Name

__all__ = ["VolumeProtection"]

Object = dict[str, Any]

_FINALIZERS: Final[dict[Name, str]] = {
    VOLUME_CLAIMS: "kubernetes.io/pvc-protection",
    VOLUMES: "kubernetes.io/pv-protection",
}


class _Place(NamedTuple):
    """Where a claim or a volume is."""

    name: Name
    key: Key


class VolumeProtection:
    """Takes off the finalizers of what is deleted and used by no pod."""

    def __init__(self, internal: Internal) -> None:
        self._internal = internal

    def keys(self, name: Name, change: Change) -> Iterator[Hashable]:
        """A claim or volume on its way out, and the claims of a pod that is over."""
        obj = change.entry.obj
        if name in _FINALIZERS:
            if change.type != "DELETED" and "deletionTimestamp" in obj["metadata"]:
                yield _Place(name, change.entry.key)
        elif name == PODS and (change.type == "DELETED" or _is_over(obj)):
            namespace = obj["metadata"]["namespace"]
            yield from (_Place(VOLUME_CLAIMS, f"{namespace}/{claim}") for claim in _claims(obj))

    async def sync(self, key: Hashable) -> float | None:
        """Look at one claim or volume."""
        if not isinstance(key, _Place):
            raise TypeError(f"no claim or volume: {key!r}")
        name, place = key
        entry = self._internal.backend.store.collection(name).entries.get(place)
        if entry is None or "deletionTimestamp" not in entry.obj["metadata"]:
            return None
        namespace, _, called = place.partition("/")
        if name == VOLUME_CLAIMS:
            pods = (pod.obj for pod in self._internal.list(PODS, namespace))
            if any(called in _claims(pod) and not _is_over(pod) for pod in pods):
                return None
        finalizers = entry.obj["metadata"].get("finalizers") or ()
        kept = [one for one in finalizers if one != _FINALIZERS[name]]
        if len(kept) != len(finalizers):
            self._internal.changed_metadata(name, entry, finalizers=kept)
        return None


def _claims(pod: Object) -> list[str]:
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    return [it["persistentVolumeClaim"]["claimName"] for it in volumes if it.get("persistentVolumeClaim")]


def _is_over(pod: Object) -> bool:
    return phase(pod) in {"Succeeded", "Failed"}
