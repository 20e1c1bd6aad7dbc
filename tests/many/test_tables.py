"""Parquet: instances in, plans out, the same as by other ways."""

from __future__ import annotations

from pathlib import Path

import pytest

import spacevrp
from spacevrp.many import solve_many
from spacevrp.many.sources import gather
from spacevrp.problems.problem import Problem

pa = pytest.importorskip("pyarrow", reason="needs pyarrow, the extra parquet")
pq = pytest.importorskip("pyarrow.parquet")

QUICK = {"network": False, "iterations": 20, "device": "cpu", "workers": 1}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Five instances in row groups of two; the fourth has a window that closes before it opens."""
    windows = [[0.0, 99.0], [0.0, 20.0], [0.0, 20.0]]
    rows = [
        {
            "name": f"day {number}",
            "locations": [[0.0, 0.0], [0.0, number + 1.0], [1.0, 0.0]],
            "depots": [0],
            "demand": [0.0, 1.0, 1.0],
            "capacity": 2.0,
            "windows": [[9.0, 0.0]] * 3 if number == 3 else windows if number else None,
            "ref_cost": 1.5,
        }
        for number in range(5)
    ]
    path = tmp_path / "days.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)
    return path


def test_a_table_of_instances(table: Path) -> None:
    result = solve_many(table, **QUICK)
    rows = list(result.rows())
    assert [row["name"] for row in rows] == ["day 0", "day 1", "day 2", None, "day 4"]
    assert [row["variant"] for row in rows][:3] == ["CVRP", "CVRPTW", "CVRPTW"]
    # One route around the triangle.
    for number in (0, 1, 2, 4):
        height = number + 1.0
        assert rows[number]["cost"] == pytest.approx(height + 1 + (height**2 + 1) ** 0.5)
    assert rows[3]["status"] == "failed"
    assert rows[3]["source"] == f"{table}[3]"
    assert "windows, node 0" in rows[3]["reason"]


def test_plans_as_parquet_are_those_of_json_lines(table: Path, tmp_path: Path) -> None:
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]
    short = Problem.from_coordinates(places, demand=[0, 2, 2, 2], capacity=3, max_routes=2)
    fleet = Problem.from_coordinates(
        places, demand=[0, 1, 1, 1], vehicles=[spacevrp.Vehicle(count=2, capacity=2)]
    )
    given = [table, short, fleet]
    lines = list(solve_many(given, output=tmp_path / "lines", **QUICK).rows())
    as_table = solve_many(given, output=tmp_path / "plans.parquet", **QUICK)
    rows = list(as_table.rows())
    for row in (*lines, *rows):
        del row["seconds"]
    assert rows == lines
    assert solve_many(given, output=tmp_path / "plans.parquet", **QUICK).here == 0
    whole = pq.read_table(tmp_path / "plans.parquet")  # as other programs read it
    assert whole.column("index").to_pylist() == list(range(7))
    assert whole.column("cost").to_pylist()[:3] == [row["cost"] for row in lines[:3]]


def test_a_table_of_something_else_is_one_failure(tmp_path: Path) -> None:
    path = tmp_path / "stops.parquet"
    pq.write_table(pa.table({"customer": [1, 2], "x": [0.0, 1.0]}), path)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    sources = gather([path, tmp_path / "broken.parquet"])
    assert len(sources) == 2
    reasons = [sources.item(number).content.reason for number in range(2)]  # type: ignore[union-attr]
    assert "expected a row for each instance" in reasons[0]
    assert "received columns customer, x" in reasons[0]
    assert "expected Parquet" in reasons[1]


def test_unknown_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "typo.parquet"
    rows = [{"locations": [[0.0, 0.0], [1.0, 0.0]], "demnad": [0.0, 1.0]}]
    pq.write_table(pa.Table.from_pylist(rows), path)
    (row,) = solve_many(path, **QUICK).rows()
    assert "'demnad'" in row["reason"] or "demnad" in row["reason"]
