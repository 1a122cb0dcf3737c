"""Workflow ids: one open run for an id, and what a second start may do."""

import pytest
from harness import unique, working
from pieces import Waiting
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

Reuse, Conflict = WorkflowIDReusePolicy, WorkflowIDConflictPolicy


async def start(client: Client, queue: str, workflow_id: str, **options):
    return await client.start_workflow(
        Waiting.run, id=workflow_id, task_queue=queue, **options
    )


async def test_an_open_workflow_holds_its_id(crash):
    client = await crash.server.client()
    queue, workflow_id = unique("queue"), unique()
    first = await start(client, queue, workflow_id)
    crash.here()
    with pytest.raises(WorkflowAlreadyStartedError) as refused:
        await start(client, queue, workflow_id)
    assert refused.value.workflow_id == workflow_id
    assert refused.value.run_id == first.first_execution_run_id


async def test_a_second_start_may_use_the_open_one(client):
    queue, workflow_id = unique("queue"), unique()
    first = await start(client, queue, workflow_id)
    second = await start(client, queue, workflow_id, id_conflict_policy=Conflict.USE_EXISTING)
    assert second.first_execution_run_id == first.first_execution_run_id
    await first.terminate()


async def test_a_second_start_may_end_the_open_one(client):
    queue, workflow_id = unique("queue"), unique()
    first = await start(client, queue, workflow_id)
    second = await start(
        client, queue, workflow_id, id_conflict_policy=Conflict.TERMINATE_EXISTING
    )
    assert second.first_execution_run_id != first.first_execution_run_id
    old = client.get_workflow_handle(workflow_id, run_id=first.first_execution_run_id)
    assert (await old.describe()).status == WorkflowExecutionStatus.TERMINATED
    await second.terminate()


@pytest.mark.parametrize(
    "policy, ended_well, accepted",
    [
        (Reuse.ALLOW_DUPLICATE, True, True),
        (Reuse.ALLOW_DUPLICATE, False, True),
        (Reuse.ALLOW_DUPLICATE_FAILED_ONLY, True, False),
        (Reuse.ALLOW_DUPLICATE_FAILED_ONLY, False, True),
        (Reuse.REJECT_DUPLICATE, True, False),
        (Reuse.REJECT_DUPLICATE, False, False),
    ],
)
async def test_the_id_of_a_closed_workflow_is_used_again_as_the_policy_says(
    client, policy, ended_well, accepted
):
    async with working(client, workflows=[Waiting]) as queue:
        first = await start(client, queue, unique())
        if ended_well:
            await first.signal(Waiting.finish)
            await first.result()
        else:
            await first.terminate()
            with pytest.raises(WorkflowFailureError):
                await first.result()
        if accepted:
            again = await start(client, queue, first.id, id_reuse_policy=policy)
            await again.terminate()
        else:
            with pytest.raises(WorkflowAlreadyStartedError):
                await start(client, queue, first.id, id_reuse_policy=policy)
