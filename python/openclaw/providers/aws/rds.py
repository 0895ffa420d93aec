"""The provider of RDS instances, over aiobotocore (extra `aws`)."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from openclaw.providers.aws.clients import OpenClient, open_client
from openclaw.providers.aws.errors import PROTECTED, sdk_error
from openclaw.providers.aws.rds_fields import (
    OWNER,
    TAGS,
    compare,
    create_parameters,
    modify_parameters,
    tag_list,
)
from openclaw.providers.aws.rds_model import RDSObserved, RDSRemoval, RDSWanted, owner_tags
from openclaw.providers.aws.rds_parse import observed_instance
from openclaw.providers.credentials.source import CredentialSource
from openclaw.providers.descriptors import Drift, Page, Target
from openclaw.providers.errors import ExternalConflict, ExternalInvalid, ExternalNotFound, ProviderError

__all__ = ["RDSProvider", "RDSProviderFactory"]

_PAGE: Final = 100  # the most that RDS gives at once
_SMALLEST_PAGE: Final = 20
_NOTHING_TO_DO: Final = "No modifications were requested"
_BEING_DELETED: Final = "is already being deleted"


class RDSProvider:
    """Makes, watches, changes and deletes the instances of one account and region.

    Args:
        client: of the SDK; its own until `close`.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    async def get(self, identity: str) -> RDSObserved:
        """As in the protocol."""
        answer = await self._call("describe_db_instances", DBInstanceIdentifier=identity)
        instances = answer.get("DBInstances") or ()
        if not instances:
            raise ExternalNotFound(f"DBInstance {identity} not found")
        return observed_instance(instances[0])

    async def create(self, wanted: RDSWanted) -> RDSObserved:
        """As in the protocol: the owner tags are set by the same call."""
        answer = await self._call("create_db_instance", hide=_secret(wanted), **create_parameters(wanted))
        return _instance(answer, wanted)

    def compare(self, wanted: RDSWanted, observed: RDSObserved) -> Drift:
        """As in the protocol."""
        return compare(wanted, observed)

    async def update(self, wanted: RDSWanted, observed: RDSObserved, drift: Drift) -> RDSObserved:
        """As in the protocol: tags by one call, all else by another."""
        fields = {it.field for it in drift.updatable}
        tags = dict(wanted.tags) if TAGS in fields else {}
        if OWNER in fields:
            tags |= owner_tags(wanted.owner)
        if tags:
            await self._call("add_tags_to_resource", ResourceName=observed.arn, Tags=tag_list(tags))
            observed = dataclasses.replace(observed, tags={**observed.tags, **tags})
        changes = modify_parameters(wanted, observed, drift)
        if not changes:
            return observed
        try:
            answer = await self._call("modify_db_instance", hide=_secret(wanted), **changes)
        except ExternalInvalid as error:
            if _NOTHING_TO_DO in str(error):
                return observed
            raise
        return _instance(answer, wanted)

    async def delete(self, identity: str, removal: RDSRemoval) -> None:
        """As in the protocol: an instance that is being deleted already is no error."""
        snapshot: dict[str, Any] = {"SkipFinalSnapshot": True}
        if removal.final_snapshot is not None:
            snapshot = {"SkipFinalSnapshot": False, "FinalDBSnapshotIdentifier": removal.final_snapshot}
        try:
            try:
                await self._call("delete_db_instance", DBInstanceIdentifier=identity, **snapshot)
            except ExternalConflict as error:
                if error.code != PROTECTED or not removal.lift_protection:
                    raise
                await self._call(
                    "modify_db_instance",
                    DBInstanceIdentifier=identity,
                    DeletionProtection=False,
                    ApplyImmediately=True,
                )
                await self._call("delete_db_instance", DBInstanceIdentifier=identity, **snapshot)
        except ExternalConflict as error:
            if _BEING_DELETED not in str(error):
                raise

    async def list_page(self, token: str) -> Page[RDSObserved]:
        """As in the protocol."""
        more = {"Marker": token} if token else {}
        answer = await self._call("describe_db_instances", MaxRecords=_PAGE, **more)
        items = tuple(map(observed_instance, answer.get("DBInstances") or ()))
        return Page(items, answer.get("Marker") or "")

    async def health(self) -> None:
        """As in the protocol."""
        await self._call("describe_db_instances", MaxRecords=_SMALLEST_PAGE)

    async def close(self) -> None:
        """As in the protocol."""
        await self._client.close()

    async def _call(self, operation: str, *, hide: str = "", **parameters: Any) -> Any:
        """One request.

        Args:
            operation: the SDK's name of it.
            hide: a secret among the parameters, which no error's text may repeat.
            parameters: of the request.

        Raises:
            ProviderError: it failed.
        """
        try:
            return await getattr(self._client, operation)(**parameters)
        except ProviderError:
            raise  # of the credentials, which are fetched within
        except Exception as error:
            told = sdk_error(error, hide=hide)
            if told is None:
                raise
            # From None: the SDK's own may hold the request, and with it a password.
            raise told from None


class RDSProviderFactory:
    """Makes providers of RDS; the entry point `aws-rds`.

    Args:
        clients: gives the SDK's clients.
    """

    name: str = "aws-rds"

    def __init__(self, clients: OpenClient = open_client) -> None:
        self._clients = clients

    async def connect(self, target: Target, credentials: CredentialSource) -> RDSProvider:
        """As in the protocol.

        Raises:
            ExternalInvalid: the target has no region.
            ExternalTerminal: the extra `aws` is not installed.
        """
        if not target.region:
            raise ExternalInvalid("RDS needs a region, such as eu-central-1")
        client = await self._clients(
            "rds", region=target.region, endpoint=target.endpoint, credentials=credentials
        )
        return RDSProvider(client)


def _secret(wanted: RDSWanted) -> str:
    return wanted.password.get_secret_value() if wanted.password is not None else ""


def _instance(answer: Any, wanted: RDSWanted) -> RDSObserved:
    """The instance of an answer, which must tell at least its name."""
    return observed_instance({"DBInstanceIdentifier": wanted.identity, **(answer.get("DBInstance") or {})})
