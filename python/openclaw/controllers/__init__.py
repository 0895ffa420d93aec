"""The shipped operators' reconcilers."""

from openclaw.controllers.httpresource import HTTPResourceReconciler
from openclaw.controllers.openclaw import OpenClawReconciler
from openclaw.controllers.rds import RDSInstanceReconciler
from openclaw.controllers.shipped import SHIPPED, missing_extras, runnable

__all__ = [
    "SHIPPED",
    "HTTPResourceReconciler",
    "OpenClawReconciler",
    "RDSInstanceReconciler",
    "missing_extras",
    "runnable",
]
