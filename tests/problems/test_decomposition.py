"""Depot decomposition: parts, worked examples, and plans that fit together."""

from __future__ import annotations

import numpy as np
import pytest

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.reductions import decompose
from spacevrp.problems.variants import VARIANTS

# Two depots at 0 and 10 on a line, customers at 1, 9, 2 and 8.
LINE = [(0.0, 0.0), (10.0, 0.0), (1.0, 0.0), (9.0, 0.0), (2.0, 0.0), (8.0, 0.0)]


def on_the_line(**features: object) -> Problem:
    return Problem.from_coordinates(
        LINE, **{"depots": (0, 1), "demand": [0, 0, 1, 2, 3, 4], "capacity": 7, **features}
    )


@pytest.mark.parametrize("name", list(VARIANTS))
def test_which_problems_are_decomposed(name: str) -> None:
    """Several depots on a map, with routes that come home or serve linehauls first."""
    features = VARIANTS[name].features
    expected = features.multi_depot and not features.asymmetric
    expected = expected and (not features.open_routes or features.backhaul_last)
    (problem,) = generate(name, 20, 1)
    assert (decompose(problem) is not None) == expected


def test_everybody_belongs_to_the_nearest_depot() -> None:
    found = decompose(on_the_line(max_length=9.0))
    assert found is not None
    assert [nodes.tolist() for nodes in found.nodes] == [[0, 2, 4], [1, 3, 5]]
    left, right = found.problems
    assert left.depots == right.depots == (0,)
    assert left.demand.tolist() == [0, 1, 3]
    assert right.demand.tolist() == [0, 2, 4]
    assert (left.capacity, left.max_length) == (7, 9.0)
    assert left.distances.matrix().tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert found.together([[(0, 1, 2, 0)], [(0, 1, 0), (0, 2, 0)]]) == [
        (0, 2, 4, 0),
        (1, 3, 1),
        (1, 5, 1),
    ]


def test_a_depot_without_customers_has_no_part() -> None:
    beyond = [*LINE[:2], (99.0, 0.0), *LINE[2:]]
    problem = Problem.from_coordinates(
        beyond, depots=(0, 1, 2), demand=[0, 0, 0, 1, 1, 1, 1], capacity=4
    )
    found = decompose(problem)
    assert found is not None
    assert [nodes.tolist() for nodes in found.nodes] == [[0, 3, 5], [1, 4, 6]]
    near_one = Problem.from_coordinates(
        [(0.0, 0.0), (50.0, 0.0), (1.0, 0.0), (2.0, 0.0)],
        depots=(0, 1),
        demand=[0, 0, 1, 1],
        capacity=4,
    )
    assert decompose(near_one) is None  # nothing to be planned apart


def test_who_cannot_be_planned_apart() -> None:
    assert decompose(on_the_line(max_routes=2)) is None  # they share the vehicles
    assert decompose(on_the_line(open_routes=True)) is None
    prizes = on_the_line(prize=[0, 0, 1, 1, 1, 1], maximise_prize=True, max_length=20.0)
    assert decompose(prizes) is None
    unlike = np.tile([0.0, 100.0], (6, 1))
    unlike[1] = [5.0, 100.0]
    assert decompose(on_the_line(windows=unlike)) is None  # one of the depots opens later
