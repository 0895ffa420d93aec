"""Providers by entry point: also those of a package of somebody else's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from openclaw.providers.descriptors import Target
from openclaw.providers.registry import UnknownProviderError, load_provider, provider_names
from tests.unit.providers.fakes import Source

MODULE = """
class Thing:
    async def close(self): pass

class Factory:
    name = "third-{n}"
    async def connect(self, target, credentials):
        return Thing()

PROVIDER = Factory()
NONE = object()
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two distributions of other people's."""
    monkeypatch.syspath_prepend(str(tmp_path))
    install(
        tmp_path,
        "third-one",
        {
            "third-1": "third_one:PROVIDER",
            "third-class": "third_one:Factory",
            "third-none": "third_one:NONE",
            "third-missing": "third_one:ABSENT",
            "third-broken": "third_broken:PROVIDER",
            "third-sdk": "third_sdk:PROVIDER",
            "third-twice": "third_one:PROVIDER",
        },
    )
    install(tmp_path, "third-two", {"third-twice": "third_two:PROVIDER"})
    (tmp_path / "third_one.py").write_text(MODULE.replace("{n}", "1"))
    (tmp_path / "third_broken.py").write_text("raise RuntimeError('at import')")
    (tmp_path / "third_sdk.py").write_text("import some_sdk_that_is_not_there")
    for name in ("third_one", "third_broken", "third_sdk"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def install(folder: Path, name: str, points: dict[str, str]) -> None:
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "\n".join(f"{key} = {value}" for key, value in points.items())
    (info / "entry_points.txt").write_text(f"[openclaw.providers]\n{lines}\n")


async def test_a_third_package_brings_a_provider(installed: Path) -> None:
    assert "third-1" in provider_names()
    assert "third_one" not in sys.modules, "nothing is imported before it is asked for"
    factory = load_provider("third-1")
    assert factory.name == "third-1"
    made = await factory.connect(Target("account"), Source())
    assert type(made).__name__ == "Thing"


def test_the_shipped_ones_are_there() -> None:
    assert {"aws-rds", "http"} <= set(provider_names())
    for name in ("aws-rds", "http"):
        assert load_provider(name).name == name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nowhere", r"no provider is called 'nowhere'; installed are: .*third-1.*entry point"),
        (
            "third-none",
            r"third-one \(third_one:NONE\) names no ProviderFactory: it needs `name = 'third-none'`",
        ),
        ("third-class", r"names no ProviderFactory: it needs `name = 'third-class'`"),
        ("third-missing", r"is not where third-one \(third_one:ABSENT\) says"),
        ("third-broken", r"fails while it is imported: RuntimeError: at import"),
        (
            "third-sdk",
            r"cannot be imported: No module named 'some_sdk_that_is_not_there' \(install third-one",
        ),
        ("third-twice", r"more than one provider is called 'third-twice': third-one .*, third-two"),
    ],
)
def test_what_is_wrong_is_said(installed: Path, name: str, text: str) -> None:
    with pytest.raises(UnknownProviderError, match=text):
        load_provider(name)
