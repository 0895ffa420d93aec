"""Credentials of AWS by way of its token service: the pod's identity, roles assumed one from another.

pod = WebIdentitySource(RoleRequest(role_arn), token_file=path, region=region)
role = AssumeRoleSource(cache.cached(pod), RoleRequest(other_arn, external_id="x"), region=region)
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from openclaw.providers.aws.clients import OpenClient, open_client
from openclaw.providers.aws.errors import sdk_error
from openclaw.providers.credentials.source import Credentials, CredentialSource, RefreshingSource
from openclaw.providers.credentials.token_file import read_token
from openclaw.providers.errors import ExternalTransient, ExternalUnauthorised, ProviderError

__all__ = ["AssumeRoleSource", "RoleRequest", "WebIdentitySource", "caller_account", "pod_identity"]

_SECONDS: Final = 3600
_SESSION_NAME: Final = "openclaw"
_DEADLINE_SECONDS: Final = 15.0
# Codes of the token service that RDS does not have.
_PASSES: Final = frozenset({"IDPCommunicationError"})
_REFUSED: Final = frozenset({"IDPRejectedClaim", "InvalidIdentityToken", "RegionDisabledException"})


@dataclass(frozen=True, slots=True)
class RoleRequest:
    """Which role, and how.

    Attributes:
        role_arn: the role's ARN.
        external_id: what the role's trust policy asks for, where it belongs to somebody else.
        session_name: what the role's account sees in its logs.
        seconds: how long the credentials shall last; chained ones last an hour at most.
    """

    role_arn: str
    external_id: str = ""
    session_name: str = _SESSION_NAME
    seconds: int = _SECONDS

    def parameters(self) -> dict[str, Any]:
        """As STS wants it."""
        parameters: dict[str, Any] = {
            "RoleArn": self.role_arn,
            "RoleSessionName": self.session_name,
            "DurationSeconds": self.seconds,
        }
        return parameters | ({"ExternalId": self.external_id} if self.external_id else {})

    @property
    def identity(self) -> str:
        """Tells it from other requests."""
        return f"{self.role_arn}?{self.external_id}&{self.session_name}&{self.seconds}"


class AssumeRoleSource:
    """A role assumed with the credentials of another source, which may be an assumed role itself.

    Args:
        base: whose credentials ask; give a cached one.
        request: which role.
        region: whose token service is asked.
        endpoint: a URL instead of the region's own.
        clients: gives the SDK's clients.
    """

    def __init__(
        self,
        base: CredentialSource,
        request: RoleRequest,
        *,
        region: str,
        endpoint: str | None = None,
        clients: OpenClient = open_client,
    ) -> None:
        self._clients = clients
        self._base = base
        self._request = request
        self._region = region
        self._endpoint = endpoint

    def __repr__(self) -> str:
        return f"<AssumeRoleSource {self._request.role_arn} from {self._base!r}>"

    @property
    def identity(self) -> str:
        """The role, the way there, and where it begins."""
        return f"{self._base.identity}>{self._request.identity}@{self._region}:{self._endpoint or ''}"

    async def fetch(self) -> Credentials:
        """Credentials of the role.

        Raises:
            ExternalUnauthorised: the role may not be assumed.
            ProviderError: as the token service answers.
        """
        await self._base.fetch()  # what fails there is said in its own words
        try:
            answer = await self._assumed()
        except ExternalUnauthorised as error:
            if not error.expired or not isinstance(self._base, RefreshingSource):
                raise
            if not self._base.refused():
                raise
            answer = await self._assumed()
        return _credentials(answer, self._request.role_arn)

    async def _assumed(self) -> dict[str, Any]:
        parameters = self._request.parameters()
        return await _call(
            "assume_role",
            self._base,
            region=self._region,
            endpoint=self._endpoint,
            clients=self._clients,
            **parameters,
        )


class WebIdentitySource:
    """A role assumed with the pod's own token: IRSA. The token is its proof, so no credentials are needed.

    Args:
        request: which role; its external id is not used.
        token_file: where the kubelet puts the token.
        region: whose token service is asked.
        endpoint: a URL instead of the region's own.
    """

    def __init__(
        self, request: RoleRequest, *, token_file: str, region: str, endpoint: str | None = None
    ) -> None:
        self._request = request
        self._token_file = token_file
        self._region = region
        self._endpoint = endpoint

    def __repr__(self) -> str:
        return f"<WebIdentitySource {self._request.role_arn}>"

    @property
    def identity(self) -> str:
        """The role, and which token."""
        return f"pod:{self._token_file}>{self._request.identity}@{self._region}:{self._endpoint or ''}"

    async def fetch(self) -> Credentials:
        """Credentials of the role, for the token that the file holds now.

        Raises:
            ExternalUnauthorised: there is no token, or the role does not trust it.
            ProviderError: as the token service answers.
        """
        token = await read_token(self._token_file)
        parameters = self._request.parameters()
        parameters.pop("ExternalId", None)
        answer = await _call(
            "assume_role_with_web_identity",
            _Nobody(),
            region=self._region,
            endpoint=self._endpoint,
            hide=token,
            WebIdentityToken=token,
            **parameters,
        )
        return _credentials(answer, self._request.role_arn)


def pod_identity(
    *, region: str, endpoint: str | None = None, environment: Mapping[str, str] | None = None
) -> WebIdentitySource:
    """The pod's own identity, as EKS' webhook puts it into the environment.

    Raises:
        ExternalUnauthorised: it is not there; says what to do.
    """
    environment = os.environ if environment is None else environment
    role, token_file = environment.get("AWS_ROLE_ARN"), environment.get("AWS_WEB_IDENTITY_TOKEN_FILE")
    if not role or not token_file:
        raise ExternalUnauthorised(
            "the operator's pod has no AWS identity: annotate its service account with "
            "eks.amazonaws.com/role-arn and restart it, so that AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE "
            "are set; or name other credentials in the object",
            code="NoPodIdentity",
        )
    name = environment.get("AWS_ROLE_SESSION_NAME") or _SESSION_NAME
    request = RoleRequest(role, session_name=name)
    return WebIdentitySource(request, token_file=token_file, region=region, endpoint=endpoint)


async def caller_account(source: CredentialSource, *, region: str, endpoint: str | None = None) -> str:
    """The number of the account that the credentials belong to. Any may ask; keep it, for it is a call.

    Raises:
        ExternalUnauthorised: the credentials are not taken.
        ProviderError: as the token service answers.
    """
    answer = await _call("get_caller_identity", source, region=region, endpoint=endpoint)
    return str(answer["Account"])


class _Nobody:
    """For the one call whose proof is in its parameters. The SDK signs it with nothing."""

    identity: Final = "nobody"

    async def fetch(self) -> Credentials:
        return Credentials({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""})


async def _call(
    operation: str,
    source: CredentialSource,
    *,
    region: str,
    endpoint: str | None,
    hide: str = "",
    clients: OpenClient = open_client,
    **parameters: Any,
) -> dict[str, Any]:
    """One call to the token service, on a client of its own: there are few, and long apart.

    Raises:
        ProviderError: as the service answers.
    """
    client = await clients("sts", region=region, endpoint=endpoint, credentials=source)
    try:
        async with asyncio.timeout(_DEADLINE_SECONDS):
            answer: dict[str, Any] = await getattr(client, operation)(**parameters)
            return answer
    except TimeoutError as error:
        raise ExternalTransient(f"STS {operation}: no answer within {_DEADLINE_SECONDS:g} s") from error
    except ProviderError:
        raise
    except Exception as error:
        known = sdk_error(error, hide=hide)
        if known is None:
            raise
        text = f"STS {operation}: {known}"
        if known.code in _PASSES:
            raise ExternalTransient(text, code=known.code) from None
        if known.code in _REFUSED:
            raise ExternalUnauthorised(text, code=known.code) from None
        raise known from None
    finally:
        await client.close()


def _credentials(answer: Mapping[str, Any], role: str) -> Credentials:
    given = answer.get("Credentials") or {}
    try:
        values = {
            "AWS_ACCESS_KEY_ID": str(given["AccessKeyId"]),
            "AWS_SECRET_ACCESS_KEY": str(given["SecretAccessKey"]),
            "AWS_SESSION_TOKEN": str(given["SessionToken"]),
        }
    except KeyError as error:
        raise ExternalTransient(f"the token service gave no credentials of {role}") from error
    expires = given.get("Expiration")
    return Credentials(values, expires.timestamp() if isinstance(expires, datetime) else None)
