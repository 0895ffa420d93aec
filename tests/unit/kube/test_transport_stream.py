import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from openclaw.kube.config import ConfigSource
from openclaw.kube.errors import ResourceExpired, Unauthorized, Unreachable
from openclaw.kube.transport import Transport
from tests.unit.kube.api_stand_in import ApiStandIn, kubeconfig, serving, status, streaming


@pytest.fixture
async def api() -> AsyncIterator[ApiStandIn]:
    async with serving() as api:
        yield api


@pytest.fixture
async def transport(api: ApiStandIn, tmp_path: Path) -> AsyncIterator[Transport]:
    async with Transport(ConfigSource(kubeconfig(tmp_path / "config", api.url))) as transport:
        yield transport


async def read(
    transport: Transport, *, idle_timeout: float = 10, on_chunk: Callable[[], Awaitable[None]] | None = None
) -> bytes:
    """All of a stream."""
    received = b""
    async with transport.stream("/pods", query={}, idle_timeout=idle_timeout) as chunks:
        async for chunk in chunks:
            received += chunk
            if on_chunk is not None:
                await on_chunk()
    return received


async def test_chunks_come_while_the_stream_is_open(api: ApiStandIn, transport: Transport) -> None:
    more = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await more.wait()
        await response.write(b"two\n")
        return response

    api.answer = answer
    async with transport.stream("/pods", query={"watch": "true"}, idle_timeout=10) as chunks:
        assert await anext(chunks) == b"one\n"
        more.set()
        assert await anext(chunks) == b"two\n"
        with pytest.raises(StopAsyncIteration):
            await anext(chunks)
    assert api.requests == ["GET /pods?watch=true"]


async def test_large_events_come_whole(api: ApiStandIn, transport: Transport) -> None:
    event = b"x" * 3_000_000 + b"\n"
    api.answer = streaming(event, event)
    assert await read(transport) == event * 2


async def test_a_silent_stream_is_dead(api: ApiStandIn, transport: Transport) -> None:
    api.answer = streaming(b"one\n", then="hang")
    with pytest.raises(Unreachable, match="WATCH /pods: nothing was received for too long"):
        await read(transport, idle_timeout=0.1)
    await asyncio.wait_for(api.gone.wait(), 10)


async def test_a_server_that_never_answers_a_watch_is_dead(api: ApiStandIn, transport: Transport) -> None:
    async def hang(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        return web.Response()

    api.answer = hang
    with pytest.raises(Unreachable, match="WATCH /pods: nothing was received for too long"):
        async with transport.stream("/pods", query={}, idle_timeout=0.1):
            pass


async def test_a_broken_stream_says_so(api: ApiStandIn, transport: Transport) -> None:
    api.answer = streaming(b"one\n", then="cut")
    with pytest.raises(Unreachable, match="WATCH /pods: "):
        await read(transport)


async def test_a_refused_watch_is_an_error_of_its_class(api: ApiStandIn, transport: Transport) -> None:
    api.answer = status(410, "Expired", "too old resource version")
    with pytest.raises(ResourceExpired, match="WATCH /pods: 410 Expired: too old"):
        async with transport.stream("/pods", query={}, idle_timeout=10):
            pass


async def test_leaving_the_block_closes_the_stream(api: ApiStandIn, transport: Transport) -> None:
    api.answer = streaming(b"one\n", then="hang")
    async with transport.stream("/pods", query={}, idle_timeout=10) as chunks:
        assert await anext(chunks) == b"one\n"
    await asyncio.wait_for(api.gone.wait(), 10)
    # Nothing of it is left to be picked up by the garbage collector.
    with pytest.raises(StopAsyncIteration):
        await anext(chunks)


@pytest.mark.parametrize("error", [ValueError("a fault"), Unauthorized(401, message="in the stream")])
async def test_an_error_of_the_reader_closes_the_stream_and_goes_through(
    api: ApiStandIn, transport: Transport, error: Exception
) -> None:
    api.answer = streaming(b"one\n", then="hang")

    async def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await read(transport, on_chunk=fail)
    assert caught.value is error
    await asyncio.wait_for(api.gone.wait(), 10)
    assert len(api.requests) == 1


async def test_cancelling_the_reader_closes_the_stream(api: ApiStandIn, transport: Transport) -> None:
    api.answer = streaming(b"one\n", then="hang")
    reading = asyncio.Event()

    async def on_chunk() -> None:
        reading.set()

    task = asyncio.create_task(read(transport, on_chunk=on_chunk))
    await asyncio.wait_for(reading.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(api.gone.wait(), 10)


async def test_closing_the_transport_ends_streams(api: ApiStandIn, transport: Transport) -> None:
    api.answer = streaming(b"one\n", then="hang")
    with pytest.raises(Unreachable):
        await read(transport, on_chunk=transport.close)
