"""Where credentials come from, as providers see it: one coroutine that gives good ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from openclaw.providers.errors import ExternalUnauthorised

__all__ = ["CredentialSource", "Credentials", "RefreshingSource"]


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a system takes as proof of who asks.

    Attributes:
        values: by name, such as `AWS_ACCESS_KEY_ID` or `token`; in no repr.
        expires_at: seconds since 1970 after which they are refused; None where they do not expire.
    """

    values: Mapping[str, str] = field(repr=False)
    expires_at: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    def __getitem__(self, name: str) -> str:
        """The value under `name`.

        Raises:
            ExternalUnauthorised: there is none; says which names there are.
        """
        try:
            return self.values[name]
        except KeyError:
            there = ", ".join(sorted(self.values)) or "nothing"
            raise ExternalUnauthorised(f"the credentials have no {name!r}; they have {there}") from None


class CredentialSource(Protocol):
    """Gives credentials of one identity."""

    @property
    def identity(self) -> str:
        """Tells it from others; clients are cached by it.

        Equal for sources that give the same credentials, and different once what they are made from has
        changed. No secret, and no digest that helps to guess one.
        """

    async def fetch(self) -> Credentials:
        """Credentials that are good now.

        Cheap to call before every request where it is cached (`openclaw.providers.credentials.cache`).

        Raises:
            ExternalUnauthorised: there are none to be had; says from where and why.
            ExternalTransient: whoever gives them did not answer.
        """


@runtime_checkable
class RefreshingSource(CredentialSource, Protocol):
    """A source that keeps what it gave, and can be told that it is no longer taken."""

    def refused(self) -> bool:
        """The credentials given last were refused as expired: get newer ones at the next `fetch`.

        Returns:
            Whether there may be newer ones: not where they are for ever, nor where they were fetched a
            moment ago.
        """
