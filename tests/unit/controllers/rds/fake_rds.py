"""A provider of RDS in memory: instances whose status the test sets, failures by plan, a ledger of calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from openclaw.providers.aws.errors import PROTECTED
from openclaw.providers.aws.rds_fields import FIELDS, OWNER, TAGS, compare
from openclaw.providers.aws.rds_model import RDSObserved, RDSRemoval, RDSWanted, owner_tags
from openclaw.providers.credentials.source import CredentialSource
from openclaw.providers.descriptors import Drift, Target
from openclaw.providers.errors import (
    ExternalAlreadyExists,
    ExternalConflict,
    ExternalNotFound,
    ExternalTransient,
    ExternalUnauthorised,
    ProviderError,
)

ENDPOINT = "orders.example.rds.amazonaws.com"


class FakeRDS:
    """All instances, and the provider of them.

    Attributes:
        instances: by identifier.
        passwords: by identifier, as they were sent.
        ledger: the calls, as `create orders-1`.
        invisible: identifiers that exist and are not shown yet.
        errors: what the next call of an operation raises, before it has an effect.
        lost: operations whose next answer is lost after the effect.
        applies: whether an update is there at once; else it is pending.
        removed: how instances were removed.
        keys: the access keys that are good; None for all.
    """

    def __init__(self) -> None:
        self.instances: dict[str, RDSObserved] = {}
        self.passwords: dict[str, str] = {}
        self.ledger: list[str] = []
        self.invisible: set[str] = set()
        self.errors: dict[str, list[ProviderError]] = {}
        self.lost: set[str] = set()
        self.applies = True
        self.ignores: Callable[[Drift], bool] = lambda _: False
        self.removed: dict[str, RDSRemoval] = {}
        self.keys: set[str] | None = None
        self.targets: list[Target] = []

    # What the factory is asked for.

    name = "aws-rds"

    async def connect(self, target: Target, credentials: CredentialSource) -> _Provider:
        self.targets.append(target)
        return _Provider(self, credentials)

    # What a test does.

    @property
    def only(self) -> RDSObserved:
        (instance,) = self.instances.values()
        return instance

    def set(self, **changes: Any) -> None:
        """Change the only instance behind everybody's back."""
        instance = self.only
        self.instances[instance.identity] = dataclasses.replace(instance, **changes)

    def become(self, status: str) -> None:
        self.set(status=status, endpoint=self.only.endpoint or ENDPOINT, port=self.only.port or 5432)

    def calls(self, operation: str) -> int:
        return sum(line.split()[0] == operation for line in self.ledger)

    # What the provider does.

    def begin(self, operation: str, identity: str) -> None:
        self.ledger.append(f"{operation} {identity}")
        if planned := self.errors.get(operation):
            raise planned.pop(0)

    def end(self, operation: str) -> None:
        if operation in self.lost:
            self.lost.discard(operation)
            raise ExternalTransient("the answer was lost")


class _Provider:
    def __init__(self, rds: FakeRDS, credentials: CredentialSource) -> None:
        self._rds = rds
        self._credentials = credentials

    async def _begin(self, operation: str, identity: str) -> None:
        credentials = await self._credentials.fetch()
        self._rds.begin(operation, identity)
        if self._rds.keys is not None and credentials["AWS_ACCESS_KEY_ID"] not in self._rds.keys:
            raise ExternalUnauthorised("InvalidClientTokenId: no such key", code="InvalidClientTokenId")

    def _there(self, identity: str) -> RDSObserved:
        if identity in self._rds.invisible or identity not in self._rds.instances:
            raise ExternalNotFound(f"DBInstance {identity} not found")
        return self._rds.instances[identity]

    async def get(self, identity: str) -> RDSObserved:
        await self._begin("get", identity)
        return self._there(identity)

    async def create(self, wanted: RDSWanted) -> RDSObserved:
        await self._begin("create", wanted.identity)
        if wanted.identity in self._rds.instances:
            raise ExternalAlreadyExists("DB instance already exists")
        assert wanted.password is not None, "an instance needs a password"
        values = {it.attribute: getattr(wanted, it.attribute) for it in FIELDS}
        values["engine_version"] = wanted.engine_version or "16.4"
        made = RDSObserved(
            identity=wanted.identity,
            status="creating",
            arn=f"arn:aws:rds:eu-central-1:123456789012:db:{wanted.identity}",
            resource_id=f"db-{len(self._rds.passwords)}",
            tags={**wanted.tags, **owner_tags(wanted.owner)},
            **values,
        )
        self._rds.instances[wanted.identity] = made
        self._rds.passwords[wanted.identity] = wanted.password.get_secret_value()
        self._rds.end("create")
        return made

    def compare(self, wanted: RDSWanted, observed: RDSObserved) -> Drift:
        return compare(wanted, observed)

    async def update(self, wanted: RDSWanted, observed: RDSObserved, drift: Drift) -> RDSObserved:
        await self._begin("update", observed.identity)
        fields = {it.field for it in drift.updatable}
        values = {
            it.attribute: getattr(wanted, it.attribute) for it in FIELDS if it.spec in fields and not it.fixed
        }
        if self._rds.ignores(drift):
            values = {}
        changes: dict[str, Any] = values if self._rds.applies else {"pending": values}
        tags = dict(observed.tags)
        if TAGS in fields:
            tags |= wanted.tags
        if OWNER in fields:
            tags |= owner_tags(wanted.owner)
        if wanted.password is not None:
            self._rds.passwords[observed.identity] = wanted.password.get_secret_value()
        after = dataclasses.replace(self._there(observed.identity), tags=tags, **changes)
        self._rds.instances[observed.identity] = after
        self._rds.end("update")
        return after

    async def delete(self, identity: str, removal: RDSRemoval) -> None:
        await self._begin("delete", identity)
        instance = self._there(identity)
        if instance.deletion_protection and not removal.lift_protection:
            raise ExternalConflict("Cannot delete protected DB Instance", code=PROTECTED)
        if removal.final_snapshot is not None and instance.status in ("failed", "creating"):
            raise ExternalConflict("InvalidDBInstanceState: no snapshot can be made of it")
        self._rds.removed[identity] = removal
        self._rds.instances[identity] = dataclasses.replace(instance, status="deleting")
        self._rds.end("delete")

    async def health(self) -> None:
        await self._begin("health", "")

    async def close(self) -> None:
        pass
