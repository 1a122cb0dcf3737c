"""Signals arrive in order and are not lost; queries look without touching."""

import asyncio

import pytest
from harness import event_names, events, ms, unique, working
from pieces import Waiting
from temporalio import workflow
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
)
from temporalio.common import QueryRejectCondition
from temporalio.service import RPCError, RPCStatusCode


async def test_signals_arrive_in_order_and_survive_the_server(crash):
    client = await crash.server.client()
    queue = unique("queue")
    handle = await client.start_workflow(Waiting.run, id=unique(), task_queue=queue)
    for word in ["a", "b", "c"]:
        await handle.signal(Waiting.say, word)
    crash.here()
    async with working(client, workflows=[Waiting], queue=queue):
        await handle.signal(Waiting.say, "d")
        await handle.signal(Waiting.finish)
        assert await handle.result() == ["a", "b", "c", "d"]
    names = await event_names(handle)
    assert names.count("WorkflowExecutionSignaled") == 5


async def test_many_signals_at_once_are_all_heard(client):
    async with working(client, workflows=[Waiting]) as queue:
        handle = await client.start_workflow(Waiting.run, id=unique(), task_queue=queue)
        words = [str(n) for n in range(50)]
        await asyncio.gather(*(handle.signal(Waiting.say, word) for word in words))
        await handle.signal(Waiting.finish)
        assert sorted(await handle.result(), key=int) == words


async def test_a_closed_workflow_cannot_be_signalled(client):
    async with working(client, workflows=[Waiting]) as queue:
        handle = await client.start_workflow(Waiting.run, id=unique(), task_queue=queue)
        await handle.signal(Waiting.finish)
        await handle.result()
        with pytest.raises(RPCError) as refused:
            await handle.signal(Waiting.say, "late")
        assert refused.value.status == RPCStatusCode.NOT_FOUND


async def test_signal_with_start_starts_once_and_signals_each_time(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Waiting]) as queue:
        workflow_id = unique()
        for word in ["first", "second"]:
            handle = await client.start_workflow(
                Waiting.run,
                id=workflow_id,
                task_queue=queue,
                start_signal="say",
                start_signal_args=[word],
            )
            crash.here()
        await handle.signal(Waiting.finish)
        assert await handle.result() == ["first", "second"]


@workflow.defn
class Asked:
    """Answers questions, some of them badly."""

    def __init__(self) -> None:
        self.done = False

    @workflow.run
    async def run(self) -> str:
        await workflow.wait_condition(lambda: self.done)
        return "end"

    @workflow.signal
    def finish(self) -> None:
        self.done = True

    @workflow.query
    def plus(self, a: int, b: int) -> int:
        return a + b

    @workflow.query
    def broken(self) -> str:
        raise RuntimeError("no answer")


async def test_queries_are_answered_while_it_runs_and_after_its_end(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Asked]) as queue:
        handle = await client.start_workflow(Asked.run, id=unique(), task_queue=queue)
        assert await handle.query(Asked.plus, args=[1, 2]) == 3
        crash.here()
        assert await handle.query(Asked.plus, args=[2, 2]) == 4
        await handle.signal(Asked.finish)
        await handle.result()
        written = await event_names(handle)
        assert await handle.query(Asked.plus, args=[3, 2]) == 5
        assert await event_names(handle) == written, "a query leaves no trace"


async def test_many_queries_at_once(client):
    async with working(client, workflows=[Asked]) as queue:
        handle = await client.start_workflow(Asked.run, id=unique(), task_queue=queue)
        answers = await asyncio.gather(
            *(handle.query(Asked.plus, args=[n, n]) for n in range(30))
        )
        assert answers == [2 * n for n in range(30)]
        await handle.terminate()


async def test_a_failing_query_and_an_unknown_one_are_told(client):
    async with working(client, workflows=[Asked]) as queue:
        handle = await client.start_workflow(Asked.run, id=unique(), task_queue=queue)
        with pytest.raises(WorkflowQueryFailedError, match="no answer"):
            await handle.query(Asked.broken)
        with pytest.raises(WorkflowQueryFailedError, match="unknown"):
            await handle.query("unknown")
        assert (await handle.describe()).status == WorkflowExecutionStatus.RUNNING
        await handle.terminate()


async def test_a_query_may_be_refused_for_closed_and_for_failed_workflows(client):
    async with working(client, workflows=[Asked]) as queue:
        handle = await client.start_workflow(Asked.run, id=unique(), task_queue=queue)
        not_open, not_clean = (
            QueryRejectCondition.NOT_OPEN,
            QueryRejectCondition.NOT_COMPLETED_CLEANLY,
        )
        assert await handle.query(Asked.plus, args=[1, 1], reject_condition=not_open) == 2
        await handle.signal(Asked.finish)
        await handle.result()
        assert await handle.query(Asked.plus, args=[1, 1], reject_condition=not_clean) == 2
        with pytest.raises(WorkflowQueryRejectedError) as refused:
            await handle.query(Asked.plus, args=[1, 1], reject_condition=not_open)
        assert refused.value.status == WorkflowExecutionStatus.COMPLETED


async def test_a_query_without_a_worker_ends_with_the_callers_patience(client):
    handle = await client.start_workflow(Asked.run, id=unique(), task_queue=unique("nobody"))
    with pytest.raises(RPCError) as refused:
        await handle.query(Asked.plus, args=[1, 1], rpc_timeout=ms(1000))
    assert refused.value.status in (
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.FAILED_PRECONDITION,
        RPCStatusCode.CANCELLED,
    )
    await handle.terminate()


@workflow.defn
class Late:
    """Its signal handler still works when the run returns."""

    def __init__(self) -> None:
        self.handled = 0

    @workflow.run
    async def run(self) -> int:
        await workflow.wait_condition(lambda: self.handled == 2 and workflow.all_handlers_finished())
        return self.handled

    @workflow.signal
    async def slow(self) -> None:
        await workflow.sleep(0.05)
        self.handled += 1


async def test_signal_handlers_may_wait(client):
    async with working(client, workflows=[Late]) as queue:
        handle = await client.start_workflow(Late.run, id=unique(), task_queue=queue)
        await asyncio.gather(handle.signal(Late.slow), handle.signal(Late.slow))
        assert await handle.result() == 2
        signalled = await events(handle, "WorkflowExecutionSignaled")
        assert {it.signal_name for it in signalled} == {"slow"}


async def test_a_result_is_waited_for_by_many(client):
    async with working(client, workflows=[Asked]) as queue:
        handle = await client.start_workflow(Asked.run, id=unique(), task_queue=queue)
        waiting = [asyncio.create_task(handle.result()) for _ in range(10)]
        await handle.signal(Asked.finish)
        assert await asyncio.gather(*waiting) == ["end"] * 10


async def test_a_workflow_that_is_terminated_fails_those_who_wait(client):
    handle = await client.start_workflow(Asked.run, id=unique(), task_queue=unique("nobody"))
    waiting = asyncio.create_task(handle.result())
    await handle.terminate(reason="not wanted")
    with pytest.raises(WorkflowFailureError) as caught:
        await waiting
    assert "not wanted" in str(caught.value.cause)
