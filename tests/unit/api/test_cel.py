"""CEL that the framework writes itself."""

import pytest

from openclaw.api.cel import escape, is_reachable, literal


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("replicas", "replicas"),
        ("namespace", "__namespace__"),
        ("in", "__in__"),
        ("a-b", "a__dash__b"),
        ("a.b", "a__dot__b"),
        ("a/b", "a__slash__b"),
        ("a__b", "a__underscores__b"),
        ("x-prop", "x__dash__prop"),
        ("internal", "internal"),
    ],
)
def test_escape(name: str, escaped: str) -> None:
    assert escape(name) == escaped
    assert is_reachable(name)


@pytest.mark.parametrize("name", ["a b", "1a", "ä", ""])
def test_unreachable(name: str) -> None:
    assert not is_reachable(name)


def test_literal() -> None:
    assert literal(r"a'\d" + "\n") == r"'a\'\\d\n'"
