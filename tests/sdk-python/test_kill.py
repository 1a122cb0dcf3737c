"""The server is killed under load: nothing is lost, and no attempt is made too often."""

import asyncio
from collections import Counter

from harness import Server, unique, working
from pieces import Call, Policy
from temporalio import activity, workflow
from temporalio.exceptions import ApplicationError

WORKFLOWS = 200
KILLS = 4

# How often each activity of each workflow was begun, and with which attempts.
BEGUN: Counter[str] = Counter()
ATTEMPTS: dict[str, list[int]] = {}


@activity.defn
async def charge(order: int) -> int:
    """At most once: its policy allows one attempt."""
    BEGUN[f"charge {order}"] += 1
    return order * 10


@activity.defn
async def ship(order: int) -> int:
    """Fails once for every third order."""
    attempt = activity.info().attempt
    ATTEMPTS.setdefault(f"ship {order}", []).append(attempt)
    await asyncio.sleep(0.01)
    if order % 3 == 0 and attempt == 1:
        raise ApplicationError("the truck is late")
    return order + 1


@workflow.defn
class Order:
    """Charge once, wait a little, ship until it works."""

    @workflow.run
    async def run(self, order: int) -> str:
        once = Call("charge", start_to_close=2_000, policy=Policy(attempts=1))
        try:
            charged = str(await workflow.execute_activity("charge", order, **once.options()))
        except Exception:
            # Its one attempt was lost with the server: the workflow is told, and decides.
            charged = "lost"
        await workflow.sleep(0.05 * (1 + order % 7))
        often = Call("ship", start_to_close=2_000, policy=Policy(initial=50, attempts=20))
        shipped = await workflow.execute_activity("ship", order, **often.options())
        return f"{charged} {shipped}"


async def test_nothing_is_lost_when_the_server_is_killed_under_load(server: Server):
    client = await server.client()
    async with working(
        client, workflows=[Order], activities=[charge, ship], max_concurrent_activities=50
    ) as queue:

        async def order(number: int) -> str:
            workflow_id = unique(f"order-{number}")
            while True:
                try:
                    handle = await client.start_workflow(
                        Order.run, number, id=workflow_id, task_queue=queue
                    )
                    return await handle.result()
                except Exception as error:
                    if type(error).__name__ == "WorkflowAlreadyStartedError":
                        return await client.get_workflow_handle(workflow_id).result()
                    if type(error).__name__ != "RPCError":
                        raise
                    await asyncio.sleep(0.1)

        orders = [asyncio.create_task(order(number)) for number in range(WORKFLOWS)]
        for _ in range(KILLS):
            await asyncio.sleep(0.5)
            assert not all(order.done() for order in orders), "there is nothing left to be lost"
            await asyncio.to_thread(server.kill_and_restart)
        results = await asyncio.gather(*orders)
    for number, result in enumerate(results):
        assert result in (f"{number * 10} {number + 1}", f"lost {number + 1}"), result
    assert all(times == 1 for times in BEGUN.values()), "one attempt is at most one start"
    for attempts in ATTEMPTS.values():
        assert len(set(attempts)) == len(attempts), "no attempt is handed out twice"
        assert len(attempts) <= 20
    assert len(ATTEMPTS) == WORKFLOWS
