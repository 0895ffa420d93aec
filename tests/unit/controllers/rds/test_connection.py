"""What applications are given, and that it is put right."""

from __future__ import annotations

import base64
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.api.builtin import Secret
from openclaw.controllers.rds.connection import connection_uri, secret_name
from tests.unit.controllers.rds.fake_rds import ENDPOINT
from tests.unit.controllers.rds.test_identity import named
from tests.unit.controllers.rds.world import PASSWORD, World


def content(secret: Secret) -> dict[str, str]:
    return {key: base64.b64decode(value).decode() for key, value in secret.data.items()}


async def test_what_an_application_needs() -> None:
    world = World()
    await world.available()
    assert world.obj.status.connection_secret == "orders-connection"
    assert content(world.secrets["orders-connection"]) == {
        "username": "shop",
        "password": PASSWORD,
        "endpoint": ENDPOINT,
        "port": "5432",
        "dbName": "orders",
        "uri": f"postgresql://shop:correct%20horse%20battery%20staple@{ENDPOINT}:5432/orders",
    }


async def test_not_before_there_is_an_endpoint() -> None:
    world = World()
    await world.run()
    assert "orders-connection" not in world.secrets
    assert world.obj.status.connection_secret is None


async def test_it_is_made_anew_and_follows_the_endpoint_without_a_change_in_rds() -> None:
    world = World()
    await world.available()
    del world.secrets["orders-connection"]
    await world.run(after=60)
    assert content(world.secrets["orders-connection"])["password"] == PASSWORD
    world.rds.set(endpoint="moved.example.com", port=6000)
    await world.run(after=60)
    assert content(world.secrets["orders-connection"])["endpoint"] == "moved.example.com"
    assert content(world.secrets["orders-connection"])["port"] == "6000"
    assert world.rds.calls("update") == 0


async def test_a_new_password_is_given_once_rds_has_it() -> None:
    world = World()
    await world.available()
    world.rds.become("modifying")
    world.secret("master", password="the second")
    await world.run()
    assert content(world.secrets["orders-connection"])["password"] == PASSWORD
    world.rds.become("available")
    await world.run(after=60)
    assert content(world.secrets["orders-connection"])["password"] == "the second"


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1))
def test_any_password_comes_back_out_of_the_uri(password: str) -> None:
    obj = named("orders")
    obj.status.endpoint, obj.status.port = "db.example.com", 5432
    split = urlsplit(connection_uri(obj, password))
    assert unquote(split.password or "") == password
    assert (split.hostname, split.port, split.path) == ("db.example.com", 5432, "/orders")


@pytest.mark.parametrize(
    ("engine", "scheme"),
    [
        ("postgres", "postgresql"),
        ("mysql", "mysql"),
        ("mariadb", "mysql"),
        ("oracle-ee", "oracle"),
        ("sqlserver-ex", "sqlserver"),
    ],
)
def test_schemes(engine: str, scheme: str) -> None:
    obj = named("orders", engine=engine)
    obj.status.endpoint, obj.status.port = "db", 1
    assert connection_uri(obj, "p").startswith(f"{scheme}://")


@given(st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", fullmatch=True))
def test_the_name_of_the_secret_is_valid_and_its_own(root: str) -> None:
    made = secret_name(root)
    assert len(made) <= 253
    assert made.endswith("-connection")
    if len(root) > 242:
        assert made != secret_name(f"{root[:-1]}{'a' if root[-1] != 'a' else 'b'}")


async def test_a_conflict_of_the_secret_does_not_make_forget_what_was_sent() -> None:
    world = World()
    await world.available()
    world.secret("master", password="a new one, long enough")
    world.secret_conflicts = 3
    for _ in range(4):
        await world.run(after=1)
    assert world.rds.calls("update") == 1
    assert content(world.secrets["orders-connection"])["password"] == "a new one, long enough"
