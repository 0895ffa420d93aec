"""Cases: named stories of requests, told to both servers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.conformance.doors import Door
from tests.conformance.recording import Client, Seen

Story = Callable[[Client], Awaitable[None]]


@dataclass(frozen=True)
class Case:
    """A story; its name is `area/what`."""

    name: str
    story: Story

    @property
    def area(self) -> str:
        return self.name.partition("/")[0]


class Collection:
    """The cases of a module."""

    def __init__(self, area: str) -> None:
        self.area = area
        self.cases: list[Case] = []

    def __call__(self, story: Story) -> Story:
        """Take a function as a case, named by it."""
        self.add(story.__name__.replace("_", " "), story)
        return story

    def add(self, name: str, story: Story) -> None:
        """Take a story under this name."""
        self.cases.append(Case(f"{self.area}/{name}", story))


def all_cases() -> list[Case]:
    """The cases of all modules in `cases/`."""
    folder = Path(__file__).with_name("cases")
    modules = [import_module(f"tests.conformance.cases.{file.stem}") for file in sorted(folder.glob("*.py"))]
    cases = [case for module in modules for case in module.case.cases]
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"cases of the same name: {twice}"
    return cases


async def run(case: Case, door: Door, number: int) -> list[Seen]:
    """What a server answers to a case."""
    words = re.sub(r"[^a-z0-9]+", "-", case.name.lower()).strip("-")
    # Names as long as their kind allows; a number keeps them apart.
    namespace = f"{words[:40].strip('-')}-{number}"
    client = Client(door, namespace)
    await client.send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}, record=False)
    account = {"metadata": {"name": "default"}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await client.send("POST", path, account, record=False)
    try:
        await case.story(client)
    finally:
        await client.send("DELETE", f"/api/v1/namespaces/{namespace}", record=False)
    return client.transcript


def differences(real: list[Seen], fake: list[Seen]) -> list[str]:
    """Where two transcripts differ, one line each; none when they agree."""
    found: list[str] = []
    for at, (one, other) in enumerate(zip(real, fake, strict=False)):
        place = f"{at + 1}. {one.request}"
        if one.request != other.request:
            found.append(f"{place}: the embedded server was asked {other.request}")
        if one.code != other.code:
            found.append(f"{place}: {other.code} {_short(other.body)}, real: {one.code} {_short(one.body)}")
            continue
        for what in ("body", "warnings"):
            _compare(getattr(one, what), getattr(other, what), f"{place} {what}", found)
    if len(real) != len(fake):
        found.append(f"{len(real)} answers of the real server, {len(fake)} of the embedded one")
    return found


def _short(body: Any) -> Any:
    """What a failure says, or that there is none."""
    if not isinstance(body, dict) or body.get("kind") != "Status":
        return "(object)"
    causes = [f"{one.get('field')}: {one['message']}" for one in body.get("details", {}).get("causes", ())]
    return f"{body.get('message')} {causes}"


def _compare(real: Any, fake: Any, path: str, found: list[str]) -> None:
    if isinstance(real, dict) and isinstance(fake, dict):
        for key in sorted(real.keys() | fake.keys()):
            if key not in fake:
                found.append(f"{path}.{key}: missing, real: {real[key]!r}")
            elif key not in real:
                found.append(f"{path}.{key}: {fake[key]!r}, real: missing")
            else:
                _compare(real[key], fake[key], f"{path}.{key}", found)
    elif isinstance(real, list) and isinstance(fake, list) and len(real) == len(fake):
        for at, (one, other) in enumerate(zip(real, fake, strict=True)):
            _compare(one, other, f"{path}[{at}]", found)
    elif isinstance(real, list) and isinstance(fake, list):
        found.extend(f"{path}: only the embedded one has {one!r}" for one in fake if one not in real)
        found.extend(f"{path}: only the real one has {one!r}" for one in real if one not in fake)
        if len(found) == 0 or not found[-1].startswith(path):
            found.append(f"{path}: {len(fake)} items, real: {len(real)}")
    elif real != fake or type(real) is not type(fake):
        found.append(f"{path}: {fake!r}, real: {real!r}")
