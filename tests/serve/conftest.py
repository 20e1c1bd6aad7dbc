"""A server on a port of this machine, with one network for all tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

httpx = pytest.importorskip("httpx", reason="needs the extra dev")
pytest.importorskip("starlette", reason="needs the extra serve")
uvicorn = pytest.importorskip("uvicorn", reason="needs the extra serve")

from spacevrp.serve.app import create_app  # noqa: E402
from spacevrp.serve.service import Service  # noqa: E402
from spacevrp.serve.settings import Settings  # noqa: E402
from spacevrp.serve.workers import AnySolver  # noqa: E402
from spacevrp.solver import Solver  # noqa: E402

PATIENCE = 60.0  # seconds; only a test that fails waits so long


class Server:
    """A service behind a port, and a client of it."""

    def __init__(self, solver: AnySolver, **settings: Any) -> None:
        chosen = {"port": 0, "max_time": 3600.0, "workers": 2, **settings}
        self.service = Service(Settings(**chosen), solver)
        config = uvicorn.Config(
            create_app(self.service), port=0, log_level="error", timeout_graceful_shutdown=5
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        self.until(lambda: self.server.started)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False)

    def until(self, holds: Callable[[], Any]) -> Any:
        """Wait for something to hold."""
        end = time.monotonic() + PATIENCE
        while not (found := holds()):
            assert time.monotonic() < end, "it never came"
            time.sleep(0.02)
        return found

    def take(self, document: Any, **more: Any) -> str:
        """A new job's id."""
        answer = self.http.post("/v1/jobs", json=document, **more)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def job(self, name: str) -> dict[str, Any]:
        answer = self.http.get(f"/v1/jobs/{name}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def ended(self, name: str) -> dict[str, Any]:
        """A job when it has ended."""
        self.until(lambda: self.job(name)["state"] in ("done", "stopped", "failed"))
        return self.job(name)

    def close(self) -> None:
        self.http.close()
        self.server.should_exit = True
        self.thread.join(PATIENCE)


@pytest.fixture(scope="session")
def solver() -> Solver:
    return Solver(device="cpu")


@pytest.fixture
def serving(solver: Solver) -> Iterator[Callable[..., Server]]:
    """Starts servers, which end with the test."""
    servers: list[Server] = []

    def start(**settings: Any) -> Server:
        servers.append(Server(solver, **settings))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def server(solver: Solver) -> Iterator[Server]:
    """One for tests that only ask."""
    started = Server(solver, max_body=2**20, max_customers=200, speed_kmh=50.0)
    yield started
    started.close()
