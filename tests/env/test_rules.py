"""Loads, limits, depots, prizes, pairs and first customers, driven by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from spacevrp.env import Environment, start_nodes
from spacevrp.env.returns import return_paths
from spacevrp.env.starts import can_start
from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack

# As in tests/conftest.py; customers 1 and 4 receive, 2 and 3 hand over.
FOUR_CUSTOMERS = ((0.0, 0.0), (3.0, 0.0), (3.0, 4.0), (0.0, 4.0), (0.0, 8.0))
MIXED = (0.0, 4.0, -3.0, -5.0, 2.0)
# Two depots and four customers on a line: depots at 0 and 10, customers at 1, 2, 8, 9.
LINE = [(0.0, 0.0), (10.0, 0.0), (1.0, 0.0), (2.0, 0.0), (8.0, 0.0), (9.0, 0.0)]


def with_missing(*arcs: tuple[int, int]) -> np.ndarray:
    matrix = np.full((5, 5), 2.0)
    for arc in arcs:
        matrix[arc] = np.inf
    return matrix


def step(*moves: int, legal: list[int] | None = None, **seen: float) -> Any:
    """Moves in turn, each of which must be legal; then what is, and fields of the state."""
    return moves, legal, seen


def collecting(**changes: Any) -> dict[str, Any]:
    prize, penalty = [0, 0.2, 0.3, 0.4, 0.5], [0, 1.0, 2.0, 3.0, 4.0]
    features = {"prize": prize, "penalty": penalty, "min_prize": 0.7, "max_routes": 1}
    return {"points": FOUR_CUSTOMERS, **features, **changes}


def loaded(rule: str, capacity: float) -> dict[str, Any]:
    fields = {"demand": MIXED, "capacity": capacity, "load_rule": rule}
    return {"points": FOUR_CUSTOMERS, **fields}


DEAD_END = {"matrix": with_missing((2, 0)), "max_routes": 1}
ON_A_LINE: dict[str, Any] = {"points": LINE, "depots": (0, 1)}
REACHES_8 = {**ON_A_LINE, "max_length": 8.0}  # depot 0 customers 2 and 3, depot 1 the others
# fmt: off
DRIVEN = {
    "paper leaves full and starts with a linehaul": (loaded("paper", 6.0), 1, [
        step(used=4, legal=[0, 2, 4]),  # of empty space; picking up 5 needs more than these 4
        step(2, used=1), step(0, used=0, legal=[4]),  # a linehaul is left, so 3 cannot come first
        step(4, 0, used=6, legal=[3]),  # only a backhaul is left: it leaves empty
        step(3, used=1)]),
    "separate carries what it collects to the depot": (loaded("separate", 8.0), 2, [
        step(used=3, credit=3),
        # 4 for customer 1 and 3 collected were on board together. 3 + 5 collected fit; 2 for
        # customer 4 would have made 9.
        step(1, used=7, credit=3, legal=[0, 3]), step(3, used=8, credit=8, legal=[0])]),
    "missing arcs": ({"matrix": with_missing((1, 2), (1, 3))}, 1, [
        step(legal=[0, 4]), step(4, 2, 3, 0, done=1, stuck=0, cost=10)]),
    # Customer 2 is left over 3 only: with the way straight home missing it is never served.
    "no way home": (DEAD_END, 1, [step(legal=[3, 4])]),
    "no way home needed": (DEAD_END | {"open_routes": True}, 1, [step(legal=[2, 3, 4])]),
    # The only vehicle may not go home before customer 2 is served; it stays where it is.
    "a dead end": (DEAD_END, 1, [step(3, 4, legal=[4]), step(4, done=1, stuck=1, cost=np.inf)]),
    "the last leg of a tour is missing": (
        {"matrix": with_missing((4, 0)), "depots": ()}, 0, [step(1, 2, 3, 4, cost=np.inf)]),
    "the last leg of a tour is there": (
        {"matrix": with_missing((4, 0)), "depots": ()}, 0, [step(4, 1, 2, 3, cost=10)]),
    "a switch of depots is free and not repeated": (
        {**ON_A_LINE, "demand": [0, 0, 1, 1, 1, 1], "capacity": 2.0}, 2, [
        step(3, 0, legal=[1, 4, 5]),  # another depot, or a new route from this one
        step(1, switched=1, origin=1, legal=[4, 5]),  # no switching back and forth
        step(4, 5, 1, done=1, routes=2, cost=(1 + 1 + 2) + (2 + 1 + 1))]),
    "no switch to a depot without a customer to serve": (REACHES_8, 2, [
        step(0, legal=[1, 3]), step(3, 0, legal=[1]), step(1, 4, 1, legal=[5])]),
    # Only depot 0 reaches the linehaul 3; while it is open, the backhauls at 4 and 5 must wait.
    "no switch to a depot from which no customer can come first": (
        {**REACHES_8, "demand": [0, 0, 1, 1, -1, -1], "capacity": 2.0, "load_rule": "paper"}, 2, [
        step(0, legal=[3]), step(3, 0, legal=[1]), step(1, legal=[4, 5])]),
    "a fleet that is too small": (
        {"points": FOUR_CUSTOMERS, "demand": [0, 3, 3, 3, 3], "capacity": 6.0, "max_routes": 1}, 1,
        [step(2, legal=[2]), step(2, stuck=1, cost=np.inf)]),
    "without enough prize everything is visited": (collecting(min_prize=5.0), 1, [
        step(2, 3, legal=[4]), step(4, legal=[0]), step(0, stuck=0)]),
    "compulsory customers among optional ones": (
        collecting(min_prize=0.0, penalty=[0, 1.0, np.inf, 3.0, 4.0], max_routes=None), 1, [
        step(0, legal=[2, 3, 4]),  # other vehicles follow
        step(2, 0, legal=[0, 3, 4]),  # now it may also stop
        step(0, done=1, cost=6 + 10 + 3 + 4)]),
    # Customer 4 alone is within the limit of 16.5, but not after customer 1.
    "a delivery out of reach": (
        {"points": FOUR_CUSTOMERS, "pairs": ((1, 4), (2, 3)), "max_length": 16.5}, 1,
        [step(2, 3, legal=[3]), step(3, stuck=1, cost=np.inf)]),
}
# fmt: on


@pytest.mark.parametrize(("features", "start", "steps"), DRIVEN.values(), ids=DRIVEN)
def test_what_may_follow(drive, features, start, steps):
    fields = dict(features)
    build = Problem.from_matrix if "matrix" in fields else Problem.from_coordinates
    van = drive(build(fields.pop("matrix", fields.pop("points", None)), **fields), start)
    for moves, legal, seen in steps:
        van(*moves)
        assert legal is None or van.legal == legal
        for name, value in seen.items():
            assert (van.cost if name == "cost" else van.number(name)) == pytest.approx(value), name


def on_a_line(**features: object) -> Problem:
    return Problem.from_coordinates(LINE, depots=(0, 1), **features)


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
