"""What passes between a controller and a provider: plain, frozen, typed values.

A provider declares its own descriptors as frozen dataclasses (or frozen pydantic models). What they must
have is stated here as protocols; the rest is the provider's and its controller's own. A secret in a
descriptor is a `pydantic.SecretStr`, so that no repr, log or assertion shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import orjson
from pydantic import SecretStr

from openclaw._core import fnv1a64

__all__ = [
    "Difference",
    "Drift",
    "ObservedDescriptor",
    "Owner",
    "Page",
    "SecretStr",
    "Target",
    "WantedDescriptor",
]

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Owner:
    """The Kubernetes object that an external thing belongs to; what a provider writes into its tags.

    Attributes:
        uid: decides whether the thing is ours. The rest is for people.
    """

    kind: str
    namespace: str
    name: str
    uid: str


class WantedDescriptor(Protocol):
    """What an object wants to exist."""

    @property
    def identity(self) -> str:
        """The name under which the thing is made and found: the same for every run, unknown to chance."""

    @property
    def owner(self) -> Owner:
        """Whom it is for; marked on it in the very call that creates it, where the system can."""


class ObservedDescriptor(Protocol):
    """What exists."""

    @property
    def identity(self) -> str:
        """As in what is wanted."""

    @property
    def owner_uid(self) -> str | None:
        """The uid in its owner mark; None where it has none, or where the system can't hold one."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a provider acts. Limits, breakers and shared listings are kept by account and region.

    Attributes:
        account: whose quota the calls count against, such as an AWS account's number or a host; a label of
            metrics, so never an object's name and never a secret.
        region: a part of the account with limits of its own; "" where there are none.
        endpoint: a URL instead of the system's own; None for that.
    """

    account: str
    region: str = ""
    endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One field in which what is observed is not as wanted.

    Attributes:
        field: its path in the object's spec, such as `dbInstanceClass`.
        wanted: for people, without secrets: for a password `(changed)`.
        observed: the same.
        refused: why no update can bring it in line, such as "storage can't shrink"; "" where one can.
    """

    field: str
    wanted: str
    observed: str
    refused: str = ""

    def __str__(self) -> str:
        text = f"{self.field}: {self.observed} -> {self.wanted}"
        return f"{text} ({self.refused})" if self.refused else text


@dataclass(frozen=True, slots=True)
class Drift:
    """All the differences; false where there are none.

    Attributes:
        differences: in a fixed order.
    """

    differences: tuple[Difference, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.differences)

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __str__(self) -> str:
        return "; ".join(map(str, self.differences))

    @property
    def updatable(self) -> tuple[Difference, ...]:
        """Those that an update is sent for."""
        return tuple(it for it in self.differences if not it.refused)

    @property
    def refused(self) -> tuple[Difference, ...]:
        """Those that no update can bring in line: a condition, and no call."""
        return tuple(it for it in self.differences if it.refused)

    @property
    def digest(self) -> str:
        """Equal for equal differences that an update is sent for, in this process and the next.

        The same one after an update that succeeded means that the system keeps the value in another form: it
        must not be sent again.
        """
        told = [(it.field, it.wanted, it.observed) for it in self.updatable]
        return f"{fnv1a64(orjson.dumps(told).decode()):016x}"


@dataclass(frozen=True, slots=True)
class Page(Generic[T_co]):
    """One page of a listing.

    Attributes:
        items: what exists, in the system's order.
        next_token: what to ask for the next page with; "" after the last.
    """

    items: tuple[T_co, ...] = field(default=())
    next_token: str = ""
