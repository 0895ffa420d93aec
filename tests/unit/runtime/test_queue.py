import asyncio

import pytest

from openclaw.runtime.queue import Key, Priority, Queue, QueueClosed, Work
from tests.unit.kube.virtual_time import virtual_time

A, B, C = (Key("shop", name) for name in "abc")
CHANGE, CHILD, RETRY, INITIAL = Priority


async def take(queue: Queue, count: int) -> list[Key]:
    """The next keys, each done at once."""
    keys = []
    for _ in range(count):
        work = await queue.get()
        keys.append(work.key)
        queue.done(work.key)
    return keys


async def idle(task: asyncio.Task[Work]) -> bool:
    """Whether the task still waits once everything else has had its turn."""
    for _ in range(5):
        await asyncio.sleep(0)
    return not task.done()


@virtual_time
async def test_a_key_added_twice_is_one_run_with_each_reason_once() -> None:
    queue = Queue()
    for reason in ("OpenClaw updated", "Deployment updated", "OpenClaw updated"):
        queue.add(A, CHILD, reason)
    assert len(queue) == 1
    work = await queue.get()
    assert work == Work(A, CHILD, ("OpenClaw updated", "Deployment updated"), 0.0)
    queue.done(A)
    assert (len(queue), queue.delayed, queue.running) == (0, 0, 0)


@virtual_time
async def test_reasons_of_a_run_do_not_come_back_in_the_next() -> None:
    queue = Queue()
    queue.add(A, CHANGE, "first")
    await queue.get()
    queue.add(A, CHANGE, "second")
    queue.done(A)
    assert (await queue.get()).reasons == ("second",)


@virtual_time
async def test_a_key_is_not_handed_out_while_it_runs() -> None:
    queue = Queue()
    queue.add(A, CHANGE, "one")
    await queue.get()
    queue.add(A, CHANGE, "two")
    second = asyncio.create_task(queue.get())
    assert await idle(second)
    assert (len(queue), queue.delayed, queue.running) == (0, 1, 1)
    queue.done(A)
    assert (await second).reasons == ("two",)


@virtual_time
async def test_a_delay_that_passes_during_a_run_counts_after_it() -> None:
    queue = Queue()
    loop = asyncio.get_running_loop()
    queue.add(A, CHANGE, "one")
    await queue.get()
    queue.add(A, RETRY, "later", delay=5)
    await asyncio.sleep(60)
    queue.done(A)
    began = loop.time()
    work = await queue.get()
    assert (loop.time() - began, work.waited) == (0, 55)


@virtual_time
async def test_the_earliest_time_wins_whichever_comes_first() -> None:
    queue = Queue()
    loop = asyncio.get_running_loop()
    began = loop.time()
    queue.add(A, RETRY, "late", delay=30)
    queue.add(A, RETRY, "early", delay=10)
    queue.add(A, RETRY, "later", delay=20)
    assert (len(queue), queue.delayed) == (0, 1)
    work = await queue.get()
    assert loop.time() - began == pytest.approx(10)
    assert work.reasons == ("late", "early", "later")
    queue.done(A)
    # What it left behind at 20 and 30 seconds makes no run.
    follow_up = asyncio.create_task(queue.get())
    await asyncio.sleep(60)
    assert not follow_up.done()
    follow_up.cancel()


@virtual_time
async def test_an_event_overtakes_a_delay() -> None:
    queue = Queue()
    queue.add(A, RETRY, "requested", delay=300)
    queue.add(A, CHANGE, "OpenClaw updated")
    work = await queue.get()
    assert (work.priority, work.waited) == (CHANGE, 0.0)


@virtual_time
async def test_delayed_keys_come_in_order_of_their_times() -> None:
    queue = Queue()
    for key, delay in ((A, 3.0), (B, 1.0), (C, 2.0)):
        queue.add(key, RETRY, "requested", delay=delay)
    assert await take(queue, 3) == [B, C, A]


@virtual_time
async def test_one_timer_serves_every_waiter() -> None:
    queue = Queue()
    waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
    for key in (A, B, C):
        queue.add(key, RETRY, "requested", delay=5)
    works = await asyncio.gather(*waiting)
    assert {work.key for work in works} == {A, B, C}


@pytest.mark.parametrize("delay", [0.0, -5.0, float("nan")])
def test_a_delay_that_is_none_means_now(delay: float) -> None:
    @virtual_time
    async def story() -> None:
        queue = Queue()
        queue.add(B, RETRY, "requested", delay=1)
        queue.add(A, RETRY, "requested", delay=delay)
        work = await queue.get()
        assert (work.key, work.waited) == (A, 0.0)
        assert (await queue.get()).key == B

    story()


@virtual_time
async def test_urgent_keys_come_first() -> None:
    queue = Queue()
    for key, priority in ((A, INITIAL), (B, RETRY), (C, CHANGE), (Key("shop", "d"), CHILD)):
        queue.add(key, priority, "x")
    assert await take(queue, 4) == [C, Key("shop", "d"), B, A]


@virtual_time
async def test_a_waiting_key_becomes_as_urgent_as_its_most_urgent_reason() -> None:
    queue = Queue()
    queue.add(A, INITIAL, "added")
    queue.add(B, INITIAL, "added")
    queue.add(B, CHANGE, "updated")
    queue.add(B, CHILD, "child")
    assert len(queue) == 2
    work = await queue.get()
    assert (work.key, work.priority) == (B, CHANGE)
    assert (await queue.get()).key == A
    assert len(queue) == 0


@virtual_time
async def test_a_delayed_key_keeps_the_most_urgent_priority() -> None:
    queue = Queue()
    queue.add(A, CHANGE, "x", delay=5)
    queue.add(A, INITIAL, "y", delay=1)
    assert (await queue.get()).priority == CHANGE


@virtual_time
async def test_namespaces_take_turns() -> None:
    queue = Queue()
    crowd = [Key("crowded", f"n{number}") for number in range(5)]
    small = [Key("small", "x"), Key("small", "y")]
    for key in (*crowd, *small, Key("tiny", "z")):
        queue.add(key, CHANGE, "x")
    assert await take(queue, 8) == [
        crowd[0],
        small[0],
        Key("tiny", "z"),
        crowd[1],
        small[1],
        crowd[2],
        crowd[3],
        crowd[4],
    ]


@virtual_time
async def test_a_namespace_keeps_its_turn_when_a_key_of_it_moves_to_a_faster_lane() -> None:
    queue = Queue()
    moved, stays, other = Key("one", "moved"), Key("one", "stays"), Key("two", "other")
    for key in (moved, stays, other):
        queue.add(key, RETRY, "x")
    queue.add(moved, CHANGE, "y")
    assert await take(queue, 3) == [moved, stays, other]


@virtual_time
async def test_the_backoff_is_the_keys_own_and_grows_until_it_is_forgotten() -> None:
    queue = Queue(retry_base=1.0, retry_cap=1000.0)
    delays = []
    for _ in range(6):
        delays.append(queue.retry(A, "failed"))
        assert (await queue.get()).key == A
        queue.done(A)
    # Each is drawn from the upper half of a step, and steps double.
    assert all(2**n / 2 <= delay <= 2**n for n, delay in enumerate(delays))
    assert (queue.failures(A), queue.failures(B)) == (6, 0)
    assert 0.5 <= queue.retry(B, "failed") <= 1.0
    queue.forget(A)
    assert queue.failures(A) == 0
    assert 0.5 <= queue.retry(A, "failed") <= 1.0


@virtual_time
async def test_a_retry_is_kept_within_bounds() -> None:
    queue = Queue(retry_base=1.0, retry_cap=2.0)
    assert queue.retry(A, "terminal", at_least=30) == 30
    assert queue.retry(B, "conflict", at_most=0.0) == 0
    assert (len(queue), queue.delayed) == (1, 1)
    for _ in range(20):
        assert queue.retry(C, "failed") <= 2.0


@virtual_time
async def test_a_retry_waits_its_delay_unless_an_event_comes_first() -> None:
    queue = Queue(retry_base=8.0, retry_cap=8.0)
    loop = asyncio.get_running_loop()
    queue.add(A, CHANGE, "x")
    await queue.get()
    delay = queue.retry(A, "failed")
    queue.done(A)
    began = loop.time()
    assert (await queue.get()).priority == RETRY
    assert loop.time() - began == pytest.approx(delay)


@virtual_time
async def test_metrics_are_told_of_each_add_and_of_each_retry() -> None:
    told: list[str] = []
    queue = Queue(on_add=lambda: told.append("add"), on_retry=lambda: told.append("retry"))
    queue.add(A, CHANGE, "x")
    queue.add(A, CHANGE, "x")
    queue.retry(A, "failed")
    assert sorted(told) == ["add", "add", "add", "retry"]


@virtual_time
async def test_close_wakes_every_waiter_and_takes_no_more_work() -> None:
    queue = Queue()
    waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.add(A, RETRY, "x", delay=10)
    queue.close()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(result, QueueClosed) for result in results)
    queue.add(B, CHANGE, "x")
    assert len(queue) == 0
    with pytest.raises(QueueClosed):
        await queue.get()


@virtual_time
async def test_a_run_may_end_after_the_queue_was_closed() -> None:
    queue = Queue()
    queue.add(A, CHANGE, "x")
    await queue.get()
    queue.retry(A, "failed")
    queue.close()
    queue.done(A)
    assert queue.running == 0
    # No timer is left that would keep the loop busy.
    await asyncio.sleep(1000)
    with pytest.raises(QueueClosed):
        await queue.get()


@virtual_time
async def test_a_cancelled_get_passes_its_turn_on() -> None:
    queue = Queue()
    first, second = (asyncio.create_task(queue.get()) for _ in range(2))
    await asyncio.sleep(0)
    queue.add(A, CHANGE, "x")  # wakes the first
    first.cancel()  # which is cancelled before it runs
    assert (await second).key == A
    with pytest.raises(asyncio.CancelledError):
        await first
    assert queue.running == 1


@virtual_time
async def test_a_key_is_not_lost_when_every_waiter_is_cancelled() -> None:
    queue = Queue()
    waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.add(A, CHANGE, "x")
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert (await queue.get()).key == A


@virtual_time
async def test_a_get_cancelled_as_the_queue_wakes_somebody_does_no_harm() -> None:
    queue = Queue()
    first, second = (asyncio.create_task(queue.get()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()  # its waiter is cancelled, but it has not run yet
    queue.add(A, CHANGE, "x")  # skips it
    assert (await second).key == A
    with pytest.raises(asyncio.CancelledError):
        await first


@virtual_time
async def test_gets_that_time_out_leave_nothing_behind() -> None:
    queue = Queue()
    for _ in range(100):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(queue.get(), 1)
    assert len(queue._waiters) == 0


@virtual_time
async def test_a_key_that_is_asked_for_ever_earlier_leaves_nothing_behind() -> None:
    queue = Queue()
    for step in range(100_000):
        queue.add(A, RETRY, "x", delay=1e6 - step)
    assert len(queue._delayed) < 200
    assert queue.delayed == 1


@virtual_time
async def test_a_key_that_runs_before_its_delay_leaves_nothing_behind() -> None:
    # An object with `Result.after(3600)` whose children change all the time.
    queue = Queue()
    for _ in range(10_000):
        queue.add(A, RETRY, "requested", delay=3600)
        queue.add(A, CHILD, "Deployment updated")
        await queue.get()
        queue.done(A)
    assert len(queue._delayed) < 200
    assert (len(queue), queue.delayed, queue._entries) == (0, 0, {})


@virtual_time
async def test_a_key_that_changes_lanes_leaves_nothing_behind() -> None:
    queue = Queue()
    # Somebody is always more urgent, so nobody ever looks into the slow lane.
    for _ in range(1000):
        queue.add(A, INITIAL, "x")
        queue.add(A, CHANGE, "y")
        await queue.get()
        queue.done(A)
    assert not any(queue._lanes.values())


@virtual_time
async def test_succeeded_keys_are_forgotten_whole() -> None:
    queue = Queue()
    for number in range(100):
        key = Key(f"ns{number}", "x")
        queue.retry(key, "failed", at_most=0)
        await queue.get()
        queue.forget(key)
        queue.done(key)
    assert (queue._backoffs, queue._entries, queue._running) == ({}, {}, set())
    assert not any(queue._lanes.values())


def test_a_key_reads_as_kubectl_writes_it() -> None:
    assert (str(Key("shop", "web")), str(Key("", "web"))) == ("shop/web", "web")
