import orjson
import pytest

from openclaw._core import Cache
from openclaw.runtime.predicates import (
    Always,
    AnnotationChanged,
    ContentChanged,
    DeletionChanged,
    FieldChanged,
    FieldEquals,
    FinalizersChanged,
    GenerationChanged,
    LabelChanged,
    OwnersChanged,
    Predicate,
    ResourceVersionChanged,
    SpecChanged,
    StatusChanged,
)

G: dict[str, object] = {"generation": {}}
S: dict[str, object] = {"status": {}}
D: dict[str, object] = {"deletion": {}}
TABLE: list[tuple[Predicate, object]] = [
    (Always(), {"always": {}}),
    (GenerationChanged(), G),
    (ResourceVersionChanged(), {"resourceVersion": {}}),
    (ContentChanged(), {"content": {}}),
    (SpecChanged(), {"spec": {}}),
    (StatusChanged(), S),
    (LabelChanged(), {"labels": {}}),
    (LabelChanged("app"), {"label": "app"}),
    (LabelChanged(""), {"label": ""}),
    (AnnotationChanged(), {"annotations": {}}),
    (AnnotationChanged("example.com/restart"), {"annotation": "example.com/restart"}),
    (FinalizersChanged(), {"finalizers": {}}),
    (OwnersChanged(), {"owners": {}}),
    (DeletionChanged(), D),
    (FieldChanged("status.readyReplicas"), {"changed": "status.readyReplicas"}),
    (FieldEquals("status.phase", "Ready"), {"equals": ["status.phase", "Ready"]}),
    (FieldEquals("spec.paused", value=True), {"equals": ["spec.paused", True]}),
    (FieldEquals("spec.host", None), {"equals": ["spec.host", None]}),
    (GenerationChanged() | DeletionChanged(), {"any": [G, D]}),
    (GenerationChanged() & DeletionChanged(), {"all": [G, D]}),
    (~GenerationChanged(), {"not": G}),
    # Chains stay flat, and only those of one operator.
    (GenerationChanged() | StatusChanged() | DeletionChanged(), {"any": [G, S, D]}),
    (GenerationChanged() | (StatusChanged() | DeletionChanged()), {"any": [G, S, D]}),
    (GenerationChanged() & StatusChanged() | DeletionChanged(), {"any": [{"all": [G, S]}, D]}),
    (GenerationChanged() & (StatusChanged() | DeletionChanged()), {"all": [G, {"any": [S, D]}]}),
    (~(GenerationChanged() | StatusChanged()), {"not": {"any": [G, S]}}),
]


@pytest.mark.parametrize(("predicate", "compiled"), TABLE)
def test_what_a_predicate_compiles_to(predicate: Predicate, compiled: object) -> None:
    assert orjson.loads(predicate.compiled()) == compiled


@pytest.mark.parametrize("predicate", [predicate for predicate, _ in TABLE])
def test_the_core_takes_each_of_them(predicate: Predicate) -> None:
    assert Cache().subscribe(predicate.compiled(), b'{"self":{}}') == 0


def test_combining_leaves_the_parts_as_they_are() -> None:
    left, right = GenerationChanged() | StatusChanged(), DeletionChanged() | SpecChanged()
    before = (left.compiled(), right.compiled())
    _ = (left | right, left & right, ~left)
    assert (left.compiled(), right.compiled()) == before


def test_equal_predicates_are_equal() -> None:
    assert GenerationChanged() | StatusChanged() == GenerationChanged() | StatusChanged()
    assert GenerationChanged() != StatusChanged()
    assert len({LabelChanged("a"), LabelChanged("a"), LabelChanged("b")}) == 2
    assert GenerationChanged() != {"generation": {}}


def test_a_predicate_shows_what_it_says() -> None:
    assert repr(LabelChanged("app")) == 'Predicate({"label":"app"})'
