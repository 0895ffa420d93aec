"""The operator of HTTPResource: things behind JSON APIs."""

from openclaw.controllers.httpresource.reconciler import HTTPResourceReconciler

__all__ = ["HTTPResourceReconciler"]
