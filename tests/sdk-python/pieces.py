"""Workflows and activities that many tests use.

`Calling` calls one activity with whatever options a test wants; the activities note when each of
their attempts began.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from harness import ms
from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.workflow import ActivityCancellationType

# When the attempts of an activity began, by workflow id, on the server's clock: what a worker would
# measure has the task's way to it in it.
STARTS: dict[str, list[float]] = defaultdict(list)


def starts(workflow_id: str) -> list[float]:
    """When attempts began, in seconds after the first."""
    times = STARTS[workflow_id]
    return [time - times[0] for time in times]


def gaps(workflow_id: str) -> list[float]:
    """The seconds between the beginnings of attempts."""
    times = STARTS[workflow_id]
    return [later - earlier for earlier, later in zip(times, times[1:])]


def note_start() -> int:
    """Notes that an attempt began; which it is."""
    info = activity.info()
    STARTS[info.workflow_id or ""].append(info.started_time.timestamp())
    return info.attempt


@activity.defn
async def fail(times: int) -> str:
    """Fails `times` times, then succeeds; for ever if negative."""
    attempt = note_start()
    if times < 0 or attempt <= times:
        raise ApplicationError(f"attempt {attempt} failed", type="Planned")
    return f"ok after {attempt}"


@activity.defn
async def fail_with(what: dict[str, Any]) -> str:
    """Fails its first attempt with an application error of these properties."""
    if note_start() > 1:
        return "ok"
    delay = what.get("delay_ms")
    raise ApplicationError(
        what.get("message", "no"),
        type=what.get("type"),
        non_retryable=what.get("non_retryable", False),
        next_retry_delay=ms(delay) if delay is not None else None,
    )


@activity.defn
async def hang_once(_: Any) -> str:
    """Its first attempt never ends by itself; the next succeeds at once."""
    if note_start() > 1:
        return "ok"
    await asyncio.sleep(60)
    return "too late"


@activity.defn
async def hang(_: Any) -> str:
    """Never ends by itself, and tells the server nothing."""
    note_start()
    await asyncio.sleep(60)
    return "too late"


@dataclass
class Call:
    """An activity and how to call it; times in milliseconds."""

    activity: str
    argument: Any = None
    start_to_close: float | None = 10_000
    schedule_to_close: float | None = None
    schedule_to_start: float | None = None
    heartbeat: float | None = None
    policy: "Policy | None" = None
    queue: str | None = None
    id: str | None = None
    cancellation: int = int(ActivityCancellationType.TRY_CANCEL)
    summary: str | None = None

    def options(self) -> dict[str, Any]:
        return dict(
            start_to_close_timeout=span(self.start_to_close),
            schedule_to_close_timeout=span(self.schedule_to_close),
            schedule_to_start_timeout=span(self.schedule_to_start),
            heartbeat_timeout=span(self.heartbeat),
            retry_policy=self.policy.to_sdk() if self.policy else None,
            task_queue=self.queue,
            activity_id=self.id,
            cancellation_type=ActivityCancellationType(self.cancellation),
            summary=self.summary,
        )


@dataclass
class Policy:
    """A retry policy; times in milliseconds."""

    initial: float = 100
    coefficient: float = 2.0
    maximum: float | None = None
    attempts: int = 0
    never: list[str] = field(default_factory=list)

    def to_sdk(self) -> RetryPolicy:
        return RetryPolicy(
            initial_interval=ms(self.initial),
            backoff_coefficient=self.coefficient,
            maximum_interval=span(self.maximum),
            maximum_attempts=self.attempts,
            non_retryable_error_types=self.never or None,
        )


def span(milliseconds: float | None) -> Any:
    return None if milliseconds is None else ms(milliseconds)


@workflow.defn
class Calling:
    """Calls one activity."""

    @workflow.run
    async def run(self, call: Call) -> Any:
        return await workflow.execute_activity(call.activity, call.argument, **call.options())


@workflow.defn
class Waiting:
    """Waits for a signal that says what to return."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.done = False

    @workflow.run
    async def run(self) -> list[str]:
        await workflow.wait_condition(lambda: self.done)
        return self.said

    @workflow.signal
    def say(self, word: str) -> None:
        self.said.append(word)

    @workflow.signal
    def finish(self) -> None:
        self.done = True

    @workflow.query
    def heard(self) -> list[str]:
        return self.said
