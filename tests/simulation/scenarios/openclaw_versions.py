"""Another version of the OpenClaw operator, for roll-outs."""

from __future__ import annotations

from openclaw.api.builtin import Deployment
from openclaw.api.openclaw import OpenClaw
from openclaw.controllers.openclaw import OpenClawReconciler
from openclaw.runtime import Context, Result

__all__ = ["LATER_ANNOTATION", "LaterReconciler"]

LATER_ANNOTATION = "apps.openclaw.dev/operator-version"


class LaterReconciler(OpenClawReconciler):
    """Differs from the shipped one in an annotation of the Deployments.

    The pods' template is the same, so no pod is replaced by the roll-out.
    """

    async def reconcile(self, ctx: Context, obj: OpenClaw) -> Result:
        """As the shipped one does it, with the annotation in each Deployment's intent."""
        return await super().reconcile(_Annotating(ctx), obj)


class _Annotating(Context):
    """A context that puts the annotation into each Deployment."""

    def __init__(self, ctx: Context) -> None:
        self.__dict__ = ctx.__dict__  # the same run, not another one

    async def apply_with_outcome(self, desired, *, exact=()):  # type: ignore[no-untyped-def]
        if isinstance(desired, Deployment):
            body = desired.to_dict()
            annotations = {**(body["metadata"].get("annotations") or {}), LATER_ANNOTATION: "1"}
            desired = Deployment({**body, "metadata": {**body["metadata"], "annotations": annotations}})
        return await super().apply_with_outcome(desired, exact=exact)
