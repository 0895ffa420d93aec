"""The order of one external reconcile, the same for every kind: look, make once, tell drift, change, remove.

In the manner of crossplane-runtime's managed reconciler. It takes the decisions that lose or double a thing
when they are taken wrongly; what a phase is, what the status says and when to look again are the
controller's.

    look ── absent ── never made ──────── mark "pending" (refused on an old state) ── create ── mark "created"
     │        ├────── made just now ───── wait: what was made may not be visible yet
     │        ├────── outcome unknown ─── an identity of ours: create again; the system's: find it, or stop
     │        └────── made, and gone ──── create again, or tell, as the policy says
     └─── there ──── not ours ─────────── an error, unless adoption was asked for
              └───── ours ── compare ──── update, unless the same update has been sent before
"""

from __future__ import annotations

import contextlib
import enum
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from openclaw.providers.descriptors import Drift, ObservedDescriptor, Owner, WantedDescriptor
from openclaw.providers.errors import (
    ExternalAlreadyExists,
    ExternalNotFound,
    ExternalTaken,
    ExternalTerminal,
    ProviderError,
)
from openclaw.providers.marks import CREATING, Mark, Marks
from openclaw.providers.protocol import Admission, Finder, Provider

__all__ = ["Adoption", "Lifecycle", "Outcome", "Policy", "Step"]

W = TypeVar("W", bound=WantedDescriptor)
Obs = TypeVar("Obs", bound=ObservedDescriptor)
R = TypeVar("R")

Adoption = Literal["Never", "Unowned", "Any"]
"""Whether what exists already may become the object's: never; if it has no owner mark; whoever's it is."""

_NO_DRIFT: Final = Drift()
_VISIBLE_SECONDS: Final = 60.0


class Step(enum.Enum):
    """What a run of the lifecycle came to."""

    CREATED = "created"
    """The create was sent and answered."""
    AWAITED = "awaited"
    """Made a moment ago, or perhaps made, and not visible yet: look again."""
    ABSENT = "absent"
    """It is not there, and the policy does not have it made."""
    ADOPTED = "adopted"
    """It was there before, and is the object's from now on. Nothing was changed yet."""
    IN_SYNC = "in_sync"
    """It is as wanted."""
    UPDATED = "updated"
    """An update was sent."""
    DRIFTED = "drifted"
    """It is not as wanted, and nothing was sent: the policy forbids it, or no update can mend it."""
    UNSETTLED = "unsettled"
    """The update that its drift asks for was sent before and changed nothing: nothing was sent again."""
    DELETING = "deleting"
    """It is on its way out, or may still appear: look again."""
    GONE = "gone"
    """It was seen to be gone, or never was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may be done.

    Attributes:
        create: whether an absent thing is made; false to observe only.
        update: whether drift is mended; false to observe only.
        recreate: whether a thing that was made and is gone is made again, empty as it may be.
        adopt: whether a thing that was there before becomes the object's.
        owner_marks: whether the system holds owner marks. Where not, a thing is ours when we have marked the
            object before it was there.
        visible_after: seconds for which a thing that was just made may not be visible.
    """

    create: bool = True
    update: bool = True
    recreate: bool = True
    adopt: Adoption = "Never"
    owner_marks: bool = True
    visible_after: float = _VISIBLE_SECONDS

    @property
    def observing(self) -> bool:
        """Whether nothing may be done: then it does not matter whose the thing is, and nothing is marked."""
        return not self.create and not self.update


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Obs]):
    """What a run of the lifecycle came to.

    Attributes:
        step: which.
        observed: the newest that is known of the thing; None where it is not there.
        drift: what is not as wanted, after UPDATED what the update was for.
        wait: seconds after which to look again, at least, for AWAITED and DELETING; else 0.
    """

    step: Step
    observed: Obs | None = None
    drift: Drift = _NO_DRIFT
    wait: float = 0.0

    @property
    def sent(self) -> str | None:
        """What to keep in the status and give the next run as `sent`.

        The digest of an update that was sent; None where there is none that the next one may repeat.
        """
        if self.step in (Step.UPDATED, Step.UNSETTLED):
            return self.drift.digest
        return None


class Lifecycle(Generic[W, Obs, R]):
    """One external thing of one object, in one run.

    Args:
        provider: what to call, guarded.
        marks: what is remembered between runs.
        policy: what may be done.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        provider: Provider[W, Obs, R],
        marks: Marks,
        policy: Policy | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._provider = provider
        self._marks = marks
        self._policy = policy or Policy()
        self._clock = clock

    async def observe(self, identity: str, owner: Owner) -> Obs | None:
        """What exists, whoever's it is; None where nothing is visible.

        Args:
            identity: what is wanted; that of the mark goes before it. "" where the system chooses it.
            owner: whom to look for where the identity was lost with an answer.

        Raises:
            ProviderError: it could not be looked for.
        """
        mark = self._marks.read()
        identity = mark.identity or identity
        try:
            if identity:
                return await self._provider.get(identity)
            if mark.pending_at is not None and isinstance(self._provider, Finder):
                found: Obs = await self._provider.find(owner)
                return found
        except ExternalNotFound:
            pass
        return None

    async def converge(self, wanted: W, *, sent: str | None = None) -> Outcome[Obs]:
        """Look, and do the one thing that brings it nearer to what is wanted.

        Args:
            wanted: what shall be.
            sent: `Outcome.sent` of the last run; None to send an update again that changed nothing.

        Raises:
            ExternalTaken: it exists and is not ours.
            ExternalTerminal: it is unknown whether a create had its effect, and nothing can tell.
            ProviderError: a call failed.
            KubeError: a mark could not be written.
        """
        observed = await self.observe(wanted.identity, wanted.owner)
        mark = self._marks.read()
        if observed is None:
            return await self._absent(wanted, mark)
        drift = self._provider.compare(wanted, observed)
        if self._policy.observing:
            return Outcome(Step.DRIFTED if drift else Step.IN_SYNC, observed, drift)
        if not self._is_ours(observed, wanted.owner, mark):
            self._check_adoption(observed)
            await self._marks.created(observed.identity)
            return Outcome(Step.ADOPTED, observed, drift)
        if mark.created_at is None:
            await self._marks.created(observed.identity)
        if not drift:
            return Outcome(Step.IN_SYNC, observed)
        if not drift.updatable or not self._policy.update:
            return Outcome(Step.DRIFTED, observed, drift)
        if drift.digest == sent:
            return Outcome(Step.UNSETTLED, observed, drift)
        return Outcome(Step.UPDATED, await self._provider.update(wanted, observed, drift), drift)

    async def remove(
        self,
        identity: str,
        owner: Owner,
        removal: R,
        *,
        going: Callable[[Obs], bool] = lambda _: False,
    ) -> Outcome[Obs]:
        """Have it deleted; GONE once it was seen to be gone, or to be none of ours, which is left alone.

        Args:
            identity: as in `observe`.
            owner: whose it must be.
            removal: how it is to go.
            going: whether what is observed is on its way out already, so that it is only waited for.

        Raises:
            ExternalTerminal: it is unknown whether a create had its effect, and nothing can tell.
            ProviderError: a call failed.
        """
        mark = self._marks.read()
        if not identity and mark == Mark():
            return Outcome(Step.GONE)  # nothing was ever sent
        observed = await self.observe(identity, owner)
        if observed is None:
            wait = self._invisible_for(mark)
            if wait > 0:
                return Outcome(Step.DELETING, wait=wait)
            self._check_known(identity, mark)
            return Outcome(Step.GONE)
        if not self._is_ours(observed, owner, mark):
            return Outcome(Step.GONE, observed)
        if not going(observed):
            with contextlib.suppress(ExternalNotFound):  # the next look tells
                await self._provider.delete(observed.identity, removal)
        return Outcome(Step.DELETING, observed)

    async def _absent(self, wanted: W, mark: Mark) -> Outcome[Obs]:
        if mark.created_at is not None or not wanted.identity:
            wait = self._invisible_for(mark)
            if wait > 0:
                return Outcome(Step.AWAITED, wait=wait)
        self._check_known(wanted.identity, mark)
        if not self._policy.create or (mark.created_at is not None and not self._policy.recreate):
            return Outcome(Step.ABSENT)
        return await self._create(wanted, was_pending=mark.pending_at is not None)

    async def _create(self, wanted: W, *, was_pending: bool) -> Outcome[Obs]:
        if isinstance(self._provider, Admission):
            self._provider.admit()  # before the mark: what is held back here would be a write for nothing
        await self._marks.pending(wanted.identity)
        try:
            observed = await self._provider.create(wanted)
        except ExternalAlreadyExists as error:
            return await self._exists(wanted, error, was_pending=was_pending)
        except ProviderError as error:
            # A refusal of this one tells nothing of an earlier one, whose effect may only not be visible yet.
            if not error.outcome_unknown and not was_pending:
                await self._marks.not_created()
            raise
        await self._marks.created(observed.identity)
        return Outcome(Step.CREATED, observed)

    async def _exists(self, wanted: W, error: ProviderError, *, was_pending: bool) -> Outcome[Obs]:
        """The identity is taken: by a create of ours whose answer was lost, or by somebody else."""
        observed = await self.observe(wanted.identity, wanted.owner)
        if observed is None:
            return Outcome(Step.AWAITED, wait=self._policy.visible_after)
        unmarked = observed.owner_uid is None and not self._policy.owner_marks
        if observed.owner_uid != wanted.owner.uid and not (unmarked and was_pending):
            await self._marks.not_created()
            raise self._taken(observed) from error
        await self._marks.created(observed.identity)
        return Outcome(Step.CREATED, observed)

    def _is_ours(self, observed: Obs, owner: Owner, mark: Mark) -> bool:
        if observed.owner_uid == owner.uid:
            return True
        if observed.owner_uid is None:
            if mark.created_at is not None:
                return True  # adopted, or of a system without owner marks, or somebody took the mark off
            return mark.pending_at is not None and not self._policy.owner_marks
        return mark.created_at is not None and self._policy.adopt == "Any"

    def _check_adoption(self, observed: Obs) -> None:
        adopt = self._policy.adopt
        if adopt == "Any" or (adopt == "Unowned" and observed.owner_uid is None):
            return
        raise self._taken(observed)

    @staticmethod
    def _taken(observed: ObservedDescriptor) -> ExternalTaken:
        whose = (
            "and has no mark of an owner"
            if observed.owner_uid is None
            else f"and belongs to the object with uid {observed.owner_uid}"
        )
        return ExternalTaken(
            f"{observed.identity!r} exists already {whose}: remove it, choose another identity, or ask for "
            "its adoption"
        )

    def _invisible_for(self, mark: Mark) -> float:
        """Seconds for which what was made, or perhaps made, may still not be visible."""
        times = [it for it in (mark.pending_at, mark.created_at) if it is not None]
        if not times:
            return 0.0
        age = self._clock() - max(times)
        # A time that is to come is of a clock that was wrong; it is not waited for any longer than others.
        return max(0.0, self._policy.visible_after - abs(age))

    def _check_known(self, identity: str, mark: Mark) -> None:
        """Refuse to go on where a thing may exist whose identity nobody knows.

        Raises:
            ExternalTerminal: it may.
        """
        lost = mark.pending_at is not None and not (identity or mark.identity)
        if lost and not isinstance(self._provider, Finder):
            raise ExternalTerminal(
                "a create was sent and its answer was lost, so one may exist whose identity is unknown. Look "
                f"for it in the external system; then remove the annotation {CREATING} to have one made, "
                "after deleting what there is, or set the annotation external.openclaw.dev/identity to its "
                "identity and external.openclaw.dev/create-succeeded to the time"
            )
