"""What a shard is told about itself and its group."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from typing import Final

__all__ = ["ShardOptions"]

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardOptions:
    """How a shard takes part. All shards of a group must agree on all but `name`.

    Attributes:
        name: unique in the group and the same after a restart: a StatefulSet's pod name is both.
        group: the operator's name; shards of one group share out the objects.
        namespace: where the Leases are; by default the pod's own, or the kubeconfig context's.
        lease_seconds: a Lease that was not renewed for so long, by another shard's own clock, is void.
        fence_seconds: a shard acts for so long after it began its last successful renewal.
        renew_seconds: between renewals.
        request_seconds: a read or write of Leases may take so long.
        drain_seconds: runs in flight get so long to end before their slots go to another shard.
        hold_seconds: for so long the slots of a shard that restarts wait for it.
    """

    name: str
    group: str = "openclaw"
    namespace: str | None = None
    lease_seconds: float = 15.0
    fence_seconds: float = 10.0
    renew_seconds: float = 5.0
    request_seconds: float = 3.0
    drain_seconds: float = 10.0
    hold_seconds: float = 90.0

    def __post_init__(self) -> None:
        """Refuse what could not work.

        Raises:
            ValueError: names the option.
        """
        for what, value in (("shard's name", self.name), ("shard group", self.group)):
            if not _NAME.fullmatch(value):
                msg = (
                    f"the {what} {value!r} must be a DNS label: up to 63 lower-case letters, digits and "
                    "hyphens, with a letter or digit at both ends"
                )
                raise ValueError(msg)
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_seconds") and not 0 < value < math.inf:
                msg = f"{field.name.replace('_', ' ')}: {value} must be above 0"
                raise ValueError(msg)
        if not self.renew_seconds < self.fence_seconds < self.lease_seconds:
            msg = (
                f"renewing every {self.renew_seconds:g} s, acting {self.fence_seconds:g} s and a Lease of "
                f"{self.lease_seconds:g} s must be in this order, each longer than the one before"
            )
            raise ValueError(msg)
