"""The benchmark's operator on kopf.

Plain dicts are its caches, in place of kopf's indices: with these, kopf wakes every object's task whenever
one more object is indexed, so that a cold start takes time quadratic in the number of objects. The dicts are
filled from the events, and that of the ConfigMaps also from a list before anything is handled.
"""

from __future__ import annotations

import datetime as dt
import json
import mmap
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kopf
import kubernetes_asyncio
from kubernetes_asyncio.client import ApiClient, CoreV1Api
from kubernetes_asyncio.client.exceptions import ApiException

GROUP, VERSION, PLURAL = "bench.example.com", "v1", "widgets"
LABELS = {"app.kubernetes.io/managed-by": "widget-operator"}
SUFFIX = "-config"
RECONCILES, WRITES, ERRORS, CHILD_CHECKS = range(4)

Object = Mapping[str, Any]
Key = tuple[str, str]

parents: dict[Key, dict[str, Any]] = {}
children: dict[Key, dict[str, Any]] = {}


class Counters:
    """Counts in the file that `$BENCH_COUNTERS` names, if any."""

    def __init__(self) -> None:
        path = os.environ.get("BENCH_COUNTERS")
        if path:
            with Path(path).open("r+b") as file:
                self._memory = mmap.mmap(file.fileno(), 64)
        else:
            self._memory = mmap.mmap(-1, 64)
        self._values = [0] * 8

    def add(self, slot: int) -> None:
        self._values[slot] += 1
        struct.pack_into("<Q", self._memory, slot * 8, self._values[slot])


counters = Counters()


def remember_child(config_map: Object) -> None:
    meta = config_map["metadata"]
    owners = meta.get("ownerReferences") or [{}]
    known = {"owner": owners[0].get("uid"), "data": dict(config_map.get("data") or {})}
    children[meta["namespace"], meta["name"]] = known


@kopf.on.startup()
async def startup(settings: kopf.OperatorSettings, memo: Any, **_: Any) -> None:
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage()
    settings.execution.default_backoff = 1
    await kubernetes_asyncio.config.load_kube_config()
    memo.core = CoreV1Api(ApiClient())
    selector = ",".join(f"{key}={value}" for key, value in LABELS.items())
    response = await memo.core.list_config_map_for_all_namespaces(
        label_selector=selector, _preload_content=False
    )
    for config_map in json.loads(await response.read())["items"]:
        remember_child(config_map)


@kopf.on.cleanup()
async def cleanup(memo: Any, **_: Any) -> None:
    await memo.core.api_client.close()


@kopf.on.event(GROUP, VERSION, PLURAL)
def parent_changed(*, event: Any, namespace: Any, name: str, uid: str, spec: Object, **_: Any) -> None:
    if event["type"] == "DELETED":
        parents.pop((namespace, name), None)
    else:
        parents[namespace, name] = {"uid": uid, "spec": dict(spec)}


@kopf.on.resume(GROUP, VERSION, PLURAL)
@kopf.on.create(GROUP, VERSION, PLURAL)
@kopf.on.update(GROUP, VERSION, PLURAL, field="spec")
async def reconcile(
    *, namespace: Any, name: str, uid: str, body: Object, patch: Any, memo: Any, **_: Any
) -> None:
    data = desired_data(body["spec"])
    current = children.get((namespace, name + SUFFIX))
    if current is None or current["data"] != data or current["owner"] != uid:
        await write_config_map(memo.core, (namespace, name), uid, data, exists=current is not None)
    write_status(body, patch)
    counters.add(RECONCILES)


# kopf has no notion of "owns": this handler is the nearest thing to an owner watch.
@kopf.on.event("", "v1", "configmaps", labels=LABELS)
async def child_changed(*, event: Any, namespace: Any, name: str, body: Object, memo: Any, **_: Any) -> None:
    gone = event["type"] == "DELETED"
    if gone:
        children.pop((namespace, name), None)
    else:
        remember_child(body)
    widget = (namespace, name.removesuffix(SUFFIX))
    parent = parents.get(widget)
    if parent is None:
        return
    counters.add(CHILD_CHECKS)
    data = desired_data(parent["spec"])
    if gone or dict(body.get("data") or {}) != data:
        await write_config_map(memo.core, widget, parent["uid"], data, exists=not gone)


def desired_data(spec: Object) -> dict[str, str]:
    lines = "".join(f"{key}={value}\n" for key, value in sorted(spec.get("config", {}).items()))
    return {"image": spec["image"], "replicas": str(spec["replicas"]), "config.properties": lines}


async def write_config_map(
    core: CoreV1Api, widget: Key, uid: str, data: dict[str, str], *, exists: bool
) -> None:
    namespace, widget_name = widget
    owner = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Widget", "name": widget_name, "uid": uid}
    owner |= {"controller": True, "blockOwnerDeletion": True}  # type: ignore[dict-item]
    metadata = {
        "name": widget_name + SUFFIX,
        "namespace": namespace,
        "labels": LABELS,
        "ownerReferences": [owner],
    }
    body: Any = {"apiVersion": "v1", "kind": "ConfigMap", "data": data, "metadata": metadata}
    counters.add(WRITES)
    try:
        if exists:
            await core.replace_namespaced_config_map(widget_name + SUFFIX, namespace, body)
        else:
            await core.create_namespaced_config_map(namespace, body)
    except ApiException as error:
        counters.add(ERRORS)
        if error.status in {404, 409}:  # our view lags behind; it will have caught up by then
            raise kopf.TemporaryError(f"HTTP {error.status}", delay=1) from error
        raise


def write_status(body: Object, patch: Any) -> None:
    generation = body["metadata"]["generation"]
    status = body.get("status", {})
    known: Object = next(iter(status.get("conditions") or []), {})
    right = status.get("ready") and status.get("observedGeneration") == generation
    if right and known.get("observedGeneration") == generation:
        return
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    since = known.get("lastTransitionTime") if known.get("status") == "True" else None
    condition = {"type": "Ready", "status": "True", "reason": "ConfigMapApplied"}
    condition |= {"message": "the ConfigMap matches the spec", "lastTransitionTime": since or now}
    patch.status["observedGeneration"] = generation
    patch.status["ready"] = True
    patch.status["conditions"] = [{**condition, "observedGeneration": generation}]
    counters.add(WRITES)
