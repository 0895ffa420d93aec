"""What the embedded cluster does in a second on one core: writes, watch events, its start.

    .venv/bin/python bench/bench_cluster.py [--writes 2000] [--watches 200]

Everything is in this process, through the door that tests use: requests encoded, decoded, validated against
the schema, with managedFields, stored and told to watches. CPU time is counted, so that a busy machine
changes little. Exit status 1 when it is slower than it should be: 2,000 writes and 10,000 events a second,
0.2 s to start.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import orjson

from openclaw.testing.cluster.cluster import FakeCluster
from openclaw.testing.cluster.transport import InProcessTransport

CRD: Final = Path(__file__).parents[1] / "crds/apps.openclaw.dev_openclaws.yaml"
CLAWS: Final = "/apis/apps.openclaw.dev/v1alpha1/namespaces/default/openclaws"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
APPLY: Final = {"fieldManager": "bench", "force": "true", "fieldValidation": "Strict"}
TARGETS: Final = {"start": 0.2, "writes": 2000.0, "events": 10_000.0}

Request = Callable[[int], Awaitable[Any]]


def claw(number: int) -> bytes:
    """An OpenClaw."""
    return orjson.dumps(
        {
            "apiVersion": "apps.openclaw.dev/v1alpha1",
            "kind": "OpenClaw",
            "metadata": {"name": f"claw-{number}", "labels": {"team": "a"}},
            "spec": {
                "frontend": {"image": "example/web:1", "replicas": 2, "port": 3000},
                "worker": {
                    "image": "example/worker:1",
                    "replicas": 3,
                    "queue": "amqp://queue.example:5672/jobs",
                },
            },
        }
    )


def deployment(number: int, image: str = "example/web:1") -> bytes:
    """A Deployment as an operator states it."""
    container = {
        "name": "web",
        "image": image,
        "ports": [{"containerPort": 80}],
        "env": [{"name": "QUEUE", "value": "jobs"}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return orjson.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"web-{number}", "labels": {"app": "web"}},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
            },
        }
    )


def status(number: int) -> bytes:
    """A change of an OpenClaw's status."""
    condition = {
        "type": "Available",
        "status": "True",
        "reason": "Available",
        "message": f"seen {number} times",
        "observedGeneration": 1,
        "lastTransitionTime": "2027-01-15T08:00:00Z",
    }
    return orjson.dumps({"status": {"observedGeneration": 1, "conditions": [condition]}})


def requests(transport: InProcessTransport) -> dict[str, Request]:
    """The kinds of requests that are counted, in an order in which each finds what it needs."""
    send, json = transport.request, "application/json"
    merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"

    def config_map(number: int) -> bytes:
        return orjson.dumps({"metadata": {"name": f"map-{number}"}, "data": {"key": "value"}})

    def lease(number: int) -> bytes:
        return orjson.dumps({"metadata": {"name": f"lease-{number}"}, "spec": {"holderIdentity": "me"}})

    return {
        "create ConfigMap": lambda n: send("POST", CONFIG_MAPS, body=config_map(n), content_type=json),
        "create Lease": lambda n: send("PUT", f"{LEASES}/lease-{n}", body=lease(n), content_type=json),
        "create OpenClaw": lambda n: send("POST", CLAWS, body=claw(n), content_type=json),
        "patch OpenClaw status": lambda n: send(
            "PATCH", f"{CLAWS}/claw-{n}/status", body=status(n), content_type=merge
        ),
        "apply Deployment, new": lambda n: send(
            "PATCH", f"{DEPLOYMENTS}/web-{n}", query=APPLY, body=deployment(n), content_type=apply
        ),
        "apply Deployment, changed": lambda n: send(
            "PATCH", f"{DEPLOYMENTS}/web-{n}", query=APPLY, body=deployment(n, "b:2"), content_type=apply
        ),
        "apply Deployment, unchanged": lambda n: send(
            "PATCH", f"{DEPLOYMENTS}/web-{n}", query=APPLY, body=deployment(n, "b:2"), content_type=apply
        ),
        "get Deployment": lambda n: send("GET", f"{DEPLOYMENTS}/web-{n}"),
        "delete ConfigMap": lambda n: send("DELETE", f"{CONFIG_MAPS}/map-{n}"),
    }


async def measure(count: int, watches: int) -> dict[str, float]:
    """Print what was measured; returns what has a target."""
    import_module("openclaw.testing.cluster.machinery")  # Else the first start would import it.
    began = time.process_time()
    async with FakeCluster():
        start = time.process_time() - began
        print(f"{'start, the first':<32}{start * 1000:>10.0f} ms")
    async with FakeCluster(crds=[CRD], controllers=False) as cluster:
        transport = cluster.transport()
        rates = {}
        for name, request in requests(transport).items():
            await request(count)  # Schemas are made when they are first used.
            began = time.process_time()
            for number in range(count):
                await request(number)
            spent = time.process_time() - began
            rates[name] = count / spent
            print(f"{name:<32}{count / spent:>10,.0f} /s{spent / count * 1e6:>10.0f} us")
        writes = [rate for name, rate in rates.items() if not name.startswith("get")]
        mixed = len(writes) / sum(1 / rate for rate in writes)
        print(f"{'writes, as many of each':<32}{mixed:>10,.0f} /s")
    events = await measure_watches(watches)
    print(f"{f'events to {watches} watches':<32}{events:>10,.0f} /s")
    return {"start": start, "writes": mixed, "events": events}


async def measure_watches(watches: int, writes: int = 300) -> float:
    """Events a second that arrive at so many watches of one collection, the writes included."""
    async with FakeCluster(controllers=False) as cluster:
        transport = cluster.transport()
        arrived, wanted = 0, writes * watches
        done = asyncio.Event()

        async def follow() -> None:
            nonlocal arrived
            query = {"watch": "true", "resourceVersion": str(cluster.store.revision)}
            async with transport.stream(CONFIG_MAPS, query=query, idle_timeout=600) as chunks:
                async for chunk in chunks:
                    arrived += chunk.count(b"\n")
                    if arrived == wanted:
                        done.set()

        following = [asyncio.create_task(follow()) for _ in range(watches)]
        while len(cluster.server.watching.open) < watches:
            await asyncio.sleep(0)
        request = requests(transport)["create ConfigMap"]
        began = time.process_time()
        for number in range(writes):
            await request(number)
        await done.wait()
        spent = time.process_time() - began
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
    return wanted / spent


def main() -> int:
    """Measure; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--writes", type=int, default=2000, help="requests of each kind (default: %(default)s)"
    )
    parser.add_argument("--watches", type=int, default=200, help="(default: %(default)s)")
    options = parser.parse_args()
    gc.collect()
    measured = asyncio.run(measure(options.writes, options.watches))
    slow = [
        name
        for name, target in TARGETS.items()
        if (measured[name] > target if name == "start" else measured[name] < target)
    ]
    if slow:
        print(f"too slow: {', '.join(slow)}")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
