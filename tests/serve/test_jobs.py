"""Jobs over HTTP: formats in and out, events, stopping, starting from a plan."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spacevrp.problems.problem import Problem
from spacevrp.serve.schemas import PROBLEM, ROUTES, VROOM

from .conftest import CORPUS, FOUR, LONG, LOOP

LONLAT: dict[str, Any] = {
    "lonlat": [[8.54, 47.37], [8.2, 47.4], [8.6, 47.2]],
    "demand": [0, 1, 1],
    "capacity": 2,
    "ids": ["depot", "<a>", "b"],
}


def events_of(server: Any, name: str, **headers: str) -> list[dict[str, Any]]:
    """All events of a job, until it ends."""
    told = []
    with server.http.stream("GET", f"/v1/jobs/{name}/events", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for line in stream.iter_lines():
            if line.startswith("data: "):
                told.append(json.loads(line.removeprefix("data: ")))
    return told


def test_a_job_from_beginning_to_end(server: Any) -> None:
    taken = server.http.post("/v1/jobs", json={"problem": FOUR, "seed": 3})
    assert taken.status_code == 202
    assert (taken.json()["plan"] is None) == (taken.json()["cost"] is None)
    name = taken.json()["id"]
    assert taken.headers["location"] == f"/v1/jobs/{name}"
    told = events_of(server, name)
    assert [one["number"] for one in told] == list(range(1, len(told) + 1))
    assert told[0]["state"] == "running"
    assert told[-1]["event"] == "done"
    assert {one["stage"] for one in told if one["event"] == "stage"} >= {"improve", "judge"}
    costs = [one["cost"] for one in told if one["event"] == "plan"]
    assert costs == sorted(costs, reverse=True)
    assert events_of(server, name, **{"Last-Event-ID": "2"}) == told[2:]
    # Told by a server that was killed since: the end must not be missed.
    assert events_of(server, name, **{"Last-Event-ID": "999"}) == told[-1:]
    job = server.ended(name)
    assert (job["state"], job["cost"], job["feasible"]) == ("done", LOOP, True)
    assert job["plan"]["totals"]["length"] == LOOP
    assert job["plan"]["unserved"] == []
    assert [one["name"] for one in job["stages"]][-1] == "judge"
    assert name in {one["id"] for one in server.http.get("/v1/jobs").json()["jobs"]}
    without = server.http.get(f"/v1/jobs/{name}", params={"plan": "false"}).json()
    assert "plan" not in without
    assert server.http.delete(f"/v1/jobs/{name}", params={"forget": "true"}).status_code == 204
    assert server.http.get(f"/v1/jobs/{name}").status_code == 404


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("application/json", "own-fleet.json"),
        ("application/vnd.spacevrp+json", "own-windows.json"),
        ("application/vnd.vroom+json", "vroom.json"),
        ("application/vnd.ortools+json", "ortools.json"),
        ("application/json; charset=utf-8", "ortools-pairs.json"),
        ("text/csv", "plain.csv"),
        ("text/x-vrplib", "cvrp.vrp"),
        ("text/plain", "solomon.txt"),
        ("text/plain", "lilim.txt"),
    ],
)
def test_formats_by_content_type(server: Any, kind: str, file: str) -> None:
    content = (CORPUS / file).read_bytes()
    headers = {"Content-Type": kind}
    valid = server.http.post("/v1/validate", content=content, headers=headers)
    assert valid.status_code == 200, valid.text
    told = valid.json()
    again = server.http.post("/v1/validate", json=told["problem"])  # in our own schema
    assert again.json()["problem"] == told["problem"]
    answer = server.http.post("/v1/jobs", content=content, headers=headers, params={"seed": 1})
    job = server.ended(answer.json()["id"])
    assert job["state"] == "done", job["error"]
    assert job["customers"] == told["customers"]
    routes = [[stop["node"] for stop in route["stops"]] for route in job["plan"]["routes"]]
    plan = {"routes": job["plan"]["routes"]}
    verdict = server.http.post("/v1/check", json={"job": job["id"], "plan": plan}).json()
    assert routes
    assert verdict["feasible"] == job["feasible"]
    assert verdict["cost"] == pytest.approx(job["cost"])


def test_a_text_next_to_its_options(server: Any) -> None:
    text = (CORPUS / "cvrp.vrp").read_text()
    body = {"problem": text, "content_type": "text/x-vrplib", "rounding": "none", "seed": 1}
    assert server.http.post("/v1/validate", json=body).json()["valid"] is True


def test_every_example_of_the_openapi_document_is_taken(server: Any) -> None:
    document = server.http.get("/openapi.json").json()
    content = document["paths"]["/v1/validate"]["post"]["requestBody"]["content"]
    for kind, told in content.items():
        examples = [told["example"]] if "example" in told else []
        examples += [one["value"] for one in told.get("examples", {}).values()]
        for example in examples:
            body = example if isinstance(example, str) else json.dumps(example)
            if kind == "text/plain":
                continue  # the same text
            answer = server.http.post("/v1/validate", content=body, headers={"Content-Type": kind})
            assert answer.status_code == 200, (kind, answer.text)
    assert server.http.post("/", json=VROOM).json()["code"] == 0
    verdict = server.http.post("/v1/check", json={"problem": PROBLEM, "plan": ROUTES}).json()
    # 0-1-2-0 is 3 + 4 + 5, 0-3-4-0 is 4 + 4 + 8; the loads are 3 and 3 of 4.
    assert (verdict["cost"], verdict["feasible"]) == (28, True)


def test_a_job_begins_with_a_plan(server: Any) -> None:
    """With no iterations of the search, and without the network, the plan stays as it is."""
    worse = [[0, 1, 0], [0, 2, 0], [0, 3, 0], [0, 4, 0]]
    body = {"problem": FOUR | {"max_routes": 4}, "start": worse}
    told = events_of(server, name := server.take(body))
    first = next(one for one in told if one["event"] == "plan")
    assert first["stage"] == "start"
    assert first["cost"] == 2 * (3 + 5 + 4 + 8)
    assert server.ended(name)["cost"] == LOOP
    partial = server.http.post("/v1/jobs", json=body | {"start": [[0, 1, 2, 0]]}).json()
    (warning,) = partial["warnings"]
    assert warning.startswith("start: customer 3 is never visited; the routes at fault")
    first = next(one for one in events_of(server, partial["id"]) if one["event"] == "plan")
    assert (first["stage"], first["feasible"]) == ("start", True)
    for wrong, part in (
        ([[0, 9, 0]], "expected a node"),
        ("nothing", "expected"),
        (7, "expected routes"),
        ({"routes": [[0, 1, 0]], "vehicles": 3}, "vehicles"),
    ):
        answer = server.http.post("/v1/jobs", json=body | {"start": wrong})
        assert answer.status_code == 422, answer.text
        assert part in answer.json()["detail"]
        assert answer.json()["field"].startswith("start")


def test_a_job_is_stopped_and_its_best_plan_kept(server: Any) -> None:
    name = server.take(LONG)
    server.until(lambda: server.job(name)["plan"])
    running = server.job(name)
    assert (running["state"], running["cost"]) == ("running", LOOP)
    assert running["stage"] in ("start", "construct", "improve")
    early = server.http.get(f"/v1/jobs/{name}/plan", params={"format": "sol"}).text
    assert early.endswith(f"Cost {LOOP}\n")
    stopped = server.http.delete(f"/v1/jobs/{name}").json()
    assert (stopped["state"], stopped["cost"]) == ("stopped", LOOP)
    assert server.http.delete(f"/v1/jobs/{name}").json() == stopped
    assert events_of(server, name)[-1]["event"] == "stopped"


def test_a_job_that_waits_is_stopped_without_a_plan(serving: Any) -> None:
    server = serving(workers=1)
    first, second = server.take(LONG), server.take(LONG)
    assert server.job(second)["position"] == 0
    stopped = server.http.delete(f"/v1/jobs/{second}").json()
    assert (stopped["state"], stopped["plan"]) == ("stopped", None)
    assert server.http.get(f"/v1/jobs/{second}/plan").status_code == 409
    assert server.http.delete(f"/v1/jobs/{first}").json()["cost"] == LOOP


def test_a_plan_in_every_format(server: Any) -> None:
    name = server.take(LONLAT | {"name": "three"})
    server.ended(name)
    texts = {}
    for kind in ("json", "geojson", "csv", "sol", "vroom", "html", "gpx", "txt"):
        answer = server.http.get(f"/v1/jobs/{name}/plan", params={"format": kind})
        assert answer.status_code == 200, answer.text
        texts[kind] = answer.text
    assert json.loads(texts["json"])["feasible"] is True
    assert json.loads(texts["geojson"])["type"] == "FeatureCollection"
    assert json.loads(texts["vroom"])["code"] == 0
    assert texts["csv"].splitlines()[0].startswith("route,id,node")
    assert texts["gpx"].count("<rtept ") == 4
    assert "<name>&lt;a&gt;</name>" in texts["gpx"]
    assert "<a>" not in texts["html"]
    refused = server.http.get(f"/v1/jobs/{name}/plan", params={"format": "exe"})
    assert (refused.status_code, refused.json()["field"]) == (422, "format")
    for text in (texts["csv"], texts["sol"], json.loads(texts["json"])):
        verdict = server.http.post("/v1/check", json={"job": name, "plan": text}).json()
        assert verdict["feasible"] is True


def test_a_plan_without_routes_is_checked(server: Any) -> None:
    problem = {"coordinates": [[0, 0], [3, 4]], "penalty": [0, 1]}
    for plan in ("Cost 1\n", "route,id,node\n", {"routes": []}):
        verdict = server.http.post("/v1/check", json={"problem": problem, "plan": plan}).json()
        assert (verdict.get("feasible"), verdict.get("cost")) == (True, 1), verdict


def test_a_job_may_end_while_the_newest_are_listed(serving: Any) -> None:
    class Leaving(dict[str, Any]):
        def __contains__(self, name: object) -> bool:
            return True  # gone when it is asked for

    server = serving()
    name = server.take(FOUR)
    server.ended(name)
    server.service.workers.jobs = Leaving()
    assert [one["id"] for one in server.http.get("/v1/jobs").json()["jobs"]] == [name]


def test_a_broken_plan_is_told_what_is_wrong(server: Any) -> None:
    plan = [[0, 1, 2, 3, 0]]
    verdict = server.http.post("/v1/check", json={"problem": PROBLEM, "plan": plan}).json()
    assert verdict["feasible"] is False
    assert {one["code"] for one in verdict["violations"]} == {"capacity", "visit"}
    assert verdict["cost"] == 3 + 4 + 3 + 4


@pytest.mark.parametrize("stopped", [None, 1])
def test_small_problems_share_a_call(serving: Any, stopped: int | None) -> None:
    """The plans are those that each gets alone; one may be stopped, wherever it is."""
    server = serving(workers=1, batch_seconds=1.0, batch_jobs=4)
    problems = [FOUR | {"capacity": capacity} for capacity in (1, 2, 3, 4)]
    names = [server.take(one) for one in problems]
    if stopped is not None:
        answer = server.http.delete(f"/v1/jobs/{names[stopped]}").json()
        assert answer["state"] in ("stopped", "done")
    alone = server.service.solver.solve([Problem.from_data(one) for one in problems])
    for number, (name, plan) in enumerate(zip(names, alone, strict=True)):
        if number != stopped:
            job = server.ended(name)
            assert (job["state"], job["cost"]) == ("done", plan.cost)
    if stopped is None:
        assert 'spacevrp_batches_total{size="4"} 1' in server.http.get("/metrics").text


def test_results_expire_by_number_and_by_age(serving: Any) -> None:
    server = serving()  # which keeps more than these by itself
    names = [server.take(FOUR) for _ in range(4)]
    for name in names:
        server.ended(name)
    server.until(lambda: not server.service.workers.jobs)
    assert server.service.store.expire(3600.0, 2, 2**30) == 2
    known = [server.http.get(f"/v1/jobs/{name}").status_code for name in names]
    assert sorted(known) == [200, 200, 404, 404]
    assert server.service.store.expire(-1.0, 2, 2**30) == 2


def test_the_page_and_its_headers(server: Any) -> None:
    page = server.http.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in page.headers
    for path in ("/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "//etc/passwd", "/.git", "/x.js"):
        assert server.http.get(path).status_code == 404


def test_metrics_are_text_for_prometheus(server: Any) -> None:
    server.http.get("/health")
    lines = server.http.get("/metrics").text.splitlines()
    values = [line for line in lines if not line.startswith("#")]
    assert all(line.rpartition(" ")[0].startswith("spacevrp_") for line in values)
    assert all(float(line.rpartition(" ")[2]) >= 0 for line in values)
    assert any(line.startswith('spacevrp_requests_total{path="/health"') for line in values)
    assert "spacevrp_workers 2" in values
