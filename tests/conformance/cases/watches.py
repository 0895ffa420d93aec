"""Watches: what comes, from where on, and how they end."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases.objects import config_map
from tests.conformance.cases.schema import widget
from tests.conformance.collecting import Collection
from tests.conformance.recording import Client

case = Collection("watches")


async def _version(k: Client, resource: str) -> str:
    answer = await k.list(resource, record=False)
    return str(answer["metadata.resourceVersion"])


@case
async def resume(k: Client) -> None:
    version = await _version(k, "widgets")
    await k.create("widgets", widget({"size": "s"}), record=False)
    await k.merge("widgets", "w", {"spec": {"size": "t"}}, record=False)
    await k.merge("widgets", "w", {"status": {"phase": "x"}}, "status", record=False)
    await k.delete("widgets", "w", record=False)
    await k.watch("widgets", resourceVersion=version)


@case
async def from_a_point_between(k: Client) -> None:
    await k.create("widgets", widget({"size": "s"}), record=False)
    changed = await k.merge("widgets", "w", {"spec": {"size": "t"}}, record=False)
    await k.merge("widgets", "w", {"spec": {"size": "u"}}, record=False)
    await k.watch("widgets", resourceVersion=changed["metadata.resourceVersion"])


@case
async def without_a_version(k: Client) -> None:
    await k.create("widgets", widget({"size": "s"}, "a"), record=False)
    await k.create("widgets", widget({"size": "s"}, "b"), record=False)
    await k.watch("widgets")
    await k.watch("widgets", resourceVersion="0")


@case
async def initial_events(k: Client) -> None:
    await k.create("widgets", widget({"size": "s"}, "a"), record=False)
    query: dict[str, Any] = {"sendInitialEvents": True, "resourceVersionMatch": "NotOlderThan"}
    await k.watch("widgets", **query, allowWatchBookmarks=True)
    await k.watch("widgets", **query)
    await k.watch("widgets", sendInitialEvents=True, allowWatchBookmarks=True)
    await k.watch("widgets", sendInitialEvents=False, allowWatchBookmarks=True)


@case
async def label_selectors_turn_changes_into_additions_and_deletions(k: Client) -> None:
    version = await _version(k, "widgets")
    await k.create("widgets", widget({"size": "s"}), record=False)
    await k.merge("widgets", "w", {"metadata": {"labels": {"a": "b"}}}, record=False)
    await k.merge("widgets", "w", {"spec": {"size": "t"}}, record=False)
    await k.merge("widgets", "w", {"metadata": {"labels": {"a": "c"}}}, record=False)
    await k.delete("widgets", "w", record=False)
    await k.watch("widgets", resourceVersion=version, labelSelector="a=b")


@case
async def field_selectors(k: Client) -> None:
    version = await _version(k, "widgets")
    await k.create("widgets", widget({"size": "s"}, "a"), record=False)
    await k.create("widgets", widget({"size": "s"}, "b"), record=False)
    await k.merge("widgets", "a", {"spec": {"size": "t"}}, record=False)
    await k.watch("widgets", resourceVersion=version, fieldSelector="metadata.name=a")
    await k.watch("widgets", resourceVersion=version, fieldSelector="spec.size=s")


@case
async def impossible_ones(k: Client) -> None:
    await k.watch("widgets", resourceVersion="x")
    await k.watch("widgets", labelSelector="a b")
    await k.watch("widgets", fieldSelector="spec.x=y")
    await k.watch("widgets", timeoutSeconds="x")


@case
async def metadata_only(k: Client) -> None:
    version = await _version(k, "configmaps")
    await k.create("configmaps", config_map(a="1"), record=False)
    await k.watch("configmaps", resourceVersion=version)


@case
async def a_write_that_changes_nothing_is_no_event(k: Client) -> None:
    first = await k.create("widgets", widget({"size": "s"}), record=False)
    await k.merge("widgets", "w", {"spec": {"size": "s"}}, record=False)
    await k.merge("widgets", "w", {}, record=False)
    await k.watch("widgets", resourceVersion=first["metadata.resourceVersion"])
