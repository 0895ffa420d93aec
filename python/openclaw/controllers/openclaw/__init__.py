"""The OpenClaw operator: a web front end and background workers, run as one thing."""

from openclaw.controllers.openclaw.reconciler import OpenClawReconciler

__all__ = ["OpenClawReconciler"]
