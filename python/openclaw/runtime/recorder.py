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
from openclaw.kube.errors import NotFound
from openclaw.runtime.errors import ErrorClass, classify
from openclaw.telemetry.logs import Log
from openclaw.telemetry.spans import NO_SPAN, NoSpan, Span, current_span, follow_up

__all__ = ["EventRecorder", "EventType"]

log = Log(__name__)

EventType = Literal["Normal", "Warning"]

# The limits of client-go's recorder (k8s.io/client-go/tools/events and tools/record).
_SERIES_SECONDS: Final = 600.0
_BURST: Final = 25
_REFILL_SECONDS: Final = 300.0
_REMEMBERED: Final = 4096
# Those of the API server, which counts bytes.
_NOTE_LIMIT: Final = 1024
_REASON_LIMIT: Final = 128
_NAME_LIMIT: Final = 253


@dataclass(slots=True)
class _Series:
    """An event and how often it happened.

    Attributes:
        event: the body of the Event object, but for `series`.
        last: when it happened last, by the recorder's clock; `last_time` the same for the API.
        queued: somebody is about to tell the API server.
        created: the API server has the object.
        origin: the run that it is queued for.
    """

    event: dict[str, Any]
    last: float
    last_time: str
    count: int = 1
    queued: bool = False
    created: bool = False
    origin: Span | NoSpan = NO_SPAN


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class EventRecorder:
    """Sends events from a bounded queue.

    The same event of the same object within ten minutes becomes a series of one Event object. Of each object
    25 events or repetitions in a row are sent, then one in five minutes; what is not sent is dropped, but
    for repetitions, which count in the next one that is. What cannot be sent is dropped with a log line: an
    event is a courtesy.
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
        self._queue: asyncio.Queue[_Series] = asyncio.Queue(capacity)
        self._clock = clock
        self._series: OrderedDict[tuple[str, ...], _Series] = OrderedDict()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._last_stamp = 0
        self.dropped = 0

    def event(
        self, obj: CustomResource, type_: EventType, reason: str, note: str, *, action: str = "Reconcile"
    ) -> None:
        """Queue an event about `obj`; returns at once. Texts longer than the API admits are cut."""
        uid = obj.metadata.uid
        reason, action = _cut(reason, _REASON_LIMIT), _cut(action, _REASON_LIMIT)
        note = _cut(note, _NOTE_LIMIT)
        key = (uid, type_, reason, note, action)
        now, time_ = self._clock(), _micro_time(datetime.now(UTC))
        series = self._series.get(key)
        if series is not None and now - series.last < _SERIES_SECONDS:
            series.count += 1
            series.last, series.last_time = now, time_
            self._series.move_to_end(key)
            if not series.queued and self._allowed(uid, now):
                self._enqueue(series)
            return
        if not self._allowed(uid, now):
            self.dropped += 1
            return
        body = self._body(obj, type_=type_, reason=reason, note=note, action=action, time_=time_)
        series = _Series(body, now, time_)
        if self._enqueue(series):
            self._series[key] = series
            self._series.move_to_end(key)
            while len(self._series) > _REMEMBERED:
                self._series.popitem(last=False)

    def _body(
        self, obj: CustomResource, *, type_: EventType, reason: str, note: str, action: str, time_: str
    ) -> dict[str, Any]:
        regarding = {
            "apiVersion": obj.resource.api_version,
            "kind": obj.resource.kind,
            "namespace": obj.metadata.namespace,
            "name": obj.metadata.name,
            "uid": obj.metadata.uid,
            "resourceVersion": obj.metadata.resource_version,
        }
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": _event_name(obj.metadata.name, self._stamp()),
                "namespace": obj.metadata.namespace or "default",
            },
            "eventTime": time_,
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "note": note,
            "type": type_,
            "regarding": {name: value for name, value in regarding.items() if value},
        }

    def _enqueue(self, series: _Series) -> bool:
        try:
            self._queue.put_nowait(series)
        except asyncio.QueueFull:
            self.dropped += 1
            return False
        series.queued = True
        series.origin = current_span().root
        return True

    async def run(self) -> None:
        """Send what is queued until cancelled."""
        while True:
            series = await self._queue.get()
            try:
                with follow_up(series.origin, "event write") as span:
                    series.origin = NO_SPAN
                    span.set("openclaw.event.reason", series.event["reason"])
                    await self._send(series)
            except Exception as error:  # noqa: BLE001 - an event never takes the process down
                self.dropped += 1
                # Where the namespace goes or has gone, nobody misses the event.
                gone = isinstance(error, NotFound) or classify(error) is ErrorClass.GONE
                say = log.debug if gone else log.warning
                say("an event could not be sent", reason=series.event["reason"], error=str(error))
            finally:
                self._queue.task_done()

    async def drain(self, timeout: float) -> None:
        """Wait until what is queued is sent, `timeout` seconds at most. `run` must be running."""
        try:
            async with asyncio.timeout(timeout):
                await self._queue.join()
        except TimeoutError:
            log.warning("events were left unsent", events=self._queue.qsize())

    async def _send(self, series: _Series) -> None:
        series.queued = False
        metadata = series.event["metadata"]
        repeated = {"series": {"count": series.count, "lastObservedTime": series.last_time}}
        if series.created:
            try:
                await self._client.merge_patch(
                    Event.resource, metadata["namespace"], metadata["name"], repeated
                )
            except NotFound:
                series.created = False  # the server forgets events after an hour
            else:
                return
        body = {**series.event, **repeated} if series.count > 1 else series.event
        await self._client.create(Event.resource, metadata["namespace"], orjson.dumps(body))
        series.created = True

    def _stamp(self) -> int:
        """Nanoseconds since 1970, never the same twice."""
        self._last_stamp = max(self._last_stamp + 1, time.time_ns())
        return self._last_stamp

    def _allowed(self, uid: str, now: float) -> bool:
        bucket = self._buckets.get(uid)
        if bucket is None:
            bucket = self._buckets[uid] = _Bucket(_BURST, now)
            while len(self._buckets) > _REMEMBERED:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(uid)
        bucket.tokens = min(_BURST, bucket.tokens + (now - bucket.at) / _REFILL_SECONDS)
        bucket.at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def _cut(text: str, limit: int) -> str:
    """At most `limit` bytes of UTF-8, which surrogates have no place in."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return encoded.decode()
    return encoded[: limit - len("…".encode())].decode("utf-8", "ignore") + "…"


def _micro_time(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _event_name(name: str, stamp: int) -> str:
    """The object's name and the time in hexadecimal, as client-go has it."""
    suffix = f".{stamp:x}"
    return name[: _NAME_LIMIT - len(suffix)].rstrip("-.") + suffix
