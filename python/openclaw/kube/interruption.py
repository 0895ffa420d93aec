"""What an error of a list or watch means: how long to wait, what to say, whether only a list helps."""

from __future__ import annotations

from typing import Final

import orjson

from openclaw.api.kinds import ResourceKind
from openclaw.kube.backoff import Backoff
from openclaw.kube.errors import (
    ApiError,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    ResourceExpired,
    Unauthorized,
    Unreachable,
    status_error,
)
from openclaw.telemetry.logs import Log

__all__ = ["delay_after", "tell_interruption", "watch_error"]

_LONGEST_NAMED_WAIT_SECONDS: Final = 300.0


def delay_after(error: Exception, backoff: Backoff) -> float:
    """Seconds to wait after an error: the backoff's, or what the server named within reason."""
    delay = backoff.next()
    if isinstance(error, ApiError) and error.retry_after is not None:
        delay = max(delay, min(error.retry_after, _LONGEST_NAMED_WAIT_SECONDS))
    return delay


def tell_interruption(
    log: Log, message: str, error: Exception, *, kind: ResourceKind, server: str, delay: float, lasts: bool
) -> None:
    """Log an error with the way out; one that does not last is daily business."""
    fields: dict[str, object] = {
        "kind": kind.kind,
        "error": str(error),
        "delay_seconds": round(delay, 3),
    }
    if isinstance(error, NotFound):
        fields["hint"] = f"the API server does not serve {kind.qualified}: install its CRD"
    elif isinstance(error, Forbidden):
        fields["hint"] = f"the role must allow list and watch of {kind.qualified}"
    elif isinstance(error, Unauthorized):
        fields["hint"] = "the credentials are expired, or of another cluster: renew them, or see --context"
    elif lasts and isinstance(error, Unreachable):
        fields["hint"] = f"is the API server up, and {server} its address? See --kubeconfig, --context"
    say = log.warning if lasts else log.info
    say(message, **fields)


def watch_error(body: bytes, request: str) -> KubeError:
    """The error that an ERROR event carries."""
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = {}
    error = status_error(status if isinstance(status, dict) else {}, request=request)
    if isinstance(error, Invalid):
        # The server cannot serve this position any more; only a list helps.
        return ResourceExpired(error.code, error.reason, error.message, request=request)
    return error
