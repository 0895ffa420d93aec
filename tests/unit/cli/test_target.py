"""A TARGET that can't be used is told in a line that names the place, and exit status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.cli.errors import CommandError
from openclaw.cli.main import main
from openclaw.cli.target import load_reconcilers, make_reconcilers, name_of_target

KIND = '''
from openclaw import Context, CustomResource, Model, Reconciler, Result

class Thing(CustomResource, group="cli.test.openclaw.dev", version="v1"):
    """A kind."""

    class Spec(Model):
        """Nothing."""
'''
RECONCILER = """
class ThingReconciler(Reconciler[Thing]):
    async def reconcile(self, ctx: Context, obj: Thing) -> Result:
        return Result.done()
"""


MISTAKES = {
    "an import": ("import os\nimport no_such_library\n", 2, "No module named 'no_such_library'"),
    "the syntax": ("a = 1\nb = (\n", 2, "was never closed"),
    "a defect": ("def f():\n    raise KeyError('PAGE')\n\nf()\n", 2, "KeyError: 'PAGE'"),
    "an exit": ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
    "a declaration": (KIND + "        a: object = 1\n", 7, "no structural schema"),
}


@pytest.mark.parametrize("command", ["run", "manifests"])
@pytest.mark.parametrize("how", ["file", "module"])
@pytest.mark.parametrize("mistake", list(MISTAKES))
def test_a_mistake_is_shown_with_its_line(
    command: str, how: str, mistake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, line, text = MISTAKES[mistake]
    (tmp_path / "faulty_operator.py").write_text(source)
    assert main([command, "faulty_operator.py" if how == "file" else "faulty_operator"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert f"faulty_operator.py, line {line}: " in said
    assert text in said


def test_the_users_line_is_shown_and_not_one_of_what_it_calls(tmp_path: Path) -> None:
    (tmp_path / "reader.py").write_text("import json\n\ndef read():\n    return json.loads('{')\n")
    (tmp_path / "operator_file.py").write_text("import reader\n\nreader.read()\n")
    with pytest.raises(CommandError, match=r"reader\.py, line 4: .*JSONDecodeError"):
        load_reconcilers("operator_file.py")


def test_what_lies_beside_a_file_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/its_kinds.py").write_text(KIND)
    (tmp_path / "sub/its_operator.py").write_text("from its_kinds import *\n" + RECONCILER)
    assert [it.__name__ for it in load_reconcilers("sub/its_operator.py")] == ["ThingReconciler"]


def test_a_file_may_be_called_as_a_module(tmp_path: Path) -> None:
    for name in ("openclaw.py", "json.py"):
        (tmp_path / name).write_text(KIND + RECONCILER)
        assert [it.__name__ for it in load_reconcilers(name)] == ["ThingReconciler"]
    import json

    import openclaw

    assert hasattr(openclaw, "Manager")
    assert hasattr(json, "loads")


@pytest.mark.parametrize("target", ["nothing.py", "nothing", "json.nothing", "json", "json:loads"])
def test_what_is_not_there(target: str) -> None:
    with pytest.raises(CommandError, match=target.partition(":")[0]) as raised:
        load_reconcilers(target)
    assert raised.value.status == 2


@pytest.mark.parametrize(
    ("constructor", "said"),
    [
        ("self, directory", "made without arguments.*'directory'.*Manager\\(ThingReconciler"),
        ("self, *, directory", "made without arguments.*'directory'"),
        ("self, directory=1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_constructor_that_needs_arguments(
    constructor: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "operator_file.py").write_text(
        f"{KIND}{RECONCILER}\n    def __init__({constructor}):\n        pass\n"
    )
    assert main(["run", "operator_file.py"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("openclaw run: ")
    with pytest.raises(CommandError, match=said):
        make_reconcilers(load_reconcilers("operator_file.py"))


def test_a_constructor_that_fails(tmp_path: Path) -> None:
    (tmp_path / "operator_file.py").write_text(
        f"{KIND}{RECONCILER}\n    def __init__(self):\n        raise KeyError('PAGE_DIRECTORY')\n"
    )
    with pytest.raises(CommandError, match=r"operator_file\.py, line 15: KeyError: 'PAGE_DIRECTORY'"):
        make_reconcilers(load_reconcilers("operator_file.py"))


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (None, "openclaw"),
        ("page.py", "page"),
        ("examples/page/page.py:PageReconciler", "page"),
        ("my_operator.py", "my-operator"),
        ("mypackage.operator:Mine", "mypackage-operator"),
    ],
)
def test_names(target: str | None, name: str) -> None:
    assert name_of_target(target) == name
