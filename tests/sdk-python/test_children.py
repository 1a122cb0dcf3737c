"""Children: what becomes of them when their parent closes, their retries, their ids."""

import asyncio

import pytest
from harness import event_names, unique, until, working
from pieces import Policy, Waiting
from temporalio import workflow
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import (
    ApplicationError,
    ChildWorkflowError,
    WorkflowAlreadyStartedError,
)
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy


@workflow.defn
class Once:
    """Fails in its first run."""

    @workflow.run
    async def run(self, times: int) -> str:
        if workflow.info().attempt <= times:
            raise ApplicationError(f"run {workflow.info().attempt} failed", type="Planned")
        return f"ok after {workflow.info().attempt}"


@workflow.defn
class Retrying:
    @workflow.run
    async def run(self, child_id: str) -> str:
        policy = Policy(initial=100, attempts=2).to_sdk()
        return await workflow.execute_child_workflow(
            Once.run, 1, id=child_id, retry_policy=policy
        )


async def test_c_03_a_child_is_retried_and_its_parent_sees_one_end(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Retrying, Once]) as queue:
        child_id = unique("child")
        handle = await client.start_workflow(
            Retrying.run, child_id, id=unique(), task_queue=queue
        )
        await until("the child is there", lambda: exists(client, child_id))
        crash.here()
        assert await handle.result() == "ok after 2"
        names = await event_names(handle)
        assert names.count("ChildWorkflowExecutionCompleted") == 1
        assert "ChildWorkflowExecutionFailed" not in names


async def exists(client, workflow_id: str) -> bool:
    try:
        await client.get_workflow_handle(workflow_id).describe()
        return True
    except Exception:
        return False


@workflow.defn
class Leaving:
    """Starts a child and closes without it."""

    @workflow.run
    async def run(self, policy: int, child_id: str) -> None:
        await workflow.start_child_workflow(
            Waiting.run, id=child_id, parent_close_policy=ParentClosePolicy(policy)
        )


@pytest.mark.parametrize(
    "policy, status",
    [
        (ParentClosePolicy.ABANDON, WorkflowExecutionStatus.RUNNING),
        (ParentClosePolicy.TERMINATE, WorkflowExecutionStatus.TERMINATED),
        (ParentClosePolicy.REQUEST_CANCEL, WorkflowExecutionStatus.CANCELED),
    ],
)
async def test_a_child_is_left_ended_or_cancelled_as_its_parent_said(client, policy, status):
    async with working(client, workflows=[Leaving, Waiting]) as queue:
        child_id = unique("child")
        await client.execute_workflow(
            Leaving.run, args=[int(policy), child_id], id=unique(), task_queue=queue
        )
        child = client.get_workflow_handle(child_id)

        async def as_said() -> bool:
            return (await child.describe()).status == status

        await until(f"the child is {status.name}", as_said)
        if status == WorkflowExecutionStatus.RUNNING:
            await asyncio.sleep(0.2)
            assert await as_said(), "and stays so"
            await child.signal(Waiting.finish)
            await child.result()


@workflow.defn
class Parent:
    """Runs a child and tells what became of it."""

    @workflow.run
    async def run(self, child_id: str, cancellation: int) -> str:
        try:
            return str(
                await workflow.execute_child_workflow(
                    Waiting.run,
                    id=child_id,
                    cancellation_type=ChildWorkflowCancellationType(cancellation),
                )
            )
        except WorkflowAlreadyStartedError:
            return "already started"
        except ChildWorkflowError as error:
            return f"child: {type(error.cause).__name__}"


async def test_a_childs_id_that_is_taken_is_told_to_its_parent(client):
    async with working(client, workflows=[Parent, Waiting]) as queue:
        taken = unique("child")
        other = await client.start_workflow(Waiting.run, id=taken, task_queue=queue)
        result = await client.execute_workflow(
            Parent.run, args=[taken, 1], id=unique(), task_queue=queue
        )
        assert result == "already started"
        await other.terminate()


@pytest.mark.parametrize("kind", list(ChildWorkflowCancellationType))
async def test_cancelling_a_parent_reaches_its_child_in_its_manner(client, kind):
    async with working(client, workflows=[Parent, Waiting]) as queue:
        child_id = unique("child")
        handle = await client.start_workflow(
            Parent.run, args=[child_id, int(kind)], id=unique(), task_queue=queue
        )
        await until("the child is there", lambda: exists(client, child_id))

        async def started() -> bool:
            return "ChildWorkflowExecutionStarted" in await event_names(handle)

        await until("the parent knows", started)
        await handle.cancel()
        assert await handle.result() == "child: CancelledError"
        asked = "RequestCancelExternalWorkflowExecutionInitiated" in await event_names(handle)
        assert asked == (kind != ChildWorkflowCancellationType.ABANDON)


async def test_a_parent_learns_of_the_end_of_its_child_across_a_crash(server):
    client = await server.client()
    async with working(client, workflows=[Parent, Waiting]) as queue:
        child_id = unique("child")
        handle = await client.start_workflow(
            Parent.run, args=[child_id, 1], id=unique(), task_queue=queue
        )
        await until("the child is there", lambda: exists(client, child_id))
        server.kill_and_restart()
        child = client.get_workflow_handle(child_id)
        await child.signal(Waiting.say, "hello")
        server.kill_and_restart()
        await child.signal(Waiting.finish)
        assert await handle.result() == "['hello']"


@workflow.defn
class Reaching:
    """Signals and cancels a workflow that is not its child."""

    @workflow.run
    async def run(self, other: str) -> str:
        handle = workflow.get_external_workflow_handle(other)
        try:
            await handle.signal(Waiting.say, "from outside")
            await handle.cancel()
        except ApplicationError as error:
            return error.message
        return "done"


async def test_a_workflow_signals_and_cancels_another(client):
    async with working(client, workflows=[Reaching, Waiting]) as queue:
        other = await client.start_workflow(Waiting.run, id=unique(), task_queue=queue)
        assert (
            await client.execute_workflow(Reaching.run, other.id, id=unique(), task_queue=queue)
            == "done"
        )
        with pytest.raises(WorkflowFailureError):
            await other.result()
        assert await other.query(Waiting.heard) == ["from outside"]


async def test_signalling_a_workflow_that_is_not_there_is_an_error_in_the_workflow(client):
    async with working(client, workflows=[Reaching]) as queue:
        text = await client.execute_workflow(
            Reaching.run, unique("nowhere"), id=unique(), task_queue=queue
        )
        assert "not found" in text.lower(), text
