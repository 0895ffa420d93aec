"""The informers of a manager: which kinds its controllers need, and how much of each a shard reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from openclaw.api.kinds import ResourceKind
from openclaw.runtime.informer import Informer, Scope
from openclaw.runtime.reconciler import Reconciler, owned_kinds

__all__ = ["Informers", "can_be_shards", "scopes_of"]


def scopes_of(reconciler: type[Reconciler[Any]], *, sharded: bool) -> dict[ResourceKind, Scope]:
    """The kinds that a controller needs a cache of, and how much of each.

    Raises:
        TypeError: it is to be run as shards, and owns or watches its own root kind, of which a shard reads
            its share only.
    """
    root = reconciler.root.resource
    owned = [it.child.resource for it in owned_kinds(reconciler)]
    watched = [it.target.resource for it in reconciler.watches]
    if sharded and root in (*owned, *watched):
        msg = (
            f"{reconciler.__name__} owns or watches {root.kind}, its own kind, of which each shard knows its "
            "share only: run it without shards"
        )
        raise TypeError(msg)
    scopes: dict[ResourceKind, Scope] = {root: "roots" if sharded else "everything"}
    scopes |= dict.fromkeys(owned, "children" if sharded else "everything")
    # Any root may name any object of these, so a shard needs all of them; also of a kind that it owns.
    scopes |= dict.fromkeys(watched, "everything")
    return scopes


def can_be_shards(reconcilers: Iterable[type[Reconciler[Any]]]) -> bool:
    """Whether these controllers can be run as shards."""
    try:
        for reconciler in reconcilers:
            scopes_of(reconciler, sharded=True)
    except TypeError:
        return False
    return True


class Informers:
    """One informer for each kind and scope, shared by the controllers."""

    def __init__(self) -> None:
        self._by_scope: dict[tuple[ResourceKind, Scope], Informer] = {}
        self._of: dict[str, dict[ResourceKind, Informer]] = {}

    def add(
        self,
        reconciler: Reconciler[Any],
        make: Callable[[ResourceKind, Scope], Informer],
        *,
        sharded: bool = False,
    ) -> None:
        """Have those that a controller needs.

        Args:
            reconciler: what is run.
            make: makes an informer that is not there yet.
            sharded: whether roots and children are read by slots.

        Raises:
            TypeError: it cannot be run as shards, see `scopes_of`.
        """
        mine = self._of[reconciler.name] = {}
        for kind, scope in scopes_of(type(reconciler), sharded=sharded).items():
            informer = self._by_scope.get((kind, scope))
            if informer is None:
                informer = self._by_scope[kind, scope] = make(kind, scope)
            mine[kind] = informer

    def of(self, reconciler: Reconciler[Any]) -> Mapping[ResourceKind, Informer]:
        """Those that a controller needs, by kind."""
        return self._of[reconciler.name]

    @property
    def children_first(self) -> list[Informer]:
        """All of them, those of roots last."""
        return sorted(self, key=lambda it: it.scope == "roots")

    def __iter__(self) -> Iterator[Informer]:
        """All of them."""
        return iter(self._by_scope.values())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._by_scope)

    def __getitem__(self, kind: ResourceKind) -> Informer:
        """One of the kind.

        Raises:
            KeyError: no controller needs the kind.
        """
        for (of, _), informer in self._by_scope.items():
            if of == kind:
                return informer
        raise KeyError(kind)
