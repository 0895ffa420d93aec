"""The generated role is what the operator needs: nothing is refused, and nothing is allowed in vain."""

from __future__ import annotations

import base64
from pathlib import Path

from openclaw.controllers import RDSInstanceReconciler
from openclaw.kube import ConfigSource, Transport
from openclaw.testing import Client, ControlPlane
from openclaw.testing.rds import RDSStandIn
from tests.integration.rds.world import World
from tests.integration.reliability.accounts import (
    Account,
    code_of,
    describe,
    generated_rules,
    granted,
    new_account,
    resource_of,
)

CRDS = sorted((Path(__file__).parents[3] / "crds").glob("*.yaml"))

_ADMISSION_ONLY = {("update", "rdsinstances/finalizers"), ("delete", "secrets")}
"""Asked for by admission (OwnerReferencesPermissionEnforcement), never by a request of their own."""
_SELDOM = {("get", "secrets"), ("get", "rdsinstances"), ("patch", "events")}
"""Where a Secret's name is taken, a status was written by somebody else meanwhile, an event came twice."""


def used(account: Account) -> set[tuple[str, str]]:
    """The (verb, resource) pairs that the account's requests needed."""
    pairs = set()
    for event in account.requests():
        pairs.add((event["verb"], resource_of(event)))
        if event["verb"] == "patch" and code_of(event) == 201:
            pairs.add(("create", resource_of(event)))  # a server-side apply that creates
    return pairs


async def test_a_life_uses_exactly_the_generated_role(rds: RDSStandIn) -> None:
    rules = generated_rules([RDSInstanceReconciler])
    async with ControlPlane(audit=True, crds=CRDS) as plane, Client(plane.kubeconfig) as client:
        plane.create_namespace("shop")
        world = World(plane, client, "shop", rds)
        await world.add_secrets()
        me = await new_account(plane, client, rules=rules)
        async with Transport(ConfigSource(me.kubeconfig)) as transport, world.operator(transport=transport):
            await world.create()
            await world.available()
            await world.change(dbInstanceClass="db.t3.small")
            await world.until(lambda it: it["status"]["observed"].get("dbInstanceClass") == "db.t3.small")
            wrong = {"data": {"password": base64.b64encode(b"wrong").decode()}}
            await client.patch("Secret", "shop", "orders-connection", wrong)
            await client.wait_for(
                "Secret",
                "shop",
                "orders-connection",
                lambda it: it["data"]["password"] != wrong["data"]["password"],
            )
            await world.delete()
            await world.gone()
        assert [describe(it) for it in me.requests() if code_of(it) in (401, 403)] == []
        allowed = granted(rules)
        assert used(me) - allowed == set()
        assert allowed - used(me) - _SELDOM == _ADMISSION_ONLY
