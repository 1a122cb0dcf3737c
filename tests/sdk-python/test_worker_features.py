"""What workers do with the server's help: local and eager activities, patches, completion from
elsewhere, replay."""

import asyncio
import os
import time
from typing import Any

import pytest
from harness import event_name, event_names, events, ms, pending, unique, until, working
from pieces import STARTS, Call, Calling, Policy, Waiting, fail, gaps, note_start
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowFailureError, WorkflowHistory
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.converter import default
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
    Replayer,
    UnsandboxedWorkflowRunner,
)


class Headers(Interceptor):
    """Notes which fields the headers of activities have."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        seen = self.seen

        class Noting(ActivityInboundInterceptor):
            async def execute_activity(self, input: ExecuteActivityInput) -> Any:
                decode = default().payload_converter.from_payload
                seen.append({name: decode(field) for name, field in input.headers.items()})
                return await super().execute_activity(input)

        return Noting(next)


async def test_attempts_have_keys_for_workers_that_ask(server):
    seen = []
    for asked in ({}, {"steadfast-attempt-keys": "true"}):
        client = await server.other_client(rpc_metadata=asked)
        headers = Headers()
        async with working(
            client, workflows=[Calling], activities=[fail], interceptors=[headers]
        ) as queue:
            call = Call("fail", 1, policy=Policy(50))
            await client.execute_workflow(Calling.run, call, id=unique(), task_queue=queue)
        seen.append(headers.seen)
    assert seen[0] == [{}, {}]
    first, second = seen[1]
    assert first["steadfast-idempotency-key"] == second["steadfast-idempotency-key"]
    assert (first["steadfast-fence"], second["steadfast-fence"]) == (1, 2)


@workflow.defn
class Local:
    """Calls an activity in its own worker, without the server."""

    @workflow.run
    async def run(self, times: int) -> str:
        return await workflow.execute_local_activity(
            fail,
            times,
            start_to_close_timeout=ms(5000),
            retry_policy=Policy(initial=30, attempts=4).to_sdk(),
        )


async def test_local_activities_leave_a_marker_and_are_retried(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Local], activities=[fail]) as queue:
        handle = await client.start_workflow(Local.run, 2, id=unique(), task_queue=queue)
        assert await handle.result() == "ok after 3"
        crash.here()
        names = await event_names(handle)
        assert names.count("MarkerRecorded") == 1 and "ActivityTaskScheduled" not in names


async def test_a_local_activity_that_keeps_failing_fails_the_workflow(client):
    async with working(client, workflows=[Local], activities=[fail]) as queue:
        with pytest.raises(WorkflowFailureError) as caught:
            await client.execute_workflow(Local.run, -1, id=unique(), task_queue=queue)
        cause = caught.value.cause
        told = cause.cause if isinstance(cause, ActivityError) else cause
        assert isinstance(told, ApplicationError) and told.message == "attempt 4 failed"


async def test_an_activity_is_begun_eagerly_by_the_worker_that_asked(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        handle = await client.start_workflow(
            Calling.run, Call("fail", 1, policy=Policy(50)), id=unique(), task_queue=queue
        )
        assert await handle.result() == "ok after 2"
        (started,) = await events(handle, "ActivityTaskStarted")
        assert str(os.getpid()) in started.identity


async def test_a_worker_may_refuse_to_begin_eagerly(client):
    async with working(
        client, workflows=[Calling], activities=[fail], disable_eager_activity_execution=True
    ) as queue:
        it = Call("fail", 0)
        result = await client.execute_workflow(Calling.run, it, id=unique(), task_queue=queue)
        assert result == "ok after 1"


@workflow.defn(name="Patched")
class BeforePatch:
    @workflow.run
    async def run(self) -> str:
        await workflow.sleep(0.01)
        await workflow.wait_condition(lambda: self.done)
        return "old way"

    def __init__(self) -> None:
        self.done = False

    @workflow.signal
    def finish(self) -> None:
        self.done = True


@workflow.defn(name="Patched")
class AfterPatch:
    @workflow.run
    async def run(self) -> str:
        if workflow.patched("faster"):
            way = "new way"
        else:
            await workflow.sleep(0.01)
            way = "old way"
        await workflow.wait_condition(lambda: self.done)
        return way

    def __init__(self) -> None:
        self.done = False

    @workflow.signal
    def finish(self) -> None:
        self.done = True


async def test_a_patched_workflow_goes_on_as_it_began(client):
    queue = unique("queue")
    async with working(client, workflows=[BeforePatch], queue=queue):
        old = await client.start_workflow("Patched", id=unique(), task_queue=queue)

        async def slept() -> bool:
            return "TimerFired" in await event_names(old)

        await until("the old code slept", slept)
    async with working(client, workflows=[AfterPatch], queue=queue):
        new = await client.start_workflow("Patched", id=unique(), task_queue=queue)
        for handle in [old, new]:
            await handle.signal("finish")
        assert await old.result() == "old way"
        assert await new.result() == "new way"
        (marker,) = await events(new, "MarkerRecorded")
        assert marker.marker_name == "core_patch"


TOKENS: dict[str, bytes] = {}


@activity.defn
async def outside(_: Any) -> str:
    """Is completed by somebody else."""
    note_start()
    TOKENS[activity.info().workflow_id or ""] = activity.info().task_token
    activity.raise_complete_async()


async def begun_outside(client: Client, queue: str, **options: Any):
    it = Call("outside", id="the-activity", **options)
    handle = await client.start_workflow(Calling.run, it, id=unique(), task_queue=queue)
    await until("the activity has begun", lambda: handle.id in TOKENS)
    return handle


@pytest.mark.parametrize("by", ["token", "id"])
async def test_an_activity_is_completed_from_elsewhere(crash, by):
    client = await crash.server.client()
    async with working(client, workflows=[Calling], activities=[outside]) as queue:
        handle = await begun_outside(client, queue, heartbeat=10_000)
        crash.here()
        if by == "token":
            other = client.get_async_activity_handle(task_token=TOKENS[handle.id])
        else:
            other = client.get_async_activity_handle(
                workflow_id=handle.id, run_id=None, activity_id="the-activity"
            )
        await other.heartbeat("half")
        (told,) = await pending(handle)
        assert told.heartbeat_details.payloads[0].data == b'"half"'
        await other.complete("done elsewhere")
        assert await handle.result() == "done elsewhere"
        with pytest.raises(RPCError) as refused:
            await other.complete("again")
        assert refused.value.status == RPCStatusCode.NOT_FOUND


async def test_an_activity_is_failed_and_cancelled_from_elsewhere(client):
    async with working(client, workflows=[Calling], activities=[outside]) as queue:
        handle = await begun_outside(client, queue, policy=Policy(attempts=1))
        await client.get_async_activity_handle(task_token=TOKENS[handle.id]).fail(
            ApplicationError("bad luck")
        )
        with pytest.raises(WorkflowFailureError) as caught:
            await handle.result()
        assert isinstance(caught.value.cause, ActivityError)
        assert "bad luck" in str(caught.value.cause.cause)

        handle = await begun_outside(client, queue, cancellation=1)
        await handle.cancel()
        other = client.get_async_activity_handle(task_token=TOKENS[handle.id])

        async def asked() -> bool:
            return "ActivityTaskCancelRequested" in await event_names(handle)

        await until("the activity is asked to stop", asked)
        await other.report_cancellation()
        with pytest.raises(WorkflowFailureError) as caught:
            await handle.result()
        assert isinstance(caught.value.cause, CancelledError)


async def recorded(client: Client) -> WorkflowHistory:
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        it = Call("fail", 2, policy=Policy(initial=10))
        handle = await client.start_workflow(Calling.run, it, id=unique(), task_queue=queue)
        await handle.result()
        return await handle.fetch_history()


@workflow.defn(name="Calling")
class OtherCalling:
    """Not what was recorded: it sleeps first."""

    @workflow.run
    async def run(self, call: Call) -> Any:
        await workflow.sleep(1)
        return "other"


async def test_a_recorded_history_is_replayed(client):
    history = WorkflowHistory.from_json("recorded", (await recorded(client)).to_json())
    replayer = Replayer(workflows=[Calling], workflow_runner=UnsandboxedWorkflowRunner())
    await replayer.replay_workflow(history)
    other = Replayer(workflows=[OtherCalling], workflow_runner=UnsandboxedWorkflowRunner())
    with pytest.raises(workflow.NondeterminismError):
        await other.replay_workflow(history)


async def test_a_worker_without_a_cache_replays_from_the_server(client):
    async with working(client, workflows=[Waiting], max_cached_workflows=0) as queue:
        handle = await client.start_workflow(Waiting.run, id=unique(), task_queue=queue)
        for word in ["a", "b", "c"]:
            await handle.signal(Waiting.say, word)
            assert word in await handle.query(Waiting.heard)
        await handle.signal(Waiting.finish)
        assert await handle.result() == ["a", "b", "c"]


async def test_a_workflow_goes_on_on_another_worker(crash):
    client = await crash.server.client()
    queue = unique("queue")
    async with working(client, workflows=[Waiting], queue=queue):
        handle = await client.start_workflow(Waiting.run, id=unique(), task_queue=queue)
        await handle.signal(Waiting.say, "one")
        assert await handle.query(Waiting.heard) == ["one"]
    crash.here()
    async with working(client, workflows=[Waiting], queue=queue):
        assert await handle.query(Waiting.heard) == ["one"]
        await handle.signal(Waiting.finish)
        assert await handle.result() == ["one"]


@workflow.defn
class Long:
    """Many timers, some of no length, and activities at once: its history has pages."""

    @workflow.run
    async def run(self, count: int) -> int:
        calls = [
            workflow.execute_activity("fail", 0, **Call("fail").options()) for _ in range(count)
        ]
        await asyncio.gather(*(workflow.sleep(0.01 * (n % 5)) for n in range(count)))
        return len(await asyncio.gather(*calls))


async def test_long_histories_come_in_pages(client):
    async with working(client, workflows=[Long], activities=[fail], max_cached_workflows=0) as queue:
        handle = await client.start_workflow(Long.run, 120, id=unique(), task_queue=queue)
        assert await handle.result() == 120
        names = await event_names(handle)
        assert names.count("ActivityTaskCompleted") == 120
        assert names.count("TimerFired") == 120
        ids = [event.event_id for event in (await handle.fetch_history()).events]
        assert ids == list(range(1, len(ids) + 1))
        assert event_name((await handle.fetch_history()).events[-1]) == "WorkflowExecutionCompleted"


async def test_workers_stop_quickly(client):
    begin = 0.0
    async with working(client, workflows=[Waiting], activities=[fail]):
        await asyncio.sleep(0.3)
        begin = time.monotonic()
    assert time.monotonic() - begin < 3


async def test_the_server_stops_quickly_while_workers_wait(server):
    client = await server.other_client()
    async with working(client, workflows=[Waiting], activities=[fail]) as queue:
        handle = await client.start_workflow(Waiting.run, id=unique(), task_queue=queue)
        assert await handle.query(Waiting.heard) == []
        took = server.stop()
        server.start()
        assert took < 5, f"it took {took:.1f} s"
        await handle.signal(Waiting.finish)
        assert await handle.result() == []


async def test_the_sandbox_is_no_obstacle(client):
    from sandboxed import Plain
    from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

    async with working(client, workflows=[Plain], workflow_runner=SandboxedWorkflowRunner()) as queue:
        result = await client.execute_workflow(Plain.run, "you", id=unique(), task_queue=queue)
        assert result == "hello you"


async def test_gaps_between_attempts_are_kept_by_local_activities_too(client):
    async with working(client, workflows=[Local], activities=[fail]) as queue:
        handle = await client.start_workflow(Local.run, 2, id=unique(), task_queue=queue)
        await handle.result()
        assert len(STARTS[handle.id]) == 3
        first, second = gaps(handle.id)
        assert first >= 0.029 and second >= 0.059
