"""The stand-in as a server on loopback, for any AWS client that can be told an endpoint."""

from __future__ import annotations

import random
import uuid
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qsl

from aiohttp import web

from openclaw.testing.rds.accounts import AccessKey
from openclaw.testing.rds.clock import Clock
from openclaw.testing.rds.cloud import STS, Cloud
from openclaw.testing.rds.errors import AWSError
from openclaw.testing.rds.ledger import Call
from openclaw.testing.rds.passage import Garbled, Lost, identifier_of, passing
from openclaw.testing.rds.region import Behaviour
from openclaw.testing.rds.signature import Signature
from openclaw.testing.rds.wire import decode, encode, encode_error

_SHUTDOWN_SECONDS: Final = 0.1


class RDSStandIn(Cloud):
    """RDS and STS on a port of loopback. Use it as an async context manager.

        async with RDSStandIn() as rds:
            key = rds.new_key()
            client = session.create_client("rds", endpoint_url=rds.url, aws_access_key_id=key.id, ...)

    The environment variables AWS_ENDPOINT_URL_RDS and AWS_ENDPOINT_URL_STS lead there too.

    Attributes:
        url: where it listens, once it does.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        behaviour: Behaviour | None = None,
        chance: random.Random | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(clock=clock, behaviour=behaviour, chance=chance)
        self.url = ""
        self._port = port
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen; after `stop` on the same port again."""
        app = web.Application()
        app.router.add_post("/", self._handle)
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}"

    async def stop(self) -> None:
        """Listen no more: connections are refused, calls in flight are cut. Nothing is forgotten."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        request_id = str(uuid.uuid4())
        service = "rds"
        call = Call(self.clock.now(), account="", region="", operation="", identifier="", access_key="")
        self.ledger.append(call)
        try:
            parameters = decode(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
            call.operation, call.identifier = str(parameters.get("Action", "")), identifier_of(parameters)
            signature = Signature.of(request.headers.get("Authorization"))
            if signature is not None:
                service = signature.service
            elif call.operation in STS:
                service = "sts"
            caller = self._authenticate(request, body, signature, call)
            answer = await self._answer(service, parameters, call, caller, request_id)
        except AWSError as error:
            call.result = error.code
            answer = web.Response(
                status=error.status,
                body=encode_error(error, service=service, request_id=request_id),
                content_type="text/xml",
            )
        except Lost:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        answer.headers["x-amzn-RequestId"] = request_id
        return answer

    def _authenticate(
        self, request: web.Request, body: bytes, signature: Signature | None, call: Call
    ) -> AccessKey | None:
        if signature is None:
            return None
        call.access_key, call.region = signature.key, signature.region
        headers = {name.lower(): value for name, value in request.headers.items()}
        key = self.identities.find(signature.key, headers.get("x-amz-security-token"))
        signature.check(key.secret, path=request.path, headers=headers, body=body)
        call.account = key.account
        return key

    async def _answer(
        self, service: str, parameters: dict[str, Any], call: Call, caller: AccessKey | None, request_id: str
    ) -> web.Response:
        try:
            result = await passing(self, service, parameters, call, caller)
        except Garbled as garbled:
            return web.Response(status=garbled.status, body=garbled.body, content_type="text/html")
        body = encode(call.operation, result, service=service, request_id=request_id)
        return web.Response(body=body, content_type="text/xml")
