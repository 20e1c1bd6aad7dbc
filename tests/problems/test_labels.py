"""Ids and places of nodes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from spacevrp.problems.errors import ProblemError
from spacevrp.problems.globe import EARTH_RADIUS, great_circle
from spacevrp.problems.problem import Problem

LINE = [(0, 0), (3, 0), (3, 4)]
NAMES = ["hub", "bakery", "dairy"]


def test_nodes_by_their_ids() -> None:
    problem = Problem.from_coordinates(LINE, ids=NAMES, depots="dairy")
    assert problem.ids == ("hub", "bakery", "dairy")
    assert problem.depots == (2,)
    assert Problem.from_coordinates(LINE, ids=NAMES, depots=["hub", 2]).depots == (0, 2)
    paired = Problem.from_coordinates(LINE, ids=NAMES, pairs=[("dairy", "bakery")])
    assert paired.pairs == ((2, 1),)


def test_numbers_are_nodes_even_where_ids_are_numbers() -> None:
    problem = Problem.from_coordinates(LINE, ids=np.array([7, 0, 1]), depots=0)
    assert problem.ids == (7, 0, 1)
    assert problem.depots == (0,)
    assert all(type(one) is int for one in problem.ids)


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
