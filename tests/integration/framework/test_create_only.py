"""A server-side apply that names resourceVersion 1 can only create; the applier's promise rests on that."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from openclaw.api import ConfigMap, CustomResource, Deployment, Unstructured
from openclaw.kube.client import Client as Writer
from openclaw.kube.errors import Conflict
from openclaw.testing import Client
from tests.integration.framework.kinds import Widget

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "y"}]}}
SPECS: dict[type[Unstructured | CustomResource], dict[str, Any]] = {
    ConfigMap: {"data": {"ours": "yes"}},
    Deployment: {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}},
    Widget: {"spec": {}},
}


@pytest.mark.parametrize("kind", SPECS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("force", [False, True])
async def test_it_creates_and_never_joins(
    client: Client, namespace: str, kind: type[Unstructured | CustomResource], *, force: bool
) -> None:
    resource = kind.resource
    intent = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "a", "namespace": namespace, "resourceVersion": "1"},
        **SPECS[kind],
    }
    body = orjson.dumps(intent)
    ours = Writer(client.transport, field_manager="ours")
    theirs = Writer(client.transport, field_manager="theirs")
    made = orjson.loads(await theirs.apply(resource, namespace, "a", body, force=force))
    assert made["metadata"]["uid"]
    for writer in (ours, theirs):
        with pytest.raises(Conflict):
            await writer.apply(resource, namespace, "a", body, force=force)
    live = orjson.loads(await ours.get(resource, namespace, "a"))
    assert [entry["manager"] for entry in live["metadata"]["managedFields"]] == ["theirs"]
