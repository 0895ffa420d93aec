"""In processes of their own: what is imported once stays."""

import subprocess
import sys

import pytest


def run(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr


LOAD = """
import sys, asyncio, pathlib, tempfile
import openclaw.kube
from openclaw.kube import ConfigSource
path = pathlib.Path(tempfile.mkdtemp()) / "config"
path.write_text('''
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: a, user: {token: abc}}]
''')
assert asyncio.run(ConfigSource(path).load()).authorization == "Bearer abc"
generated = ("kubernetes_asyncio.client.models", "kubernetes_asyncio.client.api")
models = [name for name in sys.modules if name.startswith(generated)]
"""


NAMES = """
from kubernetes_asyncio.client import CoreV1Api, ApiClient
CoreV1Api.list_namespace

from kubernetes_asyncio import config

async def main():
    client = await config.new_client_from_config(str(path))
    assert type(client) is ApiClient
    await client.close()

asyncio.run(main())

import kubernetes_asyncio
for module in (kubernetes_asyncio, kubernetes_asyncio.client):
    try:
        module.NoSuchThing
    except AttributeError as error:
        assert "NoSuchThing" in str(error)
    else:
        raise SystemExit("no error")
"""


def test_reading_a_configuration_imports_no_generated_models() -> None:
    run(LOAD + "assert not models, models[:3]")


@pytest.mark.parametrize(
    "use",
    [
        NAMES,
        "import kubernetes_asyncio; assert kubernetes_asyncio.__version__; kubernetes_asyncio.watch.Watch",
        "from kubernetes_asyncio.client import *; V1Pod()",
    ],
)
def test_others_in_the_process_use_the_library_as_usual(use: str) -> None:
    run(LOAD + use)


def test_nothing_else_that_is_large_is_imported_with_it() -> None:
    run(LOAD + "assert 'aiohttp' not in sys.modules")


def test_oidc_still_finds_what_it_needs() -> None:
    use = """
from kubernetes_asyncio.config import kube_config
requestor = kube_config.OpenIDRequestor("id", "secret", "http://127.0.0.1:1", None)
import kubernetes_asyncio.config.openid as openid
assert type(requestor) is openid.OpenIDRequestor
import urllib3, yaml
assert urllib3.util.make_headers(basic_auth="a:b") and yaml.safe_load("a: 1")
"""
    run(LOAD + use)


def test_a_library_that_was_there_before_is_left_alone() -> None:
    run(
        "import kubernetes_asyncio\nbefore = kubernetes_asyncio.client.CoreV1Api\n"
        + LOAD
        + "assert kubernetes_asyncio.client.CoreV1Api is before"
    )
