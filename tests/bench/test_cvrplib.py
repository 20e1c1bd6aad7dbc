"""``spacevrp bench cvrplib``: files, averages by hand, and what does not fit."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from spacevrp.bench import cvrplib, paper
from spacevrp.bench.solving import Outcome
from spacevrp.bench.tables import SolvedRow
from spacevrp.cli.main import main
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.solver import Solver

# A depot at the corner of a square of side 10, customers at the others: 40 all around, and with
# two in the first vehicle (10 + 10 + 14.14, rounded) and one in the second (10 + 10): 54.
INSTANCE = """\
NAME : {name}
TYPE : CVRP
DIMENSION : {dimension}
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : {capacity}
NODE_COORD_SECTION
1 0 0
2 0 10
3 10 10
4 10 0
{more}DEMAND_SECTION
1 0
2 1
3 1
4 1
{demands}DEPOT_SECTION
1
-1
EOF
"""
ON_CPU: Any = SimpleNamespace(device=torch.device("cpu"))  # of a solver, all that matters
SQUARE = "Route #1: 1 2\nRoute #2: 3\nCost 54\n"


def write(folder: Path, name: str, solution: str, customers: int = 3, capacity: int = 2) -> Path:
    folder.mkdir(exist_ok=True)
    extra = range(5, customers + 2)
    text = INSTANCE.format(
        name=name,
        dimension=customers + 1,
        capacity=capacity,
        more="".join(f"{node} 0 10\n" for node in extra),
        demands="".join(f"{node} 1\n" for node in extra),
    )
    path = folder / f"{name}.vrp"
    path.write_text(text)
    path.with_suffix(".sol").write_text(solution)
    return path


def result(name: str, customers: int, gap: float | None, papers: float | None) -> cvrplib.Row:
    return cvrplib.Row(
        instance=name,
        customers=customers,
        augmentations=8,
        starts=None,
        cost=None,
        best_known=100.0,
        gap=gap,
        paper_gap=papers,
        difference=None if gap is None or papers is None else gap - papers,
        **SolvedRow.told(Outcome((gap,), 1.0, 1.0, 1.0, violations=int(gap is None))),
    )


def test_the_best_known_cost_is_the_referees(tmp_path: Path) -> None:
    path = write(tmp_path, "square", SQUARE)
    (found,) = cvrplib.list_instances(tmp_path, 1, None)
    assert (found.name, found.customers, found.best_known) == ("square", 3, 54.0)
    with pytest.raises(FormatError, match="at least 6 and at most 9 customers, found none"):
        cvrplib.list_instances(tmp_path, 6, 9)
    args = argparse.Namespace(augment=8, starts=None, protocol="paper")
    row = found.row(Outcome((60.0,), 0.0, 0.0, 0.0, violations=0), args, ON_CPU)
    assert row.gap == pytest.approx(100 * 6 / 54)
    assert (row.paper_gap, row.difference) == (None, None)
    for text, part in (
        ("Route #1: 1 2\nRoute #2: 3\nCost 53\n", r"stated cost 53, received one of 54"),
        ("Route #1: 1 2 3\nCost 40\n", "the plan breaks a rule"),
    ):
        path.with_suffix(".sol").write_text(text)
        with pytest.raises(FormatError, match=part):
            cvrplib.list_instances(tmp_path, 1, None)
    path.with_suffix(".sol").unlink()
    with pytest.raises(FormatError, match=r"square.sol: no such file"):
        cvrplib.list_instances(tmp_path, 1, None)


def test_averages_by_the_number_of_customers() -> None:
    rows = [
        replace(result("X-n502-k39", 501, 5.0, 7.0), peak_gib=1.5),
        replace(result("X-n1001-k43", 1000, 9.0, 10.0), peak_gib=2.0),
        result("Leuven1", 3000, None, 8.0),
        result("Flanders2", 30000, 30.0, None),
    ]
    found = {row.instance: row for row in cvrplib.averages(rows)}
    assert list(found) == [
        "average 500 to 1,000",
        "average 1,000 to 5,000",
        "average more than 7,000",
        "average, the paper's",
    ]
    assert [row.peak_gib for row in found.values()] == [2.0, None, None, 2.0]
    small = found["average 500 to 1,000"]
    assert (small.gap, small.paper_gap, small.difference) == (7.0, 8.5, -1.5)
    # What was not solved counts neither for us nor for the paper, and is said.
    theirs = found["average, the paper's"]
    assert (theirs.gap, theirs.paper_gap, theirs.note) == (7.0, 8.5, "2 of 3 solved")
    assert found["average 1,000 to 5,000"].gap is None
    assert found["average 1,000 to 5,000"].violations == 1


def test_the_whole_command(tiny_weights, tmp_path, capsys, monkeypatch):
    write(tmp_path / "cvrplib", "square", SQUARE)
    five = "Route #1: 1 4 5 2\nRoute #2: 3\nCost 54\n"
    write(tmp_path / "cvrplib", "five", five, customers=5, capacity=4)
    monkeypatch.setenv("SPACEVRP_DATA", str(tmp_path))
    whole = Solver.run

    def small_memory(self: Solver, problem: Any, **options: Any) -> Any:
        if problem[0].size > 4:
            raise SpacevrpError("out of memory on cpu: there are only 4 places")
        return whole(self, problem, **options)

    monkeypatch.setattr(Solver, "run", small_memory)
    command = ["bench", "cvrplib", "--min-size", "1", "--augment", "2", "--device", "cpu"]
    command += ["--weights", str(tiny_weights), "-o", str(tmp_path / "out")]
    # What does not fit is a row with the reason, and the answer is negative.
    assert main(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:2] == ["square", "3"]
    assert "out of memory on cpu: there are only 4 places" in lines[2]
    record = json.loads((tmp_path / "out" / "cvrplib.json").read_text())
    square, large = record["rows"][:2]
    assert (square["cost"], square["gap"], square["violations"]) == (54.0, 0.0, 0)
    assert (large["cost"], large["gap"], large["violations"]) == (None, None, 1)
    assert 0.05 < square["peak_gib"] < 64  # torch alone takes more than the one
    assert large["peak_gib"] is None

    # With more memory only what failed is done again.
    def large_memory(self: Solver, problem: Any, **options: Any) -> Any:
        assert problem[0].size > 4
        return whole(self, problem, **options)

    monkeypatch.setattr(Solver, "run", large_memory)
    assert main(command) == 0
    record = json.loads((tmp_path / "out" / "cvrplib.json").read_text())
    assert [row["violations"] for row in record["rows"][:2]] == [0, 0]
    assert (tmp_path / "out" / "cvrplib.md").read_text().startswith("# CVRPLIB\n")


@pytest.mark.data
def test_the_public_instances(data_folder: Path) -> None:
    found = cvrplib.list_instances(data_folder / "cvrplib", 500, 1000)
    assert len(found) == 32
    assert [one.name for one in found] == list(paper.table("cvrplib")["X"]["method"]["SPACE"])
    assert found[0].best_known == 69226
