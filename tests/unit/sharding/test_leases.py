"""Leases as they are written and read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from openclaw.kube.errors import Conflict, NotFound
from openclaw.sharding.leases import Leases, lease_name
from tests.unit.sharding.scripted import Scripted

PATH = "/apis/coordination.k8s.io/v1/namespaces/ops/leases"


def answer(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "claw-0",
            "resourceVersion": "7",
            "labels": {"openclaw.dev/shard-group": "claw", "openclaw.dev/shard-name": "claw-0"},
            "annotations": {"openclaw.dev/shard": "{}", "openclaw.dev/shard-status": "[]"},
        },
        "spec": {"holderIdentity": "claw-0_x", "leaseDurationSeconds": 15, **spec},
    }


async def test_the_first_write_creates_and_others_replace_what_was_read() -> None:
    transport = Scripted(answer(), answer(renewTime="2026-01-02T03:04:05.000006Z"))
    leases = Leases(transport, "ops", "claw")
    given: dict[str, Any] = {"holder": "claw-0_x", "content": "{}", "status": "[]", "seconds": 15}
    await leases.write("claw-0", version=None, **given)
    record = await leases.write("claw-0", version="7", **given)
    assert record.renewed == datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    assert (record.shard, record.version, record.content, record.status) == ("claw-0", "7", "{}", "[]")
    (created, path, _, body), (replaced, path_of_one, _, second) = transport.asked
    assert (created, path, replaced, path_of_one) == ("POST", PATH, "PUT", f"{PATH}/claw-0")
    assert "resourceVersion" not in body["metadata"]
    assert second["metadata"]["resourceVersion"] == "7"
    assert body["spec"]["acquireTime"] == second["spec"]["acquireTime"]
    assert body["spec"]["holderIdentity"] == "claw-0_x"
    assert body["metadata"]["labels"]["openclaw.dev/shard-group"] == "claw"


async def test_a_list_is_of_the_group_and_not_from_a_cache() -> None:
    bare = {"metadata": {"name": "claw-9", "resourceVersion": "3"}, "spec": {"renewTime": "yesterday"}}
    transport = Scripted({"items": [answer(), bare]}, {"items": None})
    leases = Leases(transport, "ops", "claw")
    first, second = await leases.list()
    assert (first.shard, second.shard, second.content, second.renewed) == ("claw-0", "claw-9", "", None)
    assert transport.asked[0][:3] == ("GET", PATH, {"labelSelector": "openclaw.dev/shard-group=claw"})
    assert await leases.list() == []


async def test_one_is_removed_only_as_it_was() -> None:
    transport = Scripted({}, NotFound(404, "NotFound"), Conflict(409, "Conflict"))
    leases = Leases(transport, "ops", "claw")
    await leases.delete("claw-0", "7")
    await leases.delete("claw-0", "7")
    with pytest.raises(Conflict):
        await leases.delete("claw-0", "7")
    assert transport.asked[0][3]["preconditions"] == {"resourceVersion": "7"}


@pytest.mark.parametrize(
    ("shard", "name"), [("claw-0", "claw-0"), ("laptop-0", "claw-laptop-0"), ("claw", "claw-claw")]
)
def test_names(shard: str, name: str) -> None:
    assert lease_name("claw", shard) == name
