"""What an operator does: describe, pause, unpause, reset and change activities; reset workflows."""

from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from harness import event_names, events, pending, unique, until, working
from pieces import STARTS, Call, Calling, Policy, Waiting, fail, gaps, hang
from temporalio.api.activity.v1 import ActivityOptions
from temporalio.api.common.v1 import RetryPolicy as WireRetryPolicy
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.api.workflowservice.v1 import (
    PauseActivityRequest,
    ResetActivityRequest,
    ResetWorkflowExecutionRequest,
    UnpauseActivityRequest,
    UpdateActivityOptionsRequest,
)
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError


def the_activity(client: Client, handle: Any) -> dict[str, Any]:
    return dict(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=handle.id),
        id="the-activity",
        identity="operator",
    )


async def failing(client: Client, queue: str, policy: Policy):
    it = Call("fail", -1, id="the-activity", policy=policy)
    handle = await client.start_workflow(Calling.run, it, id=unique(), task_queue=queue)
    await until("it was tried", lambda: STARTS[handle.id])
    return handle


async def test_c_113_a_running_activity_is_described(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Calling], activities=[hang]) as queue:
        it = Call("hang", id="the-activity", start_to_close=60_000, policy=Policy(attempts=7))
        handle = await client.start_workflow(Calling.run, it, id=unique(), task_queue=queue)
        await until("it runs", lambda: STARTS[handle.id])
        crash.here()
        (told,) = await pending(handle)
        assert told.activity_id == "the-activity"
        assert told.activity_type.name == "hang"
        assert told.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
        assert told.attempt == 1 and told.maximum_attempts == 7
        assert told.HasField("last_started_time") and told.HasField("scheduled_time")
        assert told.activity_options.start_to_close_timeout.seconds == 60
        await handle.terminate()


async def test_a_paused_activity_is_not_tried_until_it_is_unpaused(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        handle = await failing(client, queue, Policy(initial=100, coefficient=1.0))
        await client.workflow_service.pause_activity(
            PauseActivityRequest(**the_activity(client, handle), reason="look at it")
        )

        async def resting() -> Any:
            return [
                it
                for it in await pending(handle)
                if it.state == PendingActivityState.PENDING_ACTIVITY_STATE_PAUSED
            ]

        (told,) = await until("it is paused", resting)
        assert told.paused and told.pause_info.manual.reason == "look at it"
        crash.here()
        tried = len(STARTS[handle.id])
        assert await resting()
        await client.workflow_service.unpause_activity(
            UnpauseActivityRequest(**the_activity(client, handle))
        )
        await until("it is tried again", lambda: len(STARTS[handle.id]) > tried)
        await handle.terminate()


async def test_a_reset_activity_begins_with_attempt_one(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        handle = await failing(client, queue, Policy(initial=10, coefficient=1000.0))

        async def waits_long() -> Any:
            return [it for it in await pending(handle) if it.attempt == 3]

        await until("the third attempt is far away", waits_long)
        tried = len(STARTS[handle.id])
        await client.workflow_service.reset_activity(
            ResetActivityRequest(**the_activity(client, handle))
        )
        await until("it is tried twice more", lambda: len(STARTS[handle.id]) >= tried + 2)
        # The wait after the first attempt is short, and a second after each later one.
        assert gaps(handle.id)[tried] < 0.7, "attempts are counted from one"
        await handle.terminate()


async def test_the_policy_of_an_activity_is_changed_while_it_fails(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        handle = await failing(client, queue, Policy(initial=60_000))
        await client.workflow_service.update_activity_options(
            UpdateActivityOptionsRequest(
                **the_activity(client, handle),
                activity_options=ActivityOptions(
                    retry_policy=WireRetryPolicy(
                        initial_interval=Duration(nanos=50_000_000),
                        backoff_coefficient=1.0,
                        maximum_attempts=3,
                    )
                ),
                update_mask=FieldMask(paths=["retry_policy"]),
            )
        )
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert len(STARTS[handle.id]) == 3


async def test_a_workflow_is_reset_to_an_earlier_task(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Waiting]) as queue:
        handle = await client.start_workflow(Waiting.run, id=unique(), task_queue=queue)
        await handle.signal(Waiting.say, "kept")
        assert await handle.query(Waiting.heard) == ["kept"]
        await handle.signal(Waiting.finish)
        assert await handle.result() == ["kept"]
        first_task = (await event_names(handle)).index("WorkflowTaskCompleted") + 1
        answer = await client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=client.namespace,
                workflow_execution=WorkflowExecution(
                    workflow_id=handle.id, run_id=handle.first_execution_run_id or ""
                ),
                reason="again",
                workflow_task_finish_event_id=first_task,
                request_id=unique("request"),
            )
        )
        crash.here()
        again = client.get_workflow_handle(handle.id, run_id=answer.run_id)
        # Signals are applied anew, so it ends as before.
        assert await again.result() == ["kept"]
        assert (await again.describe()).status == WorkflowExecutionStatus.COMPLETED
        (failed,) = await events(again, "WorkflowTaskFailed")
        assert failed.base_run_id == handle.first_execution_run_id


async def test_the_server_says_that_it_is_well(client):
    """The SDK compresses the question."""
    assert await client.service_client.check_health()
