"""Sets of fields: the trees behave as sets of paths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openclaw.testing.cluster.fields.sets import (
    LEAF,
    SELF,
    FieldSet,
    difference,
    has,
    intersection,
    only,
    union,
    without,
)

Paths = frozenset[tuple[str, ...]]

_ELEMENTS = st.sampled_from(["f:a", "f:b", 'k:{"name":"a"}', 'v:"x"'])
PATHS = st.frozensets(st.lists(_ELEMENTS, min_size=1, max_size=3).map(tuple), max_size=6)


def tree(paths: Paths) -> FieldSet:
    """The tree that holds these paths."""
    root: FieldSet = {}
    for path in paths:
        node = root
        for element in path:
            node = node.setdefault(element, {})
    return _marked(root, (), paths)


def _marked(node: FieldSet, path: tuple[str, ...], paths: Paths) -> FieldSet:
    result = {key: _marked(below, (*path, key), paths) for key, below in node.items()}
    if result and path in paths:
        result[SELF] = LEAF
    return result


def paths_of(node: FieldSet, path: tuple[str, ...] = ()) -> Paths:
    """The paths that a tree holds."""
    found = {path} if path and has(node) else set[tuple[str, ...]]()
    for key, below in node.items():
        if key != SELF:
            found |= paths_of(below, (*path, key))
    return frozenset(found)


@given(PATHS)
def test_a_tree_holds_its_paths(paths: Paths) -> None:
    assert paths_of(tree(paths)) == paths


@given(PATHS, PATHS)
def test_as_sets(one: Paths, other: Paths) -> None:
    left, right = tree(one), tree(other)
    assert union(left, right) == tree(one | other)
    assert difference(left, right) == tree(one - other)
    assert intersection(left, right) == tree(one & other)
    # None of it changes what was given.
    assert (left, right) == (tree(one), tree(other))


@given(PATHS)
def test_by_the_first_element(paths: Paths) -> None:
    keys = frozenset({"f:a"})
    assert only(tree(paths), keys) == tree(frozenset(path for path in paths if path[0] in keys))
    assert without(tree(paths), keys) == tree(frozenset(path for path in paths if path[0] not in keys))
