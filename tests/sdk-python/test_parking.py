"""Work that is given up is parked, seen to by an operator, and resumed. The workers know nothing of it."""

import asyncio
from typing import Any

from harness import unique, until, working
from pieces import Call, Calling, Policy
from temporalio import activity
from temporalio.exceptions import ApplicationError

PARK = {"endings": [{"ending": "park"}]}


class Bank:
    """A bank that is closed until somebody opens it."""

    def __init__(self) -> None:
        self.is_open = False
        self.seen: list[dict[str, Any]] = []

    @activity.defn(name="fail")
    async def charge(self, _: int) -> str:
        info = activity.info()
        self.seen.append({"attempt": info.attempt})
        if not self.is_open:
            raise ApplicationError("the bank is closed", type="BankClosed")
        return f"paid at attempt {info.attempt}"


def open_errors(server: Any) -> list[dict[str, Any]]:
    return server.call("GET", "errors?state=parked")["errors"]


async def test_d_01_d_03_parked_work_is_fixed_and_resumed_by_an_operator(crash):
    server = crash.server
    server.call("PUT", "settings", PARK)
    crash.here()
    bank = Bank()
    client = await server.client()
    async with working(client, workflows=[Calling], activities=[bank.charge]) as queue:
        it = Call("fail", 0, policy=Policy(initial=10, attempts=2))
        handle = await client.start_workflow(Calling.run, it, id=unique(), task_queue=queue)
        parked = await until("it is parked", lambda: open_errors(server))
        crash.here()
        [error] = open_errors(server)
        assert error["workflowId"] == handle.id and parked[0]["id"] == error["id"]
        assert error["cause"] == "the bank is closed" and error["attempts"] == 2
        assert len(bank.seen) == 2, "nobody tries it meanwhile"
        described = await handle.describe()
        assert described.raw_description.pending_activities[0].paused
        bank.is_open = True
        resume = {"select": {"ids": [error["id"]]}, "reason": "the bank is open"}
        server.call("POST", "errors/resume", resume)
        crash.here()
        assert await asyncio.wait_for(handle.result(), 30) == "paid at attempt 3"
        assert open_errors(server) == []


async def test_d_04_a_resume_policy_brings_it_back_without_a_person(crash):
    server = crash.server
    server.call("PUT", "settings", PARK)
    policy = {
        "name": "bank-opens",
        "errorSubstring": "the bank is closed",
        "maxAttempts": 5,
        "backOff": {"delay": 1},
    }
    server.call("POST", "resume-policies", policy)
    crash.here()
    bank = Bank()
    client = await server.client()
    async with working(client, workflows=[Calling], activities=[bank.charge]) as queue:
        it = Call("fail", 0, policy=Policy(initial=10, attempts=1))
        handle = await client.start_workflow(Calling.run, it, id=unique(), task_queue=queue)
        await until("it is parked", lambda: open_errors(server))
        crash.here()
        bank.is_open = True
        assert (await asyncio.wait_for(handle.result(), 30)).startswith("paid at attempt")
