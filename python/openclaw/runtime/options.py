"""How a manager runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from openclaw.sharding.options import ShardOptions
from openclaw.telemetry.logs import LogFormat, LogLevel

__all__ = ["Options"]

_LONGEST_MANAGER: Final = 128  # bytes; the API server's limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a manager runs.

    Attributes:
        kubeconfig: a path; by default `$KUBECONFIG`, `~/.kube/config`, then the pod's service account.
        context: name of a context of it.
        namespace: watch this namespace only; None for all.
        metrics_address: `HOST:PORT` for /metrics, /healthz and /readyz; None serves nothing.
        concurrency: most runs at once of each controller; by default each reconciler's own.
        field_manager: the name under which writes own fields, 1 to 128 printable characters. Do not change
            it for a running system: fields that were stated under the old name stay the old name's.
        grace: seconds that runs in flight get when the manager is stopped; 0 cuts them off.
        tracing: record traces; by default as OpenTelemetry's variables say.
        shard: the objects are shared out among the shards of a group, of which this process is one; None: it
            acts on all of them, by itself.
        debug_address: `HOST:PORT` for the debug page; without a host, loopback; None serves none.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    metrics_address: str | None = None
    concurrency: int | None = None
    field_manager: str = "openclaw"
    grace: float = 20.0
    log_format: LogFormat = "auto"
    log_level: LogLevel = "info"
    user_agent: str = field(default="openclaw")
    tracing: bool | None = None
    debug_address: str | None = None
    shard: ShardOptions | None = None

    def __post_init__(self) -> None:
        """Refuse what could not work.

        Raises:
            ValueError: names the option.
        """
        size = len(self.field_manager.encode("utf-8", "replace"))
        if not self.field_manager.strip() or size > _LONGEST_MANAGER or not self.field_manager.isprintable():
            msg = (
                f"the field manager's name {self.field_manager!r} must be 1 to {_LONGEST_MANAGER} "
                "printable characters"
            )
            raise ValueError(msg)
        if not 0 <= self.grace < float("inf"):
            msg = f"the grace of {self.grace} s must be at least 0 seconds"
            raise ValueError(msg)
