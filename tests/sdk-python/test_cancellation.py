"""Cancelling: an activity in its three manners, a workflow, and what is left behind."""

import asyncio
from typing import Any

import pytest
from harness import event_names, pending, unique, until, working
from pieces import STARTS, Call, Calling, Policy, Waiting, fail, note_start
from temporalio import activity, workflow
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ActivityError, CancelledError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.workflow import ActivityCancellationType

SAW: dict[str, str] = {}


@activity.defn
async def until_cancelled(_: Any) -> str:
    """Beats until it is cancelled, tidies up for a while, and says that it was cancelled."""
    note_start()
    workflow_id = activity.info().workflow_id or ""
    try:
        while True:
            activity.heartbeat()
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        await asyncio.sleep(0.3)
        SAW[workflow_id] = "tidied up"
        raise


@workflow.defn
class Cancelling:
    """Cancels its own activity once it runs, and tells what it sees of it."""

    def __init__(self) -> None:
        self.go = False

    @workflow.run
    async def run(self, call: Call) -> str:
        handle = workflow.start_activity(call.activity, call.argument, **call.options())
        await workflow.wait_condition(lambda: self.go)
        handle.cancel()
        try:
            await handle
        except ActivityError as error:
            return type(error.cause).__name__
        return "no error"

    @workflow.signal
    def cancel(self) -> None:
        self.go = True


@pytest.mark.parametrize("kind", list(ActivityCancellationType))
async def test_c_25_an_activity_is_cancelled_in_its_manner(client, kind):
    async with working(client, workflows=[Cancelling], activities=[until_cancelled]) as queue:
        it = Call("until_cancelled", heartbeat=400, cancellation=int(kind), policy=Policy(20))
        handle = await client.start_workflow(Cancelling.run, it, id=unique(), task_queue=queue)
        await until("the activity runs", lambda: STARTS[handle.id])
        await handle.signal(Cancelling.cancel)
        assert await handle.result() == "CancelledError"
        # Only who waits for it has seen the activity's own end.
        waited = kind == ActivityCancellationType.WAIT_CANCELLATION_COMPLETED
        assert (SAW.get(handle.id) == "tidied up") == waited
        names = await event_names(handle)
        abandoned = kind == ActivityCancellationType.ABANDON
        assert ("ActivityTaskCancelRequested" in names) != abandoned
        assert ("ActivityTaskCanceled" in names) == waited
        await until("the activity notices", lambda: handle.id in SAW)
        assert len(STARTS[handle.id]) == 1, "it is not retried"


async def test_c_105_a_cancel_during_backoff_means_no_further_attempt(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Cancelling], activities=[fail]) as queue:
        waits = int(ActivityCancellationType.WAIT_CANCELLATION_COMPLETED)
        it = Call("fail", -1, cancellation=waits, policy=Policy(initial=2000))
        handle = await client.start_workflow(Cancelling.run, it, id=unique(), task_queue=queue)

        async def second() -> Any:
            return [it for it in await pending(handle) if it.attempt == 2]

        await until("the second attempt is due", second)
        crash.here()
        await handle.signal(Cancelling.cancel)
        assert await handle.result() == "CancelledError"
        assert len(STARTS[handle.id]) == 1


async def test_cancelling_a_workflow_cancels_what_it_waits_for(client):
    async with working(client, workflows=[Calling], activities=[until_cancelled]) as queue:
        it = Call("until_cancelled", heartbeat=400)
        handle = await client.start_workflow(Calling.run, it, id=unique(), task_queue=queue)
        await until("the activity runs", lambda: STARTS[handle.id])
        await handle.cancel()
        with pytest.raises(WorkflowFailureError) as caught:
            await handle.result()
        assert isinstance(caught.value.cause, CancelledError)
        assert (await handle.describe()).status == WorkflowExecutionStatus.CANCELED


@workflow.defn
class Tidying:
    """When it is cancelled it still runs an activity, shielded, and then returns."""

    @workflow.run
    async def run(self) -> str:
        try:
            await workflow.sleep(60)
        except asyncio.CancelledError:
            result = await asyncio.shield(
                workflow.execute_activity("fail", 0, **Call("fail").options())
            )
            return f"tidied, {result}"
        return "slept"


async def test_a_cancelled_workflow_may_tidy_up(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Tidying], activities=[fail]) as queue:
        handle = await client.start_workflow(Tidying.run, id=unique(), task_queue=queue)
        await handle.cancel()
        crash.here()
        assert await handle.result() == "tidied, ok after 1"


async def test_a_second_cancel_changes_nothing_and_one_after_the_end_is_told(client):
    workflow_id = unique()
    handle = await client.start_workflow(Waiting.run, id=workflow_id, task_queue=unique("none"))
    await handle.cancel()
    await handle.cancel()
    names = await event_names(handle)
    assert names.count("WorkflowExecutionCancelRequested") == 1
    await handle.terminate({"by": "test"}, reason="enough")
    with pytest.raises(WorkflowFailureError) as caught:
        await handle.result()
    assert "enough" in str(caught.value.cause)
    with pytest.raises(RPCError) as refused:
        await handle.terminate(reason="again")
    assert refused.value.status == RPCStatusCode.NOT_FOUND


async def test_an_unknown_workflow_cannot_be_cancelled(client):
    with pytest.raises(RPCError) as refused:
        await client.get_workflow_handle(unique("nowhere")).cancel()
    assert refused.value.status == RPCStatusCode.NOT_FOUND
    assert "nowhere" in refused.value.message
