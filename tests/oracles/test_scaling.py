"""The policy of integer scaling: safe for the referee, and nothing that just fits is lost."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.generators import generate
from spacevrp.oracles.scaling import scale_amounts, scale_problem
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge

LINE = [(0.0, 0.0), (0.1, 0.0), (0.3, 0.0), (0.6, 0.0)]  # 0.1, 0.2 and 0.3 apart


@pytest.mark.parametrize(
    ("demand", "capacity", "scale", "whole", "room"),
    [
        ([0, 4, 5, 6], 15, 1, [0, 4, 5, 6], 15),
        ([0, 4, -5, 6], 15.9, 1, [0, 4, -5, 6], 15),
        ([0, 0.1, 0.2, 0.3], 0.6, 10, [0, 1, 2, 3], 6),  # 0.1 + 0.2 + 0.3 > 0.6 in floats
        ([0, 0.25, 0.5, 0.5], 1.25, 4, [0, 1, 2, 2], 5),
        ([0, 4 / 30, 5 / 30, 6 / 30], 0.5, 30, [0, 4, 5, 6], 15),
        (np.float32([0, 4 / 30, 5 / 30, 6 / 30]), 0.5, 30, [0, 4, 5, 6], 15),
        ([0, 40000, 50000, 60000], 150000, 1, [0, 40000, 50000, 60000], 150000),
    ],
)
def test_amounts_become_their_true_integers(demand, capacity, scale, whole, room):
    problem = Problem.from_coordinates(LINE, demand=demand, capacity=capacity)
    scaled = scale_problem(problem)
    assert scaled.demand.tolist() == whole
    assert scaled.capacity == room
    assert scale_amounts(problem.demand, problem.load_tolerance, 3).scale == scale


def test_amounts_without_a_common_measure_keep_a_full_vehicle_full() -> None:
    demand = np.array([0.0, math.sqrt(2), math.pi, math.e])
    problem = Problem.from_coordinates(LINE, demand=demand, capacity=float(demand.sum()))
    scaled = scale_problem(problem)
    assert scaled.capacity is not None
    assert scaled.demand.sum() <= scaled.capacity
    short = problem.replace(capacity=float(demand.sum()) * (1 - 2e-5))
    assert not judge(short, [(0, 1, 2, 3, 0)]).feasible
    scaled = scale_problem(short)
    assert scaled.capacity is not None
    assert scaled.demand.sum() > scaled.capacity


def test_costs_take_the_smallest_power_of_ten_that_is_exact() -> None:
    tenths = scale_problem(Problem.from_coordinates(LINE))
    assert tenths.cost_scale == 10
    assert tenths.cost[0].tolist() == [0, 1, 3, 6]
    assert tenths.cost_error < 1e-15
    whole = scale_problem(Problem.from_matrix([[0, 7, 9], [8, 0, 2], [1, 3, 0]]))
    assert whole.cost_scale == 1
    (matrix,) = generate("ACVRP", 20, 1)
    assert scale_problem(matrix, digits=4).cost_scale == 1e6
    assert scale_problem(matrix, digits=4).cost_error < 1e-15


@pytest.mark.parametrize(("digits", "factor", "scale"), [(4, 1, 1e4), (6, 1, 1e6), (6, 1e4, 1e3)])
def test_other_costs_take_the_solvers_power_of_the_unit(digits, factor, scale):
    (problem,) = generate("CVRP", 20, 1)
    assert problem.distances.coordinates is not None
    larger = Problem.from_coordinates(problem.distances.coordinates * factor)
    scaled = scale_problem(larger, digits=digits)
    assert scaled.cost_scale == scale
    assert 0 < scaled.cost_error <= 0.5 / scale
    exact = larger.distances.matrix()
    assert np.abs(scaled.cost / scale - exact).max() <= 0.5 / scale


def test_no_entry_exceeds_what_the_solver_holds() -> None:
    problem = Problem.from_matrix([[0, 3e8, 7e8], [3e8, 0, 1e8], [2e8, 5e8, 0]])
    scaled = scale_problem(problem, largest=10**7)
    assert scaled.cost_scale == 0.01
    assert scaled.cost.max() == 7_000_000


def test_limits_that_cannot_bind_are_left_out() -> None:
    never = Problem.from_coordinates(LINE, max_length=1e9, windows=[(0, np.inf)] * 4)
    assert scale_problem(never).max_length is None
    assert scale_problem(never).times is None


def test_time_starts_at_the_first_opening_and_depots_take_none() -> None:
    problem = Problem.from_coordinates(
        LINE, windows=[(-1, 2), (0, 1), (0.5, 1.5), (0, 3)], service=[0.4, 0.1, 0.2, 0.1]
    )
    times = scale_problem(problem).times
    assert times.scale == 10
    assert times.opening.tolist() == [0, 10, 15, 10]
    assert times.closing.tolist()[:3] == [30, 20, 25]
    assert times.service.tolist() == [0, 1, 2, 1]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(4, 40), data=st.data())
def test_whole_limits_agree_with_the_referee(seed: int, size: int, data: st.DataObject) -> None:
    """Any route that keeps the whole-number rules keeps the true ones, and the other way round."""
    variant = data.draw(st.sampled_from(["CVRPLTW", "OCVRPLTW", "ACVRPLTW", "MDCVRPBPLTW"]))
    (problem,) = generate(variant, size, 1, seed=seed)
    order = data.draw(st.permutations(problem.customers))
    stops = order[: data.draw(st.integers(1, min(8, size)))]
    depot = problem.depots[-1]
    route = (depot, *stops) if problem.open_routes else (depot, *stops, depot)
    # A limit that this route just keeps, or just misses.
    length = math.fsum(problem.distances.between(a, b) for a, b in pairwise(route))
    miss = data.draw(st.sampled_from([0.0, 1e-7, -2e-5, -1e-3, 0.1]))
    problem = problem.replace(max_length=max(length + miss, 2.9), variant=None)
    scaled = scale_problem(problem)
    times = scaled.times
    clock, whole_length, late = int(times.opening[depot]), 0, False
    for origin, target in pairwise(route):
        clock += int(times.duration[origin, target])
        late |= clock > int(times.closing[target])
        if target not in problem.depots:
            clock = max(clock, int(times.opening[target])) + int(times.service[target])
        if scaled.length is not None:
            whole_length += int(scaled.length[origin, target])
    too_long = scaled.max_length is not None and whole_length > scaled.max_length
    codes = {violation.code for violation in judge(problem, [route]).violations}
    if not late:
        assert "window" not in codes
    if not too_long:
        assert "length" not in codes
    strict = _breaks_without_slack(problem, route)
    assert late <= strict["window"]
    assert too_long <= strict["length"]


def _breaks_without_slack(problem: Problem, route: tuple[int, ...]) -> dict[str, bool]:
    """Whether limits are broken with no tolerance at all, but for what floats cannot tell."""
    clock, length, late = float(problem.windows[route[0], 0]), 0.0, False
    for origin, target in pairwise(route):
        length += problem.distances.between(origin, target)
        clock += problem.durations.between(origin, target)
        late |= clock > problem.windows[target, 1] - 1e-12
        if target not in problem.depots:
            clock = max(clock, problem.windows[target, 0]) + problem.service[target]
    return {"window": late, "length": length > problem.max_length - 1e-12}


def test_the_last_distance_of_a_large_matrix_counts() -> None:
    """The first of them are looked at before all are; one fraction far behind is not lost."""
    matrix = np.full((20, 20), 7.0)
    np.fill_diagonal(matrix, 0.0)
    whole = scale_problem(Problem.from_matrix(matrix))
    assert whole.cost_scale == 1
    matrix[19, 18] = 6.25
    exact = scale_problem(Problem.from_matrix(matrix))
    assert (exact.cost_scale, exact.cost[19, 18], exact.cost_error) == (100, 625, 0)
