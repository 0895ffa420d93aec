"""What is held to one contract: the stand-in over HTTP, the stand-in in process, and moto's server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import aiohttp
from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore import UNSIGNED

from openclaw.providers.credentials.secret import StaticSource
from openclaw.testing.places import free_ports
from openclaw.testing.rds import AccessKey, Behaviour, RDSStandIn, Timelines
from openclaw.testing.rds.inprocess import InProcess

REGION = "eu-central-1"
ACCOUNT = "123456789012"
_SESSION = get_session()  # it keeps the service models
_CONFIG = AioConfig(retries={"total_max_attempts": 1, "mode": "standard"})
_STARTS_WITHIN = 40.0
_ROLE = "operator"


class Keys(Protocol):
    """What a client is made with."""

    id: str
    secret: str


class Place(Protocol):
    url: str

    async def key(self, *denied: str) -> Keys:
        """A key of a user who may everything but the denied actions; it is looked at from now on."""

    async def revoke(self, key: Keys) -> None:
        """The key is no longer active."""

    async def role(self) -> str:
        """The ARN of a role that every key, and the web identity `a.web.identity`, may assume."""


@asynccontextmanager
async def client(
    place: Place,
    key: Keys | None,
    service: str = "rds",
    *,
    token: str | None = None,
    secret: str | None = None,
) -> AsyncIterator[Any]:
    """An AWS client; without a key it signs nothing."""
    if isinstance(place, InProcessPlace):
        yield await place.client(key, service, token=token, secret=secret)
        return
    config = _CONFIG
    credentials = {}
    if key is None:
        config = config.merge(AioConfig(signature_version=UNSIGNED))
    else:
        credentials = {
            "aws_access_key_id": key.id,
            "aws_secret_access_key": secret or key.secret,
            "aws_session_token": token,
        }
    async with _SESSION.create_client(
        service, region_name=REGION, endpoint_url=place.url, config=config, **credentials
    ) as made:
        yield made


class StandInPlace:
    def __init__(self, rds: RDSStandIn) -> None:
        self.rds = rds
        self.url = rds.url

    async def key(self, *denied: str) -> Keys:
        key = self.rds.new_key(ACCOUNT)
        key.denied.update(denied)
        return key

    async def revoke(self, key: Keys) -> None:
        assert isinstance(key, AccessKey)
        key.active = False

    async def role(self) -> str:
        return self.rds.add_role(_ROLE, ACCOUNT, web_identities={"a.web.identity"}).arn


class InProcessPlace(StandInPlace):
    """The same without a socket."""

    async def client(self, key: Keys | None, service: str, *, token: str | None, secret: str | None) -> Any:
        values = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
        if key is not None:
            values = {"AWS_ACCESS_KEY_ID": key.id, "AWS_SECRET_ACCESS_KEY": secret or key.secret}
        if token is not None:
            values["AWS_SESSION_TOKEN"] = token
        return await InProcess(self.rds).open_client(
            service, region=REGION, endpoint=None, credentials=StaticSource(values)
        )


class _MotoKey:
    def __init__(self, user: str, found: dict[str, Any]) -> None:
        self.user = user
        self.id = str(found["AccessKeyId"])
        self.secret = str(found["SecretAccessKey"])


class MotoPlace:
    """Users are made through IAM while nobody's rights are looked at; then they are."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._users = 0

    async def _post(self, path: str, body: bytes = b"") -> None:
        async with aiohttp.ClientSession() as session, session.post(f"{self.url}{path}", data=body) as answer:
            assert answer.status == 200, await answer.text()

    async def reset(self) -> None:
        await self._unchecked()
        await self._post("/moto-api/reset")

    async def _unchecked(self) -> None:
        await self._post("/moto-api/reset-auth", b"inf")

    def _administrator(self) -> AbstractAsyncContextManager[Any]:
        return client(self, _MotoKey("root", {"AccessKeyId": "root", "SecretAccessKey": "root"}), "iam")

    async def key(self, *denied: str) -> Keys:
        await self._unchecked()
        self._users += 1
        user = f"user-{self._users}"
        statements = [{"Effect": "Allow", "Action": "*", "Resource": "*"}]
        statements += [{"Effect": "Deny", "Action": action, "Resource": "*"} for action in denied]
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        async with self._administrator() as iam:
            await iam.create_user(UserName=user)
            await iam.put_user_policy(UserName=user, PolicyName="rights", PolicyDocument=policy)
            made = (await iam.create_access_key(UserName=user))["AccessKey"]
        await self._post("/moto-api/reset-auth", b"0")
        return _MotoKey(user, made)

    async def revoke(self, key: Keys) -> None:
        assert isinstance(key, _MotoKey)
        await self._unchecked()
        async with self._administrator() as iam:
            await iam.delete_access_key(UserName=key.user, AccessKeyId=key.id)
        await self._post("/moto-api/reset-auth", b"0")

    async def role(self) -> str:
        await self._unchecked()
        trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
        rights = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        async with self._administrator() as iam:
            made = await iam.create_role(RoleName=_ROLE, AssumeRolePolicyDocument=_policy(trust))
            await iam.put_role_policy(RoleName=_ROLE, PolicyName="rights", PolicyDocument=_policy(rights))
        # Rights are looked at from the next `key` on: moto's check breaks on a call that is not signed.
        arn: str = made["Role"]["Arn"]
        return arn


def _policy(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@asynccontextmanager
async def standin(kind: type[StandInPlace] = StandInPlace) -> AsyncIterator[StandInPlace]:
    async with RDSStandIn(behaviour=Behaviour(timelines=Timelines.instant())) as rds:
        yield kind(rds)


class MotoServer:
    """moto's server in a process of its own, started when it is first asked for."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._url = ""

    async def place(self) -> MotoPlace:
        """The server as new."""
        if self._process is None:
            self._start()
        place = MotoPlace(self._url)
        async with asyncio.timeout(_STARTS_WITHIN):
            while True:
                assert self._process is not None
                assert self._process.poll() is None, self._log.read_text()
                try:
                    await place.reset()
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.05)
                else:
                    return place

    def _start(self) -> None:
        (port,) = free_ports(1)
        self._url = f"http://127.0.0.1:{port}"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "MOTO_ACCOUNT_ID": ACCOUNT},
            )

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
