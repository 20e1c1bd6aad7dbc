"""Windows, lengths and missing arcs, with the way home in view."""

from __future__ import annotations

import numpy as np
import pytest

from spacevrp.problems.problem import Problem


def with_missing(*arcs: tuple[int, int]) -> np.ndarray:
    matrix = np.full((5, 5), 2.0)
    for arc in arcs:
        matrix[arc] = np.inf
    return matrix


def test_missing_arcs_are_not_travelled(drive):
    problem = Problem.from_matrix(with_missing((1, 2), (1, 3)))
    van = drive(problem, 1)
    assert van.legal == [0, 4]
    assert van(4, 2, 3, 0).number("done") == 1.0
    assert van.number("stuck") == 0.0
    assert van.cost == pytest.approx(10.0)


def test_no_customer_without_a_way_home(drive):
    # Customer 2 is left over 3 only: with the way straight home missing it is never served.
    problem = Problem.from_matrix(with_missing((2, 0)), max_routes=1)
    assert 2 not in drive(problem, 1).legal
    opened = problem.replace(open_routes=True)
    assert 2 in drive(opened, 1).legal


def test_a_dead_end_is_told(drive):
    # The only vehicle may not go home before customer 2 is served, and nobody can serve it.
    van = drive(Problem.from_matrix(with_missing((2, 0)), max_routes=1), 1)
    van(3, 4)
    assert van.legal == [4]  # it stays where it is
    van(4)
    assert van.number("done") == 1.0
    assert van.number("stuck") == 1.0
    assert van.cost == np.inf


def test_a_tour_whose_last_leg_is_missing_costs_infinitely_much(drive):
    problem = Problem.from_matrix(with_missing((4, 0)), depots=())
    van = drive(problem, 0)
    assert van(1, 2, 3, 4).cost == np.inf
    van = drive(problem, 0)
    assert van(4, 1, 2, 3).cost == pytest.approx(10.0)
