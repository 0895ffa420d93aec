"""The fence: until when, and for which slots."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from openclaw.api.builtin import ConfigMap
from openclaw.kube.client import Client
from openclaw.kube.transport import Response, Transport
from openclaw.runtime.errors import ErrorClass, classify
from openclaw.sharding import Fence, LostFence, boot_clock


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Sent(Transport):
    """Notes what is sent, and how long it may take."""

    def __init__(self) -> None:
        super().__init__()
        self.timeouts: list[tuple[str, float]] = []

    async def request(self, method: str, path: str, *, timeout: float = 0, **_: object) -> Response:
        self.timeouts.append((method, timeout))
        return Response(200, b"{}")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def fence(clock: Clock) -> Fence:
    return Fence("claw-0", clock)


def test_nothing_is_written_before_a_lease_is_held(fence: Fence) -> None:
    with pytest.raises(LostFence, match="holds no Lease yet"):
        fence.check()


def test_it_is_up_until_its_moment(fence: Fence, clock: Clock) -> None:
    fence.extend(110)
    assert fence.check() == 10
    clock.now = 110
    with pytest.raises(LostFence, match="was not renewed in time"):
        fence.check()
    fence.extend(115)
    assert fence.check() == 5


def test_a_lost_one_acts_on_nothing(fence: Fence) -> None:
    fence.extend(110)
    fence.start(frozenset({1}))
    fence.lose("the Lease was taken")
    assert fence.acting == frozenset()
    with pytest.raises(LostFence, match="the Lease was taken"):
        fence.check()


async def test_a_task_writes_for_its_slot_only(fence: Fence) -> None:
    fence.extend(110)
    fence.start(frozenset({1, 2}))
    fence.stop(frozenset({2}))
    fence.check()

    async def checked() -> float:
        return fence.check()

    with fence.acting_on(1):
        assert await asyncio.create_task(checked()) == 10
    with fence.acting_on(2):
        theirs = asyncio.create_task(checked())
    with pytest.raises(LostFence, match="slot 2 is not this shard's"):
        await theirs


async def test_a_run_of_an_earlier_term_writes_nothing(fence: Fence) -> None:
    fence.extend(110)
    fence.start(frozenset({1}))
    with fence.acting_on(1):
        fence.lose("a pause")
        fence.extend(120)
        fence.start(frozenset({1}))
        with pytest.raises(LostFence, match="slot 1 is not"):
            fence.check()
    with fence.acting_on(1):
        assert fence.check() == 20


async def test_every_write_of_the_client_asks_it_and_no_read(fence: Fence) -> None:
    sent = Sent()
    client = Client(sent, fence=fence, timeout=30)
    await client.get(ConfigMap.resource, "shop", "a")
    writes: tuple[Callable[[], Awaitable[bytes]], ...] = (
        lambda: client.apply(ConfigMap.resource, "shop", "a", b"{}"),
        lambda: client.create(ConfigMap.resource, "shop", b"{}"),
        lambda: client.merge_patch(ConfigMap.resource, "shop", "a", {}),
        lambda: client.delete(ConfigMap.resource, "shop", "a"),
    )
    for write in writes:
        with pytest.raises(LostFence):
            await write()
    assert sent.timeouts == [("GET", 30)]
    fence.extend(107)
    for write in writes:
        await write()
    assert sent.timeouts[1:] == [("PATCH", 7), ("POST", 7), ("PATCH", 7), ("DELETE", 7)]


def test_losing_it_is_a_class_of_error() -> None:
    assert classify(LostFence("x")) is ErrorClass.FENCED


def test_the_clock_goes_on() -> None:
    assert 0 < boot_clock() <= boot_clock()
