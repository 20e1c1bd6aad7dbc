"""What goes wrong: strangers, floods, full disks, clients that leave, servers that are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

PATIENCE = 120.0
CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
FOUR: dict[str, Any] = {
    "coordinates": [[0, 0], [3, 0], [3, 4], [0, 4], [0, 8]],
    "demand": [0, 1, 1, 1, 1],
    "capacity": 9,
}
LOOP = 20
LONG: dict[str, Any] = {"problem": FOUR, "time": 3000}


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
    content = block * 20 if told else (block for _ in range(20))
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


def test_unknown_types_paths_and_methods(server: Any) -> None:
    body = {"content": b"x", "headers": {"Content-Type": "image/png"}}
    assert server.http.post("/v1/jobs", **body).status_code == 415
    for method, path, status in (
        ("GET", "/v1/jobs/none", 404),
        ("DELETE", "/v1/jobs/none", 404),
        ("GET", "/v1/jobs/none/events", 404),
        ("GET", "/v1/jobs/none/plan", 404),
        ("PUT", "/v1/jobs", 405),
        ("GET", "/v1/check", 404),
        ("POST", "/nothing", 405),
    ):
        answer = server.http.request(method, path)
        assert answer.status_code in (status, 405), (method, path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"


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


def test_a_folder_has_one_server(serving: Any, tmp_path: Path) -> None:
    from spacevrp.problems.errors import SpacevrpError
    from spacevrp.serve.store import Store

    serving(data=tmp_path)
    with pytest.raises(SpacevrpError, match="another server"):
        Store(tmp_path)


def test_a_folder_with_something_else_in_it(tmp_path: Path) -> None:
    from spacevrp.problems.errors import SpacevrpError
    from spacevrp.serve.store import FILE, Store

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


HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 1e308, 10**30, "", "x", "\ud800", "12:30", [], {}, [[]], [None]),
    *([[0, 1, 0]], [[0, "1", 0]], [{"stops": [{"node": 1}]}], {"routes": [[0, 99, 0]]}),
)


def replace_somewhere(document: Any, draw: random.Random) -> None:
    """Put something hostile into a document, at any depth."""
    held = document
    while True:
        keys = list(held) if isinstance(held, dict) else list(range(len(held)))
        key = draw.choice(keys)
        inner = held[key]
        if not isinstance(inner, dict | list) or not inner or draw.random() < 0.3:
            held[key] = draw.choice(HOSTILE)
            return
        held = inner


def malformed(seed: int) -> tuple[bytes, str]:
    """A body of a known format with something wrong, and its type."""
    draw = random.Random(seed)
    path = draw.choice(sorted(CORPUS.iterdir()))
    kinds = {".json": "application/json", ".csv": "text/csv"}
    kind = kinds.get(path.suffix, "text/plain")
    content = bytearray(path.read_bytes())
    if path.suffix == ".json" and draw.random() < 0.7:
        document = json.loads(content)
        replace_somewhere(document, draw)
        if draw.random() < 0.5:
            document = {"problem": document, "plan": draw.choice(HOSTILE), "time": 0.01}
        return json.dumps(document).encode(), kind
    for _ in range(draw.randint(1, 8)):
        at = draw.randrange(len(content) or 1)
        way = draw.randrange(4)
        if way == 0:
            content[at : at + 1] = bytes([draw.randrange(256)])
        elif way == 1:
            del content[at : at + draw.randint(1, 40)]
        elif way == 2:
            words = (b"null", b"-1", b"1e999", b"[]", b"{}", b'""', b"\\u0000", b"9" * 400)
            content[at:at] = draw.choice(words)
        else:
            content[at:at] = content[draw.randrange(len(content) or 1) :][:80]
    return bytes(content), kind


def send_malformed(server: Any, seeds: range, capfd: pytest.CaptureFixture[str]) -> None:
    paths = ("/v1/validate", "/v1/check", "/", "/v1/jobs")
    statuses: dict[int, int] = {}
    for seed in seeds:
        body, kind = malformed(seed)
        path = paths[seed % 3] if seed % 50 else paths[3]
        answer = server.http.post(path, content=body, headers={"Content-Type": kind})
        statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
        assert answer.status_code in (200, 202, 400, 413, 415, 422) or (
            path == "/" and answer.json()["code"] == 3
        ), (seed, path, answer.text)
        assert "Traceback" not in answer.text
    text = server.http.get("/metrics").text
    assert "\nspacevrp_faults_total 0\n" in text
    assert "fault" not in capfd.readouterr().err
    assert {200, 400, 422} <= set(statuses)
    assert server.ended(server.take(FOUR))["cost"] == LOOP


def test_malformed_bodies(serving: Any, capfd: pytest.CaptureFixture[str]) -> None:
    send_malformed(serving(max_customers=200, max_time=1.0), range(100), capfd)


@pytest.mark.slow
def test_ten_thousand_malformed_bodies(serving: Any, capfd: pytest.CaptureFixture[str]) -> None:
    send_malformed(serving(max_customers=200, max_time=1.0), range(1000, 11_000), capfd)


def start_process(folder: Path, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "spacevrp", "serve", "--data", str(folder), "--workers", "2"]
    process = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False)
        except httpx.TransportError:
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.1)
        else:
            return process


@pytest.mark.slow
def test_a_server_killed_in_the_middle_of_fifty_jobs_loses_none(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = start_process(tmp_path, port)
    names: list[str] = []
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE, trust_env=False
        ) as http:
            for number in range(50):
                body = {"problem": FOUR | {"name": f"job {number}"}, "time": 0.2, "seed": number}
                names.append(http.post("/v1/jobs", json=body).json()["id"])

            def states() -> list[str]:
                return [http.get(f"/v1/jobs/{name}").json()["state"] for name in names]

            for _ in range(3):
                end = time.monotonic() + PATIENCE
                before = states().count("done")
                while states().count("done") < min(before + 4, 50):
                    assert time.monotonic() < end
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                process = start_process(tmp_path, port)
            end = time.monotonic() + PATIENCE
            while set(states()) != {"done"}:
                assert time.monotonic() < end
                time.sleep(0.2)
            jobs = [http.get(f"/v1/jobs/{name}").json() for name in names]
        assert [job["name"] for job in jobs] == [f"job {number}" for number in range(50)]
        assert {job["cost"] for job in jobs} == {LOOP}
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM)
