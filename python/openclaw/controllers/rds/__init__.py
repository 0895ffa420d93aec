"""The RDSInstance operator: a database outside of the cluster, driven through a provider."""

from openclaw.controllers.rds.reconciler import RDSInstanceReconciler

__all__ = ["RDSInstanceReconciler"]
