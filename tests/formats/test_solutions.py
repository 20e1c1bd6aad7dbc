"""Solution files: our JSON, CSV and VRPLIB's .sol, read and written; nodes by number or by id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from files import save
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.formats import (
    FormatWarning,
    SolutionFile,
    SolvedInstance,
    read_solution,
    routes_from_sol,
    write_solution,
)
from spacevrp.problems.errors import FormatError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

pytestmark = pytest.mark.filterwarnings("error::spacevrp.formats.FormatWarning")

POINTS = [[0, 0], [3, 0], [3, 4], [0, 4]]
SOL = "Route #1: 2 1\nRoute #2: 3\nCost 20.5\n"


def problem_with(depots: tuple[int, ...], **fields: Any) -> Problem:
    return Problem.from_coordinates(POINTS, depots=depots, **fields)


@pytest.mark.parametrize(
    ("problem", "routes"),
    [
        (None, ((0, 2, 1, 0), (0, 3, 0))),
        (problem_with((0,)), ((0, 2, 1, 0), (0, 3, 0))),
        (problem_with((0,), open_routes=True), ((0, 2, 1), (0, 3))),
        # The depot is node 2, so the customers 1, 2, 3 are the nodes 0, 1, 3.
        (problem_with((2,)), ((2, 1, 0, 2), (2, 3, 2))),
    ],
)
def test_a_sol_file_gets_its_depot(
    tmp_path: Path, problem: Problem | None, routes: tuple[tuple[int, ...], ...]
) -> None:
    path = save(tmp_path, SOL, "case.sol")
    held = read_solution(path, problem)
    assert held == SolutionFile(None, (SolvedInstance(routes, 20.5),))
    if problem is not None:
        write_solution(tmp_path / "again.sol", held.instances, problem=problem)
        assert (tmp_path / "again.sol").read_text(encoding="utf-8") == SOL


def test_the_spellings_of_sol_files(tmp_path: Path) -> None:
    text = "route 1 : 2 1\r\nROUTE #2:3\r\n\r\ncost: 12\r\n"
    held = read_solution(save(tmp_path, text, "case.sol"))
    assert held.instances[0] == SolvedInstance(((0, 2, 1, 0), (0, 3, 0)), 12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SOL + "Time 3\n", "line 4: 'Time 3' left out"),
        (SOL + "Route #3:\n", "line 4: a route without customers left out"),
        ("Route #1: 2 1\n", "no Cost at the end"),
    ],
)
def test_what_a_sol_file_says_besides_is_said(tmp_path: Path, text: str, words: str) -> None:
    with pytest.warns(FormatWarning, match=words):
        assert read_solution(save(tmp_path, text, "case.sol")).instances[0].routes[0] == (
            0,
            2,
            1,
            0,
        )


def test_routes_of_several_depots_begin_where_it_is_cheapest(tmp_path: Path) -> None:
    """Depots (0, 0) and (3, 0) come first, so that nodes have their own numbers."""
    problem = problem_with((0, 1))
    assert routes_from_sol(problem, [[2], [3]]) == ((1, 2, 1), (0, 3, 0))
    with pytest.raises(FormatError, match="route 1: expected customers 2 to 3, received 1"):
        routes_from_sol(problem, [[1]])
    with pytest.raises(UnsupportedError, match="no place for which of 2 depots a route is of"):
        write_solution(tmp_path / "case.sol", SolvedInstance(((0, 2, 0),)), problem=problem)


def test_a_tour_leaves_out_node_0(tmp_path: Path) -> None:
    problem = problem_with(())
    assert routes_from_sol(problem, [[3, 1, 2]]) == ((0, 3, 1, 2),)
    write_solution(tmp_path / "case.sol", SolvedInstance(((1, 2, 0, 3),), 14.0), problem=problem)
    assert (tmp_path / "case.sol").read_text() == "Route #1: 3 1 2\nCost 14\n"


def test_a_batch_in_json(tmp_path: Path) -> None:
    solved = [SolvedInstance(((0, 1, 0), (0, 2, 0)), 0.1, True), SolvedInstance(((0, 2, 1),))]
    path = tmp_path / "case.json"
    write_solution(path, solved, variant="CVRP", seconds=1.5, device="cpu")
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "variant": "CVRP",
        "instances": [
            {"cost": 0.1, "routes": [[0, 1, 0], [0, 2, 0]], "feasible": True},
            {"cost": None, "routes": [[0, 2, 1]], "feasible": None},
        ],
        "seconds": 1.5,
        "device": "cpu",
    }
    assert read_solution(path) == SolutionFile("CVRP", tuple(solved), 1.5, "cpu")


@given(
    st.lists(
        st.builds(
            SolvedInstance,
            st.lists(st.lists(st.integers(0, 99)).map(tuple), max_size=3).map(tuple),
            st.none() | st.floats(allow_nan=False, allow_infinity=False),
            st.none() | st.booleans(),
        ),
        max_size=3,
    )
)
def test_json_survives(
    tmp_path_factory: pytest.TempPathFactory, solved: list[SolvedInstance]
) -> None:
    path = tmp_path_factory.getbasetemp() / "solutions.json"
    write_solution(path, solved, variant="TSP")
    assert read_solution(path) == SolutionFile("TSP", tuple(solved))


def test_unknown_keys_are_said(tmp_path: Path) -> None:
    document = {"instances": [{"routes": [], "colour": 1}], "seed": 3}
    with pytest.warns(FormatWarning) as caught:
        read_solution(save(tmp_path, document))
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert messages[0].endswith("case.json: unknown key seed left out")
    assert messages[1].endswith("case.json: instance 0, unknown key colour left out")


@pytest.mark.parametrize(("name", "text", "words"), [
    ("case.sol", "", "expected an instance or a solution, received an empty file"),
    ("case.sol", "hello\n", "expected customers in some route, or the Cost .*, received neither"),
    ("case.sol", "Route #1:\n", "expected customers in some route, or the Cost of a plan without"),
    ("case.sol", "Route #1: 0 2\n", "line 1: expected customers counted from 1, received 0"),
    ("case.sol", "Route #1: 1.5\n", "line 1: expected customers counted from 1, received 1.5"),
    ("case.sol", "Route #1: 4\nCost 1\n", "route 1: expected customers 1 to 3, received 4"),
    ("case.sol", "Route #1: 1\nCost x\n", "line 2, cost: expected a number, received x"),
    ("case.sol", "Route #1: 1\nCost 1\nCost 1\n", "line 3: expected one cost"),
    ("case.vrp", "NAME : x\nTYPE : TSP\n", "received what looks like vrplib"),
    ("case.xyz", "hello\n",
     "expected a solution in JSON, CSV or lines such as .*, received neither"),
    ("case.json", "[]", "expected a JSON object, received list"),
    ("case.json", "{}", "instances: expected a list of solutions, received no such key"),
    ("case.json", '{"instances": 3}', "instances: expected a list, received 3"),
    ("case.json", '{"instances": [3]}', "instance 0: expected a table with routes, received 3"),
    ("case.json", '{"instances": [{}]}', "instance 0, routes: expected a list"),
    ("case.json", '{"instances": [{"routes": [3]}]}', "instance 0, route 1: expected a list"),
    ("case.json", '{"instances": [{"routes": [[0, 1.0]]}]}', "route 1: expected a whole number"),
    ("case.json", '{"instances": [{"routes": [[0, -1]]}]}', "route 1: expected nodes counted"),
    ("case.json", '{"instances": [{"routes": [], "cost": "1"}]}', "instance 0, cost: expected a"),
    ("case.json", '{"instances": [{"routes": [], "cost": NaN}]}', "NaN is no number of JSON"),
    ("case.json", '{"instances": [{"routes": [], "feasible": 1}]}', "feasible: expected true or"),
    ("case.json", '{"instances": [], "variant": 1}', "variant: expected a string, received 1"),
])  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words) as caught:
        read_solution(save(tmp_path, text, name), problem_with((0,)))
    assert str(caught.value).startswith(str(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    solved = SolvedInstance(((0, 1, 0),), 3.0, True)
    with pytest.raises(UnsupportedError, match="one solution of a given problem"):
        write_solution(tmp_path / "case.sol", solved)
    with pytest.raises(UnsupportedError, match=r"written as \.json or \.sol"):
        write_solution(tmp_path / "case.txt", solved)
    with pytest.raises(UnsupportedError, match="route 1 visits node 9, which is none"):
        write_solution(
            tmp_path / "case.sol", SolvedInstance(((0, 9, 0),)), problem=problem_with((0,))
        )
    with pytest.raises(FormatError, match="cannot be written"):
        write_solution(tmp_path / "no" / "case.json", solved)


# ------------------------------------------------------------------------- nodes by their ids

NAMED = Problem.from_coordinates(
    POINTS, ids=["hub", "Anna", "7", 7], demand=[0, 1, 1, 1], capacity=2
)
ROUTES = [[0, 1, 2, 0], [0, 3, 0]]
TOUR = Problem.from_coordinates(POINTS, depots=())
TYPES = [{"name": "van", "count": 1}, {"name": "1", "count": 1}, {}]
FLEET = Problem.from_coordinates(POINTS, vehicles=TYPES, ids=[10, 11, 12, 13])


def test_texts_in_routes_are_ids(tmp_path: Path) -> None:
    """Whole numbers stay numbers of nodes, as in every plan before."""
    routes = [["hub", "Anna", "7", "hub"], ["hub", 3, 0]]
    path = save(tmp_path, {"instances": [{"routes": routes}]})
    (plan,) = read_solution(path, NAMED).instances
    assert plan.routes == ((0, 1, 2, 0), (0, 3, 0))
    with pytest.raises(FormatError, match="no instance says what their ids are, received 'hub'"):
        read_solution(path)


def test_every_instance_has_its_own_ids(tmp_path: Path) -> None:
    other = NAMED.replace(ids=["Anna", "hub", "a", "b"])
    entries = [{"routes": [["hub", "Anna", "hub"]]}] * 2
    plans = read_solution(save(tmp_path, {"instances": entries}), [NAMED, other]).instances
    assert [plan.routes for plan in plans] == [((0, 1, 0),), ((1, 0, 1),)]


@pytest.mark.parametrize(
    ("problem", "routes", "types"),
    [
        (NAMED, ROUTES, None),
        (NAMED.replace(ids=[3, 2, 1, 0]), ROUTES, None),
        (NAMED.replace(ids=None), ROUTES, None),
        (NAMED.replace(open_routes=True), [[0, 1, 2], [0, 3]], None),
        (TOUR, [[2, 0, 1, 3]], None),
        (FLEET, [[0, 1, 0], [0, 2, 0], [0, 3, 0]], ["1", 2, "van"]),
    ],
)
@pytest.mark.parametrize("form", ["to_dict", "plan.json", "plan.csv", "without nodes", "ids.csv"])
def test_what_a_solution_writes_is_read(tmp_path, problem, routes, types, form):
    """The same routes at the same cost, whether nodes are told by number, by id or by both."""
    solution = Solution.judged(problem, routes, types)
    document = solution.to_dict()
    if form == "to_dict":
        path = save(tmp_path, document)
    elif form == "without nodes":
        for route in document["routes"]:
            for stop in route["stops"]:
                del stop["node"]
        path = save(tmp_path, document)
    elif form == "ids.csv":
        if problem is NAMED or problem.open_routes:
            pytest.skip("the ids 7 and '7' are one text")
        rows = [
            f"{route['number']},{route.get('vehicle', '')},{stop['id']}"
            for route in document["routes"]
            for stop in route["stops"]
        ]
        path = save(tmp_path, "\n".join(["route,vehicle,id", *rows]) + "\n", "plan.csv")
    else:
        path = tmp_path / form
        solution.save(path)
    (plan,) = read_solution(path, problem).instances
    again = Solution.judged(problem, plan.routes)
    assert again.cost == solution.cost
    assert again.feasible == solution.feasible
    assert again.plan.routes == solution.plan.routes
    assert again.vehicles == solution.vehicles


@pytest.mark.parametrize("fields", [{}, {"vehicles": TYPES[:2]}, {"open_routes": True}])
@pytest.mark.parametrize("suffix", ["csv", "sol", "json"])
def test_a_plan_without_routes_is_read(tmp_path: Path, suffix: str, fields: Any) -> None:
    """Who is left out costs 1, 2 and 4."""
    problem = Problem.from_coordinates(POINTS, penalty=[0, 1, 2, 4], **fields)
    solution = Solution.judged(problem, [])
    assert solution.cost == 7
    solution.save(tmp_path / f"plan.{suffix}")
    for known in (problem, None):
        (plan,) = read_solution(tmp_path / f"plan.{suffix}", known).instances
        assert plan.routes == ()
        assert plan.cost == (None if suffix == "csv" else 7)
    assert Solution.judged(problem, plan.routes).feasible


@pytest.mark.parametrize(("name", "content", "words"), [
    ("plan.json", {"instances": [{"routes": [["hub", "Ann"]]}]}, "id of the instance.*'Ann'"),
    ("plan.json", {"routes": [{"stops": [{"id": 5}]}]}, "an id of the instance, received 5"),
    ("plan.json", {"routes": [{"stops": [{"id": [5]}]}]}, "an id of the instance, received a"),
    ("plan.json", {"routes": [{"stops": [{"id": True}]}]}, "an id of the instance, received t"),
    ("plan.json", {"routes": [{"stops": [{}]}]}, "stops with node or id, received a table of"),
    ("plan.json", {"routes": [{"stops": [3]}]}, "stops with node or id, received 3"),
    ("plan.json", {"routes": [{"legs": []}]}, "route 1, stops: expected a list"),
    ("plan.json", {"routes": [{"stops": [{"id": "hub", "node": 1}]}]},
     "route 1: expected one node, 'hub' is node 0, received node 1"),
    ("plan.json", {"routes": [{"stops": [{"node": -1}]}]}, "nodes counted from 0"),
    ("plan.json", {"routes": [{"stops": [], "vehicle": 1.5}]}, "vehicle: expected a whole"),
    ("plan.csv", "stop,node\n1,2\n", "line 1: expected columns route, and node or id"),
    ("plan.csv", "route,node\n1,x\n", "line 2: expected a whole number"),
    ("plan.csv", "route,node\n1,1.5\n", "line 2: expected a whole number"),
    ("plan.csv", "route,node\n,2\n", "line 2: expected the number of a route"),
    ("plan.csv", "route,node,id\n1,,\n", "line 2: expected a node or an id"),
    ("plan.csv", "route,node,id\n1,0,Anna\n", "line 2: expected one node, 'Anna' is node 1"),
    ("plan.csv", "route,id\n1,Zoe\n", "line 2: expected an id of the instance, received 'Z"),
    ("plan.csv", "route,id\n1,7\n", "line 2: expected an id of the instance, received '7'"),
])  # fmt: skip
def test_what_is_wrong_with_stops_is_named(
    tmp_path: Path, name: str, content: object, words: str
) -> None:
    path = save(tmp_path, content, name)
    with pytest.raises(FormatError, match=words) as caught:
        read_solution(path, NAMED)
    assert str(caught.value).startswith(str(path))
