"""The manager: one process with its connection, informers, controllers, metrics and health."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from openclaw.api.kinds import ResourceKind
from openclaw.kube.client import Client
from openclaw.kube.config import ConfigError, ConfigSource
from openclaw.kube.transport import Transport
from openclaw.runtime.controller import Controller
from openclaw.runtime.informer import Informer
from openclaw.runtime.inspection import inspect_runtime
from openclaw.runtime.observing import level_signals, tracing
from openclaw.runtime.reconciler import Reconciler, owned_kinds
from openclaw.runtime.startup import tell_when_synced
from openclaw.telemetry.debug import DebugServer
from openclaw.telemetry.health import HealthChecks
from openclaw.telemetry.internals import InternalMetrics
from openclaw.telemetry.logs import Log, LogFormat, LogLevel, configure
from openclaw.telemetry.metrics import CacheStats, Metrics
from openclaw.telemetry.server import Address, BindError, TelemetryServer
from openclaw.telemetry.tracing import Tracer

__all__ = ["Manager", "Options"]

log = Log(__name__)

_WATCH_GRACE_SECONDS: Final = 5.0
_EVENTS_SECONDS: Final = 3.0
_LONGEST_MANAGER: Final = 128  # bytes; the API server's limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a manager runs.

    Attributes:
        kubeconfig: a path; by default `$KUBECONFIG`, `~/.kube/config`, then the pod's service account.
        context: name of a context of it.
        namespace: watch this namespace only; None for all.
        metrics_address: `HOST:PORT` for /metrics, /healthz and /readyz; None serves nothing.
        concurrency: most runs at once of each controller; by default each reconciler's own.
        field_manager: the name under which writes own fields, 1 to 128 printable characters. Do not change
            it for a running system: fields that were stated under the old name stay the old name's.
        grace: seconds that runs in flight get when the manager is stopped; 0 cuts them off.
        tracing: record traces; by default as OpenTelemetry's variables say.
        debug_address: `HOST:PORT` for the debug page; without a host, loopback; None serves none.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    metrics_address: str | None = None
    concurrency: int | None = None
    field_manager: str = "openclaw"
    grace: float = 20.0
    log_format: LogFormat = "auto"
    log_level: LogLevel = "info"
    user_agent: str = field(default="openclaw")
    tracing: bool | None = None
    debug_address: str | None = None

    def __post_init__(self) -> None:
        """Refuse what could not work.

        Raises:
            ValueError: names the option.
        """
        size = len(self.field_manager.encode("utf-8", "replace"))
        if not self.field_manager.strip() or size > _LONGEST_MANAGER or not self.field_manager.isprintable():
            msg = (
                f"the field manager's name {self.field_manager!r} must be 1 to {_LONGEST_MANAGER} "
                "printable characters"
            )
            raise ValueError(msg)
        if not 0 <= self.grace < float("inf"):
            msg = f"the grace of {self.grace} s must be at least 0 seconds"
            raise ValueError(msg)


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
        self.metrics = Metrics()
        self.health = HealthChecks()
        self.informers: dict[ResourceKind, Informer] = {}
        self.controllers: list[Controller] = []
        self.address: Address | None = None
        self.debug_address: Address | None = None
        self._internals = InternalMetrics(self.metrics.registry)
        self._transport = transport
        self._tracer = tracer
        self._stop = asyncio.Event()
        self.health.add("running", lambda: "stopping" if self._stop.is_set() else None)

    def run(self) -> None:
        """Run until SIGTERM or SIGINT, with logging set up; a second signal stops at once.

        Raises:
            SystemExit: there is no usable Kubernetes configuration, or an address cannot be listened on.
                Python prints the reason, a line, and exits with status 1.
        """
        try:
            self.run_until_signal()
        except (ConfigError, BindError) as error:
            raise SystemExit(str(error)) from error

    def run_until_signal(self) -> None:
        """As `run`, for those who tell of failures themselves.

        Raises:
            ConfigError: there is no usable Kubernetes configuration.
            BindError: the metrics address cannot be listened on.
        """
        configure(level=self.options.log_level, format=self.options.log_format)
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
        """
        async with contextlib.AsyncExitStack() as stack:
            tracer = self._tracer
            if tracer is None:
                tracer = await stack.enter_async_context(tracing(self._internals, asked=self.options.tracing))
            transport = self._transport
            if transport is None:
                transport = await stack.enter_async_context(self._own_transport())
            client = Client(transport, field_manager=self.options.field_manager)
            self._build(client, tracer)
            if self.options.metrics_address is not None:
                address = Address.parse(self.options.metrics_address)
                server = TelemetryServer(address, metrics=self.metrics, health=self.health)
                await stack.enter_async_context(server)
                self.address = server.address
                log.info("serving metrics and health", address=str(self.address))
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
                for informer in self.informers.values():
                    background.create_task(informer.run(), name=f"watch-{informer.kind.plural}")
                informers = list(self.informers.values())
                background.create_task(
                    tell_when_synced(informers, client, self.options.namespace), name="synced"
                )
                for controller in self.controllers:
                    if controller.recorder is not None:
                        background.create_task(controller.recorder.run(), name=f"events-{controller.name}")
                await self._work()
                for controller in self.controllers:
                    if controller.recorder is not None:
                        await controller.recorder.drain(_EVENTS_SECONDS)
        log.info("manager stopped")

    async def _serve_debug(self, stack: contextlib.AsyncExitStack, address: str) -> None:
        server = DebugServer(
            Address.parse(address, flag="--debug-address"),
            lambda: inspect_runtime(self.controllers, self.informers.values()),
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
        for reconciler in self.reconcilers:
            cls = type(reconciler)
            kinds = [cls.root.resource]
            kinds += [owned.child.resource for owned in owned_kinds(cls)]
            kinds += [watch.target.resource for watch in cls.watches]
            for kind in kinds:
                if kind not in self.informers:
                    self.informers[kind] = self._informer(client.transport, kind, tracer)
        for reconciler in self.reconcilers:
            self.controllers.append(
                Controller(
                    reconciler,
                    client=client,
                    informers=self.informers,
                    metrics=self.metrics.controller(reconciler.name),
                    concurrency=self.options.concurrency,
                    tracer=tracer,
                )
            )

    def _informer(self, transport: Transport, kind: ResourceKind, tracer: Tracer) -> Informer:
        watch = self.metrics.watch(kind.kind)
        informer = Informer(
            transport,
            kind,
            field_manager=self.options.field_manager,
            namespace=self.options.namespace if kind.namespaced else None,
            on_restart=watch.restarted,
            on_received=watch.event,
            tracer=tracer,
        )
        self.metrics.follow_cache(kind.kind, lambda: _stats(informer))
        self.health.add(f"cache-{kind.qualified}", lambda: informer.unready(_WATCH_GRACE_SECONDS))
        return informer

    async def _work(self) -> None:
        """Run the controllers until `stop`, then let runs in flight end within the grace."""
        workers = asyncio.gather(*(controller.run() for controller in self.controllers))
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((workers, stopping), return_when=asyncio.FIRST_COMPLETED)
            for controller in self.controllers:
                controller.close()
            if workers.done():
                await workers
                return
            done, _ = await asyncio.wait((workers,), timeout=self.options.grace)
            if done:
                await workers
            else:
                running = sum(controller.queue.running for controller in self.controllers)
                log.warning("runs were cut off at the end of the grace", runs=running)
        finally:
            stopping.cancel()
            for controller in self.controllers:
                controller.close()  # a worker whose run swallows the cancellation ends here
            workers.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await workers


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
