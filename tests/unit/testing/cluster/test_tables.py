from __future__ import annotations

from typing import Any

import orjson

from openclaw.testing.cluster.request import Request
from openclaw.testing.cluster.workloads import Workloads
from openclaw.testing.podstatus import Outcome, PodBehaviour
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import CONFIG_MAPS, Asking, asked
from tests.unit.testing.cluster.test_definitions import FOOS, definition, foo
from tests.unit.testing.cluster.test_workloads import DEPLOYMENTS, PODS, deployment

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


async def table(ask: Asking, path: str, **query: str) -> dict[str, Any]:
    answer = await ask.cluster.server.handle(Request("GET", path, query, accept=TABLE))
    found: dict[str, Any] = orjson.loads(answer.body)
    assert found["kind"] == "Table"
    return found


async def cells(ask: Asking, path: str) -> list[dict[str, Any]]:
    found = await table(ask, path)
    names = [column["name"] for column in found["columnDefinitions"]]
    return [dict(zip(names, row["cells"], strict=True)) for row in found["rows"]]


@virtual_time
async def test_pods_and_deployments() -> None:
    behaviours = iter([Outcome.READY, Outcome.CRASH_LOOP, Outcome.IMAGE_PULL_FAILURE])
    chosen: dict[str, PodBehaviour] = {}
    workloads = Workloads(
        decide=lambda pod: chosen.setdefault(pod["metadata"]["uid"], PodBehaviour(next(behaviours)))
    )
    async with asked(workloads=workloads) as ask:
        await ask.post(DEPLOYMENTS, deployment(3))
        await ask.cluster.settled()
        found = sorted(await cells(ask, PODS), key=lambda row: str(row["Status"]))
        assert [(row["Status"], row["Ready"], row["Restarts"]) for row in found] == [
            ("CrashLoopBackOff", "0/1", "5"),
            ("ImagePullBackOff", "0/1", "0"),
            ("Running", "1/1", "0"),
        ]
        [row] = await cells(ask, DEPLOYMENTS)
        assert (row["Ready"], row["Up-to-date"], row["Available"], row["Age"]) == ("1/3", 3, 1, "0s")
        assert row["Selector"] == "app=web"


@virtual_time
async def test_columns_of_a_definition() -> None:
    async with asked(crds=[definition()]) as ask:
        await ask.post(FOOS, foo("a", n=7))
        await ask.post(FOOS, foo("b"))
        assert await cells(ask, FOOS) == [{"Name": "a", "N": 7}, {"Name": "b", "N": None}]
        plain = definition(additionalPrinterColumns=[])
    async with asked(crds=[plain]) as ask:
        await ask.post(FOOS, foo("a"))
        assert await cells(ask, FOOS) == [{"Name": "a", "Age": "0s"}]


@virtual_time
async def test_rows_have_what_was_asked_for() -> None:
    async with asked() as ask:
        made = await ask.config_map("a")
        [row] = (await table(ask, CONFIG_MAPS))["rows"]
        assert row["object"] == {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": made["metadata"],
        }
        [row] = (await table(ask, CONFIG_MAPS, includeObject="Object"))["rows"]
        assert row["object"]["metadata"] == made["metadata"]
        [row] = (await table(ask, f"{CONFIG_MAPS}/a", includeObject="None"))["rows"]
        assert row["object"] is None
        listed = await table(ask, "/api/v1/namespaces", limit="1")
        assert listed["metadata"]["remainingItemCount"] == 3


@virtual_time
async def test_only_the_metadata() -> None:
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    async with asked() as ask:
        await ask.post(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
        answer = await ask.cluster.server.handle(Request("GET", CONFIG_MAPS, accept=accept))
        found = orjson.loads(answer.body)
        assert found["kind"] == "PartialObjectMetadataList"
        assert "data" not in found["items"][0]
        assert found["items"][0]["kind"] == "PartialObjectMetadata"


@virtual_time
async def test_a_watched_table_tells_its_columns_once() -> None:
    async with asked() as ask:
        request = Request("GET", CONFIG_MAPS, {"watch": "true"}, accept=TABLE)
        watch = await ask.cluster.server.watch(request)
        await ask.config_map("a")
        await ask.config_map("b")
        chunks = watch.chunks()
        lines = [orjson.loads(line)["object"] for line in (await anext(chunks)).splitlines()]
        assert [line["rows"][0]["cells"][0] for line in lines] == ["a", "b"]
        assert [line["columnDefinitions"] is None for line in lines] == [False, True]
        await chunks.aclose()
        ask.cluster.server.watching.close(watch)
