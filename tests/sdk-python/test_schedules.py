"""Schedules: they start workflows at their times, can be paused, changed and fired by hand."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from harness import ms, unique, until, working
from pieces import Waiting
from temporalio import workflow
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleBackfill,
    ScheduleHandle,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.service import RPCError, RPCStatusCode


@workflow.defn
class Job:
    @workflow.run
    async def run(self, word: str) -> str:
        return word


def every(span: timedelta, queue: str, **options: Any) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(Job.run, "go", id=unique("job"), task_queue=queue),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=span)]),
        **options,
    )


async def actions(handle: ScheduleHandle) -> int:
    return (await handle.describe()).info.num_actions


async def test_a_schedule_starts_workflows_at_its_times(crash):
    client: Client = await crash.server.client()
    async with working(client, workflows=[Job]) as queue:
        handle = await client.create_schedule(unique("s"), every(ms(1000), queue))

        async def fired() -> bool:
            return await actions(handle) >= 2

        await until("it fired twice", fired)
        crash.here()
        before = await actions(handle)

        async def goes_on() -> bool:
            return await actions(handle) > before

        await until("it goes on", goes_on)
        recent = (await handle.describe()).info.recent_actions
        assert len({it.action.workflow_id for it in recent}) == len(recent)  # type: ignore[union-attr]
        await handle.delete()


async def test_a_paused_schedule_fires_by_hand_only(client):
    async with working(client, workflows=[Job]) as queue:
        handle = await client.create_schedule(
            unique("s"),
            every(timedelta(hours=1), queue, state=ScheduleState(note="not yet", paused=True)),
        )
        told = (await handle.describe()).schedule.state
        assert told.paused and told.note == "not yet"
        await handle.trigger()

        async def fired() -> bool:
            return await actions(handle) == 1

        await until("it fired", fired)
        await handle.unpause(note="go on")
        told = (await handle.describe()).schedule.state
        assert not told.paused and told.note == "go on"
        await handle.pause()
        assert (await handle.describe()).schedule.state.paused
        await handle.delete()


async def test_a_schedule_is_changed(client):
    handle = await client.create_schedule(unique("s"), every(timedelta(hours=1), "none"))

    def change(input: ScheduleUpdateInput) -> ScheduleUpdate:
        schedule = input.description.schedule
        schedule.spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(hours=2))])
        return ScheduleUpdate(schedule=schedule)

    await handle.update(change)
    spec = (await handle.describe()).schedule.spec
    assert [it.every for it in spec.intervals] == [timedelta(hours=2)]
    await handle.delete()


async def test_times_that_were_missed_are_made_up_for(client):
    async with working(client, workflows=[Job]) as queue:
        handle = await client.create_schedule(
            unique("s"),
            every(timedelta(minutes=1), queue, state=ScheduleState(paused=True)),
        )
        start = datetime(2024, 1, 1, tzinfo=timezone.utc)
        await handle.backfill(
            ScheduleBackfill(
                start_at=start,
                end_at=start + timedelta(minutes=4),
                overlap=ScheduleOverlapPolicy.ALLOW_ALL,
            )
        )

        async def all_fired() -> bool:
            return await actions(handle) in (4, 5)

        await until("all of them fired", all_fired)
        await handle.delete()


async def test_what_overlaps_is_skipped(client):
    async with working(client, workflows=[Waiting]) as queue:
        handle = await client.create_schedule(
            unique("s"),
            Schedule(
                action=ScheduleActionStartWorkflow(
                    Waiting.run, id=unique("job"), task_queue=queue
                ),
                spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(hours=1))]),
                policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP),
            ),
        )
        await handle.trigger()
        await handle.trigger()

        async def skipped() -> bool:
            return (await handle.describe()).info.num_actions_skipped_overlap >= 1

        await until("the second was skipped", skipped)
        assert await actions(handle) == 1
        (running,) = (await handle.describe()).info.running_actions
        await client.get_workflow_handle(running.workflow_id).terminate()  # type: ignore[union-attr]
        await handle.delete()


async def test_schedules_are_listed_and_deleted_and_their_ids_are_taken(client):
    handle = await client.create_schedule(unique("s"), every(timedelta(hours=1), "none"))
    with pytest.raises(ScheduleAlreadyRunningError):
        await client.create_schedule(handle.id, every(timedelta(hours=1), "none"))

    async def listed() -> bool:
        return handle.id in [it.id async for it in await client.list_schedules()]

    await until("it is listed", listed)
    await handle.delete()
    with pytest.raises(RPCError) as gone:
        await handle.describe()
    assert gone.value.status == RPCStatusCode.NOT_FOUND
