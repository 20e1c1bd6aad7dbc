"""Ids and places of nodes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from spacevrp.problems.distances import EARTH_RADIUS, great_circle
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

LINE = [(0, 0), (3, 0), (3, 4)]
NAMES = ["hub", "bakery", "dairy"]


def test_nodes_by_their_ids() -> None:
    problem = Problem.from_coordinates(LINE, ids=NAMES, depots="dairy")
    assert problem.ids == ("hub", "bakery", "dairy")
    assert problem.depots == (2,)
    assert Problem.from_coordinates(LINE, ids=NAMES, depots=["hub", 2]).depots == (0, 2)
    paired = Problem.from_coordinates(LINE, ids=NAMES, pairs=[("dairy", "bakery")])
    assert paired.pairs == ((2, 1),)


def test_numbers_are_ids_where_ids_are_numbers() -> None:
    problem = Problem.from_coordinates(LINE, ids=np.array([7, 0, 1]), depots=0)
    assert problem.ids == (7, 0, 1)
    assert problem.depots == (1,)
    assert all(type(one) is int for one in problem.ids)
    # Nobody spoke of depots: the first node is one, whatever it is called.
    assert Problem.from_coordinates(LINE, ids=[7, 0, 1]).depots == (0,)
    for depots in ([1], np.array([1]), {1}, np.int64(1), iter([1])):
        assert Problem.from_coordinates(LINE, ids=[7, 0, 1], depots=depots).depots == (2,)
    assert Problem.from_coordinates(LINE, ids=[7.0, 0.5, 1.0], depots=1).depots == (2,)
    assert Problem.from_coordinates(LINE, ids=[7, 0, 1], pairs=[(1, 0)]).pairs == ((2, 1),)


def test_numbers_of_nodes_are_not_looked_up_again() -> None:
    """A problem holds numbers of nodes; a copy of it has the same, though ids are numbers, too."""
    vehicle = {"name": "big", "start": 7, "end": 7, "pinned": [1], "forbidden": [0]}
    paired = Problem.from_coordinates(LINE, ids=[7, 0, 1], pairs=[(1, 0)])
    fleet = Problem.from_coordinates(LINE, ids=[7, 0, 1], vehicles=[vehicle, {"start": 7}])
    assert (fleet.fleet[0].pinned, fleet.fleet[0].forbidden) == ((2,), {1})
    for problem in (paired, fleet):
        again = problem.replace(name="again").replace(ids=[2, 1, 0]).replace(ids=problem.ids)
        assert again == problem
    plain = Problem.from_coordinates(LINE, depots=2)
    assert plain.replace(ids=[2, 0, 1]).depots == (2,)


def test_a_pin_of_a_table_is_an_id() -> None:
    """The ids 0, 2, 1, 3 stand in another order than the rows."""
    table = {"id": [0, 2, 1, 3], "x": [0, 10, 0, 10], "y": [0, 0, 10, 10]}
    problem = Problem.from_frame(table, vehicles=[{"name": "big", "pinned": [2]}])
    assert problem.fleet[0].pinned == (1,)
    with pytest.raises(ProblemError, match=r"pinned: expected one of the ids \(some are numbers"):
        Problem.from_frame(table, vehicles=[{"name": "big", "pinned": [4]}])
    allowed = Problem.from_frame(
        table, vehicles=[{"allowed": [2, 1], "start": 0}, {"allowed": [3], "start": 0}]
    )
    assert [terms.forbidden for terms in allowed.fleet] == [{3}, {1, 2}]


def test_what_would_let_a_customer_in_is_a_node_not_an_id() -> None:
    """Node 2 has the id 1: permission for it is no permission for node 1, who has it already."""
    problem = Problem.from_coordinates(
        LINE, ids=[2, 0, 1], vehicles=[{"allowed": [0]}], allow_unservable=True
    )
    (left_out,) = Solution.judged(problem, [[0, 1, 0]]).unserved
    assert left_out.node == 2
    (change,) = left_out.relaxation.changes
    assert (change.kind, change.nodes) == ("permission", (2,))
    changed = left_out.relaxation.apply(problem)
    assert changed.vehicles[0].allowed == (1, 2)


@pytest.mark.parametrize(
    ("features", "field", "part"),
    [
        ({"ids": ["a", "b"]}, "ids", "3 ids, one a node, received 2"),
        ({"ids": "abc"}, "ids", "3 ids, one a node"),
        ({"ids": ["a", "b", "a"]}, "ids", "an id of its own, node 0 has the same"),
        ({"ids": ["a", None, "b"]}, "ids", "a text or a number"),
        ({"ids": ["a", math.nan, "b"]}, "ids", "a text or a number"),
        ({"ids": ["a", [1], "b"]}, "ids", "a text or a number"),
        ({"ids": NAMES, "depots": "depot"}, "depots", "one of the ids, received 'depot'"),
        ({"ids": [3, 4, 5], "depots": 0}, "depots", "a number is an id\\), received 0"),
        ({"ids": ["a", 4, "b"], "depots": 0}, "depots", "a number is an id\\), received 0"),
        ({"ids": [3, 4, 5], "depots": True}, "depots", "node numbers"),
        ({"ids": [3, 4, 5], "pairs": [(3, 9)]}, "pairs", "received 9"),
        ({"depots": "hub"}, "depots", "node numbers"),
        ({"places": [(0, 0)]}, "places", r"shape \(3, 2\)"),
        ({"places": [(0, 0), (1, math.inf), (0, 0)]}, "places", "finite numbers"),
        ({"places": [(0, 0), (52, 13), (0, 91)], "geographic": True}, "places", "in this order"),
        ({"geographic": 1}, "geographic", "True or False"),
    ],
)
def test_refused(features: dict[str, Any], field: str, part: str) -> None:
    with pytest.raises(ProblemError, match=part) as caught:
        Problem.from_coordinates(LINE, **features)
    assert caught.value.field == field


def test_degrees_must_be_some() -> None:
    with pytest.raises(ProblemError, match="coordinates, node 1: expected longitude"):
        Problem.from_coordinates([(0, 0), (300, 400)], geographic=True)
    with pytest.raises(ProblemError, match="geographic: expected places, too"):
        Problem.from_matrix([[0, 1], [1, 0]], geographic=True)


def test_errors_name_the_id() -> None:
    with pytest.raises(ProblemError, match=r"demand, node 2: .* \(node 2 is 'dairy'\)"):
        Problem.from_coordinates(LINE, ids=NAMES, demand=[0, 1, 9], capacity=5)


def test_metres_as_the_crow_flies() -> None:
    """A degree along a meridian or the equator, and from pole to pole."""
    degree = EARTH_RADIUS * math.pi / 180
    metres = great_circle(np.array([(0, 0), (0, 1), (1, 0), (0, 90), (50, -90)], dtype=float))
    assert metres[0, 1] == pytest.approx(degree)
    assert metres[0, 2] == pytest.approx(degree)
    assert metres[3, 4] == pytest.approx(180 * degree)
    # At 60 degrees a degree of longitude is half as long, but for the curve of the shortest way.
    north = great_circle(np.array([(10.0, 60.0), (11.0, 60.0)]))
    assert north[0, 1] == pytest.approx(degree / 2, rel=1e-4)
    assert (metres == metres.T).all()


def test_longitude_and_latitude() -> None:
    problem = Problem.from_lonlat(
        [(13.37, 52.5), (13.4, 52.51), (13.45, 52.52)], speed_kmh=36, demand=[0, 1, 1], capacity=2
    )
    assert problem.geographic
    assert problem.places is not None
    assert problem.distances.between(0, 1) == pytest.approx(2315.04, abs=0.01)
    assert problem.durations.between(0, 1) == pytest.approx(231.504, abs=0.001)  # 10 m/s
    minutes = Problem.from_lonlat([(0, 0), (0, 1)], speed_kmh=60, time_unit="min")
    kilometres = minutes.distances.between(0, 1) / 1000
    assert minutes.durations.between(0, 1) == pytest.approx(kilometres)


@pytest.mark.parametrize(
    ("features", "part"),
    [
        ({"windows": [(0, 9), (0, 9)]}, "travel times beside windows: speed_kmh or durations"),
        ({"service": [0, 9]}, "travel times beside service"),
        ({"speed_kmh": 0}, "more than 0"),
        ({"speed_kmh": "fast"}, "a number"),
        ({"speed_kmh": 30, "durations": [[0, 1], [1, 0]]}, "none beside durations"),
    ],
)
def test_times_need_a_speed(features: dict[str, Any], part: str) -> None:
    with pytest.raises(ProblemError, match=part):
        Problem.from_lonlat([(0, 0), (0, 1)], **features)
    with pytest.raises(ProblemError, match="shape"):
        Problem.from_lonlat(5)  # type: ignore[arg-type]
