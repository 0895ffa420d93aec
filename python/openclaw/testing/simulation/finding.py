"""Scenarios by name, from modules that have a list of them called `SCENARIOS`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType

from openclaw.testing.simulation.contracts import Scenario

__all__ = ["find_scenarios"]


def find_scenarios(modules: Iterable[str]) -> Mapping[str, Callable[[], Scenario]]:
    """What makes each scenario anew, by its name.

    Args:
        modules: dotted names of modules that have a list `SCENARIOS` of classes of scenarios, each made
            without arguments; of a package, all its modules are looked at.

    Raises:
        LookupError: a module has none, or two have the same name.
    """
    found: dict[str, Callable[[], Scenario]] = {}
    for name in modules:
        before = len(found)
        for module in _all_modules(name):
            for scenario in getattr(module, "SCENARIOS", ()):
                if scenario.name in found:
                    raise LookupError(f"{module.__name__}: there are two scenarios called {scenario.name!r}")
                found[scenario.name] = scenario if isinstance(scenario, type) else type(scenario)
        if len(found) == before:
            raise LookupError(f"{name} has no list SCENARIOS of scenarios")
    return found


def _all_modules(name: str) -> Iterable[ModuleType]:
    module = importlib.import_module(name)
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        yield importlib.import_module(f"{name}.{info.name}")
