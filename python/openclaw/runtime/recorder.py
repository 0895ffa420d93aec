"""Events (`events.k8s.io/v1`): aggregated, rate-limited, and never in the way of a reconcile."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

import orjson

from openclaw.api.builtin import Event
from openclaw.api.resource import CustomResource
from openclaw.kube.client import Client
from openclaw.kube.errors import KubeError, NotFound
from openclaw.telemetry.logs import Log

__all__ = ["EventRecorder", "EventType"]

log = Log(__name__)

EventType = Literal["Normal", "Warning"]

# The limits of client-go's recorder (k8s.io/client-go/tools/events and tools/record).
_SERIES_SECONDS: Final = 600.0
_BURST: Final = 25
_REFILL_SECONDS: Final = 300.0
_NOTE_LIMIT: Final = 1024
_NAME_LIMIT: Final = 253
_REMEMBERED: Final = 4096


@dataclass(slots=True)
class _Series:
    """An event that was sent: where it is, how often it happened, when it did last."""

    namespace: str
    name: str
    count: int
    last: float


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class EventRecorder:
    """Sends events from a bounded queue.

    The same event of the same object within ten minutes becomes a series of one Event object; more than
    25 different ones of an object in a row are dropped, then one in five minutes passes. What cannot be
    sent is dropped with a log line: an event is a courtesy.
    """

    def __init__(
        self,
        client: Client,
        controller: str,
        *,
        instance: str | None = None,
        capacity: int = 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._controller = controller
        self._instance = (instance or os.environ.get("POD_NAME") or socket.gethostname())[:128]
        self._queue: asyncio.Queue[tuple[dict[str, Any], tuple[str, ...]]] = asyncio.Queue(capacity)
        self._clock = clock
        self._series: OrderedDict[tuple[str, ...], _Series] = OrderedDict()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._last_stamp = 0
        self.dropped = 0

    def event(
        self, obj: CustomResource, type_: EventType, reason: str, note: str, *, action: str = "Reconcile"
    ) -> None:
        """Queue an event about `obj`; returns at once."""
        uid = obj.metadata.uid or ""
        note = note if len(note) <= _NOTE_LIMIT else note[: _NOTE_LIMIT - 1] + "…"
        key = (uid, type_, reason, note, action)
        if key not in self._series and not self._allowed(uid):
            self.dropped += 1
            return
        regarding = {
            "apiVersion": obj.resource.api_version,
            "kind": obj.resource.kind,
            "namespace": obj.metadata.namespace,
            "name": obj.metadata.name,
            "uid": uid,
            "resourceVersion": obj.metadata.resource_version,
        }
        now = datetime.now(UTC)
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": _event_name(obj.metadata.name, self._stamp()),
                "namespace": obj.metadata.namespace or "default",
            },
            "eventTime": _micro_time(now),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "note": note,
            "type": type_,
            "regarding": {name: value for name, value in regarding.items() if value},
        }
        try:
            self._queue.put_nowait((event, key))
        except asyncio.QueueFull:
            self.dropped += 1

    async def run(self) -> None:
        """Send what is queued until cancelled."""
        while True:
            event, key = await self._queue.get()
            try:
                await self._send(event, key)
            except KubeError as error:
                self.dropped += 1
                log.warning("an event could not be sent", reason=event["reason"], error=str(error))
            finally:
                self._queue.task_done()

    async def drain(self, timeout: float) -> None:
        """Wait until what is queued is sent, `timeout` seconds at most. `run` must be running."""
        try:
            async with asyncio.timeout(timeout):
                await self._queue.join()
        except TimeoutError:
            log.warning("events were left unsent", events=self._queue.qsize())

    async def _send(self, event: dict[str, Any], key: tuple[str, ...]) -> None:
        now = self._clock()
        series = self._series.get(key)
        if series is not None and now - series.last < _SERIES_SECONDS:
            series.count += 1
            series.last = now
            patch = {"series": {"count": series.count, "lastObservedTime": event["eventTime"]}}
            try:
                await self._client.merge_patch(Event.resource, series.namespace, series.name, patch)
            except NotFound:
                del self._series[key]  # the server forgets events after an hour
            else:
                return
        metadata = event["metadata"]
        await self._client.create(Event.resource, metadata["namespace"], orjson.dumps(event))
        self._series[key] = _Series(metadata["namespace"], metadata["name"], 1, now)
        while len(self._series) > _REMEMBERED:
            self._series.popitem(last=False)

    def _stamp(self) -> int:
        """Nanoseconds since 1970, never the same twice."""
        self._last_stamp = max(self._last_stamp + 1, time.time_ns())
        return self._last_stamp

    def _allowed(self, uid: str) -> bool:
        now = self._clock()
        bucket = self._buckets.get(uid)
        if bucket is None:
            bucket = self._buckets[uid] = _Bucket(_BURST, now)
            while len(self._buckets) > _REMEMBERED:
                self._buckets.popitem(last=False)
        bucket.tokens = min(_BURST, bucket.tokens + (now - bucket.at) / _REFILL_SECONDS)
        bucket.at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def _micro_time(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _event_name(name: str, stamp: int) -> str:
    """The object's name and the time in hexadecimal, as client-go has it."""
    suffix = f".{stamp:x}"
    return name[: _NAME_LIMIT - len(suffix)].rstrip("-.") + suffix
