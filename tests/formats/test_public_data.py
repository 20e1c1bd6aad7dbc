"""The public data sets, where they are present, read whole."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from spacevrp.cli.main import main
from spacevrp.formats import FormatWarning, read, read_npz, read_solution, write
from spacevrp.problems.referee import judge

DATA = Path(
    os.environ.get("SPACEVRP_DATA") or Path(__file__).resolve().parents[2].parent / "shared/data"
)
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no public data under {DATA}"),
    pytest.mark.filterwarnings("error::spacevrp.formats.FormatWarning"),
]
CVRPLIB = sorted((DATA / "cvrplib").glob("*.vrp"))
CLASSES = sorted((DATA / "pyvrp").glob("*/*.vrp"))
TEXTS = sorted((*(DATA / "vrptw").glob("*.txt"), *(DATA / "pdptw").glob("*.txt")))
BATCHES = sorted((DATA / "uniform100").glob("*.npz"))


@pytest.mark.parametrize("path", CVRPLIB, ids=lambda path: path.stem)
def test_the_best_known_plan_costs_what_its_file_says(path: Path) -> None:
    problem = read(path)
    assert problem.name == path.stem
    assert problem.variant_name == "CVRP"
    coordinates = problem.distances.coordinates
    assert coordinates is not None
    (plan,) = read_solution(path.with_suffix(".sol"), problem).instances
    assert sorted(node for route in plan.routes for node in route[1:-1]) == list(problem.customers)
    cost = 0.0
    for route in plan.routes:
        assert problem.demand[list(route)].sum() <= problem.capacity
        legs = coordinates[list(route[1:])] - coordinates[list(route[:-1])]
        cost += np.floor(np.hypot(legs[:, 0], legs[:, 1]) + 0.5).sum()  # rounded to nearest
    assert cost == plan.cost
    verdict = judge(problem, plan.routes)
    assert (verdict.cost, verdict.violations) == (cost, ())


@pytest.mark.parametrize("path", BATCHES, ids=lambda path: path.stem)
def test_the_uniform_batches(path: Path, tmp_path: Path) -> None:
    problems = read_npz(path)
    assert len(problems) == 200
    assert {problem.variant for problem in problems} == {path.stem}
    backhauls = {int((problem.demand < 0).sum()) for problem in problems}
    assert backhauls == ({20} if "B" in path.stem else {0})
    write(problems, tmp_path / "again.npz")
    assert read_npz(tmp_path / "again.npz") == problems


@pytest.mark.parametrize("path", CLASSES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_class_of_pyvrp(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The best known plan is feasible at the cost its file states, by the command itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)  # one has no EOF at its end
        code = main(["check", str(path), str(path.with_suffix(".sol"))])
    captured = capsys.readouterr()
    assert (code, "feasible, rounding " in captured.out) == (0, True)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_text_survives(path: Path, tmp_path: Path) -> None:
    problem = read(path)
    for name in ("again.txt", "again.vrp"):
        write(problem, tmp_path / name)
        assert read(tmp_path / name) == problem


@pytest.mark.parametrize("name", ["vrptw/R101.txt", "pdptw/LC101.txt"])
@pytest.mark.parametrize("solver", ["pyvrp", "vroom"])
def test_plans_of_others_cost_what_they_say(name: str, solver: str) -> None:
    """The oracle raises where the referee counts another cost, or finds a broken rule."""
    from spacevrp.oracles import make_oracle

    oracle = make_oracle(solver)
    if not oracle.is_installed():
        pytest.skip(f"{solver} is not installed")
    problem = read(DATA / name)
    assert oracle.solve(problem, 3.0, 1).solution.feasible
