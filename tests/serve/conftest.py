"""Servers on ports of this machine, with one network for all tests or as processes; a browser."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx", reason="needs the extra dev")
pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")

from spacevrp.serve.server import Server as HttpServer  # noqa: E402
from spacevrp.serve.service import Service  # noqa: E402
from spacevrp.serve.settings import Settings  # noqa: E402
from spacevrp.serve.workers import AnySolver  # noqa: E402
from spacevrp.solver import Solver  # noqa: E402

PATIENCE = 60.0  # seconds; only a test that fails waits so long
CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
# Four customers around node 0, as in tests/conftest.py; one vehicle goes 0-1-2-4-3-0.
FOUR: dict[str, Any] = {
    "coordinates": [[0, 0], [3, 0], [3, 4], [0, 4], [0, 8]],
    "demand": [0, 1, 1, 1, 1],
    "capacity": 9,
}
LOOP = 3 + 4 + 5 + 4 + 4
LONG: dict[str, Any] = {"problem": FOUR, "time": 3000}


class Server:
    """A service behind a port, and a client of it."""

    def __init__(self, solver: AnySolver, **settings: Any) -> None:
        chosen = {"port": 0, "max_time": 3600.0, "workers": 2, **settings}
        self.service = Service(Settings(**chosen), solver)
        self.server = HttpServer(self.service, port=0)
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

    def start(other: AnySolver | None = None, **settings: Any) -> Server:
        servers.append(Server(other or solver, **settings))
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


class Process:
    """``spacevrp serve`` as a process of its own, which can be killed and started again."""

    def __init__(self, *options: str, limits: Callable[[], object] | None = None) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.options, self.limits = options, limits
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}", timeout=PATIENCE, trust_env=False
        )
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "spacevrp", "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*command, *self.options], stderr=self.errors, preexec_fn=self.limits
        )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.http.get("/health")
            except httpx.TransportError:
                assert time.monotonic() < end
                assert self.process.poll() is None, self.stderr()
                time.sleep(0.1)
            else:
                return

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stderr(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode()

    def memory(self) -> float:
        """MiB that the process holds."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        line = next(line for line in text.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def close(self) -> None:
        self.http.close()
        self.process.terminate()
        assert self.process.wait(PATIENCE) in (0, -signal.SIGTERM)
        self.errors.close()


@pytest.fixture
def process() -> Iterator[Callable[..., Process]]:
    """Starts processes, which end with the test."""
    started: list[Process] = []

    def start(*options: str, **more: Any) -> Process:
        started.append(Process(*options, **more))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if program is None:
        pytest.skip("needs Chromium")
    with driver.sync_playwright() as playing:
        browser = playing.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium: Any) -> Iterator[Callable[[str], Any]]:
    """Opens the page of a server; what the browser complains of fails the test."""
    complaints: list[str] = []
    pages = []

    def start(url: str) -> Any:
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        pages.append(page)
        page.set_default_timeout(2_000 * PATIENCE)  # milliseconds
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda said: complaints.append(said.text) if "Policy" in said.text else 0
        )
        page.goto(url)
        page.wait_for_selector("body[data-ready]")
        return page

    yield start
    for page in pages:
        page.close()
    assert complaints == []
