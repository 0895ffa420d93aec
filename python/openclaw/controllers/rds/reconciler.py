"""The reconciler of RDSInstance objects."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final

from openclaw.api.builtin import Secret
from openclaw.api.rdsinstance import RDSInstance
from openclaw.controllers.rds import steering
from openclaw.controllers.rds.attempt import Attempt
from openclaw.controllers.rds.conditions import tell_paused
from openclaw.controllers.rds.credentials import ObjectCredentials
from openclaw.controllers.rds.identity import snapshot_name
from openclaw.controllers.rds.inputs import master_password
from openclaw.controllers.rds.metrics import PhaseGauge
from openclaw.controllers.rds.password import Digest, digest_of
from openclaw.controllers.rds.settings import RDSSettings
from openclaw.providers.aws.clients import OpenClient, open_client
from openclaw.providers.aws.rds import RDSProviderFactory
from openclaw.providers.aws.rds_model import RDSRemoval
from openclaw.providers.connections import Connections
from openclaw.providers.credentials.cache import CredentialCache
from openclaw.providers.descriptors import Target
from openclaw.providers.errors import ProviderError
from openclaw.providers.marks import AnnotationMarks
from openclaw.providers.protocol import ProviderFactory
from openclaw.providers.resilience.metrics import ExternalMetrics
from openclaw.runtime import (
    AnnotationChanged,
    Context,
    DeletionChanged,
    GenerationChanged,
    Key,
    Reconciler,
    Result,
    Watch,
    index,
)
from openclaw.runtime.services import Services

__all__ = ["PROVIDER", "RDSInstanceReconciler"]

PROVIDER: Final = "aws-rds"
"""The provider, by its entry point."""

_PASSWORD: Final = "spec.masterPasswordSecretRef.name"  # noqa: S105 - a path
_CREDENTIALS: Final = "spec.credentialsSecretRef.name"
_APP_ROLE: Final = "spec.credentials.vault.appRoleSecretRef.name"
_PHASE: Final = "status.phase"


class RDSInstanceReconciler(Reconciler[RDSInstance]):
    """Makes, watches, changes and deletes one instance of RDS for each RDSInstance.

    Args:
        settings: intervals and deadlines; by default as the environment says.
        factories: providers by name in place of those that are installed; for tests.
        clock: seconds since 1970.
        clients: gives the SDK's clients; for simulations.
        digest: of master passwords; for simulations, in which it must not take as long as it is meant to.
    """

    owns: ClassVar = (Secret,)
    watches: ClassVar = (
        Watch(Secret, index=_PASSWORD),
        Watch(Secret, index=_CREDENTIALS),
        Watch(Secret, index=_APP_ROLE),
    )
    indexes: ClassVar = (index(_PASSWORD), index(_CREDENTIALS), index(_APP_ROLE), index(_PHASE))
    triggers: ClassVar = (
        GenerationChanged()
        | DeletionChanged()
        | AnnotationChanged(steering.PAUSED)
        | AnnotationChanged(steering.RECONCILE_NOW)
        | AnnotationChanged(steering.POLL_INTERVAL)
        | AnnotationChanged(steering.ADOPT)
        | AnnotationChanged(steering.ORPHAN)
    )
    finalizer: ClassVar = "database.openclaw.dev/rds-instance"
    deadline: ClassVar = 120.0

    def __init__(
        self,
        settings: RDSSettings | None = None,
        *,
        factories: Mapping[str, ProviderFactory[Any, Any, Any]] | None = None,
        clock: Callable[[], float] = time.time,
        clients: OpenClient = open_client,
        digest: Digest = digest_of,
    ) -> None:
        self.settings = settings or RDSSettings.from_environment()
        self._factories: Mapping[str, ProviderFactory[Any, Any, Any]] = (
            {PROVIDER: RDSProviderFactory(clients)} if factories is None else factories
        )
        self._clients = clients
        self._digest = digest
        self._clock = clock
        self._connections: Connections | None = None
        self._credentials: ObjectCredentials | None = None
        self._identities: dict[Key, str] = {}

    @asynccontextmanager
    async def lifespan(self, services: Services) -> AsyncIterator[None]:
        """Open the connections, which all runs share."""
        registry = services.metrics.registry
        metrics = ExternalMetrics.of(registry)
        kind = RDSInstance.resource
        registry.register(PhaseGauge(kind.kind, lambda phase: services.count(kind, _PHASE, phase)))
        cache = CredentialCache(clock=self._clock)
        async with Connections(
            metrics, credentials=cache, fence=services.fence, factories=self._factories
        ) as connections:
            self._connections = connections
            self._credentials = ObjectCredentials(cache, self.settings, clients=self._clients)
            yield

    async def reconcile(self, ctx: Context, obj: RDSInstance) -> Result:
        """Look at the instance, do what brings it nearer to the spec, and say how it is."""
        paused = steering.is_set(obj, steering.PAUSED)
        tell_paused(obj, paused=paused)
        if paused:
            return Result.done()
        attempt = self._attempt(ctx, obj)
        if attempt.rests:
            return Result.done()
        try:
            password = master_password(ctx, obj)
            async with self._provider(ctx, obj, attempt.max_age) as provider:
                return await attempt.converge(provider, password)
        except ProviderError as error:
            return attempt.failed(error)

    async def finalize(self, ctx: Context, obj: RDSInstance) -> Result:
        """Do as the deletion policy says; the object goes when the instance was seen to be gone."""
        paused = steering.is_set(obj, steering.PAUSED)
        tell_paused(obj, paused=paused)
        if paused:
            return Result.after(self.settings.slow)
        spec, status = obj.spec, obj.status
        if steering.is_set(obj, steering.ORPHAN) or spec.deletion_policy == "Orphan":
            return self._let_go(ctx, obj, "Orphaned", "was left as it is")
        if spec.management_policy == "Observe":
            return self._let_go(ctx, obj, "Orphaned", "was only observed")
        mark = AnnotationMarks(ctx, obj, clock=self._clock).read()
        if mark.pending_at is None and mark.created_at is None and status.resource_id is None:
            return self._let_go(ctx, obj, "NothingToDelete", "was never asked for")
        attempt = self._attempt(ctx, obj)
        snapshot = snapshot_name(obj, attempt.identity) if spec.deletion_policy == "Snapshot" else None
        status.final_snapshot_id = snapshot
        removal = RDSRemoval(final_snapshot=snapshot, lift_protection=spec.deletion_protection is False)
        try:
            async with self._provider(ctx, obj, 0.0) as provider:
                outcome, again = await attempt.remove(provider, removal)
        except ProviderError as error:
            return attempt.failed(error, deleting=True, snapshot=snapshot is not None)
        if again is not None:
            return again
        if outcome.observed is not None:
            return self._let_go(ctx, obj, "LeftAlone", "is not this object's, and was left as it is")
        kept = f"; the snapshot is {snapshot}" if snapshot is not None else ""
        return self._let_go(ctx, obj, "Deleted", f"is gone{kept}")

    def _attempt(self, ctx: Context, obj: RDSInstance) -> Attempt:
        marks = AnnotationMarks(ctx, obj, clock=self._clock)
        return Attempt(ctx, obj, marks, self.settings, self._clock(), digest=self._digest)

    @asynccontextmanager
    async def _provider(self, ctx: Context, obj: RDSInstance, max_age: float) -> AsyncIterator[Any]:
        """The provider with the object's credentials.

        Raises:
            ProviderError: there are no credentials, or no connection.
        """
        if self._connections is None or self._credentials is None:
            msg = "RDSInstanceReconciler runs within its lifespan: give it to a Manager"
            raise RuntimeError(msg)
        source, account = await self._credentials.of(ctx, obj)
        await self._forget_former(ctx.key, source.identity)
        target = Target(account, obj.spec.region)
        async with self._connections.use(PROVIDER, target, source, max_age=max_age) as provider:
            yield provider

    async def _forget_former(self, key: Key, identity: str) -> None:
        """Close what was opened with credentials that no object has any more."""
        former = self._identities.get(key)
        self._identities[key] = identity
        if former not in (None, identity) and former not in self._identities.values():
            assert self._connections is not None and former is not None  # noqa: PT018, S101 - asked before
            await self._connections.evict(former)

    def _let_go(self, ctx: Context, obj: RDSInstance, reason: str, what: str) -> Result:
        self._identities.pop(ctx.key, None)
        ctx.event(
            reason,
            f"the instance {obj.status.external_id or ''} {what}".replace("  ", " "),
            action="Finalize",
        )
        return Result.done()
