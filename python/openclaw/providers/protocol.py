"""`Provider`: the driver of one kind of external thing, and how it is found.

A provider is one file that knows only its system: it turns descriptors into the system's requests, answers
into descriptors, and the system's errors into those of `openclaw.providers.errors`. It does not retry, wait,
limit, cache or measure: that is around it (`openclaw.providers.resilience`), the same for each. Nor does it
know Kubernetes: a controller builds the descriptors, and decides.

Every call is one exchange with the system, or the few that the operation needs; it may be cancelled at any
await, and must leave nothing behind then but the exchange's own effect.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

from openclaw.providers.credentials.source import CredentialSource
from openclaw.providers.descriptors import Drift, ObservedDescriptor, Owner, Page, Target, WantedDescriptor

__all__ = ["Admission", "Fence", "Finder", "Lister", "Provider", "ProviderFactory"]

W_contra = TypeVar("W_contra", bound=WantedDescriptor, contravariant=True)
Obs = TypeVar("Obs", bound=ObservedDescriptor)
O_co = TypeVar("O_co", bound=ObservedDescriptor, covariant=True)
R_contra = TypeVar("R_contra", contravariant=True)


class Provider(Protocol[W_contra, Obs, R_contra]):
    """The calls that a controller makes.

    Type arguments: what is wanted; what is observed; how a thing is to go (`None` for a provider that knows
    but one way).

    Every method may raise any `ProviderError`; those named are the ones that a caller has to expect.
    """

    async def get(self, identity: str) -> Obs:
        """What exists under `identity`, read from the system now.

        Raises:
            ExternalNotFound: nothing does.
        """

    async def create(self, wanted: W_contra) -> Obs:
        """Make it, marked with its owner in the same call; returns it as far as the system tells already.

        Idempotent where the system can be asked for that (a client token). It is not waited for.

        Raises:
            ExternalAlreadyExists: the identity is taken, by whomever.
            ExternalInvalid: the system refuses what is wanted.
            ExternalTransient: with `outcome_unknown` where it may have been made all the same.
        """

    def compare(self, wanted: W_contra, observed: Obs) -> Drift:
        """Where `observed` is not as wanted. Pure: no call, no clock.

        Only fields that the user set count. What is on its way already is not drift, nor is what the system
        only writes in another way.
        """

    async def update(self, wanted: W_contra, observed: Obs, drift: Drift) -> Obs:
        """Bring `drift.updatable` in line, and nothing else; returns what the system tells then.

        Not called without an updatable difference. Sending the same update twice does no harm.

        Raises:
            ExternalConflict: not in the state that it is in; observe again.
            ExternalInvalid: the system refuses a value.
        """

    async def delete(self, identity: str, removal: R_contra) -> None:
        """Begin to delete it. That it is gone is known only when `get` says so.

        Raises:
            ExternalNotFound: it is gone.
            ExternalConflict: not in the state that it is in, such as protected from deletion.
        """

    async def health(self) -> None:
        """One cheap read that shows that the system answers and the credentials are taken.

        Raises:
            ProviderError: why not.
        """

    async def close(self) -> None:
        """Let go of connections. Not called while a call is under way; called once."""


@runtime_checkable
class Lister(Protocol[O_co]):
    """A provider that can list what exists: one listing then serves all objects of an account and region."""

    async def list_page(self, token: str) -> Page[O_co]:
        """A page of everything there is; `token` is "" for the first, else the last page's `next_token`."""


@runtime_checkable
class Finder(Protocol[O_co]):
    """A provider whose system names things itself, and can be asked for those of an owner.

    With it, a create whose answer was lost is resolved without anybody's help.
    """

    async def find(self, owner: Owner) -> O_co:
        """What bears the owner's mark.

        Raises:
            ExternalNotFound: nothing does.
        """


@runtime_checkable
class Admission(Protocol):
    """Something that knows without asking whether a create would be let through now: the guard has it."""

    def admit(self) -> None:
        """Return, if it would be sent now.

        Raises:
            ExternalThrottled: it would be held back, and for how long.
            ExternalTransient: the breaker is open.
        """


class ProviderFactory(Protocol[W_contra, Obs, R_contra]):
    """What the entry point group `openclaw.providers` names: makes providers for targets and credentials.

    A class or a module-level instance. Loading it must be cheap: import a system's SDK in `connect`.
    """

    name: str
    """As in the entry point: a word such as `aws-rds`; a label of metrics and the prefix of span names."""

    async def connect(
        self, target: Target, credentials: CredentialSource
    ) -> Provider[W_contra, Obs, R_contra]:
        """A provider that acts on `target`.

        It takes credentials when it calls, not before, and keeps none: each call asks `credentials.fetch()`,
        which is cheap while they are good.

        Raises:
            ExternalInvalid: the target makes no sense.
        """


class Fence(Protocol):
    """Whether this process may still act for an object; sharding supplies it."""

    def check(self) -> float | None:
        """Return, if a write may be sent now.

        Returns:
            The seconds that it may take; None where that is not bounded.

        Raises:
            Exception: it may not; goes to the caller as it is, and nothing is sent.
        """
