import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple

import orjson
import pytest

from openclaw.api.openclaw import OpenClaw
from openclaw.kube.client import Client
from openclaw.kube.errors import Forbidden, NotFound, Unreachable
from openclaw.kube.transport import Response, Transport
from openclaw.runtime.recorder import EventRecorder
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.runtime.one_object import make

EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events"


class Request(NamedTuple):
    method: str
    path: str
    body: dict[str, Any]


class Events(Transport):
    """Takes events; `answer` may refuse one."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Request] = []
        self.answer: Callable[[Request], None] = lambda _: None
        self.gate = asyncio.Event()
        self.gate.set()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 30.0,
    ) -> Response:
        await self.gate.wait()
        request = Request(method, path, orjson.loads(body or b"{}"))
        self.sent.append(request)
        self.answer(request)
        return Response(200, b"{}")

    @property
    def counts(self) -> list[int]:
        """What each request said of how often it happened."""
        return [request.body.get("series", {}).get("count", 1) for request in self.sent]

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.sent]


def claw(name: str = "web", uid: str = "u-1") -> OpenClaw:
    obj = make(uid=uid)
    obj["metadata"]["name"] = name
    return OpenClaw.from_dict(obj)


@contextlib.asynccontextmanager
async def recording(transport: Events, **options: Any) -> AsyncIterator[EventRecorder]:
    recorder = EventRecorder(
        Client(transport),
        "openclaws.openclaw.dev",
        instance="pod-0",
        clock=asyncio.get_running_loop().time,
        **options,
    )
    task = asyncio.create_task(recorder.run())
    yield recorder
    await recorder.drain(60)
    assert not task.done()
    task.cancel()


@virtual_time
async def test_an_event_says_what_happened_to_which_object_and_who_says_so() -> None:
    transport = Events()
    async with recording(transport) as recorder:
        recorder.event(claw(), "Warning", "Degraded", "quota exceeded", action="Apply")
    ((method, path, body),) = transport.sent
    assert (method, path) == ("POST", EVENTS)
    assert re.fullmatch(r"web\.[0-9a-f]{16}", body["metadata"].pop("name"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", body.pop("eventTime"))
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "shop"},
        "reportingController": "openclaws.openclaw.dev",
        "reportingInstance": "pod-0",
        "action": "Apply",
        "reason": "Degraded",
        "note": "quota exceeded",
        "type": "Warning",
        "regarding": {
            "apiVersion": "apps.openclaw.dev/v1alpha1",
            "kind": "OpenClaw",
            "namespace": "shop",
            "name": "web",
            "uid": "u-1",
            "resourceVersion": "10",
        },
    }


@virtual_time
async def test_the_event_of_a_cluster_scoped_object_is_in_the_default_namespace() -> None:
    transport = Events()
    async with recording(transport) as recorder:
        obj = claw()
        obj.metadata.namespace = None
        recorder.event(obj, "Normal", "Synced", "done")
    assert transport.sent[0].path == "/apis/events.k8s.io/v1/namespaces/default/events"
    assert "namespace" not in transport.sent[0].body["regarding"]


@virtual_time
async def test_the_same_again_becomes_a_series_of_one_object() -> None:
    transport = Events()
    async with recording(transport) as recorder:
        for _ in range(3):
            recorder.event(claw(), "Normal", "Available", "2/2 ready")
            await recorder.drain(60)
            await asyncio.sleep(599)
    assert transport.methods == ["POST", "PATCH", "PATCH"]
    assert transport.counts == [1, 2, 3]
    name = transport.sent[0].body["metadata"]["name"]
    assert transport.sent[1].path == f"{EVENTS}/{name}"
    assert set(transport.sent[1].body) == {"series"}
    assert re.fullmatch(r".*\.\d{6}Z", transport.sent[1].body["series"]["lastObservedTime"])


@virtual_time
async def test_a_series_ends_after_ten_quiet_minutes() -> None:
    transport = Events()
    async with recording(transport) as recorder:
        for _ in range(2):
            recorder.event(claw(), "Normal", "Available", "2/2 ready")
            await recorder.drain(60)
            await asyncio.sleep(601)
    assert transport.methods == ["POST", "POST"]
    assert transport.counts == [1, 1]
    assert len({request.body["metadata"]["name"] for request in transport.sent}) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"type_": "Warning"},
        {"reason": "Other"},
        {"note": "other"},
        {"action": "Other"},
        {"obj": claw(uid="u-2")},
    ],
)
def test_what_differs_is_an_event_of_its_own(other: dict[str, Any]) -> None:
    @virtual_time
    async def story() -> None:
        transport = Events()
        first: dict[str, Any] = {"obj": claw(), "type_": "Normal", "reason": "R", "note": "n"}
        async with recording(transport) as recorder:
            recorder.event(**first)
            recorder.event(**{**first, **other})
        assert transport.methods == ["POST", "POST"]

    story()


@virtual_time
async def test_what_repeats_while_it_waits_is_sent_once_with_its_count() -> None:
    transport = Events()
    transport.gate.clear()
    async with recording(transport) as recorder:
        for _ in range(40):
            recorder.event(claw(), "Normal", "Available", "2/2 ready")
        transport.gate.set()
    assert transport.counts[-1] == 40
    assert len(transport.sent) <= 2
    assert recorder.dropped == 0


@virtual_time
async def test_an_object_that_talks_too_much_is_cut_short_and_others_are_not() -> None:
    transport = Events()
    async with recording(transport) as recorder:
        for number in range(100):
            recorder.event(claw(), "Normal", "Changed", f"change {number}")
        recorder.event(claw("quiet", "u-2"), "Normal", "Changed", "one change")
        await recorder.drain(60)
        assert (len(transport.sent), recorder.dropped) == (26, 75)
        await asyncio.sleep(301)
        for number in range(100):
            recorder.event(claw(), "Normal", "Changed", f"later {number}")
    assert (len(transport.sent), recorder.dropped) == (27, 174)


@virtual_time
async def test_a_series_is_limited_too_and_loses_no_count() -> None:
    # A key that fails ten times a second must not write ten times a second.
    transport = Events()
    async with recording(transport) as recorder:
        for _ in range(100):
            recorder.event(claw(), "Warning", "Degraded", "quota exceeded")
            await recorder.drain(60)
        assert len(transport.sent) == 25
        await asyncio.sleep(301)
        recorder.event(claw(), "Warning", "Degraded", "quota exceeded")
    assert len(transport.sent) == 26
    assert transport.counts[-1] == 101
    assert recorder.dropped == 0


@virtual_time
async def test_the_limit_of_a_busy_object_does_not_begin_anew_when_many_others_talk() -> None:
    transport = Events()
    async with recording(transport, capacity=100_000) as recorder:
        for number in range(6000):
            recorder.event(claw(), "Normal", "Changed", f"change {number}")
            recorder.event(claw("other", f"o-{number}"), "Normal", "Changed", "x")
    assert sum(request.body["regarding"]["name"] == "web" for request in transport.sent) == 25
    assert len(recorder._buckets) <= 4096
    assert len(recorder._series) <= 4096


@virtual_time
async def test_recording_never_waits_and_a_full_queue_drops() -> None:
    transport = Events()
    transport.gate.clear()
    async with recording(transport, capacity=5) as recorder:
        for number in range(20):
            recorder.event(claw(f"n{number}", f"u-{number}"), "Normal", "Changed", "x")
        assert recorder.dropped == 15
        transport.gate.set()
        await recorder.drain(60)
        # What was dropped can be told later, as an event, not as the repetition of one that nobody has.
        recorder.event(claw("n19", "u-19"), "Normal", "Changed", "x")
    assert [*transport.methods[5:], *transport.counts[5:]] == ["POST", 1]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1021 + "…"),
        ("ä" * 512, "ä" * 512),
        ("ä" * 513, "ä" * 510 + "…"),
        ("x\udcff", "x?"),
        ("", ""),
    ],
)
def test_a_note_is_cut_where_the_api_server_would_refuse_it(given: str, kept: str) -> None:
    @virtual_time
    async def story() -> None:
        transport = Events()
        async with recording(transport) as recorder:
            recorder.event(claw(), "Normal", "Changed", given)
        note = transport.sent[0].body["note"]
        assert note == kept
        assert len(note.encode()) <= 1024

    story()


@virtual_time
async def test_reason_and_action_are_cut_too() -> None:
    transport = Events()
    async with recording(transport) as recorder:
        recorder.event(claw(), "Normal", "R" * 129, "n", action="A" * 300)
    body = transport.sent[0].body
    assert (len(body["reason"].encode()), len(body["action"].encode())) == (128, 128)


@virtual_time
async def test_the_name_fits_whatever_the_object_is_called() -> None:
    transport = Events()
    names = ["a" * 253, "a" * 235 + "." + "b" * 17, "x"]
    async with recording(transport) as recorder:
        for number, name in enumerate(names):
            recorder.event(claw(name, f"u-{number}"), "Normal", "Changed", "x")
    for request in transport.sent:
        name = request.body["metadata"]["name"]
        assert len(name) <= 253
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", name)


@pytest.mark.parametrize(
    "error", [Forbidden(403, "Forbidden", "no"), Unreachable("reset"), RuntimeError("a fault of ours")]
)
def test_what_cannot_be_sent_is_dropped_and_the_rest_goes_on(error: Exception) -> None:
    @virtual_time
    async def story() -> None:
        transport = Events()

        def refuse(request: Request) -> None:
            if request.body["reason"] == "Bad":
                raise error

        transport.answer = refuse
        async with recording(transport) as recorder:
            recorder.event(claw(), "Normal", "Bad", "x")
            recorder.event(claw(), "Normal", "Good", "x")
        assert recorder.dropped == 1
        assert [request.body["reason"] for request in transport.sent] == ["Bad", "Good"]

    story()


@virtual_time
async def test_an_event_that_the_server_does_not_have_is_created_by_the_next() -> None:
    transport = Events()
    failing = True

    def refuse(_: Request) -> None:
        if failing:
            raise Unreachable("reset")

    transport.answer = refuse
    async with recording(transport) as recorder:
        recorder.event(claw(), "Normal", "Available", "x")
        await recorder.drain(60)
        failing = False
        recorder.event(claw(), "Normal", "Available", "x")
    assert transport.methods == ["POST", "POST"]
    assert transport.counts == [1, 2]


@virtual_time
async def test_a_series_goes_on_when_the_server_has_forgotten_the_event() -> None:
    transport = Events()

    def forgotten(request: Request) -> None:
        if request.method == "PATCH":
            raise NotFound(404, "NotFound", "gone")

    transport.answer = forgotten
    async with recording(transport) as recorder:
        for _ in range(2):
            recorder.event(claw(), "Normal", "Available", "x")
            await recorder.drain(60)
    assert transport.methods == ["POST", "PATCH", "POST"]
    assert transport.counts == [1, 2, 2]
    assert recorder.dropped == 0


@virtual_time
async def test_draining_ends_in_time_when_the_server_hangs() -> None:
    transport = Events()
    transport.gate.clear()
    async with recording(transport) as recorder:
        recorder.event(claw(), "Normal", "Available", "x")
        loop = asyncio.get_running_loop()
        began = loop.time()
        await recorder.drain(3)
        assert loop.time() - began == pytest.approx(3)
        transport.gate.set()


@virtual_time
async def test_a_series_that_goes_on_is_remembered_longer_than_events_that_do_not() -> None:
    transport = Events()
    async with recording(transport, capacity=100_000) as recorder:
        for number in range(5000):
            recorder.event(claw(), "Warning", "Degraded", "the same")
            recorder.event(claw("other", f"o-{number}"), "Normal", "Changed", "x")
            await recorder.drain(60)
    assert sum(request.body.get("reason") == "Degraded" for request in transport.sent) == 1


def test_two_events_of_one_moment_have_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openclaw.runtime.recorder.time.time_ns", lambda: 1)

    @virtual_time
    async def story() -> None:
        transport = Events()
        async with recording(transport) as recorder:
            recorder.event(claw(), "Normal", "One", "x")
            recorder.event(claw(), "Normal", "Two", "x")
        assert len({request.body["metadata"]["name"] for request in transport.sent}) == 2

    story()
