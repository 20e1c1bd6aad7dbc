"""Skills in tables of stops and of vehicles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spacevrp
from spacevrp import Problem, Vehicle
from spacevrp.cli.main import main
from spacevrp.formats import read
from spacevrp.problems.errors import ProblemError, UnsupportedError

# The hub, and customers 1 to 4, of whom the first asks for nothing.
STOPS: dict[str, list[Any]] = {
    "id": ["hub", "a", "b", "c", "d"],
    "x": [0, 3, 3, 0, 6],
    "y": [0, 0, 4, 4, 8],
    "skills": [None, "", "fridge", "lift; fridge", "7"],
}
VANS: dict[str, list[Any]] = {
    "name": ["cold", "full", "plain"],
    "skills": ["fridge", "7 fridge,lift", None],
}


def forbidden(problem: Problem) -> list[list[int]]:
    return [sorted(terms.forbidden) for terms in problem.fleet]


def test_a_vehicle_serves_whom_it_has_all_skills_for() -> None:
    """The cold one lacks the lift of c and the 7 of d; the plain one serves a alone."""
    problem = Problem.from_frame(STOPS, vehicles=VANS)
    assert forbidden(problem) == [[3, 4], [], [2, 3, 4]]
    assert Problem.from_data(STOPS, vehicles=VANS) == problem
    said = [
        {"name": "cold", "skills": ["fridge"]},
        {"name": "full", "skills": [7, "fridge", "lift"]},
        Vehicle(name="plain"),
    ]
    assert Problem.from_frame(STOPS, vehicles=said) == problem


def test_skills_go_with_allowed_and_forbidden_customers() -> None:
    vans = {"name": ["x", "y"], "skills": ["fridge", "fridge lift 7"], "forbidden": ["a d", None]}
    assert forbidden(Problem.from_frame(STOPS, vehicles=vans)) == [[1, 3, 4], []]
    vans = {"name": ["x", "y"], "skills": ["fridge", "fridge lift 7"], "allowed": ["a b c", None]}
    assert forbidden(Problem.from_frame(STOPS, vehicles=vans)) == [[3, 4], []]
    vehicles = [Vehicle(forbidden={"a", "d"}), Vehicle(allowed=["a"])]
    with pytest.raises(ProblemError, match=r"vehicles, node 2: .*type 0 may not; type 1 may not"):
        Problem.from_frame(STOPS, vehicles=vehicles)


def test_files_have_skills(tmp_path: Path) -> None:
    """In a table of semicolons 1,7 are two skills, and no number with a decimal comma."""
    stops, vans = tmp_path / "stops.csv", tmp_path / "vans.csv"
    stops.write_text("id;x;y;needs\nhub;0;0;\na;3;0;1,7\nb;3;4;7\n")
    vans.write_text("name;count;skills\nold;2;7\nnew;1;1 7\n")
    problem = read(stops, vehicles=vans, columns={"skills": "needs"})
    assert isinstance(problem, Problem)
    assert forbidden(problem) == [[1], []]
    solution = spacevrp.solve(problem, device="cpu", network=False)
    drivers = {stop.id: route.vehicle for route in solution.plan.routes for stop in route.stops}
    assert drivers["a"].name == "new"
    # An instance of another format has no stops that ask for skills.
    bare = tmp_path / "bare.json"
    assert main(["convert", str(stops), str(bare), "--column", "skills=needs"]) == 2
    stops.write_text("id;x;y\nhub;0;0\na;3;0\nb;3;4\n")
    assert main(["convert", str(stops), str(bare)]) == 0
    assert forbidden(read(bare, vehicles=vans)) == [[], []]  # type: ignore[arg-type]
    assert forbidden(read(stops, vehicles=vans)) == [[], []]  # type: ignore[arg-type]


def test_what_is_wrong_with_skills() -> None:
    with pytest.raises(ProblemError, match=r"skills, node 2: expected vehicles beside them"):
        Problem.from_frame(STOPS)
    with pytest.raises(ProblemError, match=r"skills, node 1: expected words or whole numbers"):
        Problem.from_frame({**STOPS, "skills": [None, 1.5, None, None, None]}, vehicles=VANS)
    with pytest.raises(ProblemError, match=r"type 1, skills: expected words or whole numbers"):
        Problem.from_frame(STOPS, vehicles={**VANS, "skills": ["a", True, None]})
    with pytest.raises(UnsupportedError, match="data, skills: not modelled here yet"):
        Problem.from_data({"coordinates": [[0, 0], [1, 1]], "skills": [None, "fridge"]})
