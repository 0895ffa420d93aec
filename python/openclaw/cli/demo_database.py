"""The demo's database outside of the cluster: an RDSInstance, and the stand-in for RDS behind it."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from openclaw.api.builtin import Secret
from openclaw.api.rdsinstance import RDSInstance
from openclaw.cli.demo_cluster import DemoCluster
from openclaw.testing.rds import Behaviour, RDSStandIn, Timelines, WallClock

__all__ = ["DemoDatabase"]

_SPEED = 60.0
# RDS takes minutes for what the stand-in does in seconds, so the operator looks as much more often.
_POLLS = {f"OPENCLAW_RDS_POLL_{phase}": "500ms" for phase in ("CREATING", "MODIFYING", "DELETING", "PENDING")}
_SLOW = {"OPENCLAW_RDS_POLL_AVAILABLE": "1s", "OPENCLAW_RDS_POLL_SLOW": "1s", "OPENCLAW_RDS_SETTLE": "1s"}


class DemoDatabase:
    """What the story asks for. Made by `running`."""

    def __init__(self, rds: RDSStandIn) -> None:
        self._rds = rds

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls) -> AsyncIterator[DemoDatabase]:
        """A stand-in for RDS on loopback, whose minutes are seconds."""
        async with RDSStandIn(clock=WallClock(_SPEED), behaviour=Behaviour(timelines=Timelines())) as rds:
            yield cls(rds)

    @property
    def environment(self) -> Mapping[str, str]:
        """What the operator has to be told to find it."""
        endpoints = {f"AWS_ENDPOINT_URL_{name}": self._rds.url for name in ("RDS", "STS")}
        return _POLLS | _SLOW | endpoints

    async def declare(self, cluster: DemoCluster, sample: Path) -> str:
        """Apply a sample with the Secrets that it needs; returns its name."""
        item: dict[str, Any] = yaml.safe_load(await asyncio.to_thread(sample.read_text))
        name, namespace = item["metadata"]["name"], item["metadata"]["namespace"]
        key = self._rds.new_key()
        for secret, content in (
            ("aws", {"AWS_ACCESS_KEY_ID": key.id, "AWS_SECRET_ACCESS_KEY": key.secret}),
            (item["spec"]["masterPasswordSecretRef"]["name"], {"password": secrets.token_urlsafe(18)}),
        ):
            await cluster.create(Secret(name=secret, namespace=namespace, stringData=content))
        # Here no pod has an identity of its own.
        item["spec"]["credentialsSecretRef"] = {"name": "aws"}
        await cluster.apply_text(yaml.safe_dump(item))
        return str(name)

    @staticmethod
    async def found(cluster: DemoCluster, name: str) -> dict[str, Any]:
        """The object as it is."""
        items = await cluster.items(RDSInstance.resource)
        return next(item for item in items if item["metadata"]["name"] == name)

    @staticmethod
    def is_available(item: Mapping[str, Any]) -> bool:
        """Whether its present spec is what RDS has, ready to use."""
        status = item.get("status") or {}
        conditions = {one["type"]: one["status"] for one in status.get("conditions") or ()}
        return (
            status.get("phase") == "Available"
            and status.get("observedGeneration") == item["metadata"]["generation"]
            and all(conditions.get(kind) == "True" for kind in ("Available", "Synced"))
        )

    @staticmethod
    def line(item: Mapping[str, Any]) -> str:
        """It in a line: its phase, what RDS says of it, and where it is."""
        status = item.get("status") or {}
        observed = status.get("observed") or {}
        return (
            f"{status.get('phase', '-')}, RDS says {observed.get('status', '-')}, "
            f"endpoint {status.get('endpoint') or observed.get('endpoint') or '-'}"
        )
