"""The reconciler of HTTPResource objects."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import ClassVar, Final, cast

from openclaw.api.builtin import Secret
from openclaw.api.httpresource import HTTPResource
from openclaw.controllers.httpresource.described import api_of, owner_of, policy_of, wanted_of
from openclaw.controllers.httpresource.reporting import Paused, report, report_error
from openclaw.controllers.steering import PAUSED, POLL_INTERVAL, RECONCILE_NOW, is_set, poll_interval
from openclaw.providers.connections import Connections
from openclaw.providers.credentials.secret import SecretSource, StaticSource
from openclaw.providers.credentials.source import CredentialSource
from openclaw.providers.descriptors import Target
from openclaw.providers.errors import ProviderError
from openclaw.providers.http import AllowedHosts, HTTPObserved, HTTPProvider, HTTPProviderFactory, HTTPWanted
from openclaw.providers.lifecycle import Lifecycle, Outcome, Step
from openclaw.providers.marks import AnnotationMarks, Mark
from openclaw.providers.resilience.metrics import ExternalMetrics
from openclaw.providers.resilience.polls import jittered
from openclaw.providers.resilience.settings import ResilienceSettings
from openclaw.runtime import (
    AnnotationChanged,
    Context,
    DeletionChanged,
    GenerationChanged,
    Reconciler,
    Result,
    Services,
    Watch,
    index,
)

__all__ = ["ORPHAN", "PROVIDER", "HTTPResourceReconciler"]

PROVIDER: Final = "http"
"""The provider, by its entry point."""
ORPHAN: Final = "external.openclaw.dev/orphan"
"""`true`: the thing is left as it is when the object is deleted, whatever `deletionPolicy` says."""

_CREDENTIALS: Final = "spec.credentialsSecretRef.name"
_SOON_SECONDS: Final = 5.0
_VISIBLE_SECONDS: Final = 60.0
_PAUSED_SECONDS: Final = 300.0


class HTTPResourceReconciler(Reconciler[HTTPResource]):
    """Makes, watches, changes and deletes one thing behind a JSON API for each HTTPResource.

    Args:
        allowed: the hosts that objects may name; by default as the environment says.
        settings: limits and deadlines of the calls to each host; by default as the environment says.
        soon: seconds until a look that follows something that was done.
        visible_after: seconds for which a thing that was just made may not be visible.
        clock: seconds since 1970.
    """

    watches: ClassVar = (Watch(Secret, index=_CREDENTIALS),)
    indexes: ClassVar = (index(_CREDENTIALS),)
    triggers: ClassVar = (
        GenerationChanged()
        | DeletionChanged()
        | AnnotationChanged(PAUSED)
        | AnnotationChanged(RECONCILE_NOW)
        | AnnotationChanged(POLL_INTERVAL)
        | AnnotationChanged(ORPHAN)
    )
    finalizer: ClassVar = "external.openclaw.dev/http-resource"
    deadline: ClassVar = 120.0

    def __init__(
        self,
        allowed: AllowedHosts | None = None,
        *,
        settings: ResilienceSettings | None = None,
        soon: float = _SOON_SECONDS,
        visible_after: float = _VISIBLE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._factory = HTTPProviderFactory(allowed)
        self._settings = settings or ResilienceSettings.from_environment("OPENCLAW_HTTP_")
        self._soon = soon
        self._visible_after = visible_after
        self._clock = clock
        self._connections: Connections | None = None

    @asynccontextmanager
    async def lifespan(self, services: Services) -> AsyncIterator[None]:
        """Open the connections, which all runs share."""
        metrics = ExternalMetrics.of(services.metrics.registry)
        connections = Connections(
            metrics,
            fence=services.fence,
            factories={PROVIDER: self._factory},
            settings={PROVIDER: self._settings},
        )
        async with connections:
            self._connections = connections
            yield

    async def reconcile(self, ctx: Context, obj: HTTPResource) -> Result:
        """Look at the thing, do what brings it nearer to the spec, and say how it is."""
        if _paused(obj):
            return Result.done()
        asked = obj.annotations.get(RECONCILE_NOW)
        sent = obj.status.sent if asked == obj.status.reconcile_requested else None
        obj.status.reconcile_requested = asked
        try:
            wanted = wanted_of(obj)
            async with self._lifecycle(ctx, obj) as lifecycle:
                outcome = await lifecycle.converge(wanted, sent=sent)
        except ProviderError as error:
            report_error(obj, error)
            raise
        report(ctx, obj, outcome)
        return Result.after(jittered(self._next_look(obj, outcome)))

    async def finalize(self, ctx: Context, obj: HTTPResource) -> Result:
        """Do as the deletion policy says; the object goes when the thing was seen to be gone."""
        if _paused(obj):
            return Result.after(_PAUSED_SECONDS)
        spec = obj.spec
        if is_set(obj, ORPHAN) or spec.deletion_policy == "Orphan" or spec.management_policy == "Observe":
            return self._let_go(ctx, obj, "Orphaned", "was left as it is")
        if AnnotationMarks(ctx, obj).read() == Mark() and obj.status.external_id is None:
            return self._let_go(ctx, obj, "NothingToDelete", "was never asked for")
        try:
            async with self._lifecycle(ctx, obj) as lifecycle:
                outcome = await lifecycle.remove(spec.identity or "", owner_of(obj), None)
        except ProviderError as error:
            report_error(obj, error)
            raise
        if outcome.step is not Step.GONE:
            report(ctx, obj, outcome)
            return Result.after(jittered(max(outcome.wait, self._soon)))
        if outcome.observed is not None:
            return self._let_go(ctx, obj, "LeftAlone", "is not this object's, and was left as it is")
        return self._let_go(ctx, obj, "Deleted", "is gone")

    def _next_look(self, obj: HTTPResource, outcome: Outcome[HTTPObserved]) -> float:
        if outcome.step in (Step.CREATED, Step.ADOPTED, Step.UPDATED):
            return self._soon
        if outcome.step is Step.AWAITED:
            return max(self._soon, min(outcome.wait, obj.spec.interval_seconds))
        return poll_interval(obj) or float(obj.spec.interval_seconds)

    @asynccontextmanager
    async def _lifecycle(
        self, ctx: Context, obj: HTTPResource
    ) -> AsyncIterator[Lifecycle[HTTPWanted, HTTPObserved, None]]:
        """The thing's lifecycle, with the object's credentials.

        Raises:
            ProviderError: there are none, or the host is not allowed.
        """
        if self._connections is None:
            msg = "HTTPResourceReconciler runs within its lifespan: give it to a Manager"
            raise RuntimeError(msg)
        url = self._factory.allowed.check(obj.spec.url)
        # Limits and the breaker are of the host, whoever speaks to it.
        target = Target(account=url.authority, endpoint=obj.spec.url)
        source = _source(ctx, obj)
        holder = (obj.namespace, obj.name)
        async with self._connections.use(PROVIDER, target, source, holder=holder) as connection:
            http = cast("HTTPProvider", connection.inner)
            provider = connection.around(http.described(api_of(obj)))
            marks = AnnotationMarks(ctx, obj, clock=self._clock)
            policy = policy_of(obj, visible_after=self._visible_after)
            yield Lifecycle(provider, marks, policy, clock=self._clock)

    def _let_go(self, ctx: Context, obj: HTTPResource, reason: str, what: str) -> Result:
        if self._connections is not None:
            self._connections.release((obj.namespace, obj.name))
        ctx.event(reason, f"{obj.status.external_id or 'it'} {what}", action="Finalize")
        return Result.done()


def _source(ctx: Context, obj: HTTPResource) -> CredentialSource:
    reference = obj.spec.credentials_secret_ref
    if reference is None:
        return StaticSource({}, origin="no credentials")
    return SecretSource(ctx.get(Secret, reference.name), name=reference.name)


def _paused(obj: HTTPResource) -> bool:
    paused = is_set(obj, PAUSED)
    if paused:
        message = f"the annotation {PAUSED} keeps the operator from doing anything"
        obj.status.conditions.set(Paused(when=True, message=message))
    else:
        obj.status.conditions.remove(Paused)
    return paused
