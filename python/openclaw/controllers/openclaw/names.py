"""Names of children that are valid whatever the root is called."""

from __future__ import annotations

import re
from typing import Final

from openclaw._core import fnv1a64

__all__ = ["child_name", "instance_name"]

# A Service's name is an RFC 1035 label: at most 63 characters, first a letter. "-frontend" is the
# longest suffix.
_LONGEST_INSTANCE: Final = 63 - len("-frontend")
_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_HASH_DIGITS: Final = 8


def instance_name(root: str) -> str:
    """The root's name where it can be the stem of a Service name and a label value; else one made from it.

    What has to be changed (dots, a digit in front, too many characters) gets a hash of the whole name, so
    that two roots of one namespace never share a child.
    """
    if len(root) <= _LONGEST_INSTANCE and _LABEL.fullmatch(root):
        return root
    digest = f"{fnv1a64(root):016x}"[-_HASH_DIGITS:]
    stem = re.sub(r"[^a-z0-9-]", "-", root)
    if not stem[:1].isalpha():
        stem = f"claw-{stem}"
    return f"{stem[: _LONGEST_INSTANCE - _HASH_DIGITS - 1].rstrip('-')}-{digest}"


def child_name(root: str, component: str) -> str:
    """The name of the children of one component, at most 63 characters."""
    return f"{instance_name(root)}-{component}"
