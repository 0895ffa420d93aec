"""Clients: the SDK is loaded when it is needed, off the event loop, and retries nothing."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from typing import Any

import pytest

from openclaw.providers.aws import clients
from openclaw.providers.aws.clients import open_client
from openclaw.providers.credentials.secret import StaticSource
from openclaw.providers.credentials.source import Credentials

KEYS = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s"}


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOADED = "print(sorted(it for it in sys.modules if it.split('.')[0] in ('botocore', 'aiobotocore')))"


@pytest.mark.parametrize(
    "imports",
    [
        "import openclaw; openclaw.Manager",
        "import openclaw.controllers",
        "from openclaw.cli.target import load_reconcilers; load_reconcilers(None, to_run=True)",
        "import openclaw.providers.aws.rds, openclaw.providers.aws.sts",
    ],
)
def test_the_sdk_is_not_imported_before_it_is_used(imports: str) -> None:
    assert run_python(f"import sys\n{imports}\n{LOADED}") == "[]"


def test_the_shipped_operators_may_be_made_and_opened_without_the_sdk() -> None:
    """What a shard without an RDSInstance does."""
    code = f"""
        import asyncio, sys
        from openclaw.controllers import SHIPPED
        from openclaw.runtime.services import Services
        from openclaw.telemetry.health import HealthChecks
        from openclaw.telemetry.metrics import Metrics

        async def main():
            for reconciler in SHIPPED:
                async with reconciler().lifespan(Services(Metrics(), HealthChecks())):
                    pass

        asyncio.run(main())
        {LOADED}
    """
    assert run_python(code) == "[]"


def test_without_the_extra_an_operator_says_what_is_missing() -> None:
    code = """
        import asyncio, sys
        sys.modules["botocore"] = sys.modules["aiobotocore"] = None
        from openclaw.providers.aws.clients import open_client
        from openclaw.providers.credentials.secret import StaticSource

        async def main():
            try:
                await open_client("rds", region="eu-central-1", endpoint=None, credentials=StaticSource({}))
            except Exception as error:
                print(type(error).__name__, error)

        asyncio.run(main())
    """
    said = run_python(code)
    assert said.startswith("ExternalTerminal")
    assert "openclaw[aws]" in said


async def test_the_first_client_is_made_ready_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_warm", set())
    threads: list[int] = []
    made = clients._client

    def noting(*arguments: Any) -> Any:
        threads.append(threading.get_ident())
        return made(*arguments)

    monkeypatch.setattr(clients, "_client", noting)
    for _ in range(2):
        client = await open_client(
            "rds", region="eu-central-1", endpoint=None, credentials=StaticSource(KEYS)
        )
        await client.close()
    first, *others = threads
    assert first != threading.get_ident()
    assert others == [threading.get_ident()] * 2


async def test_all_clients_share_a_loader_and_retry_nothing() -> None:
    loaders = set()
    for region in ("eu-central-1", "us-east-1"):
        client = await open_client(
            "rds", region=region, endpoint="http://127.0.0.1:9", credentials=StaticSource(KEYS)
        )
        config = client.meta.config
        assert config.retries["total_max_attempts"] == 1
        assert client.meta.endpoint_url == "http://127.0.0.1:9"
        loaders.add(id(client._loader))
        await client.close()
    assert len(loaders) == 1


async def test_each_request_asks_for_credentials() -> None:
    class Counted:
        identity = "counted"
        fetched = 0

        async def fetch(self) -> Credentials:
            self.fetched += 1
            return Credentials({**KEYS, "AWS_SESSION_TOKEN": f"token-{self.fetched}"})

    source = Counted()
    client = await open_client(
        "rds", region="eu-central-1", endpoint="http://127.0.0.1:9", credentials=source
    )
    sent: list[str] = []

    def before_send(request: Any, **_: Any) -> None:
        sent.append(request.headers["X-Amz-Security-Token"])
        raise StopIteration

    client.meta.events.register("before-send.rds.*", before_send)
    for _ in range(2):
        with pytest.raises((StopIteration, RuntimeError)):
            await client.describe_db_instances()
    await client.close()
    assert [str(it) for it in sent] in (["token-1", "token-2"], ["b'token-1'", "b'token-2'"])
