"""`openclaw manifests`: what it writes for an operator of one's own, and where it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw.cli.main import _parser, main

SOURCE = '''
from openclaw import Context, CustomResource, Model, Reconciler, Result

class {kind}(CustomResource, group="cli.test.openclaw.dev", version="v1"):
    """A kind."""

    class Spec(Model):
        """Nothing."""

class {kind}Reconciler(Reconciler[{kind}]):
    """Does nothing."""

    async def reconcile(self, ctx: Context, obj: {kind}) -> Result:
        return Result.done()
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working folder, with an operator in `sub/my_page.py` and another in `other.py`."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/my_page.py").write_text(SOURCE.format(kind="Page"))
    (tmp_path / "other.py").write_text(SOURCE.format(kind="Other"))
    return tmp_path


def stateful_set(folder: Path) -> dict[str, Any]:
    text = (folder / "deploy/base/operator.yaml").read_text()
    (found,) = [it for it in yaml.safe_load_all(text) if it["kind"] == "StatefulSet"]
    return dict(found)


def container(folder: Path) -> dict[str, Any]:
    (found,) = stateful_set(folder)["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_an_operator_of_ones_own_is_deployed_under_its_own_name(folder: Path) -> None:
    assert main(["manifests", "sub/my_page.py"]) == 0
    assert stateful_set(folder)["metadata"]["namespace"] == "my-page-system"
    assert container(folder)["image"] == "my-page:latest"
    assert container(folder)["args"][:2] == ["run", "sub/my_page.py"]
    assert "name: openclaw" not in (folder / "deploy/base/rbac.yaml").read_text()


def test_everything_can_be_named(folder: Path) -> None:
    given = {
        "--name": "pager",
        "--image": "registry.example.com/pager:1",
        "--run-target": "/app/pager.py:PageReconciler",
        "--operator-namespace": "ops",
        "--watch-namespace": "shop",
    }
    assert main(["manifests", "sub/my_page.py", *(part for pair in given.items() for part in pair)]) == 0
    run = _parser().parse_args(container(folder)["args"])
    assert (run.target, run.namespace) == ("/app/pager.py:PageReconciler", "shop")
    assert container(folder)["image"] == "registry.example.com/pager:1"
    assert stateful_set(folder)["metadata"] | {"labels": {}} == {
        "name": "pager",
        "namespace": "ops",
        "labels": {},
    }
    roles = [
        (it["kind"], it["metadata"]["namespace"], it["metadata"]["name"])
        for it in yaml.safe_load_all((folder / "deploy/base/rbac.yaml").read_text())
        if it["kind"] == "Role"
    ]
    assert roles == [("Role", "shop", "pager-operator"), ("Role", "ops", "pager-shard")]


def test_the_shipped_operator_is_as_it_was(folder: Path) -> None:
    assert main(["manifests"]) == 0
    assert stateful_set(folder)["metadata"]["namespace"] == "openclaw-system"
    assert container(folder)["image"] == "openclaw:latest"
    shard = ["--shard", "$(POD_NAME)", "--shard-group", "openclaw"]
    assert container(folder)["args"] == ["run", "--metrics-address", "0.0.0.0:8080", *shard]


@pytest.mark.parametrize("name", ["openclaw.py", "1st.py", "_.py"])
def test_a_file_that_names_no_operator(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (folder / "other.py").rename(folder / name)
    assert main(["manifests", name]) == 2
    assert "--name" in capsys.readouterr().err
    assert main(["manifests", name, "--name", "mine"]) == 0


def test_each_file_is_told_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["manifests", "other.py"])
    assert "wrote crds/cli.test.openclaw.dev_others.yaml" in capsys.readouterr().out.splitlines()
    (folder / "other.py").write_text(SOURCE.format(kind="Another"))
    main(["manifests", "other.py"])
    said = capsys.readouterr().out.splitlines()
    assert "removed crds/cli.test.openclaw.dev_others.yaml" in said
    assert "wrote crds/cli.test.openclaw.dev_anothers.yaml" in said
    assert "unchanged deploy/base/operator.yaml" in said


def test_another_operators_files_stay(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["manifests"])
    before = {path: path.read_text() for path in folder.rglob("*.yaml")}
    assert main(["manifests", "other.py"]) == 1
    assert "operator.yaml is of the operator openclaw" in capsys.readouterr().err
    assert {path: path.read_text() for path in folder.rglob("*.yaml")} == before
    assert main(["manifests", "other.py", "--output", "build"]) == 0


def test_a_wrong_name_is_a_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "other.py", "--name", "No Name"]) == 2
    assert capsys.readouterr().err.startswith("openclaw manifests: the operator's name 'No Name' must be")
