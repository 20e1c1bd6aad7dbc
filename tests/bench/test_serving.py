"""``spacevrp bench serve``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spacevrp.bench.serving import requests_of
from spacevrp.cli.main import main
from spacevrp.problems.problem import Problem


def test_requests_can_be_served() -> None:
    bodies = requests_of(20, 1)
    assert bodies == requests_of(20, 1)
    problem = Problem.from_vroom(json.loads(bodies[0]))
    assert len(problem.customers) == 20
    assert problem.capacity == 30
    assert problem.max_routes * 30 >= problem.demand.sum()


@pytest.mark.slow
def test_a_row_is_measured_and_recorded(tmp_path: Path) -> None:
    pytest.importorskip("starlette", reason="needs the extra serve")
    command = ["bench", "serve", "--sizes", "4", "--clients", "2", "--seconds", "1s"]
    command += ["--servers", "spacevrp", "--memory-rows", "1", "-o", str(tmp_path)]
    assert main(command) == 0
    rows = json.loads((tmp_path / "serve.json").read_text())["rows"]
    assert [(row["part"], row["clients"]) for row in rows] == [("load", 2), ("memory", 8)]
    for row in rows:
        assert row["requests"] > 0
        assert row["refused"] == 0
        assert 0 < row["p50"] <= row["p99"]
        assert row["memory"] > 0
