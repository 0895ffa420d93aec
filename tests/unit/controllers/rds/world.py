"""One RDSInstance, its Secrets, the operator's runs for it, and an RDS in memory."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

import orjson

from openclaw.api.builtin import Secret
from openclaw.api.rdsinstance import Phase, RDSInstance
from openclaw.controllers.rds.reconciler import RDSInstanceReconciler
from openclaw.controllers.rds.settings import RDSSettings
from openclaw.kube.errors import Conflict
from openclaw.providers.errors import ProviderError
from openclaw.runtime import Context, ErrorClass, Key, Result, classify
from openclaw.runtime.failing import state_outcome
from openclaw.runtime.services import Services
from openclaw.telemetry.health import HealthChecks
from openclaw.telemetry.logs import Log
from openclaw.telemetry.metrics import Metrics
from tests.unit.controllers.rds.fake_rds import FakeRDS

START = 1_800_000_000.0
PASSWORD = "correct horse battery staple"
SETTINGS = RDSSettings(jitter=0.0)

SPEC: dict[str, Any] = {
    "region": "eu-central-1",
    "credentialsSecretRef": {"name": "aws"},
    "engine": "postgres",
    "dbInstanceClass": "db.t4g.medium",
    "allocatedStorage": 50,
    "masterUsername": "shop",
    "masterPasswordSecretRef": {"name": "master"},
    "dbName": "orders",
    "applyImmediately": True,
}


class World:
    """Everything that one object has to do with.

    Attributes:
        body: the object as the API server has it.
        secrets: by name.
        rds: what is outside.
        now: seconds since 1970.
        events: reasons, in order.
        result: of the last run that did not fail.
        conflicts: how many of the next marks are refused, on an old state.
        secret_conflicts: how many of the next writes of the connection Secret are.
        applied: how often the connection Secret was sent.
    """

    def __init__(self, *, settings: RDSSettings = SETTINGS, **spec: Any) -> None:
        merged = {key: value for key, value in {**SPEC, **spec}.items() if value is not ...}
        self.body: dict[str, Any] = {
            "metadata": {
                "name": "orders",
                "namespace": "shop",
                "uid": "5a2c9d6e-8a5e-4d58-9d3a-0c1f7f0b9f11",
                "resourceVersion": "1",
                "generation": 1,
                "annotations": {},
            },
            "spec": merged,
        }
        self.settings = settings
        self.secrets: dict[str, Secret] = {}
        self.rds = FakeRDS()
        self.now = START
        self.events: list[str] = []
        self.notes: list[str] = []
        self.result: Result | None = None
        self._gone = False
        self.conflicts = 0
        self.secret_conflicts = 0
        self.applied = 0
        self.secret("aws", AWS_ACCESS_KEY_ID="AKIA0000", AWS_SECRET_ACCESS_KEY="secret")
        self.secret("master", password=PASSWORD)

    def secret(self, name: str, **values: str) -> None:
        """Somebody writes a Secret."""
        known = self.secrets.get(name)
        version = int(known.resource_version or 0) + 1 if known is not None else 1
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        metadata = {"name": name, "namespace": "shop", "uid": f"u-{name}", "resourceVersion": str(version)}
        self.secrets[name] = Secret({"metadata": metadata, "data": data})

    def spec(self, **changes: Any) -> None:
        """Somebody changes the spec."""
        self.body["spec"] = {
            key: value for key, value in {**self.body["spec"], **changes}.items() if value is not ...
        }
        self.body["metadata"]["generation"] += 1

    def annotate(self, **annotations: str | None) -> None:
        """Somebody sets annotations: `paused` stands for openclaw.dev/paused."""
        full = {
            "paused": "openclaw.dev/paused",
            "now": "openclaw.dev/reconcile-now",
            "interval": "openclaw.dev/poll-interval",
            "adopt": "database.openclaw.dev/adopt",
            "orphan": "database.openclaw.dev/orphan",
        }
        for name, value in annotations.items():
            self.marks[full[name]] = value  # type: ignore[assignment]
            if value is None:
                del self.marks[full[name]]

    def delete(self) -> None:
        self.body["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z"

    @property
    def marks(self) -> dict[str, str]:
        marks: dict[str, str] = self.body["metadata"]["annotations"]
        return marks

    @property
    def obj(self) -> RDSInstance:
        return RDSInstance.from_dict(deepcopy(self.body))

    def gone(self) -> bool:
        """Whether the finalizer came off."""
        return self._gone

    def phase(self) -> Phase | None:
        return self.obj.status.phase

    def said(self, condition: str) -> tuple[str, str]:
        """Status and reason of a condition."""
        found = self.obj.status.conditions.get(condition)
        return ("", "") if found is None else (found.status, found.reason)

    def message(self, condition: str = "Degraded") -> str:
        found = self.obj.status.conditions.get(condition)
        return "" if found is None else found.message

    async def run(self, *, after: float = 0.0, crash: bool = False) -> None:
        """One run, as the runtime does it: the status is written at its end, unless the process dies before.

        Raises:
            Exception: what the run raised.
        """
        self.now += after
        obj = self.obj
        before = deepcopy(obj.status)
        obj.status.conditions.speak_of(obj.generation)
        ctx = _Context(self, obj)
        self.result = None
        reconciler = RDSInstanceReconciler(
            self.settings, factories={"aws-rds": self.rds}, clock=lambda: self.now
        )
        error: Exception | None = None
        try:
            async with reconciler.lifespan(Services(Metrics(), HealthChecks())):
                if "deletionTimestamp" in self.body["metadata"]:
                    self.result = await reconciler.finalize(cast("Context", ctx), obj)
                    self._gone = self.result.requeue_after is None
                else:
                    self.result = await reconciler.reconcile(cast("Context", ctx), obj)
        except Exception as caught:  # noqa: BLE001 - raised again below
            error = caught
        if crash or (error is not None and classify(error) is ErrorClass.CONFLICT):
            del before
        else:
            state_outcome(cast("Context", ctx), obj, error)
            self.body["status"] = orjson.loads(orjson.dumps(obj.status_dict()))
        if error is not None:
            raise error

    async def tried(self, *, after: float = 0.0) -> ProviderError:
        """A run that ends with an error of the provider's: the error."""
        try:
            await self.run(after=after)
        except ProviderError as error:
            return error
        raise AssertionError(f"the run did not fail; it came to {self.phase()}")

    async def available(self) -> None:
        """Let the instance be made, and come to rest."""
        await self.run()
        self.rds.become("available")
        await self.run(after=60)
        assert self.phase() is Phase.AVAILABLE, (self.phase(), self.message())
        self.rds.ledger.clear()
        self.events.clear()


class _Context:
    """As much of a context as the controller needs."""

    def __init__(self, world: World, obj: RDSInstance) -> None:
        self._world = world
        self._obj = obj
        self.key = Key("shop", "orders")
        self.attempt = 1
        self.log = Log("test")

    def get(self, kind: type[Secret], name: str) -> Secret | None:
        assert kind is Secret
        return self._world.secrets.get(name)

    async def annotate(self, annotations: Mapping[str, str | None], *, insist: bool = False) -> None:
        if self._world.conflicts and not insist:
            self._world.conflicts -= 1
            raise Conflict(409, "Conflict", "the object has been modified")
        for key, value in annotations.items():
            if value is None:
                self._world.marks.pop(key, None)
            else:
                self._world.marks[key] = value
        self._obj.metadata.annotations = dict(self._world.marks)

    async def apply(self, desired: Secret, *, exact: Sequence[str] = ()) -> Secret:
        assert list(exact) == ["data"]
        if self._world.secret_conflicts:
            self._world.secret_conflicts -= 1
            raise Conflict(409, "Conflict", "the object has been modified")
        known = self._world.secrets.get(desired.name)
        if known is None or known.data != desired.data:
            self._world.applied += 1
            self._world.secrets[desired.name] = Secret(deepcopy(desired.raw))
        return desired

    def event(self, reason: str, note: str, *, type: str = "Normal", action: str = "Reconcile") -> None:
        assert type in ("Normal", "Warning")
        assert action
        self._world.events.append(reason)
        self._world.notes.append(note)
