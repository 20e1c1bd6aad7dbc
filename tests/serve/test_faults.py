"""What goes wrong: strangers, floods, full disks, clients that leave, servers that are killed."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from spacevrp.serve.server import listen
from spacevrp.serve.service import Service
from spacevrp.serve.settings import Settings
from spacevrp.serve.store import FILE, Row, Store

from .conftest import CORPUS, FOUR, LONG, LOOP

PATIENCE = 120.0


def test_small_answers_do_not_wait() -> None:
    """No connection holds back a packet until the client has confirmed the last one."""
    with listen(Settings(port=0)) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_jobs_of_an_older_server_are_there(tmp_path: Path) -> None:
    """Version 0.2 did not count the bytes of a job."""
    row = Row("one", "queued", 1.0, "application/json", {})
    store = Store(tmp_path)
    store.add(row, b"{}")
    store.close()
    with sqlite3.connect(tmp_path / FILE) as base:
        base.execute("ALTER TABLE jobs DROP COLUMN bytes")
    base.close()
    store = Store(tmp_path)
    assert [one.id for one in store.unfinished()] == ["one"]
    store.close()


def test_a_token_is_asked_for(serving: Any) -> None:
    server = serving(token="a secret")
    for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "a secret"}):
        for method, path in (("POST", "/"), ("POST", "/v1/jobs"), ("GET", "/metrics")):
            answer = server.http.request(method, path, headers=headers, content=b"{")
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert "secret" not in answer.text
    assert server.http.get("/health").status_code == 200
    assert server.http.get("/").status_code == 200
    server.http.headers["Authorization"] = "Bearer a secret"
    assert server.ended(server.take(FOUR))["cost"] == LOOP


def test_other_sites_and_other_names_of_the_host_are_refused(server: Any) -> None:
    for headers in ({"Origin": "https://elsewhere.example"}, {"Origin": "null"}):
        assert server.http.post("/v1/jobs", json=FOUR, headers=headers).status_code == 403
    for host in ("elsewhere.example", "[::1"):
        assert server.http.get("/v1/jobs", headers={"Host": host}).status_code == 403
    own = {"Origin": server.url}
    assert server.http.post("/v1/validate", json=FOUR, headers=own).status_code == 200


@pytest.mark.parametrize("told", [True, False])
def test_a_body_that_is_too_large(server: Any, told: bool) -> None:
    """Whether the length is announced, or only shows on the way."""
    block = b" " * 2**16
    for path, member in (("/v1/jobs", "status"), ("/", "code")):
        content = block * 20 if told else (block for _ in range(20))
        try:
            answer = server.http.post(
                path, content=content, headers={"Content-Type": "application/json"}
            )
        except httpx.TransportError:
            continue  # the server hung up before all of it was sent
        assert answer.status_code == 413
        assert answer.json()[member] in (413, 4)
    assert server.http.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"{", 400, "body"),
        (b'"text"', 400, "body"),
        (b"\xff\xfe", 400, "body"),
        (b'{"a": NaN}', 400, "body"),
        (b"[" * 100_000, 400, "body"),
        (b'{"coordinates": [[0, 0], [1, "x"]]}', 422, "coordinates"),
        (b'{"coordinates": [[0, 0], [1, 1]], "demand": [0, -1], "capacity": -2}', 422, "capacity"),
        (b'{"problem": {"coordinates": [[0, 0], [1, 1]]}, "tme": 3}', 422, "tme"),
        (b'{"problem": {"coordinates": [[0, 0], [1, 1]]}, "time": -3}', 422, "time"),
        (b'{"problem": {"coordinates": [[0, 0], [1, 1]]}, "time": 99999}', 422, "time"),
        (b'{"problem": {"coordinates": [[0, 0], [1, 1]]}, "seed": "x"}', 422, "seed"),
        (b'{"problem": {"coordinates": [[0, 0], [1, 1]]}, "batch_memory": 1}', 422, "batch_memory"),
        (b'{"problem": {"coordinates": [[0, 0], [1, 1]]}, "weights": "/etc"}', 422, "weights"),
        (b'{"problem": "/etc/passwd"}', 422, None),
        (b'{"problem": 3}', 422, "problem"),
        (b'{"problem": "x", "content_type": [1]}', 422, "content_type"),
    ],
)
def test_faults_name_the_field(server: Any, body: bytes, status: int, field: str | None) -> None:
    headers = {"Content-Type": "application/json"}
    answer = server.http.post("/v1/jobs", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == status
    assert field is None or document["field"] == field
    assert "Traceback" not in answer.text
    assert "/tmp" not in answer.text


def test_a_field_is_named_only_where_there_is_one(server: Any) -> None:
    answer = server.http.post("/v1/check", json={"plan": [[0, 1, 0]]})
    assert (answer.status_code, answer.json()["field"]) == (422, "problem")
    headers = {"Content-Type": "text/x-vrplib"}
    answer = server.http.post("/v1/jobs", content=b"id,x,y\n", headers=headers)
    assert (answer.status_code, "field" in answer.json()) == (422, False)


def test_unknown_types_paths_and_methods(server: Any) -> None:
    body = {"content": b"x", "headers": {"Content-Type": "image/png"}}
    assert server.http.post("/v1/jobs", **body).status_code == 415
    for method, path, status in (
        ("GET", "/v1/jobs/none", 404),
        ("DELETE", "/v1/jobs/none", 404),
        ("GET", "/v1/jobs/none/events", 404),
        ("GET", "/v1/jobs/none/plan", 404),
        ("PUT", "/v1/jobs", 405),
        ("GET", "/v1/check", 405),
        ("POST", "/nothing", 405),
    ):
        answer = server.http.request(method, path)
        assert answer.status_code == status, (method, path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    assert server.http.options("/v1/jobs").headers["allow"] == "GET, HEAD, POST"
    assert server.http.head("/").status_code == 200


def test_overload_is_refused_and_passes(serving: Any) -> None:
    server = serving(workers=1, max_queue=2)
    running = server.take(LONG)
    server.until(lambda: server.job(running)["state"] == "running")
    waiting = [server.take(FOUR) for _ in range(2)]
    for path in ("/v1/jobs", "/"):
        body = json.loads((CORPUS / "vroom.json").read_text())
        refused = server.http.post(path, json=body)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
    assert server.http.get("/health").json()["queue_length"] == 2
    assert server.http.delete(f"/v1/jobs/{running}").json()["state"] == "stopped"
    assert [server.ended(name)["cost"] for name in waiting] == [LOOP, LOOP]
    assert server.ended(server.take(FOUR))["state"] == "done"
    assert 'spacevrp_refused_total{reason="queue"} 2' in server.http.get("/metrics").text


def test_a_client_that_leaves_frees_the_worker(serving: Any) -> None:
    server = serving(workers=1)
    document = json.loads((CORPUS / "vroom.json").read_text()) | {"options": {"l": 3000}}
    body = json.dumps(document).encode()
    head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(head.encode() + body)
        server.until(lambda: server.http.get("/health").json()["running"] == 1)
    server.until(lambda: server.http.get("/health").json()["running"] == 0)
    job = server.take(LONG)
    with server.http.stream("GET", f"/v1/jobs/{job}/events") as stream:
        next(stream.iter_lines())  # and leaves
    assert server.job(job)["state"] == "running"  # a job does not need its client
    assert server.http.delete(f"/v1/jobs/{job}").json()["state"] == "stopped"


def test_a_full_disk(serving: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New jobs are refused, those that are there end, and are stored when there is room again."""
    server = serving(data=tmp_path, workers=1)
    name = server.take(LONG)
    server.until(lambda: server.job(name)["plan"])
    store = server.service.store
    write = store._write

    def full(*_: Any) -> int:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(store, "_write", full)
    refused = server.http.post("/v1/jobs", json=FOUR)
    assert refused.status_code == 507
    assert refused.headers["content-type"] == "application/problem+json"
    health = server.http.get("/health")
    assert (health.status_code, health.json()["storage"]) == (503, "failing")
    ended = server.http.delete(f"/v1/jobs/{name}").json()
    assert (ended["state"], ended["cost"]) == ("stopped", LOOP)
    found = store.find(name)
    assert found is not None
    assert found.state == "running"
    monkeypatch.setattr(store, "_write", write)
    server.until(lambda: store.find(name).state == "stopped")
    assert server.job(name)["cost"] == LOOP
    assert server.http.get("/health").status_code == 200


def test_a_folder_has_one_server_and_nothing_else(serving: Any, tmp_path: Path) -> None:
    from spacevrp.problems.errors import SpacevrpError

    serving(data=tmp_path / "own")
    with pytest.raises(SpacevrpError, match="another server"):
        Store(tmp_path / "own")
    (tmp_path / FILE).write_bytes(b"no database " * 100)
    with pytest.raises(SpacevrpError, match="cannot hold jobs"):
        Store(tmp_path)


def test_a_server_that_ends_leaves_its_jobs_to_the_next(serving: Any, tmp_path: Path) -> None:
    server = serving(data=tmp_path, workers=1)
    names = [server.take({"problem": FOUR, "time": 3000}), server.take(FOUR)]
    server.until(lambda: server.job(names[0])["plan"])
    server.close()
    server = serving(data=tmp_path, workers=1)
    server.until(lambda: server.job(names[0])["state"] == "running")
    assert server.until(lambda: server.job(names[0])["plan"])["cost"] == LOOP
    assert server.http.delete(f"/v1/jobs/{names[0]}").json()["state"] == "stopped"
    assert server.ended(names[1])["cost"] == LOOP


def test_clients_that_wait_for_a_server_that_ends_are_sent_away(
    serving: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    server = serving()
    matrices = {"car": {"durations": [[0, 5], [5, 0]]}}
    body = {"vehicles": [{"id": 1, "start_index": 0}], "jobs": [{"id": 1, "location_index": 1}]}
    body |= {"matrices": matrices, "options": {"l": 3000}}
    followed = f"{server.url}/v1/jobs/{server.take(LONG)}/events"
    heard = threading.Event()

    def follow() -> str:
        told = []
        with httpx.stream("GET", followed, timeout=PATIENCE) as answer:
            for part in answer.iter_text():
                told.append(part)
                heard.set()
        return "".join(told)

    with ThreadPoolExecutor(2) as clients:
        asking = clients.submit(httpx.post, server.url, json=body, timeout=PATIENCE)
        watching = clients.submit(follow)
        server.until(lambda: server.http.get("/health").json()["running"] == 2)
        assert heard.wait(PATIENCE)
        server.close()
        answer, events = asking.result(), watching.result()
    assert (answer.status_code, answer.json()["code"]) == (503, 1)
    assert "stopped; ask again" in answer.json()["error"]
    assert events.startswith("id: 1\nevent: state\n")  # whole, and not cut off
    assert "Traceback" not in capfd.readouterr().err


def test_a_job_that_is_being_read_does_not_keep_a_server(
    serving: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serving(data=tmp_path, workers=1)
    name = server.take(LONG)
    server.until(lambda: server.job(name)["state"] == "running")
    server.close()
    reading, read = threading.Event(), Service._again

    def read_late(self: Any, job: Any) -> Any:
        reading.set()
        self.workers._ended.wait(PATIENCE)
        return read(self, job)

    monkeypatch.setattr(Service, "_again", read_late)
    server = serving(data=tmp_path, workers=1)
    assert reading.wait(PATIENCE)
    server.close()
    assert not server.thread.is_alive()


def test_a_mistake_of_ours_is_one_line(
    serving: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    server = serving()

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(server.service.solver, "run", broken)
    job = server.ended(server.take(FOUR))
    assert (job["state"], job["error"]["status"]) == ("failed", 500)
    monkeypatch.setattr(server.service, "newest", broken)
    answer = server.http.get("/v1/jobs")
    assert answer.status_code == 500
    assert "mistake" in answer.json()["detail"]
    stderr = capfd.readouterr().err
    assert "Traceback" not in stderr
    assert stderr.count("spacevrp: fault: ZeroDivisionError in broken") == 2
    monkeypatch.undo()
    assert server.ended(server.take(FOUR))["cost"] == LOOP


@pytest.mark.slow
def test_a_server_killed_in_the_middle_of_fifty_jobs_loses_none(
    process: Any, tmp_path: Path
) -> None:
    server = process("--data", str(tmp_path), "--workers", "2")
    names: list[str] = []
    for number in range(50):
        problem = FOUR | {"name": f"job {number}"}
        # Iterations, as a time may pass before there is a plan where the machine is busy.
        body = {"problem": problem, "iterations": 200_000, "seed": number}
        names.append(server.http.post("/v1/jobs", json=body).json()["id"])

    def states() -> list[str]:
        return [server.http.get(f"/v1/jobs/{name}").json()["state"] for name in names]

    for _ in range(3):
        end = time.monotonic() + PATIENCE
        before = states().count("done")
        while states().count("done") < min(before + 4, 50):
            assert time.monotonic() < end
        server.kill()
        server.start()
    end = time.monotonic() + PATIENCE
    while set(states()) != {"done"}:
        assert time.monotonic() < end
        time.sleep(0.2)
    jobs = [server.http.get(f"/v1/jobs/{name}").json() for name in names]
    assert [job["name"] for job in jobs] == [f"job {number}" for number in range(50)]
    assert {job["cost"] for job in jobs} == {LOOP}


@pytest.mark.slow
def test_a_disk_that_is_full_for_real(process: Any, tmp_path: Path) -> None:
    """Files may not grow beyond a limit, so that SQLite's own writes fail."""
    import resource

    soft, hard = 400_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]

    def limits() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writes fail instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    server = process("--data", str(tmp_path), "--workers", "2", limits=limits)
    names: list[str] = []
    end, full_since = time.monotonic() + PATIENCE, float("inf")
    while time.monotonic() - full_since < 3:  # the log of SQLite gives some place back at first
        assert time.monotonic() < end
        answer = server.http.post("/v1/jobs", json=FOUR | {"name": "x" * 20_000})
        if answer.status_code == 202:
            names.append(answer.json()["id"])
            full_since = float("inf")
            continue
        assert answer.status_code == 507
        assert answer.headers["content-type"] == "application/problem+json"
        healthy = server.http.get("/health").status_code == 200
        full_since = float("inf") if healthy else min(full_since, time.monotonic())
        time.sleep(0.2)
    assert names  # how many fit is a matter of how often each was saved meanwhile
    assert server.http.post("/v1/validate", json=FOUR).status_code == 200
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))  # there is room again
    end = time.monotonic() + PATIENCE
    while server.http.get("/health").status_code != 200:  # without any request in between
        assert time.monotonic() < end
        time.sleep(0.1)
    for name in names:
        while (job := server.http.get(f"/v1/jobs/{name}").json())["state"] in ("queued", "running"):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert (job["state"], job["cost"]) == ("done", LOOP)
    server.kill()
    server.start()
    for name in names:  # one that was not written yet is solved again
        while (job := server.http.get(f"/v1/jobs/{name}").json())["state"] != "done":
            assert time.monotonic() < end
            time.sleep(0.05)
        assert job["cost"] == LOOP
    assert "Traceback" not in server.stderr()


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False])
def test_a_hundred_megabytes(process: Any, told: bool) -> None:
    """Refused before they are read, or as soon as there are too many; memory does not follow."""
    server = process("--workers", "1")
    before, block = server.memory(), b" " * 2**20
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: 104857600\r\n\r\n" if told else b"Transfer-Encoding: chunked\r\n\r\n"
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(head)
            try:
                for _ in range(100):
                    client.sendall(block if told else b"100000\r\n" + block + b"\r\n")
                answer = client.recv(2**16)
            except ConnectionError:
                continue  # hung up on
            assert not answer or b" 413 " in answer
    assert server.http.get("/health").status_code == 200
    assert server.memory() - before < 150
    assert "Traceback" not in server.stderr()


def test_a_job_at_which_the_server_ends_again_and_again_is_given_up(
    serving: Any, tmp_path: Path
) -> None:
    """It may be what ends the server, which would never come back."""
    body = json.dumps(FOUR).encode()
    for ends, state in ((3, "running"), (4, "running"), (4, "queued")):
        store = Store(tmp_path)
        about = {"customers": 4, "ends": ends}
        name = f"{ends} {state}"
        store.add(Row(name, state, time.time(), "application/json", {}, about), body)
        store.close()
    server = serving(data=tmp_path)
    assert server.ended("3 running")["cost"] == LOOP
    assert server.ended("4 queued")["cost"] == LOOP
    given_up = server.ended("4 running")
    assert given_up["state"] == "failed"
    assert given_up["error"]["detail"] == "the server ended 5 times while this job ran"


def test_slow_clients_are_hung_up_on(serving: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from spacevrp.serve import routes
    from spacevrp.serve import server as serve

    monkeypatch.setattr(serve, "_HEAD", 0.3)
    monkeypatch.setattr(routes, "_ARRIVAL", 0.3)
    server = serving()
    address = ("127.0.0.1", server.port)
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"
    with socket.create_connection(address) as slow, socket.create_connection(address) as slower:
        slow.settimeout(PATIENCE)
        slower.settimeout(PATIENCE)
        slow.sendall(head)
        slower.sendall(b"GET /health HTTP/1.1\r\nHo")
        assert b" 408 " in slow.recv(2**16)
        assert slower.recv(2**16) == b""
    assert server.http.get("/health").status_code == 200
    assert 'spacevrp_refused_total{reason="slow"} 1' in server.http.get("/metrics").text


def test_large_bodies_and_problems_at_once_are_refused(
    serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spacevrp.serve import routes, workers

    server = serving(workers=1, max_body=4096)
    monkeypatch.setattr(routes, "_BODIES", 1)
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4096\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as first:
        first.sendall(head + b" " * 4090)
        server.until(lambda: server.service.held_bytes == 4090)
        refused = server.http.post("/v1/validate", json=FOUR)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    server.until(lambda: server.service.held_bytes == 0)
    assert server.http.post("/v1/validate", json=FOUR).status_code == 200
    monkeypatch.setattr(workers, "_MOST_HELD", 16 * 25)
    running = server.take(LONG)
    server.until(lambda: server.job(running)["state"] == "running")
    waiting = server.take(FOUR)
    refused = server.http.post("/v1/jobs", json=FOUR)
    assert refused.status_code == 429
    assert "large problems" in refused.json()["detail"]
    server.http.delete(f"/v1/jobs/{running}")
    assert server.ended(waiting)["cost"] == LOOP


@pytest.mark.slow
def test_an_address_is_told_when_it_answers(process: Callable[..., Any], tmp_path: Path) -> None:
    first = process("--data", str(tmp_path))
    assert f"spacevrp: http://127.0.0.1:{first.port}/ (jobs in {tmp_path})" in first.stderr()
    command = [sys.executable, "-m", "spacevrp", "serve", "--port", "0", "--data", str(tmp_path)]
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert "another server is using this folder" in second.stderr
    assert "http://" not in second.stderr
