"""Closed routes of everybody: shorter, and never a plan that the referee refuses."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.loops import (
    best_exchange,
    best_reversal,
    exchanged,
    is_plain_loop,
    reversed_part,
    shorten,
)
from spacevrp.solver.polish import finisher_of, search_of


def once(done: int) -> float:
    """The search is over when no move helps."""
    return float(done)


def in_order(problem: Problem) -> Solution:
    """Everybody in the order of the nodes."""
    nodes = list(range(problem.size))
    return Solution.judged(problem, [[*nodes, 0] if problem.depots else nodes])


def around(length: np.ndarray, loop: np.ndarray) -> float:
    return float(length[loop, np.roll(loop, -1)].sum())


def random_lengths(seed: int, size: int, *, symmetric: bool = False) -> np.ndarray:
    length = np.random.default_rng(seed).random((size, size))
    np.fill_diagonal(length, 0.0)
    return (length + length.T) / 2 if symmetric else length


# ------------------------------------------------------------------------------------------ moves


def test_parts_change_places() -> None:
    loop = np.arange(8)
    # From behind 1: the part 4, 5, 6 ahead of 2, 3; then 7 and all up to 1.
    assert exchanged(loop, 1, 3, 6).tolist() == [4, 5, 6, 2, 3, 7, 0, 1]
    # The same around the end of the list.
    assert exchanged(loop, 6, 0, 2).tolist() == [1, 2, 7, 0, 3, 4, 5, 6]
    assert reversed_part(loop, 1, 4).tolist() == [4, 3, 2, 5, 6, 7, 0, 1]
    assert reversed_part(loop, 6, 1).tolist() == [1, 0, 7, 2, 3, 4, 5, 6]


@given(seed=st.integers(0, 10**6), size=st.integers(5, 9))
@settings(deadline=None, max_examples=12)
def test_the_best_exchange_is_the_best_of_all(seed: int, size: int) -> None:
    length = random_lengths(seed, size)
    loop = np.random.default_rng(seed).permutation(size)
    first, second = (values.ravel() for values in np.indices((size, size)))
    extra, (i, j, k) = best_exchange(length, loop, first, second)
    before = around(length, loop)
    assert around(length, exchanged(loop, i, j, k)) == pytest.approx(before + extra)
    every = [
        around(length, exchanged(loop, i, (i + p) % size, (i + p + q) % size))
        for i in range(size)
        for p in range(1, size - 1)
        for q in range(1, size - p)
    ]
    assert before + extra == pytest.approx(min(every))


@given(seed=st.integers(0, 10**6), size=st.integers(5, 9))
@settings(deadline=None, max_examples=12)
def test_the_best_reversal_is_the_best_of_all(seed: int, size: int) -> None:
    length = random_lengths(seed, size, symmetric=True)
    loop = np.random.default_rng(seed).permutation(size)
    first, second = (values.ravel() for values in np.indices((size, size)))
    extra, (i, j) = best_reversal(length, loop, first, second)
    before = around(length, loop)
    assert around(length, reversed_part(loop, i, j)) == pytest.approx(before + extra)
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    every = [around(length, reversed_part(loop, i, j)) for i, j in pairs]
    assert before + extra == pytest.approx(min(every))


# --------------------------------------------------------------------------------------- the search


def test_a_crossing_is_undone() -> None:
    """Around the rectangle of 3 by 1 with two more on its long sides it is 8 long."""
    problem = Problem.from_coordinates([(0, 0), (3, 1), (3, 0), (0, 1), (1, 0), (1, 1)], depots=[])
    found = shorten(in_order(problem), progress=once)
    assert found.cost == pytest.approx(8.0)


@given(seed=st.integers(0, 10**6), asymmetric=st.booleans(), depot=st.booleans())
@settings(deadline=None, max_examples=8)
def test_small_loops_are_the_shortest(seed: int, asymmetric: bool, depot: bool) -> None:
    length = random_lengths(seed, 7, symmetric=not asymmetric)
    more: dict[str, Any] = {"depots": [0], "max_routes": 1} if depot else {"depots": []}
    problem = Problem.from_matrix(length.tolist(), **more)
    assert is_plain_loop(problem)
    found = shorten(in_order(problem), seed=seed)
    assert found.feasible
    shortest = min(around(length, np.array([0, *rest])) for rest in permutations(range(1, 7)))
    assert found.cost == pytest.approx(shortest)


@pytest.mark.parametrize("name", ["TSP", "ATSP"])
def test_plans_become_shorter_alike_every_time(name: str) -> None:
    (problem,) = generate(name, 30, 1)
    start = in_order(problem)
    costs: list[float] = []
    found = shorten(start, seed=3, watch=costs.append)
    assert found.feasible
    assert found.cost < 0.5 * start.cost
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(found.cost)
    assert shorten(start, seed=3) == found
    assert shorten(found, progress=once) == found  # and no worse
    # A later end is no worse an end.
    assert found.cost <= shorten(start, progress=once).cost


def test_ways_that_do_not_exist_are_not_taken() -> None:
    """All around is the only legal loop, however dear it is."""
    matrix: list[list[float | None]] = [[None] * 7 for _ in range(7)]
    for node in range(7):
        matrix[node][node] = 0.0
        matrix[node][(node + 1) % 7] = 5.0
        matrix[node][(node + 2) % 7] = 1.0
    matrix[6][1] = None
    problem = Problem.from_matrix(matrix, depots=[])
    found = shorten(in_order(problem))
    assert found.feasible
    assert found.cost <= 35.0


def test_when_the_time_is_up_nothing_more_is_tried() -> None:
    (problem,) = generate("TSP", 30)
    start = in_order(problem)
    asked = []

    def soon(done: int) -> float:
        asked.append(done)
        return len(asked) / 5

    found = shorten(start, progress=soon)
    assert set(asked) == {0, 1}  # in the midst of the first descent
    assert shorten(start, progress=once).cost < found.cost < start.cost
    assert shorten(start, progress=lambda done: 1.0) is start


def test_who_is_left_out_stays_so() -> None:
    (problem,) = generate("TSP", 12)
    partial = Solution.judged(problem, [range(11)])
    assert shorten(partial) is partial


def test_which_problems_are_plain_loops() -> None:
    names = ("TSP", "ATSP", "PDTSP", "CVRP", "OP", "PCTSP")
    found = {name: is_plain_loop(generate(name, 12)[0]) for name in names}
    assert found == {name: name in ("TSP", "ATSP") for name in names}
    points = [(0, 0), (1, 0), (2, 3), (4, 4), (1, 5), (6, 2)]
    assert is_plain_loop(Problem.from_coordinates(points, depots=[0], max_routes=1))
    assert not is_plain_loop(Problem.from_coordinates(points, depots=[0]))
    assert not is_plain_loop(
        Problem.from_coordinates(points, depots=[0], max_routes=1, max_length=99)
    )
    assert not is_plain_loop(
        Problem.from_coordinates(points, depots=[0], max_routes=1, open_routes=True)
    )
    assert not is_plain_loop(Problem.from_coordinates(points[:4], depots=[]))


def test_it_is_what_solve_and_a_time_end_with() -> None:
    (problem,) = generate("ATSP", 30)
    start = in_order(problem)
    finished = finisher_of(problem, 5)
    assert finished is not None
    assert finished(start) == shorten(start, seed=5)
    assert search_of(start) is shorten
    # Whoever searches on has the time for it: then plans are polished, which is quick.
    quick = finisher_of(problem, 5, rebuilds=False)
    assert quick is not None
    assert quick(start) != finished(start)
