"""The operators that are shipped, and which of them can be run here."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Final

from openclaw.controllers.httpresource import HTTPResourceReconciler
from openclaw.controllers.openclaw import OpenClawReconciler
from openclaw.controllers.rds import RDSInstanceReconciler
from openclaw.runtime import Reconciler

__all__ = ["SHIPPED", "missing_extras", "runnable"]

SHIPPED: Final[tuple[type[Reconciler[Any]], ...]] = (
    OpenClawReconciler,
    RDSInstanceReconciler,
    HTTPResourceReconciler,
)
"""All of them: what the manifests are made of, whatever is installed where they are made."""

_NEEDS: Final[dict[type[Reconciler[Any]], tuple[str, str]]] = {RDSInstanceReconciler: ("aiobotocore", "aws")}
"""The module that an operator needs, and the extra that brings it."""


def runnable() -> tuple[type[Reconciler[Any]], ...]:
    """Those whose dependencies are installed; nothing is imported to find out."""
    missing = missing_extras()
    return tuple(it for it in SHIPPED if it not in missing)


def missing_extras() -> dict[type[Reconciler[Any]], str]:
    """The others, and the extra that each needs."""
    return {it: extra for it, (module, extra) in _NEEDS.items() if find_spec(module) is None}
