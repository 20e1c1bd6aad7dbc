"""Depots, fleets, prizes and pairs: where a vehicle may go home and when a plan is finished."""

from __future__ import annotations

import numpy as np
import pytest

from spacevrp.problems.problem import Problem

# Two depots and four customers on a line: depots at 0 and 10, customers at 1, 2, 8, 9.
LINE = [(0.0, 0.0), (10.0, 0.0), (1.0, 0.0), (2.0, 0.0), (8.0, 0.0), (9.0, 0.0)]


def on_a_line(**features: object) -> Problem:
    return Problem.from_coordinates(LINE, depots=(0, 1), **features)


# --------------------------------------------------------------------------------------- depots


def test_the_first_vehicle_comes_from_the_cheapest_depot(drive):
    assert drive(on_a_line(), 3).number("origin") == 0
    assert drive(on_a_line(), 4).number("origin") == 1


def test_the_first_vehicle_comes_from_a_depot_that_can_serve(drive):
    # Depot 0 is nearer to customer 3 but opens too late for it.
    windows = [(50, 99), (0, 99), (0, 99), (0, 20), (0, 99), (0, 99)]
    van = drive(on_a_line(windows=windows), 3)
    assert van.number("origin") == 1
    assert van.number("clock") == pytest.approx(8.0)


def test_of_equally_cheap_depots_the_first_is_taken_whatever_the_rounding(drive):
    # Both depots and the customer are on one cycle, so its length is what either depot costs.
    for scale in (1.0, 3.0, 0.7, 1e3 / 7):
        place = np.array([0.0, 0.1, 0.3]) * scale
        cycle = (place[None] - place[:, None]) % (1.3 * scale)
        assert drive(Problem.from_matrix(cycle, depots=(0, 1)), 2).number("origin") == 0
        assert drive(Problem.from_matrix(cycle[::-1, ::-1], depots=(0, 1)), 2).number("origin") == 0


def test_switching_depots_is_free_and_not_repeated(drive):
    van = drive(on_a_line(demand=[0, 0, 1, 1, 1, 1], capacity=2.0), 2)(3, 0)
    assert van.legal == [1, 4, 5]  # another depot, or a new route from this one
    van(1)
    assert van.number("switched") == 1.0
    assert van.number("origin") == 1
    assert van.legal == [4, 5]  # no switching back and forth
    van(4, 5, 1)
    assert van.number("done") == 1.0
    assert van.number("routes") == 2
    assert van.cost == pytest.approx((1 + 1 + 2) + (2 + 1 + 1))


def test_no_switch_to_a_depot_that_can_serve_nobody_left(drive):
    # Limit 8: depot 0 reaches customers 2 and 3 alone, depot 1 reaches 4 and 5.
    van = drive(on_a_line(max_length=8.0), 2)(0)
    assert van.legal == [1, 3]
    van(3, 0)
    assert van.legal == [1]
    van(1, 4, 1)
    assert van.legal == [5]


def test_no_switch_to_a_depot_where_the_load_rule_allows_nobody_to_come_first(drive):
    # Only depot 0 reaches the linehaul 3; while it is open, the backhauls at 4 and 5 must wait.
    problem = on_a_line(
        demand=[0, 0, 1, 1, -1, -1], capacity=2.0, load_rule="paper", max_length=8.0
    )
    van = drive(problem, 2)(0)
    assert van.legal == [3]
    van(3, 0)
    assert van.legal == [1]
    assert van(1).legal == [4, 5]


# ---------------------------------------------------------------------------------------- fleet


def test_a_fleet_that_is_too_small_is_told(four_customers, drive):
    van = drive(four_customers(demand=[0, 3, 3, 3, 3], capacity=6.0, max_routes=1), 1)
    van(2)
    assert van.legal == [2]
    assert van(2).number("stuck") == 1.0
    assert van.cost == np.inf


# --------------------------------------------------------------------------------------- prizes


def prize_collecting(four_customers, **changes):
    features = {
        "prize": [0, 0.2, 0.3, 0.4, 0.5],
        "penalty": [0, 1.0, 2.0, 3.0, 4.0],
        "min_prize": 0.7,
        "max_routes": 1,
    }
    return four_customers(**{**features, **changes})


def test_without_enough_prize_everything_is_visited(four_customers, drive):
    van = drive(prize_collecting(four_customers, min_prize=5.0), 1)
    van(2, 3)
    assert van.legal == [4]
    assert van(4).legal == [0]
    assert van(0).number("stuck") == 0.0


def test_compulsory_customers_among_optional_ones(four_customers, drive):
    problem = prize_collecting(
        four_customers, min_prize=0.0, penalty=[0, 1.0, np.inf, 3.0, 4.0], max_routes=None
    )
    van = drive(problem, 1)
    van(0)  # other vehicles follow
    assert van.legal == [2, 3, 4]
    van(2, 0)
    assert van.legal == [0, 3, 4]  # now it may also stop
    van(0)
    assert van.number("done") == 1.0
    assert van.cost == pytest.approx(6 + 10 + 3 + 4)


# ---------------------------------------------------------------------------------------- pairs


def test_a_pickup_whose_delivery_is_out_of_reach_is_told(four_customers, drive):
    # Customer 4 alone is within the limit of 16.5, but not after customer 1.
    problem = four_customers(pairs=((1, 4), (2, 3)), max_length=16.5)
    van = drive(problem, 1)
    assert 4 not in van.legal
    while not van.state.done.all():
        van(van.legal[0])
    assert van.number("stuck") == 1.0
    assert van.cost == np.inf
