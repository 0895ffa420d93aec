"""The reconciler of OpenClaw objects."""

from __future__ import annotations

from typing import ClassVar

from openclaw.api.builtin import Deployment, Ingress, Service
from openclaw.api.openclaw import OpenClaw
from openclaw.controllers.openclaw.attempt import Attempt
from openclaw.controllers.openclaw.children import (
    FRONTEND,
    WORKER,
    frontend_deployment,
    frontend_ingress,
    frontend_service,
    worker_deployment,
)
from openclaw.controllers.openclaw.conditions import speaks_of_this_generation, state_conditions, was_rolling
from openclaw.controllers.openclaw.endpoint import external_endpoint
from openclaw.controllers.openclaw.names import child_name
from openclaw.runtime import Context, ErrorClass, Reconciler, Result, classify

__all__ = ["OpenClawReconciler"]


class OpenClawReconciler(Reconciler[OpenClaw]):
    """Runs the front end (Deployment, Service, Ingress) and the workers (Deployment) of each OpenClaw.

    The two components are reconciled apart: what one of them suffers makes the object Degraded, with the
    server's own words, and does not keep the other from being brought in line.
    """

    owns: ClassVar = (Deployment, Service, Ingress)

    async def reconcile(self, ctx: Context, obj: OpenClaw) -> Result:
        """Apply both components, then say how they are."""
        frontend = Attempt(ctx, obj, FRONTEND, obj.spec.frontend.replicas)
        worker = Attempt(ctx, obj, WORKER, obj.spec.worker.replicas)
        await frontend.deployment(frontend_deployment(obj))
        service = await frontend.apply(frontend_service(obj))
        ingress: Ingress | None = None
        if obj.spec.frontend.ingress_host:
            ingress = await frontend.apply(frontend_ingress(obj))
        else:
            await frontend.delete(Ingress, child_name(obj.name, FRONTEND))
        await worker.deployment(worker_deployment(obj))

        told = speaks_of_this_generation(obj)
        components = (
            frontend.component(
                child_name(obj.name, FRONTEND),
                was_rolling=was_rolling(obj, FRONTEND),
                told=told,
                reachable=service is not None,
            ),
            worker.component(child_name(obj.name, WORKER), was_rolling=was_rolling(obj, WORKER), told=told),
        )
        obj.status.frontend_ready_replicas, obj.status.worker_ready_replicas = (it.ready for it in components)
        obj.status.external_endpoint = external_endpoint(obj, service, ingress)
        errors = [*frontend.errors, *worker.errors]
        # The one that may pass soonest decides when to try again.
        passing = (it for it in errors if classify(it) is not ErrorClass.TERMINAL)
        error = next(passing, errors[0]) if errors else None
        state_conditions(ctx, obj, components, error=error)
        if error is not None:
            raise error
        look_again = [it.look_again for it in components if it.look_again is not None]
        return Result.after(min(look_again)) if look_again else Result.done()
