"""Clients of the stand-in that need no socket: they take the place of the SDK's own.

What they are asked is checked and written as the SDK does, with its own model of the service; what they
answer and raise is what the SDK makes of the stand-in's XML. So whoever uses them runs the same code as over
HTTP.
`tests/contract/rds` holds the two to each other. Needs the extra `aws`.

    provider = RDSProviderFactory(InProcess(cloud).open_client)
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from typing import Any, Final

from botocore import xform_name
from botocore.errorfactory import ClientExceptionsFactory
from botocore.exceptions import ConnectionClosedError
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from botocore.session import Session

from openclaw.providers.credentials.source import Credentials, CredentialSource
from openclaw.testing.rds.accounts import AccessKey
from openclaw.testing.rds.cloud import STS, Cloud
from openclaw.testing.rds.errors import AWSError
from openclaw.testing.rds.ledger import Call
from openclaw.testing.rds.operations import READS
from openclaw.testing.rds.passage import Garbled, Lost, identifier_of, passing
from openclaw.testing.rds.signature import signature_mismatch
from openclaw.testing.rds.wire import decode

__all__ = ["Delays", "InProcess"]

Delays = Callable[[], float]
"""Seconds that a message is on its way, drawn for each."""

_UNSIGNED: Final = "AssumeRoleWithWebIdentity"
_REFUSED: Final = 300
_SERVER_ERROR: Final = 500


class InProcess:
    """The door in process.

    Args:
        cloud: the stand-in, whose clock is the running loop's.
        delay: how long requests and answers are on their way; by default a turn of the event loop.
        actor: the name of the process that calls, for the ledger.
        sending: called with each call that may change something, before it is on its way.
    """

    def __init__(
        self,
        cloud: Cloud,
        *,
        delay: Delays = lambda: 0.0,
        actor: Callable[[], str] = lambda: "",
        sending: Callable[[Call], None] = lambda _: None,
    ) -> None:
        self._cloud = cloud
        self._delay = delay
        self._actor = actor
        self._sending = sending

    async def open_client(
        self, service: str, *, region: str, endpoint: str | None, credentials: CredentialSource
    ) -> Any:
        """As `openclaw.providers.aws.clients.open_client`; the endpoint is not looked at."""
        del endpoint
        return _Client(self, service, region, credentials)

    async def send(
        self, service: str, operation: str, body: Mapping[str, Any], region: str, keys: Credentials
    ) -> dict[str, Any]:
        """One call.

        Raises:
            AWSError: it is refused.
            Lost: there is no answer.
            Garbled: the answer is none of AWS'.
        """
        cloud = self._cloud
        parameters = decode((name, str(value)) for name, value in body.items())
        signed = operation != _UNSIGNED and bool(keys["AWS_ACCESS_KEY_ID"])
        call = Call(
            cloud.clock.now(),
            account="",
            region=region if signed else "",
            operation=operation,
            identifier=identifier_of(parameters),
            access_key=keys["AWS_ACCESS_KEY_ID"] if signed else "",
            actor=self._actor(),
        )
        if operation not in READS and operation not in STS:
            self._sending(call)
        await asyncio.sleep(self._delay())
        call.time = cloud.clock.now()
        cloud.ledger.append(call)
        # What has reached the other side is no longer the caller's: it goes on when he is no more.
        task = asyncio.get_running_loop().create_task(
            self._arrived(service, parameters, call, keys), name=f"{service} {operation}", context=Context()
        )
        task.add_done_callback(lambda it: it.cancelled() or it.exception())
        try:
            answer = await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()  # the connection is closed
            raise
        await asyncio.sleep(self._delay())
        return answer

    async def _arrived(
        self, service: str, parameters: dict[str, Any], call: Call, keys: Credentials
    ) -> dict[str, Any]:
        try:
            caller = self._caller(call, keys)
        except AWSError as error:
            call.result = error.code
            raise
        return await passing(self._cloud, service, parameters, call, caller)

    def _caller(self, call: Call, keys: Credentials) -> AccessKey | None:
        if not call.access_key:
            return None
        key = self._cloud.identities.find(call.access_key, keys.values.get("AWS_SESSION_TOKEN"))
        if key.secret != keys["AWS_SECRET_ACCESS_KEY"]:
            raise signature_mismatch()
        call.account = key.account
        return key


class _Client:
    """One service in one region, as the SDK's client: a method for each operation."""

    def __init__(self, door: InProcess, service: str, region: str, credentials: CredentialSource) -> None:
        self._door = door
        self._service = service
        self._region = region
        self._credentials = credentials
        self._operations = _operations(service)
        self.exceptions = _exceptions(service)

    def __getattr__(self, name: str) -> Callable[..., Awaitable[dict[str, Any]]]:
        operation = self._operations.get(name)
        if operation is None:
            raise AttributeError(f"{self._service} has no operation {name}")
        return functools.partial(self._call, operation)

    async def close(self) -> None:
        """There is nothing to close."""

    async def _call(self, operation: Any, **parameters: Any) -> dict[str, Any]:
        request = _serializer(operation.service_model.protocol).serialize_to_request(parameters, operation)
        keys = await self._credentials.fetch()
        try:
            answer = await self._door.send(self._service, operation.name, request["body"], self._region, keys)
        except AWSError as error:
            raise self._refusal(error, operation.name) from None
        except Lost as error:
            raise ConnectionClosedError(endpoint_url=f"https://{self._service}", error=error) from None
        except Garbled as garbled:
            return self._read(garbled, operation)
        parsed: dict[str, Any] = _parsed(answer, operation.output_shape) if operation.output_shape else {}
        return {**parsed, "ResponseMetadata": {"HTTPStatusCode": 200, "RetryAttempts": 0}}

    def _read(self, garbled: Garbled, operation: Any) -> dict[str, Any]:
        """What the SDK makes of an answer that is none of AWS'; mostly an error."""
        parser = create_parser(operation.service_model.protocol)
        answer = {"status_code": garbled.status, "headers": {}, "body": garbled.body}
        read: dict[str, Any] = parser.parse(answer, operation.output_shape)
        if garbled.status >= _REFUSED:
            raise self._error(read, operation.name)
        return read

    def _refusal(self, error: AWSError, operation: str) -> Exception:
        told = {
            "Type": "Receiver" if error.status >= _SERVER_ERROR else "Sender",
            "Code": error.code,
            "Message": error.message,
        }
        metadata = {"HTTPStatusCode": error.status, "HTTPHeaders": {}, "RetryAttempts": 0}
        return self._error({"Error": told, "ResponseMetadata": metadata}, operation)

    def _error(self, response: dict[str, Any], operation: str) -> Exception:
        made: Exception = self.exceptions.from_code(response["Error"]["Code"])(response, operation)
        return made


@functools.cache
def _exceptions(service: str) -> Any:
    return ClientExceptionsFactory().create_client_exceptions(_session().get_service_model(service))


@functools.cache
def _session() -> Session:
    return Session()


@functools.cache
def _operations(service: str) -> dict[str, Any]:
    model = _session().get_service_model(service)
    return {xform_name(name): model.operation_model(name) for name in model.operation_names}


@functools.cache
def _serializer(protocol: str) -> Any:
    return create_serializer(protocol, include_validation=True)


def _parsed(value: Any, shape: Any) -> Any:
    """What the SDK makes of a value's XML: what is None is not there, nor what its model does not know."""
    if shape.type_name == "structure":
        return {
            name: _parsed(value[name], member)
            for name, member in shape.members.items()
            if value.get(name) is not None
        }
    if shape.type_name == "list":
        return [_parsed(item, shape.member) for item in value]
    return value
