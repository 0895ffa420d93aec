"""Owner references and the labels that tie a child to its root."""

from __future__ import annotations

from typing import Any, Final

from openclaw._core import slot
from openclaw.api.resource import CustomResource
from openclaw.runtime.errors import NotControlled

__all__ = [
    "SLOT_LABEL",
    "adopt",
    "check_control",
    "controller_of",
    "is_left_behind",
    "is_ours",
    "owner_reference",
]

SLOT_LABEL: Final = "openclaw.dev/slot"
"""On each child: the slot of its root, so that a shard can watch its share of the children."""


def owner_reference(root: CustomResource) -> dict[str, Any]:
    """The reference by which a child names `root` as its controller."""
    return {
        "apiVersion": root.resource.api_version,
        "kind": root.resource.kind,
        "name": root.metadata.name,
        "uid": root.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def adopt(child: dict[str, Any], root: CustomResource) -> None:
    """Put owner reference, slot label and (where it has none) the root's namespace into `child`.

    Raises:
        ValueError: root and child are in different namespaces. An owner reference cannot say so: the
            garbage collector would look for the owner beside the child and delete the child.
    """
    metadata = child.setdefault("metadata", {})
    home = root.metadata.namespace
    if home:
        metadata["namespace"] = metadata.get("namespace") or home
    if home and metadata["namespace"] != home:
        where = f"{metadata['namespace']}/{metadata.get('name', '')}"
        msg = (
            f"{child.get('kind', 'child')} {where} is of another namespace than its owner "
            f"{root.kind} {home}/{root.name}; leave its namespace out, or put it into {home}"
        )
        raise ValueError(msg)
    metadata["ownerReferences"] = [owner_reference(root)]
    labels = metadata.setdefault("labels", {})
    labels[SLOT_LABEL] = str(slot(root.metadata.uid or ""))


def controller_of(live: dict[str, Any]) -> dict[str, Any] | None:
    """The owner reference with `controller: true`, if any."""
    for reference in live.get("metadata", {}).get("ownerReferences") or ():
        if reference.get("controller"):
            return dict(reference)
    return None


def is_ours(live: dict[str, Any], root: CustomResource, field_manager: str) -> bool:
    """Whether `root` controls the object, or may adopt it.

    What nobody controls but our field manager has applied before may be adopted: its former root was
    deleted with `--cascade=orphan`.
    """
    controller = controller_of(live)
    if controller is not None:
        return controller.get("uid") == root.metadata.uid
    managers = live.get("metadata", {}).get("managedFields") or ()
    return any(
        entry.get("manager") == field_manager and entry.get("operation") == "Apply" for entry in managers
    )


def is_left_behind(live: dict[str, Any], root: CustomResource) -> bool:
    """Whether the controller is a former object of `root`'s name: the garbage collector is on its way."""
    controller = controller_of(live) or {}
    return (
        controller.get("uid") != root.metadata.uid
        and controller.get("kind") == root.resource.kind
        and controller.get("name") == root.metadata.name
        and str(controller.get("apiVersion", "")).partition("/")[0] == root.resource.group
    )


def check_control(live: dict[str, Any], root: CustomResource, kind: str, field_manager: str) -> None:
    """Refuse to take over an object that is not ours, see `is_ours`.

    Raises:
        NotControlled: names the object, who controls it, and the way out.
    """
    if is_ours(live, root, field_manager):
        return
    metadata = live.get("metadata", {})
    where = f"{kind} {metadata.get('namespace', '')}/{metadata.get('name', '')}".replace(" /", " ")
    controller = controller_of(live)
    if controller is None:
        msg = f"{where} exists and was not made by this controller; delete or rename it"
    else:
        owner = f"{controller.get('kind')} {controller.get('name')}"
        msg = f"{where} exists and is controlled by {owner}; delete or rename one of them"
    raise NotControlled(msg)
