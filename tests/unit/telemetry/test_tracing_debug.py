"""The debug page, and how late the event loop is."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from openclaw.runtime.lasterrors import LastErrors
from openclaw.runtime.queue import Key, Priority, Queue
from openclaw.telemetry.debug import DebugServer
from openclaw.telemetry.internals import InternalMetrics
from openclaw.telemetry.server import Address, BindError

PICTURE: dict[str, Any] = {
    "running": [{"object": "a/<b>", "seconds": 1.5}],
    "last_errors": [{"object": "a/c", "error": "denied: password=hunter2"}],
    "waiting": [],
}


async def get(server: DebugServer, path: str, **headers: str) -> tuple[int, str, Any]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{server.address}{path}", headers=headers) as answer,
    ):
        return answer.status, await answer.text(), answer.headers


async def test_it_listens_on_loopback_unless_told() -> None:
    async with DebugServer(Address("", 0), lambda: PICTURE) as server:
        assert server.address.host == "127.0.0.1"
        assert (await get(server, "/debug"))[0] == 200


async def test_page_and_json_show_the_picture_without_secrets_or_markup() -> None:
    async with DebugServer(Address("127.0.0.1", 0), lambda: PICTURE) as server:
        _, page, headers = await get(server, "/debug")
        _, text, _ = await get(server, "/debug.json")
    assert "a/&lt;b&gt;" in page
    assert "<b>" not in page
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert '"object": "a/<b>"' in text
    for body in (page, text):
        assert "hunter2" not in body
        assert "[redacted]" in body


async def test_a_web_page_that_somebody_visits_cannot_read_it() -> None:
    async with DebugServer(Address("127.0.0.1", 0), lambda: PICTURE) as server:
        status, text, _ = await get(server, "/debug.json", Host="rebound.example.com")
        assert (status, "a/c" in text) == (403, False)
        assert (await get(server, "/debug.json", Host="localhost:1"))[0] == 200


async def test_an_address_that_is_taken_is_named_with_its_flag() -> None:
    async with DebugServer(Address("127.0.0.1", 0), lambda: PICTURE) as server:
        with pytest.raises(BindError, match=rf"{server.address}.*--debug-address"):
            await DebugServer(server.address, lambda: PICTURE).__aenter__()


async def test_the_queue_says_who_waits_and_for_how_long() -> None:
    queue = Queue(clock=lambda: 100.0)
    queue.add(Key("a", "b"), Priority.CHANGE, "x")
    queue.add(Key("a", "c"), Priority.RETRY, "x", delay=5.0)
    assert queue.waiting(10) == [(Key("a", "b"), 0.0), (Key("a", "c"), 5.0)]
    assert len(queue.waiting(1)) == 1
    queue.close()


def test_last_errors_are_of_keys_that_have_not_succeeded_since_and_bounded() -> None:
    errors = LastErrors()
    for number in range(300):
        errors.note(Key("a", str(number)), ValueError("token=abcdefgh"), "transient", 1)
    errors.note(Key("a", "299"), ValueError("again"), "transient", 2)
    errors.forget(Key("a", "298"))
    latest = errors.latest_first()
    assert len(latest) == 255
    assert [key.name for key, _ in latest[:2]] == ["299", "297"]
    assert (latest[0][1].error, latest[0][1].attempt) == ("ValueError: again", 2)
    assert latest[1][1].error == "ValueError: token=[redacted]"


async def test_what_holds_up_the_event_loop_is_seen() -> None:
    registry = CollectorRegistry()
    # The first sleep of 0.001 ends 0.25 later than planned, the others in time.
    clock = itertools.chain([0.0, 0.251], itertools.repeat(1.0))
    measuring = asyncio.create_task(InternalMetrics(registry).measure_lag(0.001, clock=lambda: next(clock)))

    def sample(name: str) -> float:
        return registry.get_sample_value(f"openclaw_event_loop_lag_seconds_{name}") or 0.0

    async with asyncio.timeout(30):
        while sample("count") < 2:
            await asyncio.sleep(0)
    measuring.cancel()
    assert sample("sum") == pytest.approx(0.25)
