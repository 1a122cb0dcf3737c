"""Heartbeats: their details outlive attempts, workers and servers."""

import asyncio
from typing import Any

from harness import pending, unique, until, working
from pieces import STARTS, Call, Calling, Policy, gaps, hang_once, note_start
from temporalio import activity
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ActivityError, TimeoutError, TimeoutType

DONE: dict[str, list[int]] = {}


@activity.defn
async def walk(stop_at: int) -> int:
    """Does items 0..9, tells each, and hangs before `stop_at` in its first attempt."""
    attempt = note_start()
    info = activity.info()
    done = DONE.setdefault(info.workflow_id or "", [])
    first = info.heartbeat_details[0] + 1 if info.heartbeat_details else 0
    for item in range(first, 10):
        if attempt == 1 and item == stop_at:
            await asyncio.sleep(60)
        done.append(item)
        activity.heartbeat(item)
    return first


@activity.defn
async def tell_then_fail(_: Any) -> Any:
    """Tells a number and fails; the next attempt returns what it was told."""
    if note_start() == 1:
        assert not activity.info().heartbeat_details
        activity.heartbeat({"page": 4}, "two")
        raise RuntimeError("after a heartbeat")
    return list(activity.info().heartbeat_details)


async def test_c_28_c_29_c_30_the_next_attempt_reads_what_the_last_told(client):
    async with working(client, workflows=[Calling], activities=[tell_then_fail]) as queue:
        it = Call("tell_then_fail", policy=Policy(initial=20), heartbeat=5000)
        result = await client.execute_workflow(Calling.run, it, id=unique(), task_queue=queue)
        assert result == [{"page": 4}, "two"]


async def test_c_31_c_32_a_killed_workers_progress_is_gone_on_with(crash):
    client = await crash.server.client()
    workflow_id, queue = unique(), unique("queue")
    activities = unique("activities")
    async with working(client, workflows=[Calling], queue=queue):
        it = Call("walk", 5, heartbeat=600, policy=Policy(initial=50), queue=activities)
        handle = await client.start_workflow(Calling.run, it, id=workflow_id, task_queue=queue)
        async with working(client, activities=[walk], queue=activities):

            async def told() -> Any:
                return [p for p in await pending(handle) if p.heartbeat_details.payloads]

            await until("five items are done", lambda: DONE.get(workflow_id) == [0, 1, 2, 3, 4])
            await until("the server knows of them", told)
            crash.here()
            # The worker hangs and tells nothing more: for the server it is as good as dead.
            assert await handle.result() == 5
    assert DONE[workflow_id] == list(range(10)), "each item once"


async def test_c_27_a_silent_attempt_ends_at_its_heartbeat_timeout_and_the_next_comes_one_backoff_later(
    client,
):
    async with working(client, workflows=[Calling], activities=[hang_once]) as queue:
        it = Call("hang_once", heartbeat=400, policy=Policy(initial=200))
        handle = await client.start_workflow(Calling.run, it, id=unique(), task_queue=queue)
        assert await handle.result() == "ok"
        (gap,) = gaps(handle.id)
        assert 0.6 - 0.02 <= gap <= 2.1


async def test_c_24_a_heartbeat_timeout_that_is_listed_is_not_retried(client):
    async with working(client, workflows=[Calling], activities=[hang_once]) as queue:
        policy = Policy(initial=20, never=["TemporalTimeout:Heartbeat"])
        it = Call("hang_once", heartbeat=300, policy=policy)
        handle = await client.start_workflow(Calling.run, it, id=unique(), task_queue=queue)
        try:
            await handle.result()
            raise AssertionError("it must fail")
        except WorkflowFailureError as error:
            assert isinstance(error.cause, ActivityError)
            assert isinstance(error.cause.cause, TimeoutError)
            assert error.cause.cause.type == TimeoutType.HEARTBEAT
        assert len(STARTS[handle.id]) == 1
