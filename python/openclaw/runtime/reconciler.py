"""How a controller is declared: a class with facts as attributes and one coroutine."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, get_args, get_origin

from openclaw.api.kinds import ResourceKind
from openclaw.api.resource import CustomResource
from openclaw.api.unstructured import Unstructured
from openclaw.runtime.predicates import ContentChanged, DeletionChanged, GenerationChanged, Predicate
from openclaw.runtime.result import Result
from openclaw.runtime.services import Services

if TYPE_CHECKING:
    from openclaw.runtime.context import Context

__all__ = ["Child", "Index", "Owns", "Reconciler", "Watch", "index"]

R = TypeVar("R", bound=CustomResource)
Child = type[Unstructured] | type[CustomResource]
_ANY_CONTENT = ContentChanged()
_QUALIFIED = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


@dataclass(frozen=True, slots=True)
class Index:
    """A field index: from the value at `path` to the objects that have it, held in Rust.

    Attributes:
        path: the field path, e.g. `spec.worker.queue` or `spec.items[*].name`.
        name: what it is looked up by; the path by default.
    """

    path: str
    name: str


def index(path: str, name: str | None = None) -> Index:
    """An index over the roots, by the value at `path`."""
    return Index(path, name or path)


@dataclass(frozen=True, slots=True)
class Owns:
    """A kind of child.

    Attributes:
        child: the kind.
        triggers: which changes of a child matter; by default any but those of other managers' bookkeeping.
    """

    child: Child
    triggers: Predicate = _ANY_CONTENT


@dataclass(frozen=True, slots=True)
class Watch:
    """A kind that roots refer to by name.

    A change of such an object runs every root of its namespace whose index `index` holds its name.

    Attributes:
        target: the kind that is watched.
        index: the name of an index of the reconciler.
        triggers: which changes matter.
    """

    target: Child
    index: str
    triggers: Predicate = _ANY_CONTENT


class Reconciler(Generic[R]):
    """One controller: brings the world in line with each object of its root kind.

    The type argument is the root kind. Everything declared here is used for more than one thing:
    watches, caches, and the role that `openclaw manifests` writes.

    Class attributes:
        owns: kinds of the children; a change of one runs its owner.
        watches: kinds that roots refer to.
        reads: kinds read from the API server without a cache (`ctx.read`).
        indexes: field indexes over the roots.
        triggers: which changes of a root matter.
        finalizer: a qualified name; with it `finalize` runs before an object goes.
        emits_events: whether `ctx.event` is used.
        concurrency: most runs at once.
        deadline: seconds that a run may take.
        name: the controller's name in metrics and logs; the plural of the root kind by default.
    """

    root: ClassVar[type[CustomResource]]
    owns: ClassVar[Sequence[Child | Owns]] = ()
    watches: ClassVar[Sequence[Watch]] = ()
    reads: ClassVar[Sequence[Child]] = ()
    indexes: ClassVar[Sequence[Index]] = ()
    triggers: ClassVar[Predicate] = GenerationChanged() | DeletionChanged()
    finalizer: ClassVar[str | None] = None
    emits_events: ClassVar[bool] = True
    concurrency: ClassVar[int] = 16
    deadline: ClassVar[float] = 60.0
    name: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            origin = get_origin(base)
            if isinstance(origin, type) and issubclass(origin, Reconciler):
                for argument in get_args(base):
                    if isinstance(argument, type) and issubclass(argument, CustomResource):
                        cls.root = argument
        if hasattr(cls, "root"):
            cls.name = cls.__dict__.get("name") or cls.root.resource.plural
            _check(cls)

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Refuse a class of which nobody knows what it reconciles.

        Raises:
            TypeError: no root kind was named.
        """
        if not hasattr(cls, "root"):
            msg = f"{cls.__name__}: name the root kind: class {cls.__name__}(Reconciler[YourKind])"
            raise TypeError(msg)
        return super().__new__(cls)

    @asynccontextmanager
    async def lifespan(self, services: Services) -> AsyncIterator[None]:  # noqa: ARG002 - the contract
        """Around all runs: what they share (clients, caches) is opened here, and closed after the last one.

        Args:
            services: what the manager has for its reconcilers.

        Raises:
            Exception: ends the manager, before any run.
        """
        yield

    async def reconcile(self, ctx: Context, obj: R) -> Result:  # noqa: ARG002 - the contract
        """Bring the world in line with `obj`, and say in `obj.status` how far it is.

        Must be idempotent: it may be stopped at any await and run again. What it raises decides what
        comes next, see `openclaw.runtime.errors`.
        """
        msg = f"{type(self).__name__} does not define `async def reconcile(self, ctx, obj)`"
        raise TypeError(msg)

    async def finalize(self, ctx: Context, obj: R) -> Result:  # noqa: ARG002 - the contract
        """Undo what was done outside of the cluster; the object goes once this returns `Result.done()`."""
        return Result.done()


def owned_kinds(reconciler: type[Reconciler[Any]]) -> list[Owns]:
    """`owns`, each in its long form."""
    return [item if isinstance(item, Owns) else Owns(item) for item in reconciler.owns]


def _check(cls: type[Reconciler[Any]]) -> None:
    """Refuse declarations that could not work, where they are made.

    Raises:
        TypeError: names the class, the attribute, and what to do.
    """
    if not inspect.iscoroutinefunction(cls.reconcile) or not inspect.iscoroutinefunction(cls.finalize):
        msg = (
            f"{cls.__name__}: reconcile and finalize must be coroutines: async def reconcile(self, ctx, obj)"
        )
        raise TypeError(msg)
    paths: dict[str, str] = {}
    for item in cls.indexes:
        if paths.setdefault(item.name, item.path) != item.path:
            msg = f"{cls.__name__}.indexes: {item.name!r} names both {paths[item.name]!r} and {item.path!r}"
            raise TypeError(msg)
    seen: set[ResourceKind] = set()
    for owned in owned_kinds(cls):
        _check_kind(cls, "owns", owned.child)
        if owned.child.resource in seen:
            msg = f"{cls.__name__}.owns: {owned.child.resource.kind} is listed twice"
            raise TypeError(msg)
        if cls.root.resource.namespaced and not owned.child.resource.namespaced:
            child, root = owned.child.resource.kind, cls.root.resource.kind
            msg = (
                f"{cls.__name__}.owns: {child} has no namespace and its owner {root} has one: the garbage "
                f"collector would delete it at once; declare {root} with scope='Cluster'"
            )
            raise TypeError(msg)
        seen.add(owned.child.resource)
    for watch in cls.watches:
        _check_kind(cls, "watches", watch.target)
        if watch.index not in paths:
            known = ", ".join(sorted(paths)) or "none"
            kind = watch.target.resource.kind
            msg = f"{cls.__name__}.watches: {kind} names the index {watch.index!r}; declared are: {known}"
            raise TypeError(msg)
    for read in cls.reads:
        _check_kind(cls, "reads", read)
    _check_values(cls)


def _check_values(cls: type[Reconciler[Any]]) -> None:
    triggers: object = cls.triggers
    if not isinstance(triggers, Predicate):
        msg = (
            f"{cls.__name__}.triggers: {cls.triggers!r} is no predicate; give one such as GenerationChanged()"
        )
        raise TypeError(msg)
    if cls.finalizer is not None and not _QUALIFIED.fullmatch(cls.finalizer):
        msg = (
            f"{cls.__name__}.finalizer: {cls.finalizer!r} must be a qualified name like 'example.com/cleanup'"
        )
        raise TypeError(msg)
    if cls.concurrency < 1:
        msg = f"{cls.__name__}.concurrency: {cls.concurrency} must be at least 1"
        raise TypeError(msg)
    if not cls.deadline > 0:
        msg = f"{cls.__name__}.deadline: {cls.deadline} must be above 0 seconds"
        raise TypeError(msg)


def _check_kind(cls: type[Reconciler[Any]], attribute: str, child: object) -> None:
    if not isinstance(getattr(child, "resource", None), ResourceKind):
        msg = f"{cls.__name__}.{attribute}: {child!r} is no kind; give a class such as Deployment"
        raise TypeError(msg)
