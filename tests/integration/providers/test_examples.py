"""The examples of external things, as their users have them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from openclaw.api.httpresource import HTTPResource
from openclaw.kube import ConfigSource, Transport
from openclaw.manifests.crd import custom_resource_definition
from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.managers import serving
from tests.integration.reliability.waiting import eventually

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def note() -> Iterator[ModuleType]:
    before = list(sys.path)
    sys.path.append(str(EXAMPLES / "note"))  # as `openclaw run` does
    spec = importlib.util.spec_from_file_location("note_example", EXAMPLES / "note" / "note.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before
    sys.modules.pop("folder", None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    monkeypatch.setenv("NOTES", str(made))
    return made


async def test_a_provider_in_one_file_and_an_operator_on_it(
    note: ModuleType, api_server: ControlPlane, kube_client: Client, namespace: str, folder: Path
) -> None:
    file = folder.with_name("crd.yaml")
    file.write_text(yaml.safe_dump(custom_resource_definition(note.Note)))
    await kube_client.install_crds(file)
    async with (
        Transport(ConfigSource(api_server.kubeconfig)) as transport,
        serving(note.NoteReconciler(), transport=transport, namespace=namespace),
    ):
        body = {"metadata": {"name": "n", "namespace": namespace}, "spec": {"text": "one"}}
        made = await kube_client.create(note.Note.from_dict(body))

        def written() -> str:
            return "".join(it.read_text() for it in folder.iterdir())

        await eventually(lambda: written() == f"owner: {made['metadata']['uid']}\none", "the file")
        await kube_client.patch(note.Note, namespace, "n", {"spec": {"text": "two"}})
        await eventually(lambda: written().endswith("\ntwo"), "the file's change")
        await kube_client.delete(note.Note, namespace, "n")
        await eventually(lambda: not list(folder.iterdir()), "the file's end")


async def test_the_record_of_the_example_is_taken(
    kube_client: Client, api_server: ControlPlane, namespace: str
) -> None:
    for document in yaml.safe_load_all((EXAMPLES / "httpresource" / "record.yaml").read_text()):
        document["metadata"]["namespace"] = namespace
        await kube_client.create(document)
    live = await kube_client.get(HTTPResource, namespace, "www")
    assert HTTPResource.from_dict(live).spec.requests.update is not None
