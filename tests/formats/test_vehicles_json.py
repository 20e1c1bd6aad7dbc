"""Fleets in files: what is written is read again, and mistakes are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spacevrp.cli.main import main
from spacevrp.formats import read, read_solution, write, write_solution
from spacevrp.problems.errors import FormatError, UnsupportedError
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

PLACES = [(0, 0), (3, 0), (3, 4), (0, 4), (6, 0)]
FLEET = (
    Vehicle("van", 2, (10.0, 3.0), start=0, end=4, fixed_cost=100.0, max_length=30.5),
    Vehicle("bike", capacity=(5.0, float("inf")), start=0, open_route=True, forbidden=(2,)),
    Vehicle(start=4, window=(1.5, float("inf")), allowed=(1, 3), pinned=(3,)),
)


def mixed(**features: Any) -> Problem:
    demand = [[0, 0], [4, 1], [5, 2], [5, 0.5], [0, 0]]
    given = {"demand": demand, "capacity": (9, 9), "depots": [0, 4], "vehicles": FLEET, **features}
    return Problem.from_coordinates(PLACES, **given)


def test_an_instance_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "mixed.json"
    write(path, mixed(name="mixed"))
    again = read(path)
    assert again == mixed()
    assert again.fleet == mixed().fleet
    held = json.loads(path.read_text())["vehicles"]
    assert held[0] == {
        "name": "van",
        "count": 2,
        "capacity": [10, 3],
        "start": 0,
        "end": 4,
        "fixed_cost": 100,
        "max_length": 30.5,
    }
    assert held[1]["capacity"] == [5, None]
    assert held[2]["window"] == [1.5, None]


def test_ids_and_dates_are_read(tmp_path: Path) -> None:
    document = {
        "locations": PLACES,
        "depots": [0],
        "ids": list("abcde"),
        "vehicles": [{"start": "a", "window": ["08:00", "17:00"], "forbidden": ["c"]}, {}],
    }
    path = tmp_path / "ids.json"
    path.write_text(json.dumps(document))
    problem = read(path)
    assert problem.fleet[0].forbidden == {2}
    assert problem.fleet[0].back_by == 9 * 3600


def test_services_are_a_table_whose_keys_are_numbers_of_nodes(tmp_path: Path) -> None:
    document = {"locations": PLACES, "depots": [0], "vehicles": [{"service": {"1": 5, "3": 2}}]}
    path = tmp_path / "service.json"
    path.write_text(json.dumps(document))
    assert read(path).fleet[0].service == ((1, 5.0), (3, 2.0))


@pytest.mark.parametrize(("change", "part"), [
    ({"vehicles": {}}, "vehicles: expected a list"),
    ({"vehicles": [3]}, "vehicles, type 0, type: expected a .*table of keys, received 3"),
    ({"vehicles": [{"capacty": 3}]}, "type 0, keys: expected .*'capacity'.* received 'capacty'"),
    ({"vehicles": [{"count": "two"}]}, "type 0, count: expected a whole number"),
    ({"vehicles": [{"pinned": [1.5]}]}, "type 0, pinned: expected numbers or ids of nodes"),
    ({"vehicles": [{"window": [1]}]}, "type 0, window: expected two moments"),
    ({"vehicles": []}, "vehicles: expected at least one type"),
    ({"demand": [[0], [1, 2], [0], [0], [0]]}, "demand, node 1: expected .* regular shape"),
    ({"demand": [[0], 1, [0], [0], [0]]}, "demand, node 1: expected .* regular shape"),
    ({"capacity": [1, 2]}, "capacity: expected a number"),
])  # fmt: skip
def test_mistakes_are_named(tmp_path: Path, change: dict[str, Any], part: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps({"locations": PLACES, "depots": [0], **change}))
    with pytest.raises(FormatError, match=part):
        read(path)


def test_solutions_name_their_vehicles(tmp_path: Path) -> None:
    problem = mixed()
    solution = Solution.judged(problem, [[0, 1, 2, 4], [4, 3, 4]], ["van", 2])
    assert solution.feasible
    path = tmp_path / "solution.json"
    write_solution(path, solution, problem=problem)
    (again,) = read_solution(path).instances
    assert again.vehicles == (0, 2)
    assert Solution.judged(problem, again.routes) == solution
    solution.save(tmp_path / "rows.csv")
    heading, first, *_ = (tmp_path / "rows.csv").read_text().splitlines()
    assert heading.startswith("route,vehicle,id,node")
    assert first.startswith("1,van,0,0,start")


def test_check_asks_for_the_vehicles_of_the_file(tmp_path, capsys):
    write(tmp_path / "mixed.json", mixed())
    routes = [[0, 1, 2, 4], [4, 3, 4]]
    for vehicles, code, part in (
        (["van", 2], 0, "feasible"),
        ([1, 2], 1, "whom type 1 \\(bike\\) may not serve"),
        (None, 0, "feasible"),
        ([0, 3], 2, "expected a type from 0 to 2"),
    ):
        entry = {"routes": routes} if vehicles is None else {"routes": routes, "vehicles": vehicles}
        (tmp_path / "s.json").write_text(json.dumps({"instances": [entry]}))
        assert main(["check", str(tmp_path / "mixed.json"), str(tmp_path / "s.json")]) == code
        output = capsys.readouterr()
        assert part.replace("\\", "") in output.out + output.err


@pytest.mark.parametrize("suffix", [".npz", ".txt"])
def test_other_files_have_no_place_for_them(tmp_path: Path, suffix: str) -> None:
    plain = Problem.from_coordinates(
        PLACES, demand=[0, 4, 5, 5, 1], capacity=10, vehicles=[{}, {}], load_rule="single"
    )
    with pytest.raises(UnsupportedError, match="vehicles"):
        write(tmp_path / f"batch{suffix}", plain)
    kinds = Problem.from_coordinates(PLACES, demand=[[0, 0]] + [[1, 1]] * 4, capacity=(9, 9))
    with pytest.raises(UnsupportedError, match="kinds of load"):
        write(tmp_path / f"batch{suffix}", kinds)
    with pytest.raises(UnsupportedError, match="as many of a type as are needed"):
        Solution.judged(plain, [[0, 1, 2, 0], [0, 3, 4, 0]]).save(tmp_path / "plan.sol")
