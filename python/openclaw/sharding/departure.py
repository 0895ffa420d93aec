"""How a shard that is being stopped leaves: for a restart, or for good."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from openclaw.api.builtin import StatefulSet
from openclaw.kube.errors import KubeError, NotFound
from openclaw.kube.paths import object_path
from openclaw.kube.transport import Transport
from openclaw.telemetry.logs import Log

__all__ = ["comes_back"]

log = Log(__name__)

_ORDINAL: Final = re.compile(r"(.+)-(0|[1-9][0-9]{0,8})")
_TIMEOUT_SECONDS: Final = 2.0


async def comes_back(transport: Transport, namespace: str, pod: str) -> bool:
    """Whether a StatefulSet is going to make this pod again: its ordinal is still wanted.

    When that cannot be found out, it is taken for a restart: the slots then wait for a bounded time, instead
    of moving twice.
    """
    match = _ORDINAL.fullmatch(pod)
    if match is None:
        return False
    name, ordinal = match.group(1), int(match.group(2))
    try:
        response = await transport.request(
            "GET", object_path(StatefulSet.resource, namespace, name), timeout=_TIMEOUT_SECONDS
        )
        return _wants(orjson.loads(response.body), ordinal)
    except NotFound:
        return False
    except (KubeError, ValueError, TypeError) as error:
        log.warning(
            "whether this shard comes back is not known; its slots wait for it for a while",
            statefulset=f"{namespace}/{name}",
            error=str(error),
        )
        return True


def _wants(statefulset: dict[str, Any], ordinal: int) -> bool:
    if statefulset["metadata"].get("deletionTimestamp"):
        return False
    spec = statefulset.get("spec") or {}
    first = int((spec.get("ordinals") or {}).get("start") or 0)
    replicas = spec.get("replicas")
    return first <= ordinal < first + (1 if replicas is None else int(replicas))
