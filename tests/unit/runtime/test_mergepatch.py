from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.runtime.mergepatch import apply_merge_patch, merge_patch

# RFC 7386, appendix A: those whose target and patch are objects.
RFC: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "result"), RFC)
def test_the_examples_of_the_rfc(
    target: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]
) -> None:
    assert apply_merge_patch(target, patch) == result


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({}, {}, {}),
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1, "b": 2}, {"b": 2}, {"a": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": [1]}, {"a": []}, {"a": []}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        # Nothing to say: what is null or empty and was not there.
        ({}, {"a": None, "b": [], "c": {}}, {}),
        ({"a": None}, {"a": None}, {}),
        ({"a": None}, {}, {}),
        # Not empty: zero, false and the empty text are values.
        ({}, {"a": 0, "b": False, "c": ""}, {"a": 0, "b": False, "c": ""}),
        # Equal in Python, different in JSON.
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": [0]}, {"a": [False]}, {"a": [False]}),
        ({"a": [{"b": 1}]}, {"a": [{"b": True}]}, {"a": [{"b": True}]}),
        ({"a": 1}, {"a": 1.0}, {}),
        ({"a": 1}, {"a": None}, {"a": None}),
    ],
)
def test_the_patch_says_what_differs_and_no_more(
    before: dict[str, Any], after: dict[str, Any], patch: dict[str, Any]
) -> None:
    found = merge_patch(before, after)
    assert found == patch
    assert repr(found) == repr(patch)  # True is not 1


SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2)
KEYS = st.sampled_from("abc")
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=3)


def _plain(value: Any) -> Any:
    """Without what a merge patch cannot say: nulls in maps; maps and lists that are empty in the end."""
    if not isinstance(value, dict):
        return value
    kept = {key: _plain(inner) for key, inner in value.items() if inner is not None}
    return {key: inner for key, inner in kept.items() if inner not in ([], {})}


@given(OBJECTS, OBJECTS)
def test_applied_to_before_it_gives_after(before: dict[str, Any], after: dict[str, Any]) -> None:
    result = apply_merge_patch(before, merge_patch(before, after))
    assert repr(_sorted(_plain(result))) == repr(_sorted(_plain(after)))


@given(OBJECTS)
def test_nothing_to_say_of_the_same(document: dict[str, Any]) -> None:
    assert merge_patch(document, document) == {}


@given(OBJECTS, OBJECTS)
def test_a_patch_that_was_applied_leaves_nothing_to_say(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    # Else a status would be written for ever.
    result = apply_merge_patch(before, merge_patch(before, after))
    again = merge_patch(result, after)
    assert _plain(again) == {}
    assert apply_merge_patch(result, again) == apply_merge_patch(apply_merge_patch(result, again), again)


@given(OBJECTS, OBJECTS)
def test_neither_argument_is_touched(before: dict[str, Any], after: dict[str, Any]) -> None:
    copies = repr((before, after))
    apply_merge_patch(before, merge_patch(before, after))
    assert repr((before, after)) == copies


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
