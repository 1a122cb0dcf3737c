"""Runs that follow each other: continue-as-new, retries of workflows, cron."""

import time

import pytest
from harness import event_name, events, ms, span, unique, until, working
from pieces import STARTS, Policy, gaps
from temporalio import workflow
from temporalio.api.enums.v1 import ContinueAsNewInitiator
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError


@workflow.defn
class Counting:
    """Counts down, one run a number, and keeps the names of its runs."""

    @workflow.run
    async def run(self, left: int, runs: list[str]) -> list[str]:
        runs.append(workflow.info().run_id)
        if left:
            workflow.continue_as_new(args=[left - 1, runs])
        return runs


async def test_c_41_a_workflow_continues_as_new_and_who_waits_gets_the_last_result(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Counting]) as queue:
        workflow_id = unique()
        handle = await client.start_workflow(
            Counting.run, args=[5, []], id=workflow_id, task_queue=queue
        )
        crash.here()
        runs = await handle.result()
        assert len(set(runs)) == 6
        first = client.get_workflow_handle(workflow_id, run_id=runs[0])
        assert (await first.describe()).status == WorkflowExecutionStatus.CONTINUED_AS_NEW
        (last,) = await events(first, "WorkflowExecutionContinuedAsNew")
        assert last.new_execution_run_id == runs[1]
        assert last.initiator == ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_WORKFLOW


@workflow.defn
class Flaky:
    """Fails in its first runs."""

    @workflow.run
    async def run(self, times: int) -> str:
        info = workflow.info()
        STARTS[info.workflow_id].append(workflow.now().timestamp())
        if info.attempt <= times:
            raise ApplicationError(f"run {info.attempt} failed", type="Planned")
        return f"ok after {info.attempt}"


async def test_c_04_c_40_c_41_c_42_c_43_t_01_t_30_t_31_t_32_t_33_a_failed_run_is_followed_by_the_next(
    crash,
):
    client = await crash.server.client()
    async with working(client, workflows=[Flaky]) as queue:
        handle = await client.start_workflow(
            Flaky.run,
            2,
            id=unique(),
            task_queue=queue,
            retry_policy=Policy(initial=600, coefficient=1.0).to_sdk(),
        )
        first_id = handle.first_execution_run_id
        assert first_id
        first = client.get_workflow_handle(handle.id, run_id=first_id)

        async def next_run() -> str:
            last = (await first.fetch_history()).events[-1]
            if event_name(last) != "WorkflowExecutionContinuedAsNew":
                return ""
            it = last.workflow_execution_continued_as_new_event_attributes
            assert it.initiator == ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_RETRY
            assert it.failure.message == "run 1 failed"
            return it.new_execution_run_id

        second_id = await until("the first run is closed", next_run)
        crash.here()
        second = client.get_workflow_handle(handle.id, run_id=second_id)
        status = (await second.describe()).status
        assert status in (
            WorkflowExecutionStatus.RUNNING,
            WorkflowExecutionStatus.CONTINUED_AS_NEW,
        )
        assert (await first.describe()).status == WorkflowExecutionStatus.CONTINUED_AS_NEW
        assert await handle.result() == "ok after 3"


async def test_c_44_c_45_t_34_t_35_a_retried_run_waits_for_its_backoff_and_tells_it(client):
    async with working(client, workflows=[Flaky]) as queue:
        handle = await client.start_workflow(
            Flaky.run,
            1,
            id=unique(),
            task_queue=queue,
            retry_policy=Policy(initial=400).to_sdk(),
        )
        assert await handle.result() == "ok after 2"
        (gap,) = gaps(handle.id)
        assert 0.39 <= gap <= 2
        last = client.get_workflow_handle(handle.id)
        (started,) = await events(last, "WorkflowExecutionStarted")
        assert abs(span(started.first_workflow_task_backoff) - 0.4) < 0.01
        assert started.attempt == 2
        assert started.continued_failure.message == "run 1 failed"


async def test_t_04_a_workflow_without_a_policy_is_not_retried(client):
    async with working(client, workflows=[Flaky]) as queue:
        handle = await client.start_workflow(Flaky.run, 1, id=unique(), task_queue=queue)
        with pytest.raises(WorkflowFailureError) as caught:
            await handle.result()
        assert isinstance(caught.value.cause, ApplicationError)
        assert caught.value.cause.message == "run 1 failed"
        assert (await handle.describe()).status == WorkflowExecutionStatus.FAILED
        assert len(STARTS[handle.id]) == 1


async def test_a_workflows_attempts_are_used_up_across_runs(client):
    async with working(client, workflows=[Flaky]) as queue:
        handle = await client.start_workflow(
            Flaky.run,
            9,
            id=unique(),
            task_queue=queue,
            retry_policy=Policy(initial=30, attempts=3).to_sdk(),
        )
        with pytest.raises(WorkflowFailureError) as caught:
            await handle.result()
        assert isinstance(caught.value.cause, ApplicationError)
        assert caught.value.cause.message == "run 3 failed"
        assert len(STARTS[handle.id]) == 3


async def test_a_listed_type_ends_the_retries_of_a_workflow(client):
    async with working(client, workflows=[Flaky]) as queue:
        handle = await client.start_workflow(
            Flaky.run,
            9,
            id=unique(),
            task_queue=queue,
            retry_policy=Policy(initial=30, never=["Planned"]).to_sdk(),
        )
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert len(STARTS[handle.id]) == 1


@workflow.defn
class Tick:
    """One run of a cron: knows what the last one returned."""

    @workflow.run
    async def run(self) -> int:
        before = workflow.get_last_completion_result(int) if workflow.has_last_completion_result() else 0
        STARTS[workflow.info().workflow_id].append(time.monotonic())
        return before + 1


async def test_cron_runs_again_and_hands_the_result_on(server):
    client: Client = await server.client()
    async with working(client, workflows=[Tick]) as queue:
        handle = await client.start_workflow(
            Tick.run, id=unique(), task_queue=queue, cron_schedule="@every 1s"
        )
        await until("two runs", lambda: len(STARTS[handle.id]) >= 2)
        server.kill_and_restart()
        await until("four runs", lambda: len(STARTS[handle.id]) >= 4)
        now = client.get_workflow_handle(handle.id)
        (started,) = await events(now, "WorkflowExecutionStarted")
        assert started.initiator == ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE
        assert started.cron_schedule == "@every 1s"
        await now.terminate()
        assert all(gap > 0.5 for gap in gaps(handle.id))


async def test_a_start_delay_is_waited_for(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Tick]) as queue:
        begin = time.monotonic()
        handle = await client.start_workflow(
            Tick.run, id=unique(), task_queue=queue, start_delay=ms(800)
        )
        crash.here()
        assert await handle.result() == 1
        assert 0.79 <= STARTS[handle.id][0] - begin <= 4
