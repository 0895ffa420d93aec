"""Named health checks, answered as the Kubernetes components answer theirs.

A check is live (is the process to be restarted?), ready (may it be counted on?) or both. A report names each
check: `[+]ping ok`, `[-]cache openclaws failed: not synced`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from openclaw.telemetry.redact import redact_text

__all__ = ["CheckResult", "Health", "HealthCheck", "HealthChecks", "HealthReport"]

Health = Literal["live", "ready"]
HealthCheck = Callable[[], str | None]
"""Returns None when all is well, otherwise the reason; an exception is a reason too. Must not block."""

_ENDPOINTS: dict[Health, str] = {"live": "healthz", "ready": "readyz"}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check said; `reason` is None when it passed."""

    name: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class HealthReport:
    """What all checks of a kind said."""

    kind: Health
    results: tuple[CheckResult, ...]
    excluded: tuple[str, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether every check passed."""
        return all(result.reason is None for result in self.results)

    def text(self, *, verbose: bool = False) -> str:
        """The report as the kube-apiserver words it: `ok`; if not, or `verbose`, a line a check."""
        if self.healthy and not verbose:
            return "ok"
        lines = [
            f"[+]{result.name} ok" if result.reason is None else f"[-]{result.name} failed: {result.reason}"
            for result in self.results
        ]
        lines += [f"[+]{name} excluded: ok" for name in self.excluded]
        verdict = "passed" if self.healthy else "failed"
        return "\n".join([*lines, f"{_ENDPOINTS[self.kind]} check {verdict}", ""])


class HealthChecks:
    """The checks of one process. `ping`, which says that the process answers at all, is always there."""

    def __init__(self) -> None:
        self._checks: dict[Health, dict[str, HealthCheck]] = {"live": {}, "ready": {}}
        self.add("ping", _ping, live=True)

    def add(self, name: str, check: HealthCheck, *, live: bool = False, ready: bool = True) -> None:
        """Add a check.

        Args:
            name: how reports and the path `/readyz/<name>` call it.
            check: see `HealthCheck`.
            live: whether the process is to be restarted when it fails.
            ready: whether the process is not to be counted on while it fails.

        Raises:
            ValueError: there is a check of that name already, or it is neither live nor ready.
        """
        kinds: list[Health] = []
        if live:
            kinds.append("live")
        if ready:
            kinds.append("ready")
        if not kinds:
            msg = f"health check {name!r} must be live, ready or both"
            raise ValueError(msg)
        for kind in kinds:
            if name in self._checks[kind]:
                msg = (
                    f"health check {name!r} ({kind}) exists already: remove it first, or choose another name"
                )
                raise ValueError(msg)
        for kind in kinds:
            self._checks[kind][name] = check

    def remove(self, name: str) -> None:
        """Remove the check of that name; nothing happens when there is none."""
        for checks in self._checks.values():
            checks.pop(name, None)

    def run(self, kind: Health, *, exclude: Collection[str] = ()) -> HealthReport:
        """Ask all checks of a kind but the excluded ones."""
        checks = self._checks[kind]
        return HealthReport(
            kind,
            tuple(_ask(name, check) for name, check in list(checks.items()) if name not in exclude),
            tuple(name for name in checks if name in exclude),
        )

    def run_one(self, kind: Health, name: str) -> HealthReport:
        """Ask one check.

        Raises:
            KeyError: no check of that name and kind.
        """
        return HealthReport(kind, (_ask(name, self._checks[kind][name]),))


def _ping() -> None:
    return None


def _ask(name: str, check: HealthCheck) -> CheckResult:
    try:
        reason = check()
    except Exception as error:  # noqa: BLE001 - a check that raises has failed, whatever it raised
        reason = str(error) or type(error).__name__
    return CheckResult(name, None if reason is None else redact_text(reason))
