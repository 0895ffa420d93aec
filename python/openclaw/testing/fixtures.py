"""The pytest plugin: clusters, a client and a namespace as fixtures.

- `control_plane` (session): everything, pods become Ready, with an audit log. Override
  `control_plane_options` (session), its arguments, in a conftest.py: for instance to install CRDs.
- `api_server` (session): etcd and kube-apiserver only, ready sooner; arguments in `api_server_options`.
- `fake_cluster` (function): a `FakeCluster`, in memory, for each test its own; arguments in
  `fake_cluster_options`. `fake_client` is its administrator's `Client`.
- `kube_client`: an administrator's `Client`, of `api_server` when the test asks for that, else of
  `control_plane`.
- `namespace`: the name of a new namespace there, deleted after the test.

Each starts when the first test asks for it. The fake ones and the last two need pytest-asyncio.

With pytest-xdist use `--dist loadgroup`: the tests of one control plane then run on one worker, so that
there is one of each kind, as without xdist. With other modes each worker starts its own, which works but
costs a second of two cores each and some hundred megabytes.

This module is imported in every run of pytest: nothing heavy at its top.
"""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from openclaw.testing.client import Client
    from openclaw.testing.cluster.cluster import FakeCluster
    from openclaw.testing.controlplane import ControlPlane

_SHARED = ("control_plane", "api_server")


@pytest.fixture(scope="session")
def control_plane_options() -> dict[str, Any]:
    """Arguments of the `ControlPlane` of the fixture `control_plane`, to override."""
    return {}


@pytest.fixture(scope="session")
def api_server_options() -> dict[str, Any]:
    """Arguments of the `ControlPlane` of the fixture `api_server`, to override."""
    return {}


@pytest.fixture
def fake_cluster_options() -> dict[str, Any]:
    """Arguments of the `FakeCluster` of the fixture `fake_cluster`, to override."""
    return {}


@pytest.fixture(scope="session")
def control_plane(control_plane_options: dict[str, Any]) -> Iterator[ControlPlane]:
    """A whole control plane, with a node stand-in and an audit log, shared by all tests of the session."""
    from openclaw.testing.controlplane import ControlPlane

    options = {"controller_manager": True, "scheduler": True, "nodes": 1, "audit": True}
    with ControlPlane(**{**options, **control_plane_options}) as started:
        yield started


@pytest.fixture(scope="session")
def api_server(api_server_options: dict[str, Any]) -> Iterator[ControlPlane]:
    """The API server on etcd without any controller, with an audit log, shared by all tests."""
    from openclaw.testing.controlplane import ControlPlane

    with ControlPlane(**{"audit": True, **api_server_options}) as started:
        yield started


# When it is installed, pytest has imported it by now.
if importlib.util.find_spec("pytest_asyncio") is not None:
    import pytest_asyncio

    @pytest_asyncio.fixture(loop_scope="function")
    async def fake_cluster(fake_cluster_options: dict[str, Any]) -> AsyncIterator[FakeCluster]:
        """A cluster in memory, for this test alone."""
        from openclaw.testing.cluster.cluster import FakeCluster

        async with FakeCluster(**fake_cluster_options) as started:
            yield started

    @pytest_asyncio.fixture(loop_scope="function")
    async def fake_client(fake_cluster: FakeCluster) -> AsyncIterator[Client]:
        """An administrator's client of `fake_cluster`."""
        async with fake_cluster.client() as client:
            yield client

    @pytest_asyncio.fixture(loop_scope="function")
    async def kube_client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
        """An administrator's client of `api_server` when the test asks for that, else of `control_plane`."""
        from openclaw.testing.client import Client

        name = "api_server" if "api_server" in request.fixturenames else "control_plane"
        started: ControlPlane = request.getfixturevalue(name)
        async with Client(started.kubeconfig) as client:
            yield client

    @pytest_asyncio.fixture(loop_scope="function")
    async def namespace(kube_client: Client) -> AsyncIterator[str]:
        """A new namespace where `kube_client` looks, deleted after the test."""
        async with kube_client.namespace() as name:
            yield name


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of one control plane on one worker of pytest-xdist (`--dist loadgroup`)."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        used = getattr(item, "fixturenames", ())
        for name in _SHARED:
            if name in used or (name == "control_plane" and "kube_client" in used):
                item.add_marker(pytest.mark.xdist_group(f"openclaw-{name}"))
                break
