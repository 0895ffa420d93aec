"""One call with everything around it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from openclaw.providers.credentials.cache import CachedSource
from openclaw.providers.descriptors import Target
from openclaw.providers.errors import (
    ExternalConflict,
    ExternalInvalid,
    ExternalNotFound,
    ExternalThrottled,
    ExternalTransient,
    ExternalUnauthorised,
)
from openclaw.providers.resilience.breaker import BreakerOpen
from openclaw.providers.resilience.guard import Deadline
from openclaw.providers.resilience.metrics import ExternalMetrics
from openclaw.providers.resilience.settings import ResilienceSettings
from openclaw.telemetry.spans import Span
from openclaw.telemetry.tracing import RecordingTracer
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.providers.fakes import TARGET, Source, guard_of

SETTINGS = ResilienceSettings(
    rate=100, burst=100, concurrency=3, read_deadline=5, write_deadline=10, breaker_failures=100
)


class Calls:
    """A call that fails by plan, then succeeds."""

    def __init__(self, *plan: BaseException, takes: float = 0.0) -> None:
        self.plan = list(plan)
        self.times = 0
        self.takes = takes

    async def __call__(self) -> str:
        self.times += 1
        await asyncio.sleep(self.takes)
        if self.plan:
            raise self.plan.pop(0)
        return "done"


class Down:
    def __init__(self, allowed: float | None = None, error: Exception | None = None) -> None:
        self.allowed = allowed
        self.error = error
        self.asked = 0

    def check(self) -> float | None:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return self.allowed


def counted(registry: CollectorRegistry, operation: str, result: str) -> float:
    labels = {
        "provider": "fake",
        "account": TARGET.account,
        "region": TARGET.region,
        "operation": operation,
        "result": result,
    }
    return registry.get_sample_value("external_api_call_total", labels) or 0.0


@virtual_time
async def test_a_read_is_tried_again_while_its_failure_may_pass() -> None:
    call = Calls(ExternalTransient("a"), ExternalTransient("b"))
    assert await guard_of(SETTINGS).read("get", call) == "done"
    assert call.times == 3


@virtual_time
async def test_a_read_is_tried_so_often_and_no_more() -> None:
    call = Calls(*[ExternalTransient(str(n)) for n in range(9)])
    with pytest.raises(ExternalTransient, match="2"):
        await guard_of(SETTINGS).read("get", call)
    assert call.times == 3


@pytest.mark.parametrize(
    "error",
    [
        ExternalNotFound("x"),
        ExternalInvalid("x"),
        ExternalConflict("x"),
        ExternalThrottled("x"),
        ExternalUnauthorised("x"),
        ExternalTransient("in a minute", retry_after=60),
        KeyError("a defect"),
    ],
    ids=lambda it: type(it).__name__,
)
def test_a_read_that_another_attempt_does_not_help_is_not_tried_again(error: Exception) -> None:
    @virtual_time
    async def check() -> None:
        call = Calls(error)
        with pytest.raises(type(error)):
            await guard_of(SETTINGS).read("get", call)
        assert call.times == 1

    check()


@virtual_time
async def test_a_write_is_sent_once_whatever_comes_of_it() -> None:
    call = Calls(ExternalTransient("lost"))
    with pytest.raises(ExternalTransient) as caught:
        await guard_of(SETTINGS).write("create", call)
    assert call.times == 1
    assert caught.value.outcome_unknown


@virtual_time
async def test_a_call_has_a_deadline_and_a_writes_effect_is_unknown_then() -> None:
    guard = guard_of(SETTINGS)
    start = asyncio.get_running_loop().time()
    with pytest.raises(Deadline, match="10 s") as caught:
        await guard.write("create", Calls(takes=1000))
    assert caught.value.outcome_unknown
    assert asyncio.get_running_loop().time() - start == pytest.approx(10)
    with pytest.raises(Deadline):
        await guard.read("get", Calls(takes=1000))
    assert asyncio.get_running_loop().time() - start < 10 + 3 * 5 + 2


@virtual_time
async def test_a_timeout_of_the_providers_own_is_one_of_ours() -> None:
    with pytest.raises(Deadline, match="timed out"):
        await guard_of(SETTINGS).write("create", Calls(TimeoutError()))


@virtual_time
async def test_without_a_fence_down_nothing_is_written() -> None:
    registry = CollectorRegistry()
    guard, call, fence = guard_of(SETTINGS, registry=registry), Calls(), Down(error=LookupError("lost"))
    with pytest.raises(LookupError):
        await guard.write("create", call, fence=fence)
    assert call.times == 0
    assert counted(registry, "create", "refused") == 1
    fence.error = None
    assert await guard.write("create", call, fence=fence) == "done"
    assert fence.asked == 2


@virtual_time
async def test_a_write_takes_no_longer_than_the_fence_allows() -> None:
    start = asyncio.get_running_loop().time()
    with pytest.raises(Deadline):
        await guard_of(SETTINGS).write("create", Calls(takes=100), fence=Down(allowed=2.0))
    assert asyncio.get_running_loop().time() - start == pytest.approx(2)


@virtual_time
async def test_what_would_have_to_wait_is_told_to_come_back() -> None:
    registry = CollectorRegistry()
    guard = guard_of(ResilienceSettings(rate=1, burst=2), registry=registry)
    call = Calls()
    await guard.read("get", call)
    await guard.read("get", call)
    start = asyncio.get_running_loop().time()
    with pytest.raises(ExternalThrottled) as caught:
        await guard.read("get", call)
    assert asyncio.get_running_loop().time() == start, "nobody was made to wait"
    assert caught.value.local
    assert caught.value.retry_after is not None
    assert 0 < caught.value.retry_after <= 1
    assert call.times == 2
    assert counted(registry, "get", "held_back") == 1
    with pytest.raises(ExternalThrottled):
        guard.admit("create")
    assert counted(registry, "create", "held_back") == 1, "asked for, it was not sent either"
    await asyncio.sleep(1.1)
    guard.admit("create")
    assert await guard.read("get", call) == "done"


@virtual_time
async def test_a_system_that_throttles_is_left_alone_by_all() -> None:
    guard = guard_of(SETTINGS)
    with pytest.raises(ExternalThrottled) as caught:
        await guard.read("get", Calls(ExternalThrottled("slow down", retry_after=30)))
    assert not caught.value.local
    assert caught.value.retry_after is not None
    assert caught.value.retry_after >= 30
    call = Calls()
    with pytest.raises(ExternalThrottled):
        await guard.write("create", call)
    assert call.times == 0


@virtual_time
async def test_no_system_has_an_object_forgotten_by_asking_for_a_wait_without_end() -> None:
    for error in (ExternalTransient("x", retry_after=1e9), ExternalThrottled("x", retry_after=1e9)):
        with pytest.raises(type(error)) as caught:
            await guard_of(SETTINGS).read("get", Calls(error))
        assert caught.value.retry_after is not None
        assert 100 < caught.value.retry_after <= 900


@virtual_time
async def test_so_many_calls_under_way_and_no_more() -> None:
    guard = guard_of(SETTINGS)
    call = Calls(takes=1)
    running = [asyncio.create_task(guard.read("get", call)) for _ in range(3)]
    await asyncio.sleep(0.5)
    with pytest.raises(ExternalThrottled, match="under way"):
        await guard.read("get", call)
    with pytest.raises(ExternalThrottled, match="under way"):
        guard.admit("create")
    running[0].cancel()
    await asyncio.sleep(0)
    assert await guard.read("get", call) == "done", "a cancelled call leaves its place"
    await asyncio.gather(*running, return_exceptions=True)


@virtual_time
async def test_an_open_breaker_sends_nothing_and_takes_no_token() -> None:
    registry = CollectorRegistry()
    settings = ResilienceSettings(rate=1, burst=4, breaker_failures=2, breaker_open=500, breaker_longest=500)
    guard = guard_of(settings, registry=registry)
    for _ in range(2):
        with pytest.raises(ExternalTransient):
            await guard.write("create", Calls(ExternalTransient("x")))
    call = Calls()
    for _ in range(10):
        with pytest.raises(BreakerOpen) as caught:
            await guard.read("get", call)
        assert caught.value.retry_after is not None
        assert caught.value.retry_after >= 500
    with pytest.raises(BreakerOpen):
        guard.admit("create")
    assert call.times == 0
    assert counted(registry, "get", "breaker_open") == 10
    assert counted(registry, "create", "breaker_open") == 1
    assert (
        registry.get_sample_value(
            "external_api_breaker_state", {"provider": "fake", "account": TARGET.account}
        )
        == 2
    )


@virtual_time
async def test_what_is_held_back_closes_no_breaker() -> None:
    settings = ResilienceSettings(rate=0.1, burst=2, breaker_failures=1, breaker_open=5)
    guard = guard_of(settings)
    with pytest.raises(ExternalTransient):
        await guard.write("create", Calls(ExternalTransient("x")))
    assert await guard._bucket.take() == 0  # the second token
    await asyncio.sleep(6.1)
    fence = Down(error=LookupError("lost"))
    for _ in range(3):
        with pytest.raises(ExternalThrottled):
            await guard.write("create", Calls(), fence=fence)
    assert guard._account.breaker.state.name == "HALF_OPEN"
    await asyncio.sleep(20)
    with pytest.raises(LookupError):
        await guard.write("create", Calls(), fence=fence)
    assert guard._account.breaker.state.name == "HALF_OPEN"
    assert await guard.write("create", Calls()) == "done"
    assert guard._account.breaker.state.name == "CLOSED"


@virtual_time
async def test_a_source_that_does_not_answer_is_no_outage_of_the_system() -> None:
    source = Source(failure=ExternalTransient("the Vault is away"))
    guard = guard_of(ResilienceSettings(breaker_failures=1, rate=100, burst=100), source=CachedSource(source))
    call = Calls()
    for _ in range(5):
        with pytest.raises(ExternalTransient, match="Vault"):
            await guard.write("create", call)
    assert call.times == 0
    assert guard._account.breaker.state.name == "CLOSED"


@virtual_time
async def test_expired_credentials_are_had_anew_once() -> None:
    now = [0.0]
    source = Source(life=3600, clock=lambda: now[0])
    cached = CachedSource(source, clock=lambda: now[0])
    guard = guard_of(SETTINGS, source=cached)
    await cached.fetch()
    now[0] = 60
    call = Calls(ExternalUnauthorised("expired", expired=True))
    assert await guard.write("create", call) == "done"
    assert (call.times, source.fetched) == (2, 2)
    # Those that were just had are not had again and again.
    call = Calls(*[ExternalUnauthorised("expired", expired=True) for _ in range(5)])
    with pytest.raises(ExternalUnauthorised):
        await guard.write("create", call)
    assert (call.times, source.fetched) == (1, 2)
    call = Calls(ExternalUnauthorised("denied"))
    with pytest.raises(ExternalUnauthorised):
        await guard.write("create", call)
    assert (call.times, source.fetched) == (1, 2)


class Slow(Calls):
    async def __call__(self) -> str:
        for _ in range(3):
            await asyncio.sleep(0)
        return await super().__call__()


@pytest.mark.parametrize("half_open", [False, True])
@virtual_time
async def test_cancelled_at_any_await_nothing_is_held(half_open: bool) -> None:
    settings = ResilienceSettings(breaker_failures=1, breaker_open=1, rate=1000, burst=1000)
    ended = 0
    for turns in range(30):
        guard = guard_of(settings, source=CachedSource(Source()))
        if half_open:
            with pytest.raises(ExternalTransient):
                await guard.write("create", Calls(ExternalTransient("x")))
            await asyncio.sleep(2)
            assert guard._account.breaker.state.name == "HALF_OPEN"
        task = asyncio.create_task(guard.write("create", Slow()))
        for _ in range(turns):
            await asyncio.sleep(0)
        ended += task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert guard._account.running == 0
        assert not guard._account.breaker._probing
        assert await guard.read("get", Calls()) == "done"
        assert guard._account.breaker.state.name == "CLOSED"
    assert 5 < ended < 28


@virtual_time
async def test_a_call_is_a_span_and_a_count_without_names_of_objects() -> None:
    kept: list[Span] = []

    class Queue:
        def put(self, spans: Any) -> None:
            kept.extend(spans)

        def close(self, timeout: float) -> None:
            pass

    registry = CollectorRegistry()
    guard = guard_of(SETTINGS, registry=registry)
    with RecordingTracer(Queue(), lambda *_: True).start("reconcile") as _:
        await guard.read("get", Calls())
        with pytest.raises(ExternalNotFound):
            await guard.read("get", Calls(ExternalNotFound("x")))
        with pytest.raises(ExternalThrottled):
            await guard.write("update", Calls(ExternalThrottled("x", retry_after=7)))
    spans = [it for it in kept if it.name.startswith("fake ")]
    assert [it.name for it in spans] == ["fake get", "fake get", "fake update"]
    told = [it.attributes or {} for it in spans]
    assert [it["openclaw.external.result"] for it in told] == ["success", "not_found", "throttled"]
    assert told[0] == {
        "openclaw.external.provider": "fake",
        "openclaw.external.operation": "get",
        "openclaw.external.account": "account-1",
        "openclaw.external.region": "north",
        "openclaw.external.result": "success",
        "openclaw.external.breaker": "closed",
    }
    wait = told[2]["openclaw.external.throttle_wait"]
    assert isinstance(wait, float)
    assert wait >= 7
    assert counted(registry, "get", "success") == 1
    assert counted(registry, "get", "not_found") == 1
    assert counted(registry, "update", "throttled") == 1
    duration = "external_api_call_duration_seconds_count"
    assert registry.get_sample_value(duration, {"provider": "fake", "operation": "get"}) == 2


def test_accounts_beyond_a_number_are_one_label() -> None:
    registry = CollectorRegistry()
    metrics = ExternalMetrics.of(registry)
    assert ExternalMetrics.of(registry) is metrics
    for number in range(1000):
        metrics.called("fake", Target(f"account-{number}", f"region-{number}"), "get", "success", 0.1)
    [family] = [it for it in registry.collect() if it.name == "external_api_call"]
    accounts = {it.labels["account"] for it in family.samples}
    assert len(accounts) == 101
    assert "other" in accounts
