"""One run for one object: the calls, and what becomes of the status."""

from __future__ import annotations

from typing import Final

from openclaw.api.rdsinstance import Phase, RDSInstance
from openclaw.api.rdsinstance_status import Failure, SentUpdate
from openclaw.controllers.rds.clock import stamp
from openclaw.controllers.rds.conditions import enter
from openclaw.controllers.rds.connection import connection_secret
from openclaw.controllers.rds.identity import identifier
from openclaw.controllers.rds.inputs import MasterPassword, inputs_digest
from openclaw.controllers.rds.paced import RDS, PacedProvider
from openclaw.controllers.rds.password import Digest, digest_of, sent_password
from openclaw.controllers.rds.phases import Poll, Row, Signal
from openclaw.controllers.rds.reporting import pending_changes, report_drift, report_observed
from openclaw.controllers.rds.settings import RDSSettings
from openclaw.controllers.rds.signals import Seen, signal_of, signal_of_error
from openclaw.controllers.rds.statuses import Stage, rule_of
from openclaw.controllers.rds.steering import ADOPT, RECONCILE_NOW, poll_interval
from openclaw.controllers.rds.wanted import wanted_of
from openclaw.kube.errors import Conflict
from openclaw.providers.aws.rds_fields import PASSWORD
from openclaw.providers.aws.rds_model import RDSObserved, RDSRemoval, RDSWanted
from openclaw.providers.descriptors import Drift
from openclaw.providers.errors import ProviderError
from openclaw.providers.lifecycle import Lifecycle, Outcome, Policy, Step
from openclaw.providers.marks import Marks
from openclaw.providers.resilience.polls import jittered
from openclaw.runtime import Context, Result

__all__ = ["Attempt"]

_LOST: Final = (
    "it is not made again by itself, for it would be empty. Restore a snapshot and adopt it with another "
    "object, or delete this object and create it anew"
)

_AT_REST: Final = (Phase.AVAILABLE, Phase.DEGRADED)


class Attempt:
    """One run for one object.

    Args:
        ctx: of the run.
        obj: the object.
        marks: what is remembered of its making.
        settings: intervals and deadlines.
        now: seconds since 1970.
        digest: of passwords.

    Attributes:
        identity: the DB instance identifier.
        asked: somebody has asked for this run by the annotation.
    """

    def __init__(
        self,
        ctx: Context,
        obj: RDSInstance,
        marks: Marks,
        settings: RDSSettings,
        now: float,
        *,
        digest: Digest = digest_of,
    ) -> None:
        self._digest = digest
        self._ctx = ctx
        self._obj = obj
        self._marks = marks
        self._settings = settings
        self._now = now
        self.identity = marks.read().identity or identifier(obj)
        self.asked = obj.annotations.get(RECONCILE_NOW) not in (None, obj.status.reconcile_requested)
        self._paced: PacedProvider | None = None

    @property
    def rests(self) -> bool:
        """Whether it has failed, and neither spec nor Secrets have changed since, nor did anybody ask."""
        status = self._obj.status
        if status.phase is not Phase.FAILED or self.asked:
            return False
        known = Failure(generation=self._obj.generation, inputs=inputs_digest(self._ctx, self._obj))
        return status.failure == known

    @property
    def max_age(self) -> float:
        """Seconds that what is seen may be old: little while something is under way, 0 if somebody waits."""
        status = self._obj.status
        if self.asked or status.observed_generation != self._obj.generation:
            return 0.0
        share = 0.9 if status.phase in _AT_REST else 0.5
        return share * self._interval(status.phase or Phase.PENDING)

    async def converge(self, provider: RDS, password: MasterPassword) -> Result:
        """Look at the instance, and do what brings it nearer to the spec.

        Raises:
            ProviderError: a call failed; see `failed`.
            KubeError: a mark or the connection Secret could not be written.
        """
        obj, status = self._obj, self._obj.status
        paced = self._paced = PacedProvider(provider, unborn=self._unborn)
        observing = obj.spec.management_policy == "Observe"
        adopted = obj.annotations.get(ADOPT) == self.identity and self._marks.read().created_at is not None
        record = await sent_password(password, status.password, obj.uid, self._digest)
        same = record.digest == status.password.digest or (status.password.digest is None and adopted)
        immediate = obj.spec.apply_immediately
        wanted = wanted_of(
            obj,
            self.identity,
            password=None if same or observing else password,
            flush=immediate and not status.last_update.immediate,
        )
        if observing:
            outcome = await self._looked_at(paced, wanted)
        else:
            # What was sent for the maintenance window may be sent again, to be made at once.
            again = self.asked or (immediate and status.last_update.immediate is False)
            sent = None if again else status.last_update.digest
            outcome = await self._lifecycle(paced).converge(wanted, sent=sent)
        seen = Seen(self._now, self._settings.settle, status.last_update, immediate, observing)
        signal = signal_of(outcome, seen)
        sets_password = any(it.field == PASSWORD for it in outcome.drift.updatable)
        taken = (
            (outcome.step is Step.CREATED and paced.created)
            or outcome.step is Step.ADOPTED
            or (outcome.step is Step.UPDATED and sets_password)
        )
        if taken or (same and not observing):
            status.password = record
        self._remember_update(outcome, signal)
        self._succeeded()
        row = self._tell(signal, outcome.observed, outcome.drift, self._detail(signal, outcome))
        if outcome.observed is not None and (taken or same or observing):
            try:
                await self._connect(password)
            except Conflict:
                # A conflict ends a run without a status, and with it what was sent to RDS would be forgotten.
                return Result.after(self._settings.soon)
        return self.result(row)

    @property
    def _unborn(self) -> bool:
        """Whether no call was ever made for the object, under a name that nobody else can have."""
        mark = self._marks.read()
        asked_for = mark.pending_at is not None or mark.created_at is not None
        return not (asked_for or self._obj.status.resource_id or self._obj.spec.db_instance_identifier)

    async def _looked_at(self, paced: PacedProvider, wanted: RDSWanted) -> Outcome[RDSObserved]:
        """What is there, and where it is not as wanted; nothing is written, here or there."""
        observed = await self._lifecycle(paced).observe(self.identity, wanted.owner)
        if observed is None:
            return Outcome(Step.ABSENT)
        foreign = ("owner",)
        drift = Drift(tuple(it for it in paced.compare(wanted, observed) if it.field not in foreign))
        return Outcome(Step.DRIFTED if drift else Step.IN_SYNC, observed, drift)

    async def remove(self, provider: RDS, removal: RDSRemoval) -> tuple[Outcome[RDSObserved], Result | None]:
        """Have the instance deleted; what it came to, and when to look again, or None once it is gone.

        Raises:
            ProviderError: a call failed; see `failed`.
        """
        paced = self._paced = PacedProvider(provider)
        wanted_by = wanted_of(self._obj, self.identity, password=None).owner
        outcome = await self._lifecycle(paced).remove(
            self.identity, wanted_by, removal, going=lambda it: rule_of(it.status).stage is Stage.GOING
        )
        if outcome.step is Step.GONE:
            return outcome, None
        self._succeeded()
        again = self.result(self._tell(Signal.DELETING, outcome.observed, Drift(), ""))
        return outcome, Result.after(max(outcome.wait, again.requeue_after or 0.0))

    def failed(self, error: ProviderError, *, deleting: bool = False, snapshot: bool = False) -> Result:
        """Put what ended the run into the status.

        Raises:
            ProviderError: the very one, where the queue's backoff is the answer.
        """
        status, paced = self._obj.status, self._paced
        status.last_error_class = error.reason
        observed = paced.observed if paced is not None and paced.doing in ("update", "delete") else None
        rule = rule_of(observed.status) if observed is not None else None
        doing = paced.doing if paced is not None else "look"
        signal = signal_of_error(error, doing, rule=rule, snapshot=snapshot)
        if deleting and signal is Signal.BUSY:
            signal = Signal.DELETING
        if signal is Signal.UPDATE_REFUSED and paced is not None:
            status.last_update = SentUpdate(
                digest=paced.drift.digest,
                sent_at=stamp(self._now),
                generation=self._obj.generation,
                refused=str(error),
            )
        drift = paced.drift if paced is not None and doing == "update" else None
        row = self._tell(signal, observed, drift, str(error), kept=Phase.DELETING if deleting else None)
        if row.poll is Poll.BACKOFF:
            raise error
        self._heard()
        return self.result(row)

    def result(self, row: Row) -> Result:
        """When to look again."""
        if row.poll is Poll.NEVER:
            return Result.done()
        settings = self._settings
        fixed = {Poll.SLOW: settings.slow, Poll.SOON: settings.soon}
        seconds = fixed.get(row.poll) or self._interval(self._obj.status.phase or Phase.PENDING)
        return Result.after(jittered(seconds, settings.jitter))

    def _interval(self, phase: Phase) -> float:
        """Seconds between two looks: what the object asks for, but no longer while something is under way."""
        usual = self._settings.polls.get(phase, self._settings.slow)
        asked = poll_interval(self._obj) or usual
        return asked if phase in _AT_REST else min(asked, usual)

    def _lifecycle(self, paced: PacedProvider) -> Lifecycle[RDSWanted, RDSObserved, RDSRemoval]:
        adopt = self._obj.annotations.get(ADOPT) == self.identity and self._may_adopt
        policy = Policy(
            recreate=False, adopt="Any" if adopt else "Never", visible_after=self._settings.visible
        )
        return Lifecycle(paced, self._marks, policy, clock=lambda: self._now)

    @property
    def _may_adopt(self) -> bool:
        """Whether the instance was not the object's yet: what another has taken over is not taken back."""
        status = self._obj.status
        return status.password.digest is None or status.adopting == self.identity

    def _remember_update(self, outcome: Outcome[RDSObserved], signal: Signal) -> None:
        status = self._obj.status
        if outcome.step is Step.UPDATED:
            status.last_update = SentUpdate(
                digest=outcome.drift.digest,
                sent_at=stamp(self._now),
                generation=self._obj.generation,
                immediate=self._obj.spec.apply_immediately,
            )
        elif signal in (Signal.SETTLED, Signal.MISMATCH):
            status.last_update = SentUpdate()

    def _succeeded(self) -> None:
        self._obj.status.last_error_class = None
        self._heard()

    def _heard(self) -> None:
        self._obj.status.reconcile_requested = self._obj.annotations.get(RECONCILE_NOW)

    def _tell(
        self,
        signal: Signal,
        observed: RDSObserved | None,
        drift: Drift | None,
        detail: str,
        *,
        kept: Phase | None = None,
    ) -> Row:
        obj = self._obj
        obj.status.external_id = self.identity
        if observed is not None:
            report_observed(obj, observed)
        if drift is not None:
            report_drift(obj, drift)
        if signal is Signal.SHOWN:
            obj.status.adopting = self.identity
        elif observed is not None and observed.owner_uid == obj.uid:
            obj.status.adopting = None
        row = enter(
            self._ctx,
            obj,
            signal,
            settings=self._settings,
            now=self._now,
            observed=observed,
            detail=detail,
            kept=kept,
        )
        # What only keeps the phase, such as an outage, has not failed with these inputs: it is tried again.
        obj.status.failure = Failure()
        if row.to is Phase.FAILED:
            inputs = inputs_digest(self._ctx, obj)
            obj.status.failure = Failure(generation=obj.generation, inputs=inputs)
        return row

    def _detail(self, signal: Signal, outcome: Outcome[RDSObserved]) -> str:
        observed = outcome.observed
        if signal is Signal.LOST:
            return _LOST
        if signal in (Signal.MISMATCH, Signal.WITHOUT_EFFECT, Signal.UPDATED, Signal.SHOWN):
            return str(outcome.drift)
        if signal is Signal.UPDATE_REFUSED:
            return self._obj.status.last_update.refused or str(outcome.drift)
        if observed is None:
            return ""
        advice = rule_of(observed.status).advice
        pending = ", ".join(sorted(it.field for it in pending_changes(observed)))
        return "; ".join(filter(None, [observed.status, advice, pending and f"pending: {pending}"]))

    async def _connect(self, password: MasterPassword) -> None:
        """The connection Secret, once there is an endpoint; what is not right in it is put right."""
        status = self._obj.status
        if status.endpoint is None or status.port is None:
            return
        intent = connection_secret(self._obj, password.value.get_secret_value())
        await self._ctx.apply(intent, exact=["data"])
        status.connection_secret = intent.name
