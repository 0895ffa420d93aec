"""The manager: one process with its connection, informers, controllers, metrics and health."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from openclaw._core import keep_less_memory
from openclaw.api.kinds import ResourceKind
from openclaw.kube.client import Client
from openclaw.kube.config import ConfigError, ConfigSource
from openclaw.kube.transport import Transport
from openclaw.runtime.controller import Controller
from openclaw.runtime.informer import Informer, Scope
from openclaw.runtime.informers import Informers, scopes_of
from openclaw.runtime.inspection import inspect_runtime
from openclaw.runtime.observing import level_signals, tracing
from openclaw.runtime.options import Options
from openclaw.runtime.reconciler import Reconciler
from openclaw.runtime.services import Services
from openclaw.runtime.share import Share
from openclaw.runtime.startup import look_for, tell_when_synced
from openclaw.runtime.working import work_until
from openclaw.sharding.departure import comes_back
from openclaw.sharding.fence import Fence
from openclaw.sharding.membership import Membership, NameTaken
from openclaw.sharding.options import ShardOptions
from openclaw.telemetry.context import log_context
from openclaw.telemetry.health import HealthChecks
from openclaw.telemetry.internals import InternalMetrics
from openclaw.telemetry.listener import Address, BindError
from openclaw.telemetry.logs import Log, configure
from openclaw.telemetry.metrics import CacheStats, Metrics
from openclaw.telemetry.shards import ShardMetrics
from openclaw.telemetry.tracing import Tracer

__all__ = ["Manager", "Options"]

log = Log(__name__)

_WATCH_GRACE_SECONDS: Final = 5.0
_EVENTS_SECONDS: Final = 3.0


class Manager:
    """Runs reconcilers until it is stopped.

        Manager(GreetingReconciler()).run()

    Args:
        reconcilers: at least one, each for a kind of its own.
        options: how to run.
        transport: a transport to use instead of one of its own, for tests; it is not closed.
        tracer: a tracer to use instead of one of its own; it is not closed.
    """

    def __init__(
        self,
        *reconcilers: Reconciler[Any],
        options: Options | None = None,
        transport: Transport | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        if not reconcilers:
            raise TypeError("Manager(): give at least one reconciler")
        _check_names(reconcilers)
        self.reconcilers = reconcilers
        self.options = options or Options()
        for reconciler in reconcilers:
            scopes_of(type(reconciler), sharded=self.options.shard is not None)
        self.metrics = Metrics()
        self.health = HealthChecks()
        self.membership: Membership | None = None
        self._fence = None if self.options.shard is None else Fence(self.options.shard.name)
        self.informers = Informers()
        self.controllers: list[Controller] = []
        self.address: Address | None = None
        self.debug_address: Address | None = None
        self._internals = InternalMetrics(self.metrics.registry)
        self._transport = transport
        self._serving: Transport | None = None
        self._tracer = tracer
        self._stop = asyncio.Event()
        self.health.add("running", lambda: "stopping" if self._stop.is_set() else None)

    @property
    def fence(self) -> Fence | None:
        """What every write of a shard has to pass; None without shards."""
        return self._fence

    def run(self) -> None:
        """Run until SIGTERM or SIGINT, with logging set up; a second signal stops at once.

        Raises:
            SystemExit: there is no usable Kubernetes configuration, an address cannot be listened on, or
                another process has this shard's name. Python prints the reason, a line, and exits with
                status 1.
        """
        try:
            self.run_until_signal()
        except (ConfigError, BindError, NameTaken) as error:
            raise SystemExit(str(error)) from error

    def run_until_signal(self) -> None:
        """As `run`, for those who tell of failures themselves.

        Raises:
            ConfigError: there is no usable Kubernetes configuration.
            BindError: the metrics address cannot be listened on.
            NameTaken: another process has this shard's name.
        """
        configure(level=self.options.log_level, format=self.options.log_format)
        keep_less_memory()
        # What is there by now stays: no collection need look at it again.
        gc.freeze()
        asyncio.run(self._run_with_signals())

    async def _run_with_signals(self) -> None:
        loop = asyncio.get_running_loop()
        running = asyncio.current_task()

        def on_signal(number: signal.Signals) -> None:
            if self._stop.is_set() and running is not None:
                log.warning("stopping at once", signal=number.name)
                running.cancel()
                return
            log.info("stopping", signal=number.name, grace_seconds=self.options.grace)
            self.stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, on_signal, number)
        try:
            with level_signals():
                await self.serve()
        except asyncio.CancelledError:
            if not self._stop.is_set():
                raise
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """Begin to stop: no new work, runs in flight get the grace. Call it from the manager's event loop."""
        self._stop.set()

    async def serve(self) -> None:
        """Run until `stop` is called or this task is cancelled.

        Raises:
            ConfigError: there is no usable Kubernetes configuration.
            BindError: the metrics address cannot be listened on.
            NameTaken: another process has this shard's name.
        """
        async with contextlib.AsyncExitStack() as stack:
            if self.options.shard is not None:
                stack.enter_context(log_context(shard=self.options.shard.name))
            tracer = self._tracer
            if tracer is None:
                tracer = await stack.enter_async_context(tracing(self._internals, asked=self.options.tracing))
            transport = self._transport
            if transport is None:
                transport = await stack.enter_async_context(self._own_transport())
            self._serving = transport
            client = Client(transport, field_manager=self.options.field_manager, fence=self._fence)
            self._build(client, tracer)
            services = Services(self.metrics, self.health, self._fence, self._count)
            for reconciler in self.reconcilers:
                await stack.enter_async_context(reconciler.lifespan(services))
            if self.options.metrics_address is not None:
                await self._serve_metrics(stack, self.options.metrics_address)
            if self.options.debug_address is not None:
                await self._serve_debug(stack, self.options.debug_address)
            log.info(
                "connecting to the API server",
                server=transport.server,
                namespace=self.options.namespace or "all",
                controllers=[controller.name for controller in self.controllers],
            )
            async with _tasks() as background:
                background.create_task(self._internals.measure_lag(), name="event-loop-lag")
                for informer in self.informers:
                    background.create_task(informer.run(), name=f"watch-{informer.kind.plural}")
                background.create_task(self._tell(Client(transport)), name="synced")
                recorders = {it.name: it.recorder for it in self.controllers if it.recorder is not None}
                for name, recorder in recorders.items():
                    background.create_task(recorder.run(), name=f"events-{name}")
                taken = await work_until(
                    self._stop,
                    self.controllers,
                    grace=self.options.grace,
                    membership=self.membership,
                    hold=self._hold,
                )
                for recorder in recorders.values():
                    await recorder.drain(_EVENTS_SECONDS)
        if taken is not None:
            raise taken
        log.info("manager stopped")

    async def _tell(self, asker: Client) -> None:
        """Say what the first lists brought, and whether the namespace is there at all."""
        if self.options.shard is None:
            await tell_when_synced(list(self.informers), asker, self.options.namespace)
        elif self.options.namespace is not None:
            await look_for(self.options.namespace, asker)

    def _count(self, kind: ResourceKind, index: str, value: str) -> int:
        return len(self.informers[kind].cache.lookup(index, value))

    async def _serve_metrics(self, stack: contextlib.AsyncExitStack, address: str) -> None:
        from openclaw.telemetry.server import TelemetryServer  # noqa: PLC0415 - brings aiohttp

        server = TelemetryServer(Address.parse(address), metrics=self.metrics, health=self.health)
        await stack.enter_async_context(server)
        self.address = server.address
        log.info("serving metrics and health", address=str(self.address))

    async def _serve_debug(self, stack: contextlib.AsyncExitStack, address: str) -> None:
        from openclaw.telemetry.debug import DebugServer  # noqa: PLC0415 - brings aiohttp

        server = DebugServer(
            Address.parse(address, flag="--debug-address"),
            lambda: inspect_runtime(self.controllers, self.informers, self.membership),
        )
        await stack.enter_async_context(server)
        self.debug_address = server.address
        log.info("serving the debug page", url=f"http://{self.debug_address}/debug")

    @contextlib.asynccontextmanager
    async def _own_transport(self) -> AsyncIterator[Transport]:
        source = ConfigSource(self.options.kubeconfig, self.options.context)
        async with Transport(
            source, observer=self.metrics.request, user_agent=self.options.user_agent
        ) as transport:
            yield transport

    def _build(self, client: Client, tracer: Tracer) -> None:
        def make(kind: ResourceKind, scope: Scope) -> Informer:
            return self._informer(client.transport, kind, scope, tracer)

        for reconciler in self.reconcilers:
            self.informers.add(reconciler, make, sharded=self._fence is not None)
        for reconciler in self.reconcilers:
            self.controllers.append(
                Controller(
                    reconciler,
                    client=client,
                    informers=self.informers.of(reconciler),
                    metrics=self.metrics.controller(reconciler.name),
                    concurrency=self.options.concurrency,
                    tracer=tracer,
                    fence=self._fence,
                )
            )
        if self.options.shard is not None and self._fence is not None:
            self.membership = self._member(self.options.shard, self._fence, client.transport, tracer)

    def _member(self, shard: ShardOptions, fence: Fence, transport: Transport, tracer: Tracer) -> Membership:
        membership = Membership(
            shard,
            transport,
            shard.namespace or transport.namespace,
            Share(
                self.informers,
                self.controllers,
                fence,
                margin=shard.lease_seconds - shard.fence_seconds,
            ),
            fence=fence,
            metrics=ShardMetrics(self.metrics.registry),
            covers=self._covers(),
            tracer=tracer,
        )
        self.health.add("shard", membership.unready)
        return membership

    def _covers(self) -> str:
        """Of which kinds and namespaces the controllers act on objects."""
        kinds = sorted(it.root.resource.qualified for it in self.reconcilers)
        where = f"namespace {self.options.namespace}" if self.options.namespace else "all namespaces"
        return f"{', '.join(kinds)} in {where}"

    def _informer(self, transport: Transport, kind: ResourceKind, scope: Scope, tracer: Tracer) -> Informer:
        # A kind that is read in two ways has two caches; its name alone is that of the first.
        again = any(informer.kind == kind for informer in self.informers)
        label = f"{kind.kind} ({scope})" if again else kind.kind
        watch = self.metrics.watch(label)
        informer = Informer(
            transport,
            kind,
            scope=scope,
            field_manager=self.options.field_manager,
            namespace=self.options.namespace if kind.namespaced else None,
            on_restart=watch.restarted,
            tracer=tracer,
        )
        watch.follow(lambda: informer.listwatch.last_received)
        self.metrics.follow_cache(label, lambda: _stats(informer))
        name = f"cache-{kind.qualified}" + (f"-{scope}" if again else "")
        self.health.add(name, lambda: informer.unready(_WATCH_GRACE_SECONDS))
        return informer

    async def _hold(self) -> float | None:
        """For how many seconds the slots of this shard are to wait for its return; None: it does not come."""
        shard, membership, transport = self.options.shard, self.membership, self._serving
        if shard is None or membership is None or transport is None:
            return None
        back = await comes_back(transport, membership.namespace, shard.name)
        return shard.hold_seconds if back else None


def _check_names(reconcilers: Sequence[Reconciler[Any]]) -> None:
    classes: dict[str, list[str]] = {}
    for reconciler in reconcilers:
        classes.setdefault(reconciler.name, []).append(type(reconciler).__name__)
    for name, of in classes.items():
        if len(of) > 1:
            msg = (
                f"{' and '.join(of)} are both called {name!r}, which metrics and logs tell them by: "
                f"give one of them a name of its own, such as name = {name + '-two'!r}"
            )
            raise TypeError(msg)


@contextlib.asynccontextmanager
async def _tasks() -> AsyncIterator[_Tasks]:
    """A task group whose tasks run for ever: leaving the block cancels them, and one that dies ends it."""
    async with asyncio.TaskGroup() as group:
        tasks = _Tasks(group)
        try:
            yield tasks
        finally:
            tasks.cancel()


class _Tasks:
    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: list[asyncio.Task[Any]] = []

    def create_task(self, coroutine: Any, *, name: str) -> None:
        self._tasks.append(self._group.create_task(coroutine, name=name))

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()


def _stats(informer: Informer) -> CacheStats:
    stats = informer.cache.stats()
    events = {
        name.removeprefix("events_"): count for name, count in stats.items() if name.startswith("events_")
    }
    return CacheStats(objects=stats["objects"], bytes=stats["bytes"], events=events)
