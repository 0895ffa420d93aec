"""The operator of the tutorial, tested as the tutorial says; and under the role that it generates."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from examples.page.page import Page, PageReconciler
from openclaw import Manager, Options
from openclaw.manifests import generate
from openclaw.testing import Client, ControlPlane


@pytest.fixture(autouse=True)
async def _page_crd(kube_client: Client, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("crds") / "pages.yaml"
    files = generate([PageReconciler], image="example/page:1")
    file.write_text(files["crds/demo.example.com_pages.yaml"])
    await kube_client.install_crds(file)


async def test_a_page_is_served_listed_and_taken_out(
    control_plane: ControlPlane, kube_client: Client, namespace: str, tmp_path: Path
) -> None:
    options = Options(kubeconfig=str(control_plane.kubeconfig), namespace=namespace)
    manager = Manager(PageReconciler(tmp_path), options=options)
    running = asyncio.create_task(manager.serve())
    try:
        await kube_client.create(
            {
                "apiVersion": "demo.example.com/v1",
                "kind": "Page",
                "metadata": {"name": "hello"},
                "spec": {"text": "Hello", "replicas": 2, "listed": True},
            },
            namespace=namespace,
        )
        await kube_client.wait_for(Page, namespace, "hello", lambda it: it["status"]["readyReplicas"] == 2)
        assert [entry.read_text() for entry in tmp_path.iterdir()] == ["Hello"]
        await kube_client.delete(Page, namespace, "hello")
        await kube_client.wait_gone(Page, namespace, "hello")
        assert not list(tmp_path.iterdir())
    finally:
        manager.stop()
        await running


async def test_a_theme_that_comes_later_runs_the_page_again(
    control_plane: ControlPlane, kube_client: Client, namespace: str, tmp_path: Path
) -> None:
    options = Options(kubeconfig=str(control_plane.kubeconfig), namespace=namespace)
    manager = Manager(PageReconciler(tmp_path), options=options)
    running = asyncio.create_task(manager.serve())
    try:
        page = Page(spec=Page.Spec(text="Hello", theme="dark"))
        page.metadata.name = "themed"
        await kube_client.create(page, namespace=namespace)
        await kube_client.wait_for(
            Page, namespace, "themed", lambda it: it["status"]["conditions"][-1]["reason"] == "ThemeMissing"
        )
        theme = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dark"}}
        # Sooner than the 30 s after which a terminal error is tried again.
        await kube_client.create({**theme, "data": {"style.css": "body {}"}}, namespace=namespace)
        await kube_client.wait_for(
            "ConfigMap", namespace, "themed-page", lambda it: it["data"]["style.css"] == "body {}", timeout=20
        )
        live = await kube_client.wait_for(
            Page, namespace, "themed", lambda it: it["status"]["readyReplicas"] == 1
        )
        assert "Stalled" not in {item["type"] for item in live["status"]["conditions"]}
    finally:
        manager.stop()
        await running
