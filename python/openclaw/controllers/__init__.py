"""The shipped operators' reconcilers."""

from openclaw.controllers.openclaw import OpenClawReconciler

__all__ = ["SHIPPED", "OpenClawReconciler"]

SHIPPED = (OpenClawReconciler,)
