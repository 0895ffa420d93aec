"""The debug page's picture of caches: what came of other shards, and whether the server filters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from openclaw._core import slot
from openclaw.api import ConfigMap
from openclaw.kube import Transport
from openclaw.runtime.informer import Informer, Scope
from openclaw.runtime.inspection import inspect_runtime

KEPT = frozenset(range(128))
UIDS = [f"{number}-of-forty-objects" for number in range(40)]
OWN = [uid for uid in UIDS if slot(uid) in KEPT]
OTHERS = [uid for uid in UIDS if slot(uid) not in KEPT]


def listed(informer: Informer, uids: Iterable[str]) -> None:
    """Let the cache have an answer to a list of `KEPT`, as the API server gave it."""
    items = [
        {"metadata": {"name": uid, "namespace": "shop", "uid": uid, "resourceVersion": "1"}} for uid in uids
    ]
    page = orjson.dumps({"metadata": {"resourceVersion": "2"}, "items": items})
    with informer.listwatch._lister.server_filter.listing(exact=True):
        informer.cache.begin_gain(KEPT)
        informer.cache.feed_list(page)
        informer.cache.commit_relist()


def shown(informer: Informer) -> dict[str, Any]:
    (cache,) = inspect_runtime([], [informer])["caches"]
    return {name: cache[name] for name in ("scope", "objects", "foreign", "server_filters")}


@pytest.mark.parametrize("scope", ["everything", "roots"])
async def test_before_anything_came_nobody_knows(scope: Scope) -> None:
    informer = Informer(Transport(), ConfigMap.resource, field_manager="openclaw", scope=scope)
    assert shown(informer) == {"scope": scope, "objects": 0, "foreign": 0, "server_filters": None}


@pytest.mark.parametrize("filters", [True, False])
async def test_foreign_objects_tell_that_the_server_does_not_filter(filters: bool) -> None:
    informer = Informer(Transport(), ConfigMap.resource, field_manager="openclaw", scope="roots")
    listed(informer, OWN if filters else UIDS)
    foreign = 0 if filters else len(OTHERS)
    assert OWN
    assert OTHERS
    assert shown(informer) == {
        "scope": "roots",
        "objects": len(OWN),
        "foreign": foreign,
        "server_filters": filters,
    }
