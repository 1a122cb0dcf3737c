"""What people use retries for, as whole programs."""

import asyncio
from datetime import timedelta

from harness import unique, until, working
from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError


class Host:
    """A machine with a disk of its own: what was downloaded there can only be processed there."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.disk: dict[str, str] = {}
        self.done: list[str] = []
        self.has_downloaded = asyncio.Event()

    @activity.defn
    async def download(self, file: str) -> str:
        """Puts a file on this host's disk, and says where its next steps must run."""
        self.done.append("download")
        self.disk[file] = f"contents of {file}"
        self.has_downloaded.set()
        return self.name

    @activity.defn
    async def process(self, file: str) -> str:
        self.done.append("process")
        return f"{self.disk[file]}, processed on {self.name}"


@workflow.defn
class FileProcessing:
    """The steps after the download are bound to its host; if that is gone, all of them start over."""

    @workflow.run
    async def run(self, file: str) -> str:
        for _ in range(5):
            host = await workflow.execute_activity(
                "download", file, start_to_close_timeout=timedelta(seconds=10)
            )
            try:
                return await workflow.execute_activity(
                    "process",
                    file,
                    task_queue=host,
                    schedule_to_close_timeout=timedelta(seconds=2),
                    retry_policy=RetryPolicy(maximum_attempts=1),
                )
            except ActivityError:
                workflow.logger.info("the host is gone: starting over")
        raise RuntimeError("no host stays up")


async def test_t_36_host_bound_files_are_processed_on_another_host_from_the_download_step(crash):
    client = await crash.server.client()
    dies, lives = Host(unique("host")), Host(unique("host"))
    shared = unique("queue")
    async with working(client, workflows=[FileProcessing], queue=shared):
        async with working(client, activities=[dies.download], queue=shared):
            handle = await client.start_workflow(
                FileProcessing.run, "a.csv", id=unique(), task_queue=shared
            )
            await asyncio.wait_for(dies.has_downloaded.wait(), 30)
        # Nobody is left who could process it there.
        crash.here()
        async with working(client, activities=[lives.download], queue=shared):
            async with working(client, activities=[lives.process], queue=lives.name):
                result = await asyncio.wait_for(handle.result(), 60)
    assert result == f"contents of a.csv, processed on {lives.name}"
    assert dies.done == ["download"] and lives.done == ["download", "process"]


TICKS: list[int] = []


@activity.defn
async def collect(number: int) -> int:
    """Fails at first, every time."""
    if activity.info().attempt == 1:
        raise RuntimeError("not yet")
    TICKS.append(number)
    return number


@workflow.defn
class Collecting:
    @workflow.run
    async def run(self) -> int:
        return await workflow.execute_activity(
            collect,
            len(TICKS),
            start_to_close_timeout=timedelta(seconds=10),
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=50)),
        )


async def test_t_36_a_cron_job_that_always_runs_retries_within_each_run(crash):
    TICKS.clear()
    client = await crash.server.client()
    async with working(client, workflows=[Collecting], activities=[collect]) as queue:
        handle = await client.start_workflow(
            Collecting.run, id=unique(), task_queue=queue, cron_schedule="@every 1s"
        )
        await until("two runs are done", lambda: len(TICKS) >= 2)
        crash.here()
        seen = len(TICKS)
        await until("it goes on", lambda: len(TICKS) >= seen + 2, seconds=30)
        await handle.terminate()
