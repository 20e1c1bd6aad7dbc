"""Loads, limits, depots, prizes, pairs and first customers, driven by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spacevrp.env import Environment, start_nodes
from spacevrp.env.returns import return_paths
from spacevrp.env.starts import can_start
from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack

# Customers 1 and 4 receive, 2 and 3 hand over.
MIXED = (0.0, 4.0, -3.0, -5.0, 2.0)


def test_paper_leaves_full_and_starts_with_a_linehaul(four_customers, drive):
    van = drive(four_customers(demand=MIXED, capacity=6.0, load_rule="paper"), 1)
    assert van.number("used") == 4.0  # empty space of a vehicle that left full
    assert van.legal == [0, 2, 4]  # picking up 5 needs more than these 4
    van(2)
    assert van.number("used") == 1.0
    van(0)
    assert van.number("used") == 0.0
    assert van.legal == [4]  # a linehaul is left, so 3 cannot come first
    van(4, 0)
    assert van.number("used") == 6.0  # only a backhaul is left: it leaves empty
    assert van.legal == [3]
    assert van(3).number("used") == 1.0


def test_separate_carries_what_it_collects_to_the_depot(four_customers, drive):
    van = drive(four_customers(demand=MIXED, capacity=8.0, load_rule="separate"), 2)
    assert (van.number("used"), van.number("credit")) == (3.0, 3.0)
    van(1)  # 4 for customer 1 and 3 collected were on board together
    assert (van.number("used"), van.number("credit")) == (7.0, 3.0)
    assert van.legal == [0, 3]  # 3 + 5 collected fit; 2 for customer 4 would have made 9
    van(3)
    assert (van.number("used"), van.number("credit")) == (8.0, 8.0)
    assert van.legal == [0]


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
    # The only vehicle may not go home before customer 2 is served, and no vehicle can serve it.
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


def test_no_switch_to_a_depot_without_a_customer_to_serve(drive):
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


BOTH_WAYS = {"demand": [0, -1, 2, -1, 2], "capacity": 4.0}
BACKHAULS = {"demand": [0, -1, -2, -1, -2], "capacity": 4.0}


def starts(count, *problems):
    return start_nodes(Environment(stack(list(problems))), count).tolist()


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({}, [1, 2, 3, 4, 1, 2]),  # all in turn, and again
        ({"depots": ()}, [0, 1, 2, 3, 4]),
        ({"pairs": ((1, 3), (4, 2))}, [1, 4, 1]),  # pickups
        ({**BOTH_WAYS, "load_rule": "paper"}, [2, 4, 2]),  # linehauls
        ({**BOTH_WAYS, "load_rule": "single"}, [1, 2, 3, 4]),
        ({**BACKHAULS, "load_rule": "paper"}, [1, 2, 3, 4]),
        # There and back it is 6, 10, 8 and 16.
        ({"prize": [0, 1, 1, 1, 1], "max_length": 9.0, "maximise_prize": True}, [1, 3, 1, 3]),
        # Customer 1 is 3 away from a depot that opens at 1, so it must be optional here.
        ({"windows": [(1, 99), (0, 3), *[(0, 99)] * 3], "penalty": [0, 1, 1, 1, 1]}, [2, 3, 4, 2]),
    ],
)
def test_who_can_come_first_in_turn(four_customers, features, expected):
    assert starts(len(expected), four_customers(**features)) == [expected]


def test_in_a_mixed_batch_each_instance_has_its_own(four_customers):
    paired = four_customers(pairs=((1, 3), (4, 2)))
    tour = four_customers(depots=())
    assert starts(3, paired, tour) == [[1, 4, 1], [0, 1, 2]]


def test_an_instance_nobody_can_start_is_told(four_customers):
    hopeless = four_customers(prize=[0, 1, 1, 1, 1], max_length=5.0, maximise_prize=True)
    environment = Environment(stack([hopeless, four_customers()]))
    nodes = start_nodes(environment, 2)
    assert nodes.tolist() == [[1, 1], [1, 2]]
    state = environment.begin(nodes)
    assert state.stuck.tolist() == [[True, True], [False, False]]
    assert state.done.tolist() == [[True, True], [False, False]]
    assert torch.isinf(environment.cost(state)[0]).all()


@pytest.mark.parametrize("start", [3, 0])
def test_a_start_that_no_rule_allows_is_told(four_customers, drive, start):
    van = drive(four_customers(pairs=((1, 3), (2, 4))), start)  # a delivery, the depot
    assert van.number("stuck") == 1.0
    assert van.number("done") == 1.0


INF = np.inf


def test_shortest_ways_pass_customers_but_no_depot() -> None:
    # 0 and 1 are depots. From customer 2 home to 0: over depot 1 it would take 2, over 3 it takes
    # 6. From 3 to 2 there is no arc, and every path would pass a depot.
    matrix = [[0, 9, 1, 9], [1, 0, 1, 9], [INF, 1, 0, 4], [2, INF, INF, 0]]
    batch = stack([Problem.from_matrix(matrix, depots=(0, 1))], 6)
    home = return_paths(batch, direct=False)
    assert home.duration is home.distance
    expected = torch.tensor(matrix, dtype=torch.float32)
    expected[2, 0] = 6
    expected[0, 3], expected[1, 3] = 5, 5  # over customer 2
    expected[0, 1], expected[1, 0] = 2, 1  # over customer 2; direct
    assert torch.equal(home.distance[0, :4, :4], expected)


def test_an_arc_without_a_duration_is_none() -> None:
    distances = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    durations = [[0, 1, 1], [INF, 0, 1], [1, 1, 0]]
    problem = Problem.from_matrix(distances, durations=durations)
    home = return_paths(stack([problem]), direct=False)
    assert home.distance[0, 1, 0] == 2
    assert home.duration[0, 1, 0] == 2


def test_shortest_ways_change_nothing_where_arcs_are_shortest() -> None:
    batch = stack(generate("ACVRPTW", 8, 2), dtype=torch.float64)
    there, here = (Environment(batch, 1, direct_return=direct) for direct in (False, True))
    assert torch.allclose(there.home.distance, here.home.distance)
    assert torch.equal(can_start(there), can_start(here))


@pytest.mark.parametrize("direct", [True, False])
def test_a_customer_whose_way_home_leads_over_another(direct: bool) -> None:
    matrix = [[0, 1, 1], [INF, 0, 1], [1, 1, 0]]
    environment = Environment(stack([Problem.from_matrix(matrix)]), 1, direct_return=direct)
    assert can_start(environment)[0].tolist() == [False, not direct, True]
    state = environment.begin(torch.tensor([[1]]))
    assert bool(state.stuck) is direct
    # From customer 1 on to customer 2, but not home.
    assert environment.mask(state)[0, 0].tolist() == [False, direct, not direct]


def test_going_home_keeps_the_limits_when_the_look_ahead_was_hopeful() -> None:
    # Straight home from customer 1 takes 9, over customer 2 it takes 2.
    matrix = [[0, 1, 9], [9, 0, 1], [1, 9, 0]]
    limited = Problem.from_matrix(matrix, max_length=3)
    closing = Problem.from_matrix(matrix, windows=[(0, 3), (0, INF), (0, INF)])
    unlimited = Problem.from_matrix(matrix)
    environment = Environment(stack([limited, closing, unlimited]), 1, direct_return=False)
    state = environment.begin(torch.tensor([[1], [1], [1]]))
    assert environment.mask(state)[:, 0, 0].tolist() == [False, False, True]


def test_a_depot_without_a_duration_to_a_customer_does_not_serve_it() -> None:
    # Depot 0 is nearer to customer 2, but nobody knows how long the way takes.
    distances = [[0, 1, 1], [1, 0, 5], [1, 5, 0]]
    durations = [[0, 1, INF], [1, 0, 5], [INF, 5, 0]]
    problem = Problem.from_matrix(distances, durations=durations, depots=(0, 1))
    environment = Environment(stack([problem]), 2)
    assert environment.first_depots(torch.tensor([[2]])).tolist() == [[1]]
    assert not bool(environment.begin(torch.tensor([[2]])).stuck)
