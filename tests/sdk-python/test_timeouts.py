"""Every timeout there is: four of activities, two of workflows, and that of the workflow task."""

import asyncio
import time
from typing import Any

import pytest
from harness import event_names, events, ms, unique, until, working
from pieces import STARTS, Call, Calling, Policy, Waiting, fail, hang, hang_once
from temporalio import workflow
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError, TimeoutType


async def timeout_of(client: Client, queue: str, it: Call) -> tuple[TimeoutError, str, float]:
    """The timeout that the activity ended with, the workflow's id, and after how long."""
    begin, workflow_id = time.monotonic(), unique()
    with pytest.raises(WorkflowFailureError) as caught:
        await client.execute_workflow(Calling.run, it, id=workflow_id, task_queue=queue)
    assert isinstance(caught.value.cause, ActivityError)
    assert isinstance(caught.value.cause.cause, TimeoutError)
    return caught.value.cause.cause, workflow_id, time.monotonic() - begin


async def test_c_23_start_to_close_bounds_one_attempt_and_is_retried(client):
    async with working(client, workflows=[Calling], activities=[hang_once]) as queue:
        it = Call("hang_once", start_to_close=300, policy=Policy(initial=50))
        handle = await client.start_workflow(Calling.run, it, id=unique(), task_queue=queue)
        assert await handle.result() == "ok"
        (started,) = await events(handle, "ActivityTaskStarted")
        assert started.attempt == 2
        assert started.last_failure.HasField("timeout_failure_info")


@pytest.mark.parametrize(
    "policy", [Policy(attempts=1), Policy(20, never=["TemporalTimeout:StartToClose"])]
)
async def test_c_23_start_to_close_ends_an_activity_that_may_not_be_retried(client, policy):
    async with working(client, workflows=[Calling], activities=[hang]) as queue:
        it = Call("hang", start_to_close=300, policy=policy)
        timeout, workflow_id, took = await timeout_of(client, queue, it)
        assert timeout.type == TimeoutType.START_TO_CLOSE
        assert took >= 0.3
        assert len(STARTS[workflow_id]) == 1


async def test_schedule_to_start_ends_an_activity_that_nobody_takes(client):
    async with working(client, workflows=[Calling]) as queue:
        it = Call("fail", 0, schedule_to_start=300, queue=unique("nobody"))
        timeout, _, took = await timeout_of(client, queue, it)
        assert timeout.type == TimeoutType.SCHEDULE_TO_START
        assert took >= 0.3


async def test_t_23_schedule_to_close_bounds_all_attempts_and_carries_the_last_failure(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        it = Call("fail", -1, schedule_to_close=700, policy=Policy(initial=250, coefficient=1.0))
        begin, workflow_id = time.monotonic(), unique()
        with pytest.raises(WorkflowFailureError) as caught:
            await client.execute_workflow(Calling.run, it, id=workflow_id, task_queue=queue)
        assert time.monotonic() - begin < 5
        error = caught.value.cause
        assert isinstance(error, ActivityError)
        seen: list[str] = []
        cause: BaseException | None = error.cause
        while cause:
            if isinstance(cause, ApplicationError):
                seen.append(cause.message)
            cause = getattr(cause, "cause", None)
        assert seen and seen[0].startswith("attempt"), "the last failure is told"
        assert 2 <= len(STARTS[workflow_id]) <= 3


async def test_schedule_to_close_ends_an_attempt_that_runs(client):
    async with working(client, workflows=[Calling], activities=[hang]) as queue:
        it = Call("hang", start_to_close=None, schedule_to_close=300)
        timeout, workflow_id, _ = await timeout_of(client, queue, it)
        assert timeout.type in (TimeoutType.SCHEDULE_TO_CLOSE, TimeoutType.START_TO_CLOSE)
        assert len(STARTS[workflow_id]) == 1


async def test_the_run_timeout_ends_a_run(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Waiting]) as queue:
        handle = await client.start_workflow(
            Waiting.run, id=unique(), task_queue=queue, run_timeout=ms(700)
        )
        crash.here()
        with pytest.raises(WorkflowFailureError) as caught:
            await handle.result()
        assert isinstance(caught.value.cause, TimeoutError)
        assert (await handle.describe()).status == WorkflowExecutionStatus.TIMED_OUT
        assert (await event_names(handle))[-1] == "WorkflowExecutionTimedOut"


@workflow.defn
class Failing:
    """Always fails."""

    @workflow.run
    async def run(self) -> None:
        STARTS[workflow.info().workflow_id].append(time.monotonic())
        raise ApplicationError("always")


async def test_t_24_the_execution_timeout_bounds_all_runs_of_a_workflow(client):
    async with working(client, workflows=[Failing]) as queue:
        policy = Policy(initial=200, coefficient=1.0).to_sdk()
        begin, workflow_id = time.monotonic(), unique()
        with pytest.raises(WorkflowFailureError):
            await client.execute_workflow(
                Failing.run,
                id=workflow_id,
                task_queue=queue,
                execution_timeout=ms(1000),
                retry_policy=policy,
            )
        assert time.monotonic() - begin < 4
        runs = len(STARTS[workflow_id])
        assert 2 <= runs <= 5
        await asyncio.sleep(0.5)
        assert len(STARTS[workflow_id]) == runs, "no run after the end"


@workflow.defn
class Stuck:
    """Blocks its first workflow task for longer than a worker may take."""

    blocked: dict[str, int] = {}

    @workflow.run
    async def run(self) -> str:
        tasks = Stuck.blocked
        tasks[workflow.info().workflow_id] = tasks.get(workflow.info().workflow_id, 0) + 1
        if tasks[workflow.info().workflow_id] == 1:
            time.sleep(1.6)
        return "ok"


async def test_a_workflow_task_that_takes_too_long_is_given_out_again(client):
    async with working(client, workflows=[Stuck], debug_mode=True) as queue:
        handle = await client.start_workflow(
            Stuck.run, id=unique(), task_queue=queue, task_timeout=ms(1000)
        )
        assert await handle.result() == "ok"
        names = await event_names(handle)
        assert "WorkflowTaskTimedOut" in names and names[-1] == "WorkflowExecutionCompleted"


@workflow.defn
class Broken:
    """Its code is wrong until it is mended."""

    mended = False
    tasks = 0

    @workflow.run
    async def run(self) -> str:
        Broken.tasks += 1
        if not Broken.mended:
            raise RuntimeError("a bug")
        return "mended"


async def test_t_03_a_workflow_with_a_bug_goes_on_when_it_is_mended(client):
    async with working(client, workflows=[Broken]) as queue:
        handle = await client.start_workflow(
            Broken.run, id=unique(), task_queue=queue, task_timeout=ms(1000)
        )
        await until("it was tried", lambda: Broken.tasks >= 2)
        assert (await handle.describe()).status == WorkflowExecutionStatus.RUNNING
        Broken.mended = True
        assert await handle.result() == "mended"
        names: Any = await event_names(handle)
        assert names.count("WorkflowTaskFailed") == 1, "further failures are not written"
