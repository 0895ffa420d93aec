"""A shard reads the objects of its slots and no others, whether the server can filter by uid or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import pytest

from openclaw._core import slot
from openclaw.api import ConfigMap
from openclaw.api.kinds import ResourceKind
from openclaw.kube import ConfigSource, Transport
from openclaw.kube.selection import by_uid
from openclaw.kube.transport import Response
from openclaw.runtime.informer import Informer
from openclaw.runtime.ownership import SLOT_LABEL
from openclaw.runtime.predicates import Always
from openclaw.runtime.queue import Priority
from openclaw.testing import Client, ControlPlane
from tests.integration.framework.kinds import Fleet, Widget
from tests.integration.reliability.waiting import eventually

COUNT = 60
LOW, HIGH = frozenset(range(128)), frozenset(range(128, 256))
EVEN = frozenset(range(0, 256, 2))


class Counting(Transport):
    """Counts the bytes of lists."""

    listed = 0

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 60.0,
    ) -> Response:
        response = await super().request(
            method, path, query=query, body=body, content_type=content_type, timeout=timeout
        )
        self.listed += len(response.body)
        return response


class Shard:
    """One informer of a user of its own, so that the audit log tells what it asked for."""

    def __init__(self, plane: ControlPlane, user: str, informer: Informer, transport: Counting) -> None:
        self._plane = plane
        self._user = user
        self.informer = informer
        self.transport = transport
        self.told: dict[str, str] = {}
        informer.subscribe(Always(), b'{"self":{}}', Priority.CHANGE, self._tell)

    def _tell(self, delta: Any) -> None:
        self.told[delta.key.name] = delta.reason

    @property
    def names(self) -> set[str]:
        return {name for _, name in self.informer.cache.keys_in(range(256))}

    def requests(self, verb: Literal["list", "watch"], selector: str) -> list[str]:
        """The selectors of its lists or watches so far, each once however many pages there were."""
        found = []
        for event in self._plane.audit_events(self._user):
            query = parse_qs(urlsplit(event["requestURI"]).query)
            if event["verb"] == verb and "continue" not in query:
                found.append(query.get(selector, [""])[0])
        return found


@asynccontextmanager
async def shard(
    plane: ControlPlane, kind: ResourceKind, scope: Literal["roots", "children"], namespace: str | None
) -> AsyncIterator[Shard]:
    user = f"shard-{kind.plural}-{scope}-{namespace}"
    kubeconfig = plane.kubeconfig_for(user, ["system:masters"])
    async with Counting(ConfigSource(kubeconfig)) as transport:
        informer = Informer(transport, kind, field_manager="openclaw", scope=scope, namespace=namespace)
        started = Shard(plane, user, informer, transport)
        task = asyncio.create_task(informer.run())
        try:
            yield started
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def of(slots: frozenset[int], objects: Mapping[str, int]) -> set[str]:
    return {name for name, of_slot in objects.items() if of_slot in slots}


async def make(client: Client, kind: type[Widget | Fleet], namespace: str | None, name: str) -> int:
    body = {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": {"name": name, "namespace": namespace} if namespace else {"name": name},
        "spec": {"namespace": "x"} if kind is Fleet else {"text": "x" * 200},
    }
    made = await client.create(body)
    return slot(made["metadata"]["uid"])


@pytest.mark.parametrize("kind", [Widget, Fleet])
async def test_roots(plane: ControlPlane, client: Client, filters: bool, kind: type[Widget | Fleet]) -> None:
    async with client.namespace() as space:
        namespace = space if kind is Widget else None
        prefix = space[-5:]
        slots = {
            f"{prefix}-{number}": await make(client, kind, namespace, f"{prefix}-{number}")
            for number in range(COUNT)
        }
        async with shard(plane, kind.resource, "roots", namespace) as it:
            informer = it.informer
            assert await eventually(lambda: informer.synced, "rest without slots")
            assert it.requests("list", "shardSelector") == []

            await informer.gain(LOW)
            assert it.names == of(LOW, slots)
            assert it.told == {}
            informer.start(LOW)
            assert set(it.told) == of(LOW, slots)
            assert informer.server_filters is filters
            assert (informer.foreign == 0) is filters
            half = it.transport.listed

            await informer.gain(LOW | EVEN)
            gained = EVEN - LOW
            assert it.names == of(LOW | EVEN, slots)
            assert it.requests("list", "shardSelector") == [
                by_uid(LOW).query["shardSelector"],
                by_uid(gained).query["shardSelector"],
            ]
            if filters:
                # The bytes of the gained objects, and nothing of what was there already.
                each = half / len(of(LOW, slots))
                assert it.transport.listed - half < each * (len(of(gained, slots)) + 2)
                assert informer.cache.stats()["objects_listed"] == len(of(LOW | EVEN, slots))
            informer.start(gained)

            for number in range(20):
                name = f"{prefix}-late-{number}"
                slots[name] = await make(client, kind, namespace, name)
            gone = sorted(slots)[::7]
            for name in gone:
                await client.delete(kind, namespace, name)
                del slots[name]
            await eventually(lambda: it.names == of(LOW | EVEN, slots), "the changes of the shard's slots")

            informer.stop(LOW)
            informer.lose(LOW)
            assert it.names == of(gained, slots)
            await eventually(
                lambda: it.requests("watch", "shardSelector")[-1] == by_uid(gained).query["shardSelector"],
                "a narrower watch",
            )
            for number in range(20):
                name = f"{prefix}-last-{number}"
                slots[name] = await make(client, kind, namespace, name)
            await eventually(lambda: it.names == of(gained, slots), "the changes of the slots that are left")
            assert len(it.requests("list", "shardSelector")) == 2
            assert len(it.requests("watch", "shardSelector")) == 3
            assert informer.server_filters is filters
            assert (informer.foreign == 0) is filters
            assert informer.cache.stats()["relists"] == 1
            for name, reason in it.told.items():
                if name in it.names:
                    assert reason != "deleted"


async def test_children_are_filtered_by_every_server(plane: ControlPlane, client: Client) -> None:
    async with client.namespace() as namespace:
        slots = {}
        for number in range(COUNT):
            root = await make(client, Widget, namespace, f"root-{number}")
            uid = (await client.get(Widget, namespace, f"root-{number}"))["metadata"]["uid"]
            owner = {
                "apiVersion": Widget.resource.api_version,
                "kind": "Widget",
                "name": f"root-{number}",
                "uid": uid,
                "controller": True,
            }
            metadata = {
                "name": f"child-{number}",
                "namespace": namespace,
                "labels": {SLOT_LABEL: str(root)},
                "ownerReferences": [owner],
            }
            await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
            slots[f"child-{number}"] = root
        await client.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nobodys", "namespace": namespace}}
        )
        async with shard(plane, ConfigMap.resource, "children", namespace) as it:
            await it.informer.gain(LOW)
            assert it.names == of(LOW, slots)
            await it.informer.gain(HIGH)
            assert it.names == set(slots)
            it.informer.start(LOW | HIGH)
            await eventually(
                lambda: it.requests("watch", "labelSelector")[-1] == SLOT_LABEL, "the watch of all slots"
            )
            it.informer.lose(HIGH)
            assert it.names == of(LOW, slots)
            for name in sorted(of(LOW, slots))[:3]:
                await client.delete("ConfigMap", namespace, name)
                del slots[name]
            await eventually(lambda: it.names == of(LOW, slots), "the deletions")
            asked = [f"{SLOT_LABEL} in ({','.join(map(str, sorted(part)))})" for part in (LOW, HIGH)]
            assert it.requests("list", "labelSelector") == asked
            await eventually(
                lambda: it.requests("watch", "labelSelector") == [asked[0], SLOT_LABEL, asked[0]],
                "a narrower watch",
            )
            assert it.informer.foreign == 0


async def test_the_longest_selector_is_taken(plane: ControlPlane, client: Client, filters: bool) -> None:
    """Scattered slots: about seventy ranges, the most that a request ever has."""
    async with client.namespace() as namespace:
        slots = {f"w-{number}": await make(client, Widget, namespace, f"w-{number}") for number in range(30)}
        async with shard(plane, Widget.resource, "roots", namespace) as it:
            await it.informer.gain(EVEN)
            assert it.names == of(EVEN, slots)
            assert not by_uid(EVEN).exact
            stats = it.informer.cache.stats()
            if not filters:
                assert stats["objects_foreign"] == 30 - len(it.names)
