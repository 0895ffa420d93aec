"""Sharding: which replica acts on which objects, and until when."""

from __future__ import annotations

from openclaw.sharding.fence import Fence, LostFence, boot_clock
from openclaw.sharding.membership import Host, Membership, NameTaken
from openclaw.sharding.options import ShardOptions
from openclaw.sharding.statustext import Workload

__all__ = [
    "Fence",
    "Host",
    "LostFence",
    "Membership",
    "NameTaken",
    "ShardOptions",
    "Workload",
    "boot_clock",
]
