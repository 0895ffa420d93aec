"""From a command's argument to reconcilers: the shipped ones, or those of a file or module."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from openclaw.cli.errors import CommandError
from openclaw.controllers import SHIPPED
from openclaw.runtime import Reconciler

__all__ = ["load_reconcilers"]


def load_reconcilers(target: str | None) -> list[type[Reconciler[Any]]]:
    """The reconciler classes of `target`: a `.py` file or a module, with `:ClassName` or not; None is ours.

    Raises:
        CommandError: there is no such file, module or class, or it defines no reconciler.
    """
    if target is None:
        return list(SHIPPED)
    where, _, name = target.partition(":")
    module = _load(where)
    if name:
        found: Any = getattr(module, name, None)
        if not _is_reconciler(found):
            raise CommandError(f"{target!r}: {name} is no Reconciler of {where}", status=2)
        return [found]
    classes = [
        item for item in vars(module).values() if _is_reconciler(item) and item.__module__ == module.__name__
    ]
    if not classes:
        raise CommandError(f"{target!r} defines no Reconciler with a root kind", status=2)
    return classes


def _is_reconciler(item: object) -> bool:
    return inspect.isclass(item) and issubclass(item, Reconciler) and hasattr(item, "root")


def _load(where: str) -> ModuleType:
    if not where.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(where)
        except ModuleNotFoundError as error:
            if error.name is None or not (where == error.name or where.startswith(f"{error.name}.")):
                raise
            raise CommandError(
                f"{where!r}: no such module; give a module or the path of a .py file", status=2
            ) from None
    path = Path(where)
    if not path.is_file():
        raise CommandError(f"{where!r}: no such file", status=2)
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{where!r} can't be imported", status=2)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module
