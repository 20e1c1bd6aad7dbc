"""``spacevrp check``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacevrp.cli.main import main

# Of the instance of conftest.py, whose legs are whole numbers.
GOOD = [[0, 1, 2, 0], [0, 3, 4, 0]]  # costs 28


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """Three open instances with a length limit."""
    points = np.array([[0, 0], [0.3, 0], [0.3, 0.4], [0, 0.4], [0, 0.8]])
    path = tmp_path / "three.npz"
    np.savez(
        path,
        variant="OCVRPL",
        coords=np.stack([points] * 3),
        num_depots=1,
        demand=np.tile([0.0, 6, 4, 3, 7], (3, 1)),
        capacity=np.full(3, 10.0),
        max_length=np.full(3, 0.9),
    )
    return path


def write_solution(folder: Path, *instances: dict[str, Any]) -> Path:
    path = folder / "solution.json"
    path.write_text(json.dumps({"variant": "CVRP", "instances": list(instances)}))
    return path


def plan(routes: list[list[int]], cost: float) -> dict[str, Any]:
    return {"cost": cost, "routes": routes, "feasible": True}


def check(*arguments: object) -> int:
    return main(["check", *map(str, arguments)])


def test_a_feasible_solution(instance, tmp_path, capsys):
    assert check(instance, write_solution(tmp_path, plan(GOOD, 28))) == 0
    assert capsys.readouterr().out.splitlines() == ["cost 28", "feasible, rounding nearest"]


def test_every_violation_is_told_in_words(instance, tmp_path, capsys):
    solution = write_solution(tmp_path, plan([[0, 1, 2, 3, 0], [0, 2, 0]], 24))
    assert check(instance, solution) == 1
    assert capsys.readouterr().out.splitlines() == [
        "cost 24",
        "route 1 leaves with a load of 13, capacity is 10",
        "route 2 visits customer 2 again, already visited by route 1",
        "customer 4 is never visited",
        "not feasible: 3 violations, rounding nearest",
    ]


@pytest.mark.parametrize(
    ("claimed", "code"),
    [(28, 0), (28 + 3e-5, 0), (28 - 3e-5, 0), (28.0001, 1), (27.9999, 1), (30, 1)],
)
def test_a_wrong_cost_is_a_negative_answer(instance, tmp_path, claimed, code):
    assert check(instance, write_solution(tmp_path, plan(GOOD, claimed))) == code


def test_a_wrong_cost_is_told(instance, tmp_path, capsys):
    check(instance, write_solution(tmp_path, plan(GOOD, 26.5)))
    assert capsys.readouterr().out.splitlines() == [
        "cost 28",
        "the solution claims 26.5, costs 28",
        "feasible, but not at the claimed cost, rounding nearest",
    ]


def test_several_instances_are_numbered(batch, tmp_path, capsys):
    good, dear = [[0, 1, 2], [0, 3, 4]], [[0, 1], [0, 3, 2], [0, 4]]
    too_long = [[0, 1, 2], [0, 4, 3]]
    solution = write_solution(tmp_path, plan(good, 1.5), plan(too_long, 1.5), plan(dear, 1.8))
    assert check(batch, solution) == 1
    assert capsys.readouterr().out.splitlines() == [
        "instance 0: cost 1.5",
        "instance 1: cost 1.9",
        "instance 1: route 2 is 1.2 long, limit is 0.9",
        "instance 1: the solution claims 1.5, costs 1.9",
        "instance 2: cost 1.8",
        "2 of 3 instances feasible, 1 wrong cost, mean cost 1.733333333",
    ]


def test_another_number_of_instances_is_a_negative_answer(batch, tmp_path, capsys):
    solution = write_solution(tmp_path, plan([[0, 1, 2], [0, 3, 4]], 1.5))
    assert check(batch, solution) == 1
    assert f"{batch} has 3 instances, {solution} solves 1" in capsys.readouterr().out


def test_json_report(batch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, too_long = [[0, 1, 2], [0, 3, 4]], [[0, 1, 2], [0, 4, 3]]
    solution = write_solution(tmp_path, plan(good, 1.5), plan(too_long, 1.9), plan(good, 7))
    assert check(batch, solution, "--format", "json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    assert report["disagreement"] is None
    first, second, third = report["instances"]
    assert (first["feasible"], first["cost_agrees"], first["violations"]) == (True, True, [])
    assert first["variant"] == "OCVRPL"
    assert first["cost"] == pytest.approx(1.5)
    assert second["violations"] == [
        {"code": "length", "message": "route 2 is 1.2 long, limit is 0.9", "route": 2, "node": None}
    ]
    assert (third["feasible"], third["cost_agrees"], third["claimed_cost"]) == (True, False, 7)


def test_an_infinite_cost_is_null_in_json(tmp_path, capsys):
    instance = tmp_path / "gap.npz"
    matrix = np.ones((1, 3, 3))
    matrix[0, 1, 2] = np.inf
    np.savez(instance, variant="ATSP", matrix=matrix, num_depots=0)
    solution = write_solution(tmp_path, plan([[0, 1, 2]], 3))
    assert check(instance, solution, "--format", "json") == 1
    (only,) = json.loads(capsys.readouterr().out)["instances"]
    assert only["cost"] is None
    assert [violation["code"] for violation in only["violations"]] == ["arc"]
