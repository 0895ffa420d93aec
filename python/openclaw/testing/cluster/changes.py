"""What an update leaves of what the client sent: each view of an object writes only its own part."""

from __future__ import annotations

from openclaw.testing.cluster.contracts import Object, Reader
from openclaw.testing.cluster.metadata import updated
from openclaw.testing.cluster.preparation import prepare_updated
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.traits import Traits

__all__ = ["changed"]

_ENVELOPE = frozenset({"apiVersion", "kind", "metadata", "status"})


def changed(target: Target, live: Object, obj: Object, traits: Traits, reader: Reader) -> Object:
    """The next state of `live`, of what a client wants it to be; the generation counts on where it must."""
    if obj is live:
        return live
    resource = target.resource
    if target.subresource == "status":
        return _status_changed(live, obj, custom=resource.definition is not None)
    new = updated(obj, live)
    if target.version.status:
        new.pop("status", None)
        if "status" in live:
            new["status"] = live["status"]
    if resource.definition is None:
        new = prepare_updated((resource.group, resource.plural), new, live, reader)
    if traits.generation and _counts(target, new, live):
        new["metadata"]["generation"] = live["metadata"].get("generation", 0) + 1
    return new


def _status_changed(live: Object, obj: Object, *, custom: bool) -> Object:
    metadata = dict(live["metadata"]) if custom else updated(obj, live)["metadata"]
    metadata.pop("managedFields", None)
    if obj["metadata"].get("managedFields"):
        metadata["managedFields"] = obj["metadata"]["managedFields"]
    if not custom:
        # Labels and owners belong to the object, not to who reports its status.
        for field in ("labels", "ownerReferences"):
            metadata.pop(field, None)
            if field in live["metadata"]:
                metadata[field] = live["metadata"][field]
    new = {key: value for key, value in live.items() if key != "status"}
    new["metadata"] = metadata
    if "status" in obj:
        new["status"] = obj["status"]
    return new


def _counts(target: Target, new: Object, live: Object) -> bool:
    """Whether the change is one that `metadata.generation` counts."""
    if not target.version.status and target.resource.definition is not None:
        ignored = _ENVELOPE - {"status"}
    else:
        ignored = _ENVELOPE
    if any(new.get(key) != live.get(key) for key in (new.keys() | live.keys()) - ignored):
        return True
    name = target.resource.group, target.resource.plural
    if name == ("apps", "deployments"):
        return (new["metadata"].get("annotations") or {}) != (live["metadata"].get("annotations") or {})
    if name == ("discovery.k8s.io", "endpointslices"):
        return (new["metadata"].get("labels") or {}) != (live["metadata"].get("labels") or {})
    return False
