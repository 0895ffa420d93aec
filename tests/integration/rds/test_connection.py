"""The connection Secret is put right whenever it is not."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.integration.rds.world import PASSWORD, WAIT, World
from tests.integration.reliability.waiting import eventually

NAME = "orders-connection"


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "damage",
    [
        {"data": {"password": _coded("wrong")}},
        {"data": {"uri": None}},
        {"data": {"more": _coded("of somebody")}},
        None,
    ],
    ids=["changed", "taken out", "added", "deleted"],
)
async def test_a_damaged_connection_secret_is_rebuilt_without_a_call(world: World, damage: Any) -> None:
    # Nothing but the Secret's own event can be what mends it.
    async with world.operator():
        await world.create()
        await world.available()
        await world.annotate(poll_interval="1h", reconcile_now="1")
        await world.until(lambda item: item["status"].get("reconcileRequested") == "1")
        good = await world.connection()
        assert good["password"] == PASSWORD
        writes = world.writes()
        if damage is None:
            await world.client.delete("Secret", world.namespace, NAME)
        else:
            await world.client.patch("Secret", world.namespace, NAME, damage)

        async def mended() -> bool:
            return await world.connection() == good

        await eventually(mended, "the Secret as it was", timeout=WAIT)
        assert world.writes() == writes


async def test_it_belongs_to_the_object_and_holds_nothing_else(world: World) -> None:
    async with world.operator():
        item = await world.create()
        await world.available()
        found = await world.client.get("Secret", world.namespace, NAME)
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "RDSInstance", item["metadata"]["uid"], True,
    )  # fmt: skip
    assert sorted(found["data"]) == ["dbName", "endpoint", "password", "port", "uri", "username"]


async def test_somebody_elses_secret_of_that_name_is_left_alone(world: World) -> None:
    await world.add_secret(NAME, password="theirs")
    async with world.operator():
        await world.create()

        async def told() -> bool:
            return any(NAME in event["note"] for event in await world.events())

        await eventually(told, "an event that names the Secret", timeout=WAIT)
        assert await world.connection() == {"password": "theirs"}
        await world.client.delete("Secret", world.namespace, NAME)

        async def made() -> bool:
            return (await world.connection())["password"] == PASSWORD

        await eventually(made, "the Secret of the object's own", timeout=WAIT)
    assert world.writes() == ["CreateDBInstance"]


async def test_special_characters_of_a_password_are_encoded_in_the_uri(world: World) -> None:
    password = "p#a:s?s%w&o+rd"
    await world.add_secret("master", password=password)
    async with world.operator():
        await world.create()
        await world.available()
    found = await world.connection()
    assert found["password"] == password == world.database.password
    assert f"//shop:p%23a%3As%3Fs%25w%26o%2Brd@{found['endpoint']}" in found["uri"]
