"""Providers by name, from the entry point group `openclaw.providers`; a package of anybody's may bring one.

    [project.entry-points."openclaw.providers"]
    my-system = "my_package.my_system:PROVIDER"

What is named is a `ProviderFactory`. It is imported when it is first asked for: an operator does not pay for
providers that nobody uses, nor fail where the SDK of one is missing.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from openclaw.providers.protocol import ProviderFactory

__all__ = ["GROUP", "UnknownProviderError", "load_provider", "provider_names"]

GROUP: Final = "openclaw.providers"
"""The entry point group."""


class UnknownProviderError(LookupError):
    """There is no such provider here, or it cannot be loaded; the text says which there are, or why."""


def provider_names() -> tuple[str, ...]:
    """The names of all that are installed, in order; nothing is imported."""
    return tuple(sorted({it.name for it in entry_points(group=GROUP)}))


def load_provider(name: str) -> ProviderFactory[Any, Any, Any]:
    """The factory of the provider `name`, imported now.

    Raises:
        UnknownProviderError: it is not installed, two packages bring one of that name, its import fails, or
            what is named is no factory.
    """
    found = list(entry_points(group=GROUP, name=name))
    if not found:
        there = ", ".join(provider_names()) or "none"
        raise UnknownProviderError(
            f"no provider is called {name!r}; installed are: {there}. Install the package that brings it: "
            f"one with an entry point in the group {GROUP!r}"
        )
    if len({it.value for it in found}) > 1:
        places = ", ".join(sorted(_origin(it) for it in found))
        raise UnknownProviderError(f"more than one provider is called {name!r}: {places}; remove all but one")
    entry = found[0]
    try:
        factory = entry.load()
    except ImportError as error:
        missing = (
            f" (install {_origin(entry)} with the extra that brings {error.name!r})" if error.name else ""
        )
        raise UnknownProviderError(f"the provider {name!r} cannot be imported: {error}{missing}") from error
    except AttributeError as error:
        raise UnknownProviderError(
            f"the provider {name!r} is not where {_origin(entry)} says: {error}"
        ) from error
    except Exception as error:
        raise UnknownProviderError(
            f"the provider {name!r} fails while it is imported: {type(error).__name__}: {error}"
        ) from error
    if isinstance(factory, type):
        factory = factory()
    if not callable(getattr(factory, "connect", None)) or getattr(factory, "name", None) != name:
        raise UnknownProviderError(
            f"{_origin(entry)} names no ProviderFactory: it needs `name = {name!r}` and "
            "`async def connect(self, target, credentials)`"
        )
    made: ProviderFactory[Any, Any, Any] = factory
    return made


def _origin(entry: EntryPoint) -> str:
    package = entry.dist.name if entry.dist is not None else "a package"
    return f"{package} ({entry.value})"
