"""YAML that every reader takes for the same."""

from typing import Any

import pytest
import yaml

from openclaw.manifests import HEADER, dump


def test_header_and_documents() -> None:
    text = dump([{"a": 1}, {"b": [1]}])
    assert text == HEADER + "---\na: 1\n---\nb:\n  - 1\n"
    assert list(yaml.safe_load_all(text)) == [{"a": 1}, {"b": [1]}]


def test_the_order_of_keys_is_kept_and_nothing_is_shared() -> None:
    shared = {"z": 1, "a": 2}
    assert dump([{"two": shared, "one": shared}]).removeprefix(HEADER) == (
        "---\ntwo:\n  z: 1\n  a: 2\none:\n  z: 1\n  a: 2\n"
    )


def test_text_of_several_lines_is_a_block() -> None:
    assert "text: |-\n  one\n  two\n" in dump([{"text": "one\ntwo"}])


@pytest.mark.parametrize(
    "text",
    [
        "y",
        "n",
        "N",
        "yes",
        "no",
        "on",
        "true",
        "null",
        "~",
        "1",
        "1e3",
        "1E3",
        "0o7",
        "0x1f",
        "1_000",
        ".5",
        "-1",
        "12:30:45",
        ".inf",
        "-.inf",
        ".NaN",
        "2026-01-02",
        "",
        "=",
        "<<",
        "#",
        ": ",
        "a: b",
        "- a",
        "*a",
        "&a",
        "!a",
    ],
)
@pytest.mark.parametrize("place", ["key", "value"])
def test_text_stays_text(text: str, place: str) -> None:
    document: Any = {text: "x"} if place == "key" else {"x": text}
    written = dump([document]).removeprefix(HEADER + "---\n")
    assert yaml.safe_load(written) == document
    if text.lower() in {"y", "n", "1e3", "0o7", ".5", "1_000"}:  # what Go reads otherwise than PyYAML
        assert f"'{text}'" in written


def test_long_text_survives_folding() -> None:
    text = " ".join(["word"] * 200)
    assert yaml.safe_load(dump([{"a": text}])) == {"a": text}
