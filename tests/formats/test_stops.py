"""Plans that call nodes by their ids, in JSON and CSV."""

from __future__ import annotations

from pathlib import Path

import pytest
from files import save

from spacevrp.formats import read_solution
from spacevrp.problems.errors import FormatError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

POINTS = [(0, 0), (3, 0), (3, 4), (0, 4)]
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
def test_what_is_wrong_is_named(tmp_path: Path, name: str, content: object, words: str) -> None:
    path = save(tmp_path, content, name)
    with pytest.raises(FormatError, match=words) as caught:
        read_solution(path, NAMED)
    assert str(caught.value).startswith(str(path))
