"""What users of the framework test with.

The names are imported when they are first used: the pytest plugin of this package is loaded in every
run of pytest, and must not make those pay that do not use it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openclaw.testing.binaries import find_binary
    from openclaw.testing.client import Client
    from openclaw.testing.cluster.cluster import FakeCluster
    from openclaw.testing.cluster.faults import Fault, RequestInfo, WatchFault
    from openclaw.testing.cluster.http import ClusterServer
    from openclaw.testing.cluster.process import ClusterProcess
    from openclaw.testing.cluster.workloads import Workloads
    from openclaw.testing.controlplane import ControlPlane
    from openclaw.testing.errors import (
        BinaryNotFoundError,
        BuildError,
        ConditionTimeoutError,
        ControlPlaneError,
    )
    from openclaw.testing.node import NodeStandIn
    from openclaw.testing.podstatus import BEHAVIOUR_ANNOTATION, Outcome, PodBehaviour

_MODULES = {
    "BEHAVIOUR_ANNOTATION": "podstatus",
    "BinaryNotFoundError": "errors",
    "BuildError": "errors",
    "Client": "client",
    "ClusterProcess": "cluster.process",
    "ClusterServer": "cluster.http",
    "ConditionTimeoutError": "errors",
    "ControlPlane": "controlplane",
    "ControlPlaneError": "errors",
    "FakeCluster": "cluster.cluster",
    "Fault": "cluster.faults",
    "NodeStandIn": "node",
    "Outcome": "podstatus",
    "PodBehaviour": "podstatus",
    "RequestInfo": "cluster.faults",
    "WatchFault": "cluster.faults",
    "Workloads": "cluster.workloads",
    "find_binary": "binaries",
}

__all__ = [
    "BEHAVIOUR_ANNOTATION",
    "BinaryNotFoundError",
    "BuildError",
    "Client",
    "ClusterProcess",
    "ClusterServer",
    "ConditionTimeoutError",
    "ControlPlane",
    "ControlPlaneError",
    "FakeCluster",
    "Fault",
    "NodeStandIn",
    "Outcome",
    "PodBehaviour",
    "RequestInfo",
    "WatchFault",
    "Workloads",
    "find_binary",
]


if not TYPE_CHECKING:  # Type checkers see the imports above, and find misspelt names.

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return getattr(import_module(f"openclaw.testing.{_MODULES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
