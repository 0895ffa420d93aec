"""The provider of things behind a JSON API, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from openclaw.providers.credentials.secret import StaticSource
from openclaw.providers.descriptors import Drift, Target
from openclaw.providers.errors import (
    ExternalAlreadyExists,
    ExternalConflict,
    ExternalInvalid,
    ExternalNotFound,
    ExternalTerminal,
    ExternalThrottled,
    ExternalTransient,
    ExternalUnauthorised,
    ProviderError,
)
from openclaw.providers.http import (
    AllowedHosts,
    HTTPApi,
    HTTPObserved,
    HTTPProvider,
    HTTPProviderFactory,
    HTTPRequest,
    HTTPWanted,
)
from openclaw.providers.protocol import Finder
from tests.unit.providers.fakes import OWNER
from tests.unit.providers.json_api import JsonApi, serving

ITEM = "/records/${identity}"
CHOSEN = HTTPApi(
    get=HTTPRequest(method="GET", path=ITEM),
    create=HTTPRequest(method="PUT", path=ITEM),
    update=HTTPRequest(method="PUT", path=ITEM),
    delete=HTTPRequest(method="DELETE", path=ITEM),
    health=HTTPRequest(method="GET", path="/health"),
    state="/data",
    owner="/owner",
)
OWN = replace(
    CHOSEN,
    create=HTTPRequest(method="POST", path="/records"),
    identity="/data/id",
    find=HTTPRequest(method="GET", path="/records?owner=${uid}"),
    items="/items",
    values={"uid": OWNER.uid, "name": OWNER.name, "namespace": OWNER.namespace},
)


@pytest_asyncio.fixture
async def api() -> AsyncIterator[JsonApi]:
    async with serving(JsonApi()) as started:
        yield started


@pytest_asyncio.fixture
async def provider(api: JsonApi) -> AsyncIterator[HTTPProvider]:
    connected = await connect(api)
    yield connected.described(CHOSEN)
    await connected.close()


async def connect(api: JsonApi, **values: str) -> HTTPProvider:
    origin = api.url.removesuffix("/v1")
    factory = HTTPProviderFactory(AllowedHosts.parse(origin))
    return await factory.connect(Target("api", endpoint=api.url), StaticSource(values))


def wanted(identity: str = "www", **body: Any) -> HTTPWanted:
    return HTTPWanted(identity, OWNER, {"type": "A", **body})


async def test_a_life_of_a_thing_that_we_name(api: JsonApi, provider: HTTPProvider) -> None:
    await provider.health()
    with pytest.raises(ExternalNotFound, match="no such record"):
        await provider.get("www")
    made = await provider.create(wanted(address="10.0.0.1"))
    assert (made.identity, made.owner_uid) == ("www", OWNER.uid)
    seen = await provider.get("www")
    assert seen.body["serial"] == 1
    assert not provider.compare(wanted(address="10.0.0.1"), seen)
    changed = wanted(address="10.0.0.2")
    drift = provider.compare(changed, seen)
    assert str(drift) == "address: 10.0.0.1 -> 10.0.0.2"
    assert (await provider.update(changed, seen, drift)).body["address"] == "10.0.0.2"
    await provider.delete("www", None)
    with pytest.raises(ExternalNotFound):
        await provider.delete("www", None)
    assert api.records == {}


async def test_a_thing_that_the_system_names_is_found_again_by_its_owner(
    api: JsonApi, provider: HTTPProvider
) -> None:
    it = provider.described(OWN)
    assert isinstance(it, Finder)
    with pytest.raises(ExternalNotFound):
        await it.find(OWNER)
    made = await it.create(wanted("", address="10.0.0.1"))
    assert made.identity == "r-1"
    found = await it.find(OWNER)
    assert (found.identity, found.owner_uid) == ("r-1", OWNER.uid)
    assert api.seen[-1] == "GET /v1/records?owner=uid-1"


async def test_an_identity_is_one_segment_of_a_path(api: JsonApi, provider: HTTPProvider) -> None:
    with pytest.raises(ExternalNotFound):
        await provider.get("a/../../etc?x=1#y")
    assert api.seen == ["GET /v1/records/a%2F..%2F..%2Fetc%3Fx%3D1%23y"]
    for identity in ("..", "."):
        with pytest.raises(ExternalInvalid, match="no part of a path"):
            await provider.get(identity)
    out = provider.described(replace(CHOSEN, get=HTTPRequest(method="GET", path="/../../admin")))
    with pytest.raises(ExternalInvalid, match="leads out"):
        await out.get("x")
    unknown = provider.described(replace(CHOSEN, get=HTTPRequest(method="GET", path="/${nonsense}")))
    with pytest.raises(ExternalInvalid, match=r"\$\{nonsense\} is unknown; there are \$\{identity\}"):
        await unknown.get("x")
    assert len(api.seen) == 1


@pytest.mark.parametrize(
    ("status", "headers", "error"),
    [
        (400, {}, ExternalInvalid),
        (401, {}, ExternalUnauthorised),
        (403, {}, ExternalUnauthorised),
        (404, {}, ExternalNotFound),
        (408, {}, ExternalTransient),
        (409, {}, ExternalConflict),
        (410, {}, ExternalNotFound),
        (418, {}, ExternalInvalid),
        (422, {}, ExternalInvalid),
        (429, {"Retry-After": "7"}, ExternalThrottled),
        (451, {}, ExternalTerminal),
        (500, {}, ExternalTransient),
        (501, {}, ExternalTerminal),
        (503, {"Retry-After": "7"}, ExternalTransient),
        (301, {"Location": "http://169.254.169.254/"}, ExternalInvalid),
    ],
)
async def test_a_status_has_a_meaning(
    api: JsonApi, provider: HTTPProvider, status: int, headers: dict[str, str], error: type[ProviderError]
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"error": "as planned"}, status=status, headers=headers)

    api.before = answer
    with pytest.raises(error, match=f"GET /v1/records/www: {status}: .*as planned") as caught:
        await provider.get("www")
    assert caught.value.code == str(status)
    if "Retry-After" in headers:
        assert caught.value.retry_after == 7
    assert len(api.seen) == 1, "no redirect is followed"


async def test_an_api_may_mean_something_else_by_a_status(api: JsonApi, provider: HTTPProvider) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({}, status=400)

    api.before = answer
    it = provider.described(
        replace(CHOSEN, get=HTTPRequest(method="GET", path=ITEM, meanings={400: "NotFound"}))
    )
    with pytest.raises(ExternalNotFound):
        await it.get("www")


async def test_a_create_of_what_exists_and_one_without_a_collection(
    api: JsonApi, provider: HTTPProvider
) -> None:
    statuses = iter((409, 404))

    async def answer(_: web.Request) -> web.Response:
        return web.json_response({}, status=next(statuses))

    api.before = answer
    with pytest.raises(ExternalAlreadyExists):
        await provider.create(wanted())
    with pytest.raises(ExternalInvalid):
        await provider.create(wanted())


@pytest.mark.parametrize(
    ("values", "header", "sent"),
    [
        ({"token": "hunter2"}, "Authorization", "Bearer hunter2"),
        ({"username": "me", "password": "hunter2"}, "Authorization", "Basic bWU6aHVudGVyMg=="),
        ({"header": "X-Api-Key", "value": "hunter2"}, "X-Api-Key", "hunter2"),
        ({}, "Authorization", None),
    ],
    ids=str,
)
async def test_credentials(api: JsonApi, values: dict[str, str], header: str, sent: str | None) -> None:
    it = await connect(api, **values)
    try:
        await it.described(CHOSEN).health()
        assert api.headers.get(header) == sent
    finally:
        await it.close()


@pytest.mark.parametrize(
    "values", [{"token": "a\r\nX: y"}, {"header": "X: y\r\n", "value": "z"}, {"username": "x"}]
)
async def test_credentials_that_fit_no_header(api: JsonApi, values: dict[str, str]) -> None:
    it = await connect(api, **values)
    try:
        with pytest.raises((ExternalInvalid, ExternalUnauthorised)):
            await it.described(CHOSEN).health()
    finally:
        await it.close()
    assert api.seen == []


async def test_credentials_are_in_no_error(api: JsonApi) -> None:
    api.token = "right"
    it = await connect(api, token="hunter2")
    try:
        with pytest.raises(ExternalUnauthorised) as caught:
            await it.described(CHOSEN).get("www")
    finally:
        await it.close()
    assert "bad credentials" in str(caught.value)
    assert "hunter2" not in str(caught.value)


async def test_an_answer_without_an_end_is_cut_off(api: JsonApi, provider: HTTPProvider) -> None:
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        try:
            while sent < 200_000_000:
                await answer.write(b" " * 65536)
                sent += 65536
        except ConnectionError:
            pass
        return answer

    api.before = endless
    with pytest.raises(ExternalInvalid, match="longer than"):
        await provider.get("www")
    assert sent < 50_000_000


@pytest.mark.parametrize("body", ["<html>", "[1, 2]", "3", '{"other": 1}', '{"data": 7}'])
async def test_an_answer_that_makes_no_sense_is_not_taken_for_the_thing(
    api: JsonApi, provider: HTTPProvider, body: str
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=body)

    api.before = answer
    with pytest.raises(ExternalInvalid):
        await provider.get("www")


async def test_a_create_answered_without_an_identity_may_have_had_its_effect(
    api: JsonApi, provider: HTTPProvider
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"data": {}}, status=201)

    api.after = answer
    with pytest.raises(ExternalTransient) as caught:
        await provider.described(OWN).create(wanted(""))
    assert caught.value.outcome_unknown

    async def nonsense(_: web.Request) -> web.Response:
        return web.Response(text="created!", status=201)

    api.after = nonsense
    with pytest.raises(ExternalInvalid) as also:
        await provider.described(OWN).create(wanted(""))
    assert also.value.outcome_unknown


async def test_a_write_answered_without_a_body_is_taken_as_sent(api: JsonApi, provider: HTTPProvider) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=204)

    api.after = answer
    made = await provider.create(wanted(address="10.0.0.1"))
    assert made == HTTPObserved("www", OWNER.uid, {"type": "A", "address": "10.0.0.1", "owner": OWNER.uid})
    changed = wanted(address="10.0.0.2")
    assert (await provider.update(changed, made, Drift())).body["address"] == "10.0.0.2"


async def test_nobody_there_is_no_effect_and_cut_off_is_unknown(api: JsonApi, provider: HTTPProvider) -> None:
    async def cut(request: web.Request) -> None:
        assert request.transport is not None
        request.transport.abort()
        await asyncio.sleep(0)

    api.after = cut
    with pytest.raises(ExternalTransient) as caught:
        await provider.create(wanted())
    assert caught.value.outcome_unknown
    assert api.made == 1
    gone = JsonApi()
    async with serving(gone):
        it = await connect(gone)
    with pytest.raises(ExternalTransient) as refused:
        await it.described(CHOSEN).create(wanted())
    await it.close()
    assert not refused.value.outcome_unknown


async def test_drift_is_of_what_is_wanted_only(provider: HTTPProvider) -> None:
    api = replace(CHOSEN, write_only=("/secret",), owner=None)
    it = provider.described(api)

    def drift(wants: dict[str, Any], has: dict[str, Any]) -> str:
        return str(it.compare(HTTPWanted("x", OWNER, wants), HTTPObserved("x", None, has)))

    assert drift({"a": 1}, {"a": 1.0, "b": 2}) == ""
    assert drift({"a": {"b": [1, 2]}}, {"a": {"b": [1, 2], "c": 3}}) == ""
    assert drift({"a": {"b": [1, 2]}}, {"a": {"b": [2, 1]}}) == "a.b: [2,1] -> [1,2]"
    assert drift({"a": True}, {"a": 1}) == "a: 1 -> true"
    assert drift({"a": "x"}, {}) == "a: nothing -> x"
    assert drift({"a": {"b": 1}}, {"a": None}) == 'a: nothing -> {"b":1}'
    assert drift({"secret": "hunter2", "a": 1}, {"a": 1}) == ""
    assert len(drift({"a": "x" * 1000}, {})) < 150
    fixed = it.described(replace(api, update=None)).compare(
        HTTPWanted("x", OWNER, {"a": 1}), HTTPObserved("x", None, {})
    )
    assert fixed.refused
    assert not fixed.updatable


async def test_the_owner_is_written_where_the_api_keeps_it(provider: HTTPProvider) -> None:
    it = provider.described(replace(CHOSEN, owner="/meta/labels/owner~1uid"))
    made = await it.create(HTTPWanted("x", OWNER, {"meta": {"labels": {"a": "b"}}}))
    assert made.body["meta"]["labels"] == {"a": "b", "owner/uid": OWNER.uid}
    assert made.owner_uid == OWNER.uid
    with pytest.raises(ExternalInvalid, match="something else"):
        await it.create(HTTPWanted("x", OWNER, {"meta": "text"}))


def test_bodies_are_in_no_repr() -> None:
    assert "hunter2" not in repr(wanted(password="hunter2")) + repr(HTTPObserved("x", None, {"p": "hunter2"}))
