"""Servers for tests: one that all share, and one's own to be killed."""

from typing import AsyncIterator, Iterator

import pytest
from harness import Server
from temporalio.client import Client


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("shared"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def client(shared_server: Server) -> Client:
    return await shared_server.client()


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that belongs to one test, which may kill it."""
    server = Server(tmp_path_factory.mktemp("own"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["straight", "killed"])
async def crash(request: pytest.FixtureRequest, server: Server) -> AsyncIterator["Crash"]:
    """Runs a test twice: straight through, and with a server that is killed where it says so."""
    yield Crash(server, request.param == "killed")


class Crash:
    def __init__(self, server: Server, wanted: bool):
        self.server = server
        self._wanted = wanted

    def here(self) -> None:
        if self._wanted:
            self.server.kill_and_restart()
