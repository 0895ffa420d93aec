"""The identity of a kind: group, version, kind, plural and scope."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """Names one kind of object and the path under which the API server serves it.

    `group` is empty for the core group. `plural` is the last part of the path.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """`v1` for the core group, else `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def singular(self) -> str:
        """The kind in lower case."""
        return self.kind.lower()

    @property
    def qualified(self) -> str:
        """`plural.group`, as `kubectl` accepts it; the plural alone for the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def __str__(self) -> str:
        return f"{self.kind}.{self.api_version}"


_ES_ENDINGS = ("s", "x", "z", "ch", "sh")
_VOWELS = "aeiou"


def plural_of(kind: str) -> str:
    """The English plural of a kind in lower case, as the API machinery guesses it."""
    singular = kind.lower()
    if singular.endswith(_ES_ENDINGS):
        return singular + "es"
    if singular.endswith("y") and len(singular) > 1 and singular[-2] not in _VOWELS:
        return singular[:-1] + "ies"
    return singular + "s"
