"""The documentation's Python is that of the examples and tests, or runs by itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import openclaw

_ROOT = Path(__file__).parents[3]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SOURCES = "\n".join(
    file.read_text()
    for folder in ("examples", "tests/integration/examples")
    for file in sorted((_ROOT / folder).rglob("*.py"))
)


def blocks() -> Iterator[pytest.ParameterSet]:
    for document in [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md"))]:
        for number, block in enumerate(_BLOCK.findall(document.read_text()), 1):
            yield pytest.param(block, id=f"{document.stem}-{number}")


def is_copied(block: str) -> bool:
    """Whether each `async def` and class of the block is in a source as it stands."""
    parts = re.split(r"\n\n(?=async def |class )", block.strip("\n"))
    return all(part in _SOURCES for part in parts if not re.match(r"(from|import) ", part))


@pytest.mark.parametrize("block", list(blocks()))
def test_python_in_the_documentation_is_true(
    block: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if is_copied(block):
        return
    monkeypatch.syspath_prepend(str(_ROOT / "examples/page"))
    monkeypatch.chdir(tmp_path)
    # The README leaves out its imports.
    names: dict[str, object] = {"__name__": "snippet"} | {
        it: getattr(openclaw, it) for it in openclaw.__all__
    }
    exec(compile(block, "snippet", "exec"), names)
    for name, value in names.items():
        if name.startswith("test_") and inspect.isfunction(value):
            assert not inspect.iscoroutinefunction(value), f"copy {name} from tests/integration/examples"
            if not inspect.signature(value).parameters:
                value()
