"""Available, Progressing and Degraded of an OpenClaw, and an event where one of them turned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openclaw.api.conditions import Available, Degraded, Progressing
from openclaw.api.openclaw import OpenClaw
from openclaw.controllers.openclaw.observed import Component
from openclaw.runtime import Context, ErrorClass, classify

__all__ = ["speaks_of_this_generation", "state_conditions", "was_rolling"]

_ALL: Final = "RollingOut"


def speaks_of_this_generation(claw: OpenClaw) -> bool:
    """Whether the last status was written for the spec as it is now."""
    progressing = claw.status.conditions.get(Progressing)
    return progressing is not None and progressing.observed_generation == claw.metadata.generation


def was_rolling(claw: OpenClaw, component: str) -> bool:
    """Whether the last status says that the component rolls out, or says nothing yet."""
    progressing = claw.status.conditions.get(Progressing)
    if progressing is None:
        return True
    return progressing.status != "False" and progressing.reason in (_ALL, _reason([component]))


def _reason(rolling: Sequence[str]) -> str:
    """`WorkerRollingOut`, or `RollingOut` for both: the next run reads from it which one it was."""
    return f"{rolling[0].capitalize()}{_ALL}" if len(rolling) == 1 else _ALL


def state_conditions(
    ctx: Context, claw: OpenClaw, components: Sequence[Component], *, error: Exception | None = None
) -> None:
    """Set the three conditions from what became of the components.

    Args:
        ctx: of the run.
        claw: the root.
        components: what became of each.
        error: what ends the run. The runtime makes an event of a terminal one, so that it is not told twice.
    """
    told = error is not None and classify(error) is ErrorClass.TERMINAL
    conditions = claw.status.conditions
    was_available = conditions.is_true(Available)
    was_degraded = conditions.is_true(Degraded)
    ready = ", ".join(component.summary() for component in components)
    down = [component.name for component in components if not component.serving]
    rolling = [component.name for component in components if component.rolling]
    failing = [component for component in components if component.failure]

    if down:
        conditions.set(Available(when=False, message=f"{' and '.join(down)} not available ({ready} ready)"))
    else:
        conditions.set(Available(when=True, message=f"{ready} ready"))
    if rolling:
        message = f"{' and '.join(rolling)} rolling out ({ready} ready)"
        conditions.set(Progressing(when=True, reason=_reason(rolling), message=message))
    else:
        conditions.set(Progressing(when=False))
    if failing:
        message = "; ".join(component.failure for component in failing)
        conditions.set(Degraded(when=True, reason=failing[0].reason, message=message))
        if not was_degraded and not (told and len(failing) == 1):
            ctx.event("Degraded", message, type="Warning")
    else:
        conditions.set(Degraded(when=False))
        if was_degraded:
            ctx.event("Recovered", f"no component fails any more ({ready} ready)")
    if not down and not was_available:
        ctx.event("Available", f"{ready} ready")
    elif down and was_available and not rolling:
        ctx.event("Unavailable", f"{ready} ready", type="Warning")
