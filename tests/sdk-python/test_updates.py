"""Updates: accepted or refused, waited for at each stage, done once for one id."""

import asyncio

import pytest
from harness import event_names, events, ms, unique, until, working
from temporalio import workflow
from temporalio.client import (
    WithStartWorkflowOperation,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
    WorkflowUpdateStage,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode


@workflow.defn
class Account:
    """Money in, money out; a gate that holds slow updates."""

    def __init__(self) -> None:
        self.balance = 0
        self.open = False
        self.done = False

    @workflow.run
    async def run(self) -> int:
        await workflow.wait_condition(lambda: self.done and workflow.all_handlers_finished())
        return self.balance

    @workflow.update
    async def deposit(self, amount: int) -> int:
        self.balance += amount
        return self.balance

    @deposit.validator
    def check_deposit(self, amount: int) -> None:
        if amount <= 0:
            raise ApplicationError("the amount must be positive", type="Refused")

    @workflow.update
    async def slow(self, amount: int) -> int:
        await workflow.wait_condition(lambda: self.open)
        self.balance += amount
        return self.balance

    @workflow.update
    async def overdraw(self) -> None:
        raise ApplicationError("not enough", type="Overdrawn")

    @workflow.signal
    def let_go(self) -> None:
        self.open = True

    @workflow.signal
    def close(self) -> None:
        self.done = True


async def account(client, queue):
    return await client.start_workflow(Account.run, id=unique("account"), task_queue=queue)


async def test_an_update_is_executed_and_its_result_returned(client):
    async with working(client, workflows=[Account]) as queue:
        handle = await account(client, queue)
        assert await handle.execute_update(Account.deposit, 5) == 5
        assert await handle.execute_update(Account.deposit, 7) == 12
        await handle.signal(Account.close)
        assert await handle.result() == 12
        names = await event_names(handle)
        assert names.count("WorkflowExecutionUpdateAccepted") == 2
        assert names.count("WorkflowExecutionUpdateCompleted") == 2


async def test_a_refused_update_is_not_in_the_history(client):
    async with working(client, workflows=[Account]) as queue:
        handle = await account(client, queue)
        await handle.execute_update(Account.deposit, 1)
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await handle.execute_update(Account.deposit, 0)
        assert isinstance(refused.value.cause, ApplicationError)
        assert refused.value.cause.type == "Refused"
        with pytest.raises(WorkflowUpdateFailedError):
            await handle.execute_update("unknown")
        # The workflow tasks that carried them are there, see docs/decisions/0005.
        updates = [name for name in await event_names(handle) if "Update" in name]
        assert updates == ["WorkflowExecutionUpdateAccepted", "WorkflowExecutionUpdateCompleted"]
        await handle.terminate()


async def test_a_failing_update_does_not_fail_the_workflow(client):
    async with working(client, workflows=[Account]) as queue:
        handle = await account(client, queue)
        with pytest.raises(WorkflowUpdateFailedError) as failed:
            await handle.execute_update(Account.overdraw)
        assert isinstance(failed.value.cause, ApplicationError)
        assert failed.value.cause.type == "Overdrawn"
        assert await handle.execute_update(Account.deposit, 1) == 1
        await handle.terminate()


async def test_an_accepted_update_is_waited_for_later_and_survives_the_server(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Account]) as queue:
        handle = await account(client, queue)
        update = await handle.start_update(
            Account.slow, 3, wait_for_stage=WorkflowUpdateStage.ACCEPTED, id="slow-1"
        )
        crash.here()
        await handle.signal(Account.let_go)
        assert await update.result() == 3
        again = handle.get_update_handle("slow-1", result_type=int)
        assert await again.result() == 3


async def test_completed_is_a_stage_too(client):
    async with working(client, workflows=[Account]) as queue:
        handle = await account(client, queue)
        update = await handle.start_update(
            Account.deposit, 3, wait_for_stage=WorkflowUpdateStage.COMPLETED
        )
        assert await update.result() == 3
        await handle.terminate()


async def test_one_id_is_one_update(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Account]) as queue:
        handle = await account(client, queue)
        for _ in range(3):
            assert await handle.execute_update(Account.deposit, 5, id="once") == 5
            crash.here()
        accepted = await events(handle, "WorkflowExecutionUpdateAccepted")
        assert len(accepted) == 1
        assert accepted[0].accepted_request.meta.update_id == "once"


async def test_many_updates_at_once(client):
    async with working(client, workflows=[Account]) as queue:
        handle = await account(client, queue)
        results = await asyncio.gather(
            *(handle.execute_update(Account.deposit, 1) for _ in range(9))
        )
        assert sorted(results) == list(range(1, 10))
        await handle.terminate()


async def test_updates_of_a_closed_workflow(client):
    async with working(client, workflows=[Account]) as queue:
        handle = await account(client, queue)
        await handle.execute_update(Account.deposit, 5, id="before")
        await handle.signal(Account.close)
        await handle.result()
        with pytest.raises(RPCError) as refused:
            await handle.execute_update(Account.deposit, 5)
        assert refused.value.status == RPCStatusCode.NOT_FOUND
        assert await handle.get_update_handle("before", result_type=int).result() == 5
        with pytest.raises(RPCError) as unknown:
            await handle.get_update_handle("never").result()
        assert unknown.value.status == RPCStatusCode.NOT_FOUND


async def test_an_update_that_is_not_done_when_its_workflow_ends_is_told_so(client):
    async with working(client, workflows=[Account]) as queue:
        handle = await account(client, queue)
        update = await handle.start_update(
            Account.slow, 3, wait_for_stage=WorkflowUpdateStage.ACCEPTED
        )
        waiting = asyncio.create_task(update.result())
        await handle.terminate()
        with pytest.raises((RPCError, WorkflowUpdateFailedError)):
            await waiting


async def test_an_update_without_a_worker_ends_with_the_callers_patience(client):
    handle = await account(client, unique("nobody"))
    with pytest.raises(WorkflowUpdateRPCTimeoutOrCancelledError):
        await handle.execute_update(Account.deposit, 1, rpc_timeout=ms(1000))
    await handle.terminate()


def with_start(queue: str, workflow_id: str, conflict: WorkflowIDConflictPolicy):
    return WithStartWorkflowOperation(
        Account.run, id=workflow_id, task_queue=queue, id_conflict_policy=conflict
    )


async def test_update_with_start_starts_what_is_not_there_and_uses_what_is(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Account]) as queue:
        workflow_id, runs = unique("account"), set()
        for expected in [5, 10]:
            start = with_start(queue, workflow_id, WorkflowIDConflictPolicy.USE_EXISTING)
            balance = await client.execute_update_with_start_workflow(
                Account.deposit, 5, start_workflow_operation=start
            )
            assert balance == expected
            runs.add((await start.workflow_handle()).first_execution_run_id)
            crash.here()
        assert len(runs) == 1


async def test_update_with_start_of_a_workflow_that_must_be_new_is_refused(client):
    async with working(client, workflows=[Account]) as queue:
        handle = await account(client, queue)
        start = with_start(queue, handle.id, WorkflowIDConflictPolicy.FAIL)
        with pytest.raises(WorkflowAlreadyStartedError):
            await client.execute_update_with_start_workflow(
                Account.deposit, 5, start_workflow_operation=start
            )
        with pytest.raises(WorkflowAlreadyStartedError):
            await start.workflow_handle()
        await handle.terminate()


async def test_a_refused_update_with_start_leaves_the_workflow_running(client):
    async with working(client, workflows=[Account]) as queue:
        start = with_start(queue, unique("account"), WorkflowIDConflictPolicy.FAIL)
        with pytest.raises(WorkflowUpdateFailedError):
            await client.execute_update_with_start_workflow(
                Account.deposit, -1, start_workflow_operation=start
            )
        handle = await start.workflow_handle()
        assert await handle.execute_update(Account.deposit, 1) == 1
        await handle.terminate()


async def test_updates_wait_for_a_worker_that_comes_later(client):
    queue = unique("queue")
    handle = await account(client, queue)
    update = asyncio.create_task(handle.execute_update(Account.deposit, 4))
    await until("the update was sent", lambda: not update.done())
    async with working(client, workflows=[Account], queue=queue):
        assert await update == 4
        await handle.terminate()
