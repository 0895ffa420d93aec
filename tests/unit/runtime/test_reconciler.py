from typing import Any, ClassVar, Generic, TypeVar

import pytest

from openclaw.api.builtin import ClusterRole, ConfigMap, Deployment, Secret, Service
from openclaw.api.openclaw import OpenClaw
from openclaw.api.resource import CustomResource
from openclaw.runtime import (
    ContentChanged,
    Context,
    GenerationChanged,
    Owns,
    Reconciler,
    Result,
    StatusChanged,
    Watch,
    index,
)
from openclaw.runtime.reconciler import owned_kinds

R = TypeVar("R", bound=CustomResource)
C = TypeVar("C")


class Good(Reconciler[OpenClaw]):
    owns: ClassVar = (Deployment, Owns(Service, triggers=StatusChanged()))
    indexes: ClassVar = (
        index("spec.globalConfig.imagePullSecrets[*]", "secrets"),
        index("spec.worker.queue"),
    )
    watches: ClassVar = (Watch(Secret, "secrets"),)
    reads: ClassVar = (ConfigMap,)
    finalizer: ClassVar = "example.com/cleanup"

    async def reconcile(self, ctx: Context, obj: OpenClaw) -> Result:
        return Result.done()


def declare(**attributes: Any) -> type[Reconciler[OpenClaw]]:
    async def reconcile(self: object, ctx: object, obj: object) -> Result:
        return Result.done()

    namespace = {"reconcile": reconcile, "__orig_bases__": (Reconciler[OpenClaw],), **attributes}
    return type("Declared", (Reconciler,), namespace)


def test_the_type_argument_is_the_root() -> None:
    assert Good.root is OpenClaw
    assert Good.name == "openclaws"
    assert Good().name == "openclaws"


def test_a_name_of_its_own() -> None:
    assert declare(name="claws").name == "claws"


def test_an_index_goes_by_its_path_unless_it_has_a_name() -> None:
    assert [item.name for item in Good.indexes] == ["secrets", "spec.worker.queue"]


def test_the_long_form_of_owns() -> None:
    deployment, service = owned_kinds(Good)
    assert (deployment.child, deployment.triggers) == (Deployment, ContentChanged())
    assert (service.child, service.triggers) == (Service, StatusChanged())


def test_a_base_class_may_leave_the_root_open() -> None:
    class Base(Reconciler[R]):
        async def reconcile(self, ctx: Context, obj: R) -> Result:
            return Result.done()

    class Concrete(Base[OpenClaw]):
        pass

    assert not hasattr(Base, "root")
    assert Concrete.root is OpenClaw
    with pytest.raises(TypeError, match=r"class Base\(Reconciler\[YourKind\]\)"):
        Base()


def test_a_base_class_may_have_type_arguments_of_its_own() -> None:
    class Base(Reconciler[R], Generic[R, C]):
        async def reconcile(self, ctx: Context, obj: R) -> Result:
            return Result.done()

    class Concrete(Base[OpenClaw, int]):
        pass

    assert Concrete.root is OpenClaw


def test_without_a_root_nothing_can_be_made() -> None:
    class Rootless(Reconciler):  # type: ignore[type-arg]
        async def reconcile(self, ctx: Context, obj: Any) -> Result:
            return Result.done()

    with pytest.raises(TypeError, match="name the root kind"):
        Rootless()


def test_a_constructor_of_its_own_gets_its_arguments() -> None:
    class WithArguments(Reconciler[OpenClaw]):
        def __init__(self, region: str, *, retries: int) -> None:
            self.region, self.retries = region, retries

        async def reconcile(self, ctx: Context, obj: OpenClaw) -> Result:
            return Result.done()

    made = WithArguments("eu", retries=3)
    assert (made.region, made.retries) == ("eu", 3)


def _not_async(self: object, ctx: object, obj: object) -> Result:
    return Result.done()


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"owns": (Deployment, Owns(Deployment))}, r"Declared\.owns: Deployment is listed twice"),
        ({"owns": ("Deployment",)}, r"Declared\.owns: 'Deployment' is no kind"),
        ({"reads": ("Secret",)}, r"Declared\.reads: 'Secret' is no kind"),
        (
            {"watches": (Watch(Secret, "x"),)},
            r"Declared\.watches: Secret names the index 'x'; declared are: none",
        ),
        (
            {"watches": (Watch(Secret, "x"),), "indexes": (index("spec.b"), index("spec.a"))},
            r"declared are: spec\.a, spec\.b",
        ),
        ({"watches": (Watch(int, "x"),), "indexes": (index("x"),)}, r"Declared\.watches: .* is no kind"),  # type: ignore[arg-type]
        (
            {"indexes": (index("spec.a", "x"), index("spec.b", "x"))},
            r"Declared\.indexes: 'x' names both 'spec\.a' and 'spec\.b'",
        ),
        ({"finalizer": "cleanup"}, r"Declared\.finalizer: 'cleanup' must be a qualified name"),
        ({"finalizer": "example.com/clean up"}, r"qualified name"),
        ({"finalizer": "Example.com/x"}, r"qualified name"),
        ({"finalizer": "example.com/" + "x" * 64}, r"qualified name"),
        ({"concurrency": 0}, r"Declared\.concurrency: 0 must be at least 1"),
        ({"deadline": 0}, r"Declared\.deadline: 0 must be above 0"),
        ({"deadline": float("nan")}, r"Declared\.deadline"),
        ({"triggers": GenerationChanged}, r"Declared\.triggers: .* is no predicate"),
        ({"reconcile": _not_async}, r"Declared: reconcile and finalize must be coroutines"),
        ({"finalize": _not_async}, r"Declared: reconcile and finalize must be coroutines"),
    ],
)
def test_a_declaration_that_could_not_work_is_refused_where_it_is_made(
    attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        declare(**attributes)


def test_the_same_index_may_be_declared_twice() -> None:
    assert len(declare(indexes=(index("spec.a"), index("spec.a"))).indexes) == 2


async def test_a_reconciler_that_does_nothing_says_what_is_missing() -> None:
    class Empty(Reconciler[OpenClaw]):
        pass

    with pytest.raises(TypeError, match="Empty does not define `async def reconcile"):
        await Empty().reconcile(None, None)  # type: ignore[arg-type]
    assert await Empty().finalize(None, None) == Result.done()  # type: ignore[arg-type]


def test_results() -> None:
    assert Result.done() == Result(None)
    assert Result.after(5).requeue_after == 5.0


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_result_without_a_delay_would_be_a_run_without_end(seconds: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Result.after(seconds)


def test_a_child_without_a_namespace_needs_an_owner_without_one() -> None:
    with pytest.raises(TypeError, match="owns: ClusterRole has no namespace and its owner OpenClaw has one"):
        declare(owns=(ClusterRole,))
