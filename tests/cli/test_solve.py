"""``spacevrp solve``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from spacevrp.cli.main import main
from spacevrp.formats import read, read_solution, write
from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge


@pytest.fixture
def infeasible(tmp_path: Path) -> Path:
    """Three customers, one of whom cannot be served."""
    path = tmp_path / "short.json"
    problem = Problem.from_coordinates(
        [(0, 0), (0, 1), (1, 0), (1, 1)], demand=[0, 2, 2, 2], capacity=3, max_routes=2
    )
    write(problem, path)
    return path


def test_json_for_scripts(solve: Any, instance: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert solve(instance) == 0  # stdout is no terminal, so the default is JSON
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert list(document) == ["variant", "instances", "seconds", "device"]
    assert (document["variant"], document["device"]) == ("CVRP", "cpu")
    assert document["seconds"] >= 0
    (solved,) = document["instances"]
    assert list(solved) == ["cost", "routes", "feasible", "rounding", "plan"]
    assert solved["feasible"] is True
    verdict = judge(read(instance), solved["routes"])  # type: ignore[arg-type]
    assert (verdict.violations, verdict.cost) == ((), solved["cost"])
    assert captured.err == ""


def test_vrplib(solve, instance, tmp_path, capsys):
    out = tmp_path / "four.sol"
    assert solve(instance, "-o", out) == 0
    assert capsys.readouterr().out.startswith(f"{out}: solved, ")
    assert solve(instance, "--format", "vrplib") == 0
    assert capsys.readouterr().out == out.read_text()
    problem = read(instance)
    assert isinstance(problem, Problem)
    (solved,) = read_solution(out, problem).instances
    assert judge(problem, solved.routes).cost == solved.cost


def test_a_batch_into_a_file_that_check_accepts(solve, tmp_path, capsys):
    batch, out = tmp_path / "batch.npz", tmp_path / "out.json"
    write(generate("OCVRPTW", 10, 3), batch)
    assert solve(batch, "--augment", 2, "--starts", 3, "-o", out) == 0
    assert capsys.readouterr().out.startswith(f"{out}: 3 of 3 solved, mean cost ")
    assert main(["check", str(batch), str(out)]) == 0
    assert len(read_solution(out).instances) == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_options_reach_the_solver(solve, tmp_path, capsys):
    batch = tmp_path / "batch.npz"
    write(generate("CVRP", 14, 4), batch)

    def costs(*options: object) -> np.ndarray:
        assert solve(batch, "--no-improve", *options) == 0
        return np.array([i["cost"] for i in json.loads(capsys.readouterr().out)["instances"]])

    one = costs("--augment", 1)
    assert (costs("--augment", 1) == one).all()
    assert (costs("--augment", 1, "--seed", 1) != one).any()
    assert costs("--augment", 8).sum() < one.sum()
    assert costs("--augment", 1, "--starts", 1).sum() > one.sum()
    assert costs("--augment", 1, "--sample", 4).sum() < one.sum()


def test_a_partial_plan_is_a_negative_answer_and_nothing_is_lost(
    solve, infeasible, tmp_path, capsys
):
    assert solve(infeasible) == 1
    captured = capsys.readouterr()
    (entry,) = json.loads(captured.out)["instances"]
    assert list(entry) == ["cost", "routes", "feasible", "unserved", "plan"]
    assert entry["feasible"] is False
    verdict = judge(read(infeasible), entry["routes"])  # type: ignore[arg-type]
    assert verdict.cost == entry["cost"]
    (unserved,) = entry["unserved"]
    assert [violation.node for violation in verdict.violations] == [unserved["node"]]
    assert unserved["code"] == "fleet"
    assert unserved["relaxation"]["changes"][0]["kind"] == "capacity"
    assert captured.err.startswith(
        "spacevrp: instance 0: no complete plan found: 'short', 1 of 3 customers left out: all 2 "
    )
    assert captured.err.count("\n") == 1
    assert solve(infeasible, "--format", "table") == 1
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith("2 routes  partial: 2 of 3 customers served")
    assert any(line.startswith("  unserved (fleet): all 2 routes") for line in lines)
    assert any(line.startswith("    it would take: a capacity of 4, 1 more") for line in lines)
    assert lines[-1].startswith("a partial plan, ")
    out = tmp_path / "short.sol"
    assert solve(infeasible, "-o", out) == 1
    assert out.read_text().startswith("Route #1: ")


def test_a_dash_is_stdout(solve, instance, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert solve(instance, "--augment", 1, "-o", "-") == 0
    printed = json.loads(capsys.readouterr().out)
    assert len(printed["instances"]) == 1
    assert not (tmp_path / "-").exists()


def test_threads_are_counted_from_one(solve, instance, capsys):
    before = torch.get_num_threads()
    assert solve(instance, "--augment", 1, "--threads", 2) == 0
    assert torch.get_num_threads() == before
    assert solve(instance, "--threads", 0) == 2
    assert "--threads" in capsys.readouterr().err
