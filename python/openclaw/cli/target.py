"""From a command's argument to reconcilers: the shipped ones, or those of a file or module."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

from openclaw.cli.errors import CommandError
from openclaw.controllers import SHIPPED, runnable
from openclaw.runtime import Reconciler

__all__ = ["SHIPPED_NAME", "load_reconcilers", "make_reconcilers", "name_of_target"]

SHIPPED_NAME: Final = "openclaw"
"""The name of the shipped operator."""

T = TypeVar("T")
# Lines of the framework, of the standard library and of what is installed say little about a mistake.
_LIBRARIES: Final = (
    Path(__file__).parents[1],
    *(Path(sysconfig.get_path(it)) for it in ("stdlib", "purelib")),
)


def load_reconcilers(target: str | None, *, to_run: bool = False) -> list[type[Reconciler[Any]]]:
    """The reconciler classes of `target`: a `.py` file or a module, with `:ClassName` or not; None is ours.

    Args:
        target: as above.
        to_run: of ours, only those whose dependencies are installed.

    Raises:
        CommandError: there is no such file, module or class, it cannot be imported (the message has file
            and line), or it defines no reconciler.
    """
    if target is None:
        return list(runnable() if to_run else SHIPPED)
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


def make_reconcilers(classes: list[type[Reconciler[Any]]]) -> list[Reconciler[Any]]:
    """An instance of each class, made without arguments.

    Raises:
        CommandError: a class needs arguments, or its constructor fails.
    """
    made = []
    for cls in classes:
        try:
            inspect.signature(cls.__init__).bind(None)
        except TypeError as error:
            raise CommandError(
                f"{cls.__name__}() is made without arguments here: {error}; give its arguments defaults, "
                f"or run it from Python: Manager({cls.__name__}(…)).run()",
                status=2,
            ) from None
        made.append(_guarded(f"{cls.__name__}()", cls))
    return made


def name_of_target(target: str | None) -> str:
    """The name of an operator that is known by its target only: that of the file or module.

    Raises:
        CommandError: the target gives none that is fit for Kubernetes, or that of the shipped operator.
    """
    if target is None:
        return SHIPPED_NAME
    where = target.partition(":")[0]
    stem = Path(where).stem if where.endswith(".py") else where
    name = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
    if not name[:1].isalpha() or name == SHIPPED_NAME:
        why = "is that of the shipped operator" if name == SHIPPED_NAME else "is no name for its objects"
        raise CommandError(f"{target!r}: {name!r} {why}; name yours with --name", status=2)
    return name


def _is_reconciler(item: object) -> bool:
    return inspect.isclass(item) and issubclass(item, Reconciler) and hasattr(item, "root")


def _load(where: str) -> ModuleType:
    if not where.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return _guarded(where, lambda: importlib.import_module(where))
        except ModuleNotFoundError:
            raise CommandError(
                f"{where!r}: no such module; give a module or the path of a .py file", status=2
            ) from None
    path = Path(where)
    if not path.is_file():
        raise CommandError(f"{where!r}: no such file", status=2)
    name = path.stem.replace("-", "_")
    if name in sys.modules:  # a file may be called json.py, or openclaw.py
        name = f"openclaw_target_{name}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{where!r} can't be imported", status=2)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    # What lies beside the file can be imported by it, and hides no other module.
    sys.path.append(str(path.resolve().parent))
    loader = spec.loader
    _guarded(where, lambda: loader.exec_module(module))
    return module


def _guarded(what: str, run: Callable[[], T]) -> T:
    """What `run`, which is the user's code, returns.

    Raises:
        CommandError: it raised something; the message says what, and in which line.
        ModuleNotFoundError: there is no module `what`.
    """
    try:
        return run()
    except ModuleNotFoundError as error:
        if error.name and (what == error.name or what.startswith(f"{error.name}.")):
            raise
        raise _failed(what, error) from error
    except (Exception, SystemExit) as error:
        raise _failed(what, error) from error


def _failed(what: str, error: BaseException) -> CommandError:
    if isinstance(error, SyntaxError):
        place, text = f"{error.filename}, line {error.lineno}", f"{type(error).__name__}: {error.msg}"
    else:
        place, text = _place(error), "".join(traceback.format_exception_only(error)).strip()
    return CommandError(f"{what} failed: {place}: {text}", status=2)


def _place(error: BaseException) -> str:
    """The last line in the error's traceback that is the user's own."""
    frames = [it for it in traceback.extract_tb(error.__traceback__) if not it.filename.startswith("<")]
    users = [
        it for it in frames if not any(Path(it.filename).is_relative_to(folder) for folder in _LIBRARIES)
    ]
    return ", ".join(f"{it.filename}, line {it.lineno}" for it in (users or frames)[-1:])
