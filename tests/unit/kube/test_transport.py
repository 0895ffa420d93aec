import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from openclaw.kube.config import ConfigSource
from openclaw.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ResourceExpired,
    ServerTimeout,
    ServiceUnavailable,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from openclaw.kube.transport import Transport
from tests.unit.kube.api_stand_in import ApiStandIn, kubeconfig, plain, serving, status


@pytest.fixture
async def api() -> AsyncIterator[ApiStandIn]:
    async with serving() as api:
        yield api


@pytest.fixture
async def transport(api: ApiStandIn, tmp_path: Path) -> AsyncIterator[Transport]:
    source = ConfigSource(kubeconfig(tmp_path / "config", api.url, user={"token": "abc"}))
    async with Transport(source, user_agent="openclaw/test") as transport:
        yield transport


async def test_bytes_out_and_bytes_in(api: ApiStandIn, transport: Transport) -> None:
    api.answer = plain(201, '{"kind":"Pod"}')
    response = await transport.request(
        "POST", "/api/v1/pods", query={"fieldManager": "a b&c"}, body=b"{}", content_type="application/json"
    )
    assert (response.status, response.body, response.warnings) == (201, b'{"kind":"Pod"}', ())
    assert api.requests == ["POST /api/v1/pods?fieldManager=a+b%26c"]
    assert api.bodies == [b"{}"]
    (headers,) = api.headers
    assert headers["Authorization"] == "Bearer abc"
    assert headers["User-Agent"] == "openclaw/test"
    assert headers["Accept"] == "application/json"
    assert headers["Content-Type"] == "application/json"


async def test_quoted_paths_reach_the_server_as_they_are(api: ApiStandIn, transport: Transport) -> None:
    await transport.request("GET", "/apis/rbac/v1/clusterroles/system%3Anode%2Fx")
    assert api.requests == ["GET /apis/rbac/v1/clusterroles/system%3Anode%2Fx"]


async def test_warnings_are_handed_on_without_their_frame(api: ApiStandIn, transport: Transport) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        response = web.json_response({})
        response.headers.add("Warning", r'299 - "v1beta1 is \"deprecated\""')
        response.headers.add("Warning", "odd")
        return response

    api.answer = answer
    response = await transport.request("GET", "/x")
    assert response.warnings == ('v1beta1 is "deprecated"', "odd")


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", BadRequest),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", ResourceExpired),
        (410, "Gone", ResourceExpired),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ServiceUnavailable),
        (500, "ServerTimeout", ServerTimeout),
        (503, "ServiceUnavailable", ServiceUnavailable),
        (504, "Timeout", ServerTimeout),
        (405, "MethodNotAllowed", ApiError),
        # A reason that nobody knows: the code decides.
        (409, "images must be signed", Conflict),
        (403, "", Forbidden),
    ],
)
async def test_the_servers_status_becomes_an_error_of_its_class(
    api: ApiStandIn, transport: Transport, code: int, reason: str, expected: type[ApiError]
) -> None:
    api.answer = status(code, reason, "the server's words", causes=[{"field": "spec.x", "message": "bad"}])
    with pytest.raises(ApiError) as caught:
        await transport.request("PUT", "/x")
    error = caught.value
    assert type(error) is expected
    assert (error.code, error.reason, error.message) == (code, reason, "the server's words")
    assert error.causes == [{"field": "spec.x", "message": "bad"}]
    assert str(error).startswith(f"PUT /x: {code} ")


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (502, "<html>bad gateway</html>", ServiceUnavailable),
        (503, "", ServiceUnavailable),
        (504, "upstream timed out", ServerTimeout),
        (404, "page not found", NotFound),
        (400, '["json", "but no status"]', BadRequest),
        (500, '{"kind": "Other"}', ServiceUnavailable),
        (413, "too large", ApiError),
        (429, "slow down", TooManyRequests),
        (404, '{"kind": "Status", "code": null}', NotFound),
        (404, '{"kind": "Status", "details": 5}', NotFound),
    ],
)
async def test_what_a_proxy_says_becomes_an_error_too(
    api: ApiStandIn, transport: Transport, code: int, text: str, expected: type[ApiError]
) -> None:
    api.answer = plain(code, text)
    with pytest.raises(ApiError) as caught:
        await transport.request("GET", "/x")
    assert type(caught.value) is expected
    assert caught.value.code == code


async def test_a_long_page_of_a_proxy_is_cut(api: ApiStandIn, transport: Transport) -> None:
    api.answer = plain(502, "x" * 100_000)
    with pytest.raises(ServiceUnavailable) as caught:
        await transport.request("GET", "/x")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("-1", 0.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("", None), ("nan", 0.0)],
)
async def test_the_wait_that_the_server_names(
    api: ApiStandIn, transport: Transport, header: str, seconds: float | None
) -> None:
    api.answer = plain(429, "slow down", Retry_After=header)
    with pytest.raises(TooManyRequests) as caught:
        await transport.request("GET", "/x")
    assert caught.value.retry_after == seconds


async def test_the_wait_may_stand_in_the_status(api: ApiStandIn, transport: Transport) -> None:
    api.answer = status(504, "ServerTimeout", retryAfterSeconds=3)
    with pytest.raises(ServerTimeout) as caught:
        await transport.request("GET", "/x")
    assert caught.value.retry_after == 3.0


async def test_redirects_are_not_followed(api: ApiStandIn, transport: Transport) -> None:
    # The token must not go where the server points.
    api.answer = plain(307, "", Location=f"{api.url}/elsewhere")
    with pytest.raises(ApiError, match="307"):
        await transport.request("GET", "/x")
    with pytest.raises(ApiError, match="307"):
        async with transport.stream("/x", query={"watch": "true"}, idle_timeout=5):
            pass
    assert api.requests == ["GET /x", "GET /x?watch=true"]


# No answer


async def test_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        source = ConfigSource(kubeconfig(tmp_path / "config", f"http://127.0.0.1:{port}"))
        codes: list[tuple[str, str, str]] = []
        async with Transport(source, observer=lambda *told: codes.append(told)) as transport:
            with pytest.raises(Unreachable, match=r"DELETE /x: .*127\.0\.0\.1"):
                await transport.request("DELETE", "/x")
            with pytest.raises(Unreachable, match=r"WATCH /x: .*127\.0\.0\.1"):
                async with transport.stream("/x", query={}, idle_timeout=5):
                    pass
    assert codes == [("<error>", method, f"127.0.0.1:{port}") for method in ("DELETE", "GET")]


async def test_the_connection_is_cut_before_the_answer(api: ApiStandIn, transport: Transport) -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    api.answer = cut
    with pytest.raises(Unreachable, match="PATCH /x: "):
        await transport.request("PATCH", "/x", body=b"{}", content_type="application/json")
    assert len(api.requests) == 1, "a write is not repeated: it may have had its effect"


async def test_the_connection_is_cut_in_the_middle_of_the_answer(
    api: ApiStandIn, transport: Transport
) -> None:
    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"half")
        assert request.transport is not None
        request.transport.abort()
        return response

    api.answer = half
    with pytest.raises(Unreachable):
        await transport.request("GET", "/x")


async def test_a_server_that_hangs_is_given_up_and_let_go(api: ApiStandIn, transport: Transport) -> None:
    async def hang(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        return web.Response()

    api.answer = hang
    with pytest.raises(Unreachable, match=r"GET /x: no answer within 0\.05 s"):
        await transport.request("GET", "/x", timeout=0.05)
    await asyncio.wait_for(api.gone.wait(), 10)


async def test_a_cancelled_request_closes_its_connection(api: ApiStandIn, transport: Transport) -> None:
    arrived = asyncio.Event()

    async def hang(_: web.Request) -> web.StreamResponse:
        arrived.set()
        await asyncio.Event().wait()
        return web.Response()

    api.answer = hang
    task = asyncio.create_task(transport.request("GET", "/x"))
    await asyncio.wait_for(arrived.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(api.gone.wait(), 10)


# Life


async def test_metrics_are_told_of_every_request(api: ApiStandIn, tmp_path: Path) -> None:
    codes: list[tuple[str, str]] = []
    source = ConfigSource(kubeconfig(tmp_path / "config", api.url))
    observer = lambda code, method, _: codes.append((code, method))  # noqa: E731
    async with Transport(source, observer=observer) as transport:
        await transport.request("GET", "/x")
        api.answer = status(409, "Conflict")
        with pytest.raises(Conflict):
            await transport.request("PATCH", "/x")
        with pytest.raises(Conflict):
            async with transport.stream("/x", query={}, idle_timeout=5):
                pass
    assert codes == [("200", "GET"), ("409", "PATCH"), ("409", "GET")]


async def test_it_opens_by_itself_and_knows_where_it_is(api: ApiStandIn, tmp_path: Path) -> None:
    source = ConfigSource(kubeconfig(tmp_path / "config", api.url, context={"namespace": "shop"}))
    transport = Transport(source)
    assert transport.namespace == "default"
    await transport.request("GET", "/x")
    assert (transport.server, transport.namespace) == (api.url, "shop")
    await transport.close()


async def test_a_closed_transport_stays_closed(api: ApiStandIn, transport: Transport) -> None:
    # A late request must not open a session that nobody closes.
    await transport.close()
    with pytest.raises(Unreachable, match="the transport is closed"):
        await transport.request("GET", "/x")
    with pytest.raises(Unreachable, match="the transport is closed"):
        async with transport.stream("/x", query={}, idle_timeout=5):
            pass
    await transport.close()
    assert api.requests == []
    await transport.open()
    await transport.request("GET", "/x")


async def test_closing_ends_requests_in_flight(api: ApiStandIn, transport: Transport) -> None:
    arrived = asyncio.Event()

    async def hang(_: web.Request) -> web.StreamResponse:
        arrived.set()
        await asyncio.Event().wait()
        return web.Response()

    api.answer = hang
    task = asyncio.create_task(transport.request("GET", "/x"))
    await asyncio.wait_for(arrived.wait(), 10)
    await transport.close()
    with pytest.raises(Unreachable):
        await asyncio.wait_for(task, 10)


async def test_many_requests_share_the_connections(api: ApiStandIn, tmp_path: Path) -> None:
    peers: set[object] = set()

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return web.json_response({})

    api.answer = answer
    source = ConfigSource(kubeconfig(tmp_path / "config", api.url))
    async with Transport(source, connections=3) as transport:
        await asyncio.gather(*(transport.request("GET", f"/{number}") for number in range(50)))
    assert len(api.requests) == 50
    assert len(peers) <= 3
