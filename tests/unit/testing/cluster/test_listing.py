from __future__ import annotations

from typing import Any

import pytest

from openclaw.kube.errors import ApiError, BadRequest, Invalid, NotFound, ResourceExpired
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import CONFIG_MAPS, Asking, asked


async def names(ask: Asking, **query: str) -> list[str]:
    return [item["metadata"]["name"] for item in (await ask.get(CONFIG_MAPS, **query))["items"]]


async def several(ask: Asking, count: int = 5) -> None:
    for number in range(count):
        await ask.config_map(f"c{number}", labels={"n": str(number)})


@virtual_time
async def test_pages_show_one_moment() -> None:
    async with asked() as ask:
        await several(ask)
        page = await ask.get(CONFIG_MAPS, limit="2")
        revision = page["metadata"]["resourceVersion"]
        assert page["metadata"]["remainingItemCount"] == 3
        await ask.config_map("c11")
        await ask.delete(f"{CONFIG_MAPS}/c3")
        await ask.merge(f"{CONFIG_MAPS}/c4", {"data": {"new": "yes"}})
        seen = list(page["items"])
        while token := page["metadata"].get("continue"):
            page = await ask.get(CONFIG_MAPS, limit="2", **{"continue": token})
            assert page["metadata"]["resourceVersion"] == revision
            seen += page["items"]
        assert [item["metadata"]["name"] for item in seen] == ["c0", "c1", "c2", "c3", "c4"]
        assert "data" not in seen[-1]


@virtual_time
async def test_an_expired_page_can_be_gone_on_with_inconsistently() -> None:
    async with asked() as ask:
        await several(ask)
        page = await ask.get(CONFIG_MAPS, limit="2")
        await ask.config_map("c9")
        ask.cluster.compact()
        with pytest.raises(ResourceExpired) as caught:
            await ask.get(CONFIG_MAPS, limit="2", **{"continue": page["metadata"]["continue"]})
        assert "too old to display a consistent list" in str(caught.value)


@virtual_time
async def test_selectors_and_pages_together_tell_no_remaining_count() -> None:
    async with asked() as ask:
        await several(ask)
        page = await ask.get(CONFIG_MAPS, limit="1", labelSelector="n in (1,3)")
        assert [item["metadata"]["name"] for item in page["items"]] == ["c1"]
        assert "remainingItemCount" not in page["metadata"]
        assert await names(ask, fieldSelector="metadata.name=c2") == ["c2"]
        assert await names(ask, fieldSelector="metadata.name!=c2", labelSelector="n<2") == ["c0", "c1"]


@virtual_time
async def test_pages_over_all_namespaces_and_of_cluster_scoped_objects() -> None:
    async with asked() as ask:
        for namespace in ("default", "kube-system"):
            for number in range(3):
                await ask.post(
                    f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": f"c{number}"}}
                )
        for path in ("/api/v1/configmaps", "/api/v1/namespaces"):
            whole = (await ask.get(path))["items"]
            seen: list[Any] = []
            token = ""
            while True:
                query = {"continue": token} if token else {}
                page = await ask.get(path, limit="1", **query)
                seen += page["items"]
                token = page["metadata"].get("continue", "")
                if not token:
                    break
            assert seen == whole


@virtual_time
async def test_a_list_of_an_exact_moment() -> None:
    async with asked() as ask:
        first = await ask.config_map("a")
        revision = first["metadata"]["resourceVersion"]
        await ask.config_map("b")
        exact = {"resourceVersion": revision, "resourceVersionMatch": "Exact"}
        listed = await ask.get(CONFIG_MAPS, **exact)
        assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
        assert listed["metadata"]["resourceVersion"] == revision
        assert await names(ask, resourceVersion=revision) == ["a", "b"]
        # With a limit and no match, that very moment is meant.
        assert await names(ask, resourceVersion=revision, limit="5") == ["a"]
        ask.cluster.compact()
        with pytest.raises(ResourceExpired):
            await ask.get(CONFIG_MAPS, **exact)


@virtual_time
async def test_any_state_is_served_without_pages() -> None:
    async with asked() as ask:
        await several(ask)
        listed = await ask.get(CONFIG_MAPS, resourceVersion="0", limit="2")
        assert len(listed["items"]) == 5
        assert "continue" not in listed["metadata"]


@virtual_time
async def test_what_may_not_be_asked() -> None:
    refused: list[tuple[dict[str, str], type[ApiError], str]] = [
        ({"resourceVersionMatch": "Exact"}, Invalid, "forbidden unless resourceVersion is provided"),
        (
            {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
            Invalid,
            'forbidden for resourceVersion "0"',
        ),
        ({"resourceVersion": "1", "resourceVersionMatch": "Foo"}, Invalid, "supported values"),
        ({"resourceVersion": "abc"}, BadRequest, "invalid resource version"),
        ({"resourceVersion": "99999"}, ApiError, "Too large resource version"),
        ({"sendInitialEvents": "true"}, Invalid, "sendInitialEvents is forbidden for list"),
        ({"continue": "abc"}, BadRequest, "continue key is not valid"),
        ({"limit": "x"}, BadRequest, "invalid syntax"),
        ({"labelSelector": "a=b=c"}, BadRequest, "found '='"),
        ({"fieldSelector": "data.x=1"}, BadRequest, "is not a known field selector"),
    ]
    async with asked() as ask:
        for query, error, text in refused:
            with pytest.raises(error) as caught:
                await ask.get(CONFIG_MAPS, **query)
            assert text in str(caught.value), query
        with pytest.raises(BadRequest, match=r"field label not supported: spec\.nope"):
            await ask.get("/api/v1/pods", fieldSelector="spec.nope=1")


@virtual_time
async def test_items_of_built_in_lists_do_not_say_their_kind() -> None:
    async with asked() as ask:
        await ask.config_map("a")
        listed = await ask.get(CONFIG_MAPS)
        assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
        assert next(iter(listed["items"][0])) == "metadata"
        assert (await ask.get(f"{CONFIG_MAPS}/a"))["kind"] == "ConfigMap"


@virtual_time
async def test_paths_that_lead_nowhere() -> None:
    async with asked() as ask:
        for path in ("/api/v1/foos", "/api/v2/pods", "/apis/x.y/v1/foos", "/apis/apps/v1/foos", "/nope"):
            with pytest.raises(NotFound):
                await ask.get(path)
        with pytest.raises(NotFound, match='configmaps "nope" not found'):
            await ask.get(f"{CONFIG_MAPS}/nope")
        with pytest.raises(ApiError, match="does not allow this method"):
            await ask.put(CONFIG_MAPS, {})
