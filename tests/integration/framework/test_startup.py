"""What a manager says as it begins."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, ClassVar

import pytest

from openclaw.api.builtin import ConfigMap
from openclaw.kube import ConfigSource, Transport
from openclaw.manifests import operator_rules
from openclaw.runtime import Reconciler
from openclaw.testing import Client, ControlPlane
from tests.integration.framework.conftest import Serve
from tests.integration.framework.kinds import Probe, Widget, WidgetProbe, widget
from tests.integration.reliability.accounts import describe, new_account, refused
from tests.integration.reliability.managers import serving
from tests.integration.reliability.waiting import eventually


class Owner(Probe[Widget], Reconciler[Widget]):
    """With two kinds in its caches."""

    owns: ClassVar = (ConfigMap,)


@pytest.fixture(autouse=True)
def _verbose(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="openclaw.runtime")


def said(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, Any]]:
    return [it.__dict__["fields"] for it in caplog.records if it.getMessage() == message]


MISSING = "the namespace that is watched does not exist"


async def test_it_says_where_it_connects_to_and_what_it_found(
    client: Client, namespace: str, serve: Serve, transport: Transport, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "b"):
        await client.create(widget(name, namespace))
    async with serve(Owner()):
        await eventually(lambda: said(caplog, "caches synced"), "the caches")
    (connecting,) = said(caplog, "connecting to the API server")
    assert (connecting["server"], connecting["namespace"]) == (transport.server, namespace)
    (synced,) = said(caplog, "caches synced")
    assert synced["objects"]["Widget"] == 2
    assert set(synced["objects"]) == {"Widget", "ConfigMap"}
    assert said(caplog, MISSING) == []


async def test_while_nothing_is_reached_nothing_is_said_to_be_there(caplog: pytest.LogCaptureFixture) -> None:
    class Nowhere(Transport):
        """Connects to nothing."""

        server = "http://nowhere.test"

        async def request(self, *_: Any, **__: Any) -> Any:
            asked.set()
            await asyncio.Event().wait()

    asked = asyncio.Event()
    async with serving(WidgetProbe(), transport=Nowhere(), synced=False):
        await asked.wait()
        assert said(caplog, "connecting to the API server") != []
        assert said(caplog, "caches synced") == []


async def test_a_namespace_that_does_not_exist_is_warned_of_and_may_come_later(
    client: Client, serve: Serve, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    probe = WidgetProbe()
    later = f"{namespace}-later"
    async with serve(probe, namespace=later):
        await eventually(lambda: said(caplog, MISSING), "the warning")
        assert said(caplog, MISSING)[0]["watched"] == later
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": later}})
        await client.create(widget("a", later))
        await eventually(lambda: probe.runs["a"], "a run")
    await client.delete("Namespace", None, later)


async def test_an_empty_namespace_is_no_mistake(
    client: Client, namespace: str, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(WidgetProbe()):
        await eventually(lambda: said(caplog, "caches synced"), "the caches")
        await client.create(widget("a", namespace))
    assert said(caplog, MISSING) == []


def _is_question(event: dict[str, Any]) -> bool:
    return (
        bool(event["objectRef"]["resource"] == "selfsubjectaccessreviews") if "objectRef" in event else False
    )


async def test_who_may_not_know_does_not_ask(
    api_server: ControlPlane, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Under the generated role nothing is refused, and nothing is claimed."""
    me = await new_account(api_server, client, rules=operator_rules([WidgetProbe]))
    async with Transport(ConfigSource(me.kubeconfig), user_agent="openclaw-startup") as transport:
        probe = WidgetProbe()
        async with serving(probe, transport=transport, namespace=namespace):
            await eventually(lambda: any(map(_is_question, api_server.audit_events(me.user))), "the question")
            await client.create(widget("a", namespace))
            await eventually(lambda: probe.runs["a"], "a run")
    assert said(caplog, MISSING) == []
    assert [describe(it) for it in refused(me.requests())] == []
