"""``spacevrp bench suite``: gaps by hand from stored lines, runs, limits, what is ended."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from spacevrp import native
from spacevrp.bench.suite import limits, table
from spacevrp.bench.suite_runs import Run, measure
from spacevrp.cli.main import main
from spacevrp.oracles.workers import Ended, run_in_processes

compiled = pytest.mark.skipif(not native.available(), reason=native.MISSING)

# The depot in a corner of a rectangle of 3 by 4: 14 around.
SQUARE = """\
NAME: square
TYPE: CVRP
DIMENSION: 4
EDGE_WEIGHT_TYPE: EUC_2D
CAPACITY: 9
NODE_COORD_SECTION
1 0 0
2 3 0
3 3 4
4 0 4
DEMAND_SECTION
1 0
2 1
3 1
4 1
DEPOT_SECTION
1
-1
EOF
"""


def line(name: str, solver: str, seed: int, cost: float | None, best: float | None = 10.0) -> Any:
    told = {"suite": "pyvrp", "class": "CVRP", "instance": name, "solver": solver, "limit": "1"}
    came = {"cost": cost, "best": best, "complete": cost is not None, "seconds": 1.0, "note": ""}
    return {**told, **came, "seed": seed, "version": "1", "processor": "some"}


def test_a_gap_is_that_of_the_mean_over_seeds_and_then_of_the_instances() -> None:
    held = [line("a", "spacevrp", 1, 11.0), line("a", "spacevrp", 2, 13.0)]
    held += [line("b", "spacevrp", 1, 10.0), line("b", "spacevrp", 2, None)]
    (row,) = table(held)
    assert row.gap == pytest.approx((20.0 + 0.0) / 2)
    assert (row.worst, row.solved, row.runs, row.instances) == (pytest.approx(20.0), 3, 4, 2)


def test_without_a_known_plan_the_best_of_the_runs_is_the_measure() -> None:
    ours, theirs = table(
        [line("a", "spacevrp", 1, 12.0, None), line("a", "pyvrp", 1, 10.0, None)],
    )
    assert (ours.solver, ours.gap, theirs.gap) == ("spacevrp", pytest.approx(20.0), 0.0)


def test_limits_are_seconds_or_seconds_a_customer() -> None:
    assert limits("10,1,2.4n,1.0") == ("1", "10", "2.4n")
    run = Run("pyvrp", "CVRP", Path("a.vrp"), "pyvrp", "2.4n", 1)
    assert run.seconds(100) == pytest.approx(240.0)


def save_square(folder: Path) -> Path:
    """The rectangle, and a plan beside it that costs 18: 6 to node 2 and back, 12 for the rest."""
    path = folder / "pyvrp" / "CVRP" / "square.vrp"
    path.parent.mkdir(parents=True)
    path.write_text(SQUARE, encoding="utf-8")
    routes = "Route #1: 1\nRoute #2: 2 3\nCost 18\n"
    path.with_suffix(".sol").write_text(routes, encoding="utf-8")
    return path


@compiled
@pytest.mark.parametrize("solver", ["spacevrp", "pyvrp", "pyvrp-oracle"])
def test_a_run_is_judged_by_the_referee(tmp_path: Path, solver: str) -> None:
    pytest.importorskip("pyvrp", reason="an extra")
    found = measure(Run("pyvrp", "CVRP", save_square(tmp_path), solver, "0.1", 1))
    assert (found["cost"], found["best"], found["complete"]) == (14.0, 18.0, True)


@compiled
@pytest.mark.slow
def test_a_suite_goes_on_where_it_was_and_makes_tables_of_its_lines(tmp_path: Path) -> None:
    pytest.importorskip("pyvrp", reason="an extra")
    save_square(tmp_path)
    folder = tmp_path / "out"
    command = ["bench", "suite", "pyvrp", "--data", str(tmp_path), "--time", "0.1", "--seeds", "1"]
    command += ["--quiet", "-o", str(folder)]
    assert main(command) == 0
    stored = (folder / "pyvrp.jsonl").read_text(encoding="utf-8")
    assert len(stored.splitlines()) == 2
    assert main(command) == 0
    assert (folder / "pyvrp.jsonl").read_text(encoding="utf-8") == stored
    record = json.loads((folder / "pyvrp.json").read_text(encoding="utf-8"))
    assert [row["solver"] for row in record["rows"]] == ["spacevrp", "pyvrp"]
    assert all(row["gap"] == pytest.approx(-400 / 18) for row in record["rows"])
    assert "not above PyVRP's in 1 of 1" in (folder / "pyvrp.md").read_text(encoding="utf-8")
    assert main([*command, "--stored"]) == 0


@pytest.mark.slow
def test_what_does_not_end_is_ended_and_the_others_are_not() -> None:
    done = dict(run_in_processes(iter([0.0, 30.0, 0.01]), 2, time.sleep, lambda one: 5.0))
    assert done[0.0] is None
    assert done[0.01] is None
    assert done[30.0] == Ended("did not end within 5 s")
