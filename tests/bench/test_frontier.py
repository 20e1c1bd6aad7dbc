"""``spacevrp bench frontier``: rows by hand, records."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from spacevrp.bench import frontier, references
from spacevrp.bench.references import Reference
from spacevrp.bench.sets import generated
from spacevrp.bench.solving import Outcome
from spacevrp.bench.tables import Job
from spacevrp.cli.main import main
from spacevrp.generators import generate
from spacevrp.oracles import ORACLES, Failure, OracleResult
from spacevrp.problems.solution import Solution
from spacevrp.problems.variants import parse_variant
from spacevrp.solver import Solver


def outcome(*costs: float | None, seconds: float = 1.0) -> Outcome:
    return Outcome(costs, 0.0, seconds, 0.0, violations=0)


def entry(solver: str, setting: str) -> frontier.Entry:
    source = generated(parse_variant("CVRP"), 6, 2, 1)
    return frontier.Entry(source, solver, "1", setting, Job("", {}, lambda: outcome(1.0, 1.0)))


def test_the_best_is_the_best_of_all_and_of_the_references(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = [None, Reference(5.0, "pyvrp", "1", 20.0)]
    monkeypatch.setattr(references, "best", lambda name, count, size, seed: held)
    entries = [entry("spacevrp", "1 view"), entry("vroom", "1 s"), entry("pyvrp", "0.1 s")]
    outcomes = [outcome(12.0, 10.0), outcome(10.0, 6.0, seconds=3.0), outcome(None, 5.5)]
    args = argparse.Namespace(count=2, size=6, seed=1)
    ours, theirs, short = frontier.rows_of(entries, outcomes, args)
    # The best are 10 (found here) and 5 (a reference).
    assert ours.gap == pytest.approx((20 + 100) / 2)
    assert theirs.gap == pytest.approx((0 + 20) / 2)
    assert theirs.seconds == 1.5
    assert (short.gap, short.solved, short.instances) == (pytest.approx(10.0), 1, 2)


def test_a_solver_without_a_plan_has_used_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    source = generated(parse_variant("CVRP"), 6, 2, 1)
    first, _ = generate("CVRP", 6, 2)
    plan = Solution.judged(first, [[0, node, 0] for node in first.customers])

    def solve_many(problems: Any, name: str, seconds: float) -> list[Any]:
        found = OracleResult(plan, name, "1", 0.5, plan.cost)
        return [found, Failure("no plan")][: len(problems)]

    monkeypatch.setattr("spacevrp.oracles.solve_many", solve_many)
    found = frontier._solve_theirs("vroom", source, 2.0)
    assert found.costs == (plan.cost, None)
    assert found.seconds == 2.5
    assert found.violations == 0  # of another solver


@pytest.mark.skipif(not ORACLES["vroom"].is_installed(), reason="oracles are an extra")
def test_the_whole_command(
    tiny_weights: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib", reason="plots are an extra")
    command = ["bench", "frontier", "--count", "2", "--size", "6", "--problems", "CVRP,CVRPB"]
    command += ["--views", "2,1", "--seconds", "1", "--solvers", "vroom", "--device", "cpu"]
    command += ["--weights", str(tiny_weights), "-o", str(tmp_path)]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "vroom is left out on CVRPB: mixed pickups and deliveries" in printed.err
    rows = json.loads((tmp_path / "frontier.json").read_text())["rows"]
    assert [(row["problem"], row["solver"], row["setting"]) for row in rows] == [
        ("CVRP", "spacevrp", "1 view"),
        ("CVRP", "spacevrp", "2 views"),
        ("CVRP", "vroom", "1 s"),
        ("CVRPB", "spacevrp", "1 view"),
        ("CVRPB", "spacevrp", "2 views"),
    ]
    assert min(row["gap"] for row in rows[:3]) == 0.0
    assert rows[0]["gap"] >= rows[1]["gap"]
    assert (tmp_path / "frontier.png").read_bytes()[:4] == b"\x89PNG"
    assert {"spacevrp", "vroom"} <= set(
        json.loads((tmp_path / "frontier.json").read_text())["versions"]
    )

    monkeypatch.setattr(Solver, "attempt", None)  # nothing is solved again
    assert main(command) == 0
    assert json.loads((tmp_path / "frontier.json").read_text())["rows"] == rows


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--solvers", "hgs"], "--solvers: expected names out of pyvrp, ortools, vroom, lkh"),
        (["--seconds", "1,0"], "--seconds: expected seconds above 0, received '0'"),
        (["--seconds", "nan"], "--seconds: expected seconds above 0, received 'nan'"),
        (["--views", "0"], "--views: expected a whole number of at least 1, received '0'"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "frontier", *arguments]) == 2
    error = capsys.readouterr().err
    assert part in error
    assert error.count("\n") == 1


def test_a_solver_that_is_not_installed_is_named(
    tiny_weights: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ORACLES["lkh"], "is_installed", classmethod(lambda cls: False))
    command = ["bench", "frontier", "--solvers", "lkh", "--weights", str(tiny_weights)]
    assert main([*command, "--problems", "TSP", "--device", "cpu"]) == 2
    assert "the solver lkh is not installed" in capsys.readouterr().err
