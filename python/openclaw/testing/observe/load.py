"""Something to look at: OpenClaws that change, one that cannot be made, and databases."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from typing import Any, Final

from openclaw.testing.client import Client
from openclaw.testing.rds import THROTTLE, Fault, RDSStandIn

__all__ = ["FAILING", "NAMESPACE", "REFUSED", "Load"]

NAMESPACE: Final = "shop"
FAILING: Final = "taken"
"""The OpenClaw that stays Stalled: a Deployment of its child's name is there and somebody else's."""
REFUSED: Final = "too-big"
"""The RDSInstance in phase Failed: its class does not exist."""

_GROUP: Final = "apps.openclaw.dev/v1alpha1"
_EVERY: Final = 0.25  # seconds between changes
_DATABASES: Final = 3


class Load:
    """See the module.

    Args:
        client: of an administrator.
        rds: where the databases are.
        claws: how many OpenClaws there are.
    """

    def __init__(self, client: Client, rds: RDSStandIn, claws: int) -> None:
        self._client = client
        self._rds = rds
        self._names = [f"shop-{number}" for number in range(claws)]

    async def declare(self) -> None:
        """Create everything."""
        key = self._rds.new_key()
        # So that there is a wait for a limit to be seen.
        self._rds.faults.add(Fault(THROTTLE, times=2))
        await self._secret("aws", AWS_ACCESS_KEY_ID=key.id, AWS_SECRET_ACCESS_KEY=key.secret)
        await self._secret("master", password=secrets.token_urlsafe(18))
        await self._client.create(_deployment(f"{FAILING}-frontend"))
        for name in (*self._names, FAILING):
            await self._client.create(_claw(name))
        for number in range(_DATABASES):
            await self._client.create(_database(f"orders-{number}"))
        await self._client.create(_database(REFUSED, "db.t3.giant"))

    async def change(self) -> None:
        """Change one object after the other until cancelled."""
        for turn in itertools.count(1):
            await asyncio.sleep(_EVERY)
            name = self._names[turn % len(self._names)]
            replicas = turn // len(self._names) % 3
            await self._client.patch(
                "OpenClaw", NAMESPACE, name, {"spec": {"worker": {"replicas": replicas}}}
            )

    async def _secret(self, name: str, **content: str) -> None:
        metadata = {"name": name, "namespace": NAMESPACE}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": content}
        await self._client.create(body)


def _claw(name: str) -> dict[str, Any]:
    return {
        "apiVersion": _GROUP,
        "kind": "OpenClaw",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "frontend": {"image": "registry.example.com/shop/web:1.4"},
            "worker": {"image": "registry.example.com/shop/worker:1.4", "queue": "redis.shop:6379"},
        },
    }


def _deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "web", "image": "registry.example.com/other/web:1.0"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _database(name: str, size: str = "db.t4g.small") -> dict[str, Any]:
    return {
        "apiVersion": "database.openclaw.dev/v1alpha1",
        "kind": "RDSInstance",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "region": "eu-central-1",
            "credentialsSecretRef": {"name": "aws"},
            "engine": "postgres",
            "engineVersion": "16.8",
            "dbInstanceClass": size,
            "allocatedStorage": 20,
            "masterUsername": "shop",
            "masterPasswordSecretRef": {"name": "master", "key": "password"},
            "dbName": "shop",
            "applyImmediately": True,
        },
    }
