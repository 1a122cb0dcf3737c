"""Activities that fail and are tried again: when, how often, and what is seen meanwhile."""

from typing import Any

import pytest
from harness import event_names, events, ms, pending, unique, until, working
from pieces import STARTS, Call, Calling, Policy, fail, fail_with, gaps
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, RetryState
from temporalio.service import RPCError

# How much later than due an attempt may begin: the machine may be busy.
LATE = 1.5


async def call(client: Client, queue: str, it: Call) -> WorkflowHandle[Any, Any]:
    return await client.start_workflow(Calling.run, it, id=unique(), task_queue=queue)


async def failure_of(handle: WorkflowHandle[Any, Any]) -> ActivityError:
    """The activity error that the workflow failed with."""
    with pytest.raises(WorkflowFailureError) as caught:
        await handle.result()
    assert isinstance(caught.value.cause, ActivityError)
    return caught.value.cause


def near(measured: list[float], wanted: list[float]) -> None:
    """Never early, and late by no more than the machine's laziness."""
    assert len(measured) == len(wanted), f"{measured} against {wanted}"
    for got, want in zip(measured, wanted):
        assert want - 0.005 <= got <= want + LATE, f"{measured} against {wanted}"


async def test_c_02_t_02_t_07_a_policy_in_the_options_makes_a_failed_activity_try_again(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        handle = await call(client, queue, Call("fail", 2, policy=Policy(attempts=3)))
        assert await handle.result() == "ok after 3"


async def test_c_05_c_10_t_13_t_14_t_16_intervals_begin_with_the_initial_one_and_double(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        handle = await call(client, queue, Call("fail", 3, policy=Policy(initial=150)))
        assert await handle.result() == "ok after 4"
        near(gaps(handle.id), [0.15, 0.3, 0.6])


async def test_c_06_t_15_with_coefficient_one_every_interval_is_the_same(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        policy = Policy(initial=200, coefficient=1.0)
        handle = await call(client, queue, Call("fail", 3, policy=policy))
        await handle.result()
        near(gaps(handle.id), [0.2, 0.2, 0.2])


async def test_c_11_t_17_t_27_the_maximum_interval_caps_every_interval(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        policy = Policy(initial=100, coefficient=3.0, maximum=250)
        handle = await call(client, queue, Call("fail", 3, policy=policy))
        await handle.result()
        near(gaps(handle.id), [0.1, 0.25, 0.25])


async def test_t_05_t_08_an_activity_without_a_policy_is_retried_after_a_second(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        handle = await call(client, queue, Call("fail", 1))
        assert await handle.result() == "ok after 2"
        near(gaps(handle.id), [1.0])


async def test_c_38_t_19_after_the_last_attempt_the_caller_gets_the_last_error(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        policy = Policy(initial=20, attempts=3)
        handle = await call(client, queue, Call("fail", -1, policy=policy))
        error = await failure_of(handle)
        assert error.retry_state == RetryState.MAXIMUM_ATTEMPTS_REACHED
        assert isinstance(error.cause, ApplicationError)
        assert error.cause.message == "attempt 3 failed"
        assert len(STARTS[handle.id]) == 3
        started = await events(handle, "ActivityTaskStarted")
        assert [it.attempt for it in started] == [3]
        assert started[0].last_failure.message == "attempt 2 failed"


async def test_c_01_t_21_one_attempt_means_no_retry(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        handle = await call(client, queue, Call("fail", 1, policy=Policy(attempts=1)))
        await failure_of(handle)
        assert len(STARTS[handle.id]) == 1


async def test_t_20_zero_attempts_means_as_many_as_it_takes(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        policy = Policy(initial=1, coefficient=1.0, attempts=0)
        handle = await call(client, queue, Call("fail", 60, policy=policy))
        assert await handle.result() == "ok after 61"


async def test_c_37_t_28_a_history_holds_three_events_however_many_attempts_there_were(client):
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        policy = Policy(initial=1, coefficient=1.0)
        handle = await call(client, queue, Call("fail", 20, policy=policy))
        await handle.result()
        names = [name for name in await event_names(handle) if name.startswith("Activity")]
        assert names == ["ActivityTaskScheduled", "ActivityTaskStarted", "ActivityTaskCompleted"]
        assert [it.attempt for it in await events(handle, "ActivityTaskStarted")] == [21]


async def test_c_36_c_39_t_28_t_29_during_backoff_the_attempt_is_told_and_no_start_is_written(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        policy = Policy(initial=50, coefficient=20.0)
        handle = await call(client, queue, Call("fail", 2, policy=policy))
        await until("two attempts", lambda: len(STARTS[handle.id]) == 2)

        async def third() -> Any:
            return [it for it in await pending(handle) if it.attempt == 3]

        (activity,) = await until("the third attempt is due", third)
        crash.here()
        (activity,) = await third()
        assert activity.activity_type.name == "fail"
        assert activity.last_failure.message == "attempt 2 failed"
        assert activity.last_failure.application_failure_info.type == "Planned"
        assert activity.next_attempt_schedule_time.ToNanoseconds() > 0
        assert activity.last_worker_identity
        assert abs(activity.current_retry_interval.ToMilliseconds() - 1000) <= 1
        assert "ActivityTaskStarted" not in await event_names(handle)
        assert await handle.result() == "ok after 3"
        assert len(STARTS[handle.id]) == 3


async def test_c_18_c_20_t_25_t_26_a_listed_type_is_not_retried(client):
    async with working(client, workflows=[Calling], activities=[fail_with]) as queue:
        policy = Policy(never=["InvalidInput"])
        handle = await call(client, queue, Call("fail_with", {"type": "InvalidInput"}, policy=policy))
        error = await failure_of(handle)
        assert error.retry_state == RetryState.NON_RETRYABLE_FAILURE
        assert isinstance(error.cause, ApplicationError) and error.cause.type == "InvalidInput"
        assert len(STARTS[handle.id]) == 1


@pytest.mark.parametrize("kind", ["InvalidInput2", "invalidinput", None])
async def test_c_19_a_type_is_matched_whole_and_letter_by_letter(client, kind):
    async with working(client, workflows=[Calling], activities=[fail_with]) as queue:
        policy = Policy(initial=10, never=["InvalidInput"])
        what = {"type": kind, "message": "InvalidInput"}
        handle = await call(client, queue, Call("fail_with", what, policy=policy))
        assert await handle.result() == "ok"


async def test_a_failure_marked_non_retryable_is_not_retried(client):
    async with working(client, workflows=[Calling], activities=[fail_with]) as queue:
        what = {"type": "Fatal", "non_retryable": True}
        handle = await call(client, queue, Call("fail_with", what, policy=Policy(attempts=9)))
        error = await failure_of(handle)
        assert error.retry_state == RetryState.NON_RETRYABLE_FAILURE
        assert isinstance(error.cause, ApplicationError) and error.cause.non_retryable
        assert len(STARTS[handle.id]) == 1


@pytest.mark.parametrize("delay_ms", [500, 10])
async def test_a_failure_may_name_the_next_delay(client, delay_ms):
    async with working(client, workflows=[Calling], activities=[fail_with]) as queue:
        # The policy's own delay is far from the failure's, on either side.
        policy = Policy(initial=20 if delay_ms > 100 else 5000)
        handle = await call(client, queue, Call("fail_with", {"delay_ms": delay_ms}, policy=policy))
        assert await handle.result() == "ok"
        near(gaps(handle.id), [delay_ms / 1000])


async def test_t_06_a_retry_goes_to_the_activitys_own_queue(client):
    """The workflow's queue also knows the activity; it must not be asked."""
    async with working(client, activities=[fail]) as theirs:
        async with working(client, workflows=[Calling], activities=[fail]) as ours:
            it = Call("fail", 2, policy=Policy(initial=20), queue=theirs)
            handle = await call(client, ours, it)
            await handle.result()
            (scheduled,) = await events(handle, "ActivityTaskScheduled")
            assert scheduled.task_queue.name == theirs


async def test_attempts_are_counted_on_across_the_death_of_the_server(server):
    client = await server.client()
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        policy = Policy(initial=300, coefficient=1.0, attempts=4)
        handle = await call(client, queue, Call("fail", -1, policy=policy))
        await until("two attempts", lambda: len(STARTS[handle.id]) == 2)
        server.kill_and_restart()
        error = await failure_of(handle)
        assert isinstance(error.cause, ApplicationError)
        assert error.cause.message == "attempt 4 failed"
        assert len(STARTS[handle.id]) == 4


async def test_t_22_a_negative_number_of_attempts_is_refused_at_the_call(client):
    """The SDK checks activities itself; a workflow's policy goes to the server unchecked."""
    with pytest.raises((ValueError, RPCError)) as caught:
        await client.start_workflow(
            Calling.run,
            Call("fail", 0),
            id=unique(),
            task_queue="none",
            retry_policy=RetryPolicy(initial_interval=ms(10), maximum_attempts=-1),
        )
    assert "attempts" in str(caught.value).lower()
