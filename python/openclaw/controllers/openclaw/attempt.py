"""Bringing the children of one component in line: each of them is tried, whatever happens to the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from openclaw.api.builtin import Deployment, Ingress
from openclaw.api.openclaw import OpenClaw
from openclaw.api.unstructured import Unstructured
from openclaw.controllers.openclaw.observed import Component, observe
from openclaw.kube.errors import ApiError, KubeError
from openclaw.runtime import Applied, Context, ErrorClass, TerminalError, classify, reason_of

__all__ = ["Attempt"]

K = TypeVar("K", bound=Unstructured)


class Attempt:
    """One component in one run.

    Args:
        ctx: of the run.
        claw: the root.
        name: the component.
        wanted: pods that the spec asks for.

    Attributes:
        errors: what went wrong, in order.
    """

    def __init__(self, ctx: Context, claw: OpenClaw, name: str, wanted: int) -> None:
        self._ctx = ctx
        self._claw = claw
        self._name = name
        self._wanted = wanted
        self._deployment: Applied | None = None
        self._deployment_refused = False
        self.errors: list[Exception] = []

    async def deployment(self, desired: Deployment) -> None:
        """Apply the component's Deployment.

        Raises:
            KubeError: what ends the run as a whole: a conflict, or the namespace is being deleted.
        """
        try:
            self._deployment = await self._ctx.apply_with_outcome(desired)
        except (KubeError, TerminalError) as error:
            self._deployment_refused = classify(error) is ErrorClass.TERMINAL
            self._keep(error)

    async def apply(self, desired: K) -> K | None:
        """Apply another child; None where it could not be applied and is not there.

        One that a former object of this name has left behind, and that is about to go, is not there.

        Raises:
            KubeError: as `deployment`.
        """
        try:
            applied = await self._ctx.apply_with_outcome(desired)
        except (KubeError, TerminalError) as error:
            self._keep(error)
        else:
            if applied.outcome != "terminating":
                return type(desired).from_dict(applied.live)
        return self._own(type(desired), desired.name)

    async def delete(self, kind: type[Ingress], name: str) -> None:
        """Delete a child that the spec does not want.

        Raises:
            KubeError: as `deployment`.
        """
        try:
            await self._ctx.delete(kind, name)
        except KubeError as error:
            self._keep(error)

    def component(
        self, name: str, *, was_rolling: bool, told: bool = True, reachable: bool = True
    ) -> Component:
        """What became of the component.

        Args:
            name: of its Deployment.
            was_rolling: what the last status says of it.
            told: whether that speaks of this generation of the spec.
            reachable: what leads to its pods is there.
        """
        applied = self._deployment
        if applied is not None and applied.outcome != "terminating":
            settled = applied.outcome == "unchanged" and not was_rolling
            seen = observe(self._name, self._wanted, Deployment(applied.live), settled=settled, told=told)
        else:
            seen = observe(self._name, self._wanted, self._own(Deployment, name), settled=False)
        if not reachable:
            seen = replace(seen, serving=False)
        if applied is None:
            # Refused: nothing is on its way to what the spec wants. Otherwise: it is not there yet.
            seen = replace(seen, rolling=not self._deployment_refused)
        refusals = [error for error in self.errors if classify(error) is ErrorClass.TERMINAL]
        if not refusals:
            return seen  # what may pass by itself degrades nothing; if it lasts, the runtime says so
        error = refusals[0]
        message = error.message if isinstance(error, ApiError) else str(error)
        return seen.failing(reason_of(error), message)

    def _keep(self, error: Exception) -> None:
        if classify(error) in (ErrorClass.CONFLICT, ErrorClass.GONE):
            raise error
        self.errors.append(error)

    def _own(self, kind: type[K], name: str) -> K | None:
        """A child by its name, unless the name is somebody else's."""
        return next((child for child in self._ctx.owned(kind) if child.name == name), None)
