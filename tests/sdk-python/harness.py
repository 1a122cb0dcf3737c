"""A real server process, and workers that come and go.

    Server ── starts `steadfast serve` on its own file and port; can be killed and started again
    working ─ a worker for the length of a `with`, on a queue of its own
    until ─── waits for something that becomes true, and says what did not
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, AsyncIterator, Awaitable, Callable

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

BINARY = os.environ.get("STEADFAST_BIN", "target/debug/steadfast")


class Server:
    """One `steadfast serve`. Its file and its port stay the same when it is started again."""

    def __init__(self, folder: Path):
        self.db = folder / "steadfast.db"
        self.log = folder / "server.log"
        self.address = "127.0.0.1:0"
        self.http = "127.0.0.1:0"
        self._process: subprocess.Popen[bytes] | None = None
        self._client: Client | None = None

    def start(self) -> None:
        written = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [BINARY, "serve", "--db", str(self.db), "--grpc", self.address, "--http", self.http],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.address, self.http = self._addresses_from_banner(written)

    def kill(self) -> None:
        """No goodbye: as a power cut would do it, except that the disk's cache survives."""
        assert self._process, "it was not started"
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def kill_and_restart(self) -> None:
        self.kill()
        self.start()

    def stop(self) -> float:
        """Asks it to stop; how many seconds that took."""
        assert self._process, "it was not started"
        begin = time.monotonic()
        self._process.terminate()
        code = self._process.wait(timeout=20)
        assert code == 0, f"it stopped with {code}: {self.log.read_text()}"
        return time.monotonic() - begin

    async def client(self) -> Client:
        if self._client is None:
            self._client = await Client.connect(self.address)
        return self._client

    async def other_client(self, **options: Any) -> Client:
        """One with its own connection, for workers that are to be cut off."""
        return await Client.connect(self.address, **options)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Calls the HTTP API; what it answers. A refusal is an error with its text."""
        request = urllib.request.Request(
            f"http://{self.http}/api/v1/namespaces/default/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{refused.code}: {refused.read().decode()}") from refused

    def _addresses_from_banner(self, written: int) -> tuple[str, str]:
        give_up = time.monotonic() + 20
        while time.monotonic() < give_up:
            assert self._process and self._process.poll() is None, self.log.read_text()
            banner = self.log.read_bytes()[written:].decode()
            if "Ctrl-C" in banner:
                grpc = re.search(r"gRPC\s+(\S+)", banner)
                http = re.search(r"HTTP\s+(?:http://)?([^\s/]+)", banner)
                assert grpc and http, banner
                return grpc[1], http[1]
            time.sleep(0.01)
        raise AssertionError(f"it does not listen: {self.log.read_text()}")


@asynccontextmanager
async def working(
    client: Client,
    *,
    workflows: list[type] | None = None,
    activities: list[Callable[..., Any]] | None = None,
    queue: str | None = None,
    **options: Any,
) -> AsyncIterator[str]:
    """A worker; what it gives is the name of its queue."""
    queue = queue or unique("queue")
    options.setdefault("workflow_runner", UnsandboxedWorkflowRunner())
    options.setdefault("max_cached_workflows", 100)
    async with Worker(
        client,
        task_queue=queue,
        workflows=workflows or [],
        activities=activities or [],
        **options,
    ):
        yield queue


async def until(
    what: str, check: Callable[[], Awaitable[Any] | Any], seconds: float = 15
) -> Any:
    """What `check` gives as soon as it is something."""
    give_up = time.monotonic() + seconds
    while True:
        found = check()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        assert time.monotonic() < give_up, f"in {seconds} s it did not come true: {what}"
        await asyncio.sleep(0.02)


def unique(prefix: str = "wf") -> str:
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def ms(count: float) -> timedelta:
    return timedelta(milliseconds=count)


async def event_names(handle: WorkflowHandle[Any, Any]) -> list[str]:
    """The types of the history's events, short: `ActivityTaskScheduled`."""
    return [event_name(e) for e in (await handle.fetch_history()).events]


def event_name(event: Any) -> str:
    words = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_").split("_")
    return "".join(word.capitalize() for word in words)


async def events(handle: WorkflowHandle[Any, Any], name: str) -> list[Any]:
    """The attributes of the events with this name."""
    history = await handle.fetch_history()
    field = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower() + "_event_attributes"
    return [getattr(e, field) for e in history.events if event_name(e) == name]


async def pending(handle: WorkflowHandle[Any, Any]) -> list[Any]:
    """The pending activities, as describe tells them."""
    description = await handle.describe()
    return list(description.raw_description.pending_activities)


def span(seconds: Any) -> float:
    """A protobuf duration in seconds."""
    return seconds.seconds + seconds.nanos / 1e9
