"""The reconciler of OpenClaw objects."""

from __future__ import annotations

from typing import ClassVar

from openclaw.api.builtin import Deployment, Ingress, Service
from openclaw.api.conditions import Available, Degraded, Progressing
from openclaw.api.openclaw import OpenClaw
from openclaw.controllers.openclaw.children import (
    FRONTEND,
    WORKER,
    frontend_deployment,
    frontend_ingress,
    frontend_service,
    worker_deployment,
)
from openclaw.controllers.openclaw.endpoint import external_endpoint
from openclaw.controllers.openclaw.names import child_name
from openclaw.controllers.openclaw.observed import Component, failed, observe
from openclaw.kube.errors import ApiError, KubeError
from openclaw.runtime import (
    Applied,
    Context,
    ErrorClass,
    Reconciler,
    Result,
    TerminalError,
    classify,
    reason_of,
)

__all__ = ["OpenClawReconciler"]


class OpenClawReconciler(Reconciler[OpenClaw]):
    """Runs the front end (Deployment, Service, Ingress) and the workers (Deployment) of each OpenClaw.

    The two components are reconciled apart: what one of them suffers makes the object Degraded, with the
    server's own words, and does not keep the other from being brought in line.
    """

    owns: ClassVar = (Deployment, Service, Ingress)

    async def reconcile(self, ctx: Context, obj: OpenClaw) -> Result:
        """Apply both components, then say how they are."""
        errors: list[Exception] = []
        service = ctx.get(Service, child_name(obj.name, FRONTEND))
        try:
            frontend, service = await self._frontend(ctx, obj)
        except (KubeError, TerminalError) as error:
            frontend = self._failed(ctx, obj, FRONTEND, wanted=obj.spec.frontend.replicas, error=error)
            errors.append(error)
        try:
            worker = await self._worker(ctx, obj)
        except (KubeError, TerminalError) as error:
            worker = self._failed(ctx, obj, WORKER, wanted=obj.spec.worker.replicas, error=error)
            errors.append(error)
        obj.status.frontend_ready_replicas = frontend.ready
        obj.status.worker_ready_replicas = worker.ready
        obj.status.external_endpoint = external_endpoint(obj, service)
        _state_conditions(ctx, obj, (frontend, worker))
        if errors:
            raise errors[0]
        return Result.done()

    async def _frontend(self, ctx: Context, claw: OpenClaw) -> tuple[Component, Service]:
        applied = await ctx.apply_with_outcome(frontend_deployment(claw))
        service = await ctx.apply(frontend_service(claw))
        if claw.spec.frontend.ingress_host:
            await ctx.apply(frontend_ingress(claw))
        else:
            await ctx.delete(Ingress, child_name(claw.name, FRONTEND))
        return self._observe(claw, FRONTEND, claw.spec.frontend.replicas, applied), service

    async def _worker(self, ctx: Context, claw: OpenClaw) -> Component:
        applied = await ctx.apply_with_outcome(worker_deployment(claw))
        return self._observe(claw, WORKER, claw.spec.worker.replicas, applied)

    @staticmethod
    def _observe(claw: OpenClaw, name: str, wanted: int, applied: Applied) -> Component:
        progressing = claw.status.conditions.get(Progressing)
        settled = (
            applied.outcome == "unchanged"
            and progressing is not None
            and progressing.status == "False"
            and progressing.observed_generation == claw.generation
        )
        return observe(name, wanted, Deployment(applied.live), settled=settled)

    @staticmethod
    def _failed(ctx: Context, claw: OpenClaw, name: str, *, wanted: int, error: Exception) -> Component:
        """The component as it stands, with what keeps it from being applied."""
        if classify(error) in (ErrorClass.CONFLICT, ErrorClass.GONE):
            raise error
        deployment = ctx.get(Deployment, child_name(claw.name, name))
        seen = observe(name, wanted, deployment, settled=False) if deployment is not None else None
        message = error.message if isinstance(error, ApiError) else str(error)
        return failed(
            name,
            wanted,
            seen.ready if seen else 0,
            serving=seen.serving if seen else wanted == 0,
            reason=reason_of(error),
            message=message,
        )


def _state_conditions(ctx: Context, claw: OpenClaw, components: tuple[Component, ...]) -> None:
    """Available, Progressing and Degraded, and an event where one of them turned."""
    conditions = claw.status.conditions
    was_available = conditions.is_true(Available)
    was_degraded = conditions.is_true(Degraded)
    ready = ", ".join(component.summary() for component in components)
    down = [component for component in components if not component.serving]
    rolling = [component for component in components if component.rolling]
    failing = [component for component in components if component.failure]

    if down:
        names = " and ".join(component.name for component in down)
        conditions.set(Available(when=False, message=f"{names} not available ({ready} ready)"))
    else:
        conditions.set(Available(when=True, message=f"{ready} ready"))
    if rolling:
        names = " and ".join(component.name for component in rolling)
        conditions.set(
            Progressing(when=True, reason="RollingOut", message=f"{names} rolling out ({ready} ready)")
        )
    else:
        conditions.set(Progressing(when=False))
    if failing:
        message = "; ".join(component.failure for component in failing)
        conditions.set(Degraded(when=True, reason=failing[0].reason, message=message))
        if not was_degraded:
            ctx.event("Degraded", message, type="Warning")
    else:
        conditions.set(Degraded(when=False))
        if was_degraded:
            ctx.event("Recovered", f"no component fails any more ({ready} ready)")
    if not down and not was_available:
        ctx.event("Available", f"{ready} ready")
    elif down and was_available and not rolling:
        ctx.event("Unavailable", f"{ready} ready", type="Warning")
