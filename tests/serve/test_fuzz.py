"""Malformed requests to every path: never a mistake of the server's own, and no memory is lost.

The quick test sends some hundred. The slow one sends 1,000 to a server that is a process of its
own; ``SPACEVRP_FUZZ_REQUESTS`` has it send so many, and ``SPACEVRP_FUZZ_SEED`` others.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from typing import Any
from urllib.parse import quote

import pytest

from .conftest import CORPUS, FOUR, LOOP

HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 1e308, 10**30, "", "x", "\ud800", "12:30", [], {}, [[]], [None]),
    *([[0, 1, 0]], [[0, "1", 0]], [{"stops": [{"node": 1}]}], {"routes": [[0, 99, 0]]}),
)


OPTIONS = (
    *("variant", "rounding", "time_unit", "speed_kmh", "content_type", "start", "job", "time"),
    *("seed", "iterations", "protocol", "augmentations", "network", "search", "forget", "other"),
)
KINDS = ("", "application/json", "text/csv", "text/plain", "application/vnd.vroom+json")
IDS = ("none", "", "..", "%00", "%ff", "a" * 5000, "%2e%2e%2f", "{job}", "'; DROP TABLE jobs; --")


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
            while draw.random() < 0.3:
                document[draw.choice(OPTIONS)] = draw.choice(HOSTILE)
        return json.dumps(document).encode(), kind
    for _ in range(draw.randint(1, 8)):
        at = draw.randrange(len(content) or 1)
        way = draw.randrange(4)
        if way == 0:
            content[at : at + 1] = bytes([draw.randrange(256)])
        elif way == 1:
            del content[at : at + draw.randint(1, 40)]
        elif way == 2:
            words = (
                *(b"null", b"-1", b"1e999", b"[]", b"{}", b'""', b"\\u0000", b"9" * 400),
                b"9" * 5000,
            )
            content[at:at] = draw.choice(words)
        else:
            content[at:at] = content[draw.randrange(len(content) or 1) :][:80]
    return bytes(content), kind


def hostile_query(draw: random.Random) -> str:
    """Options of a query, some of them none."""
    parts = []
    while draw.random() < 0.4:
        value = draw.choice((*HOSTILE, "9" * 5000, "1e999", "nan", "\x00", "true"))
        text = str(value).encode("utf-8", errors="replace")
        parts.append(f"{draw.choice((*OPTIONS, 'format', 'plan'))}={quote(text)}")
    return f"?{'&'.join(parts)}" if parts else ""


def hostile_request(seed: int, job: str) -> dict[str, Any]:
    """One of any kind; ``job`` is one that is there."""
    draw = random.Random(seed)
    if seed % 10 == 0:  # no body, or one that is not asked for
        name = draw.choice((*map(quote, IDS), job))
        tail = draw.choice(("", "/plan", "/events", "/plan/x"))
        path = draw.choice((f"/v1/jobs/{name}{tail}", f"/{name}", "/v1", "/metrics", "/page.json"))
        method = draw.choice(("GET", "DELETE", "PUT", "POST", "HEAD", "OPTIONS", "TRACE", "BREW"))
        headers = {"Last-Event-ID": draw.choice(("-1", "x", "9" * 50, "1"))}
        content = draw.choice((b"", b"{", b"\xff"))
        if job in path and method == "DELETE":
            method = "GET"  # it is needed again
        return {
            "method": method,
            "url": path + hostile_query(draw),
            "headers": headers,
            "content": content,
        }
    body, kind = malformed(seed)
    if draw.random() < 0.05:
        kind = draw.choice(KINDS)
    path = ("/v1/validate", "/v1/check", "/")[seed % 3] if seed % 25 != 1 else "/v1/jobs"
    query = hostile_query(draw) if draw.random() < 0.2 else ""
    return {
        "method": "POST",
        "url": path + query,
        "headers": {"Content-Type": kind},
        "content": body,
    }


# Of all kinds, by which tests see that requests reach everything.
ALL = {200, 202, 400, 404, 405, 422}


def send(http: Any, seeds: range, job: str) -> Counter[int]:
    """Send requests; how often each status was the answer."""
    statuses: Counter[int] = Counter()
    for seed in seeds:
        request = hostile_request(seed, job)
        answer = http.request(**request)
        statuses[answer.status_code] += 1
        needs_routing = answer.status_code == 500 and answer.json().get("code") == 3
        assert answer.status_code < 500 or needs_routing, (seed, request["url"][:80], answer.text)
        assert "Traceback" not in answer.text
        assert "/tmp" not in answer.text
    assert "\nspacevrp_faults_total 0\n" in http.get("/metrics").text
    return statuses


def test_malformed_requests(serving: Any, capfd: pytest.CaptureFixture[str]) -> None:
    server = serving(max_customers=200, max_time=1.0)
    job = server.take(FOUR)
    server.ended(job)
    assert set(send(server.http, range(300), job)) >= ALL
    assert "fault" not in capfd.readouterr().err
    assert server.ended(server.take(FOUR))["cost"] == LOOP


@pytest.mark.slow
def test_thousands_of_malformed_requests(process: Any) -> None:
    count = int(os.environ.get("SPACEVRP_FUZZ_REQUESTS", "1000"))
    first = 1000 * int(os.environ.get("SPACEVRP_FUZZ_SEED", "1"))
    # Few results are kept, so that what grows would be lost memory.
    server = process("--max-customers", "200", "--max-time", "1s", "--keep-jobs", "100")
    job = server.http.post("/v1/jobs", json=FOUR).json()["id"]
    statuses: Counter[int] = Counter()
    held: list[float] = []
    parts = 5
    for part in range(parts):
        begin = first + part * count // parts
        statuses += send(server.http, range(begin, begin + count // parts), job)
        held.append(round(server.memory(), 1))
    # The last part once more: what was only loaded for the first time is there by now.
    statuses_again = send(server.http, range(begin, begin + count // parts), job)
    held.append(round(server.memory(), 1))
    print(f"{sum(statuses.values())} requests: {dict(sorted(statuses.items()))}; MiB {held}")
    assert set(statuses) >= ALL
    errors = server.stderr()
    assert "Traceback" not in errors
    assert "fault" not in errors
    assert sum(statuses_again.values()) == count // parts
    assert held[-1] - held[-2] < 40, held
    answer = server.http.post("/v1/jobs", json=FOUR)
    assert answer.status_code == 202
