"""One tour whose order is free: what the search finds, next to the best of all orders."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spacevrp import Problem
from spacevrp.search import native_model

CHECK = {"check": 1.0}  # the links of a tour are added up after every kick
Matrix = NDArray[np.float64]


def matrix_of(nodes: int, seed: int, symmetric: bool) -> Matrix:
    """Random distances (N, N) that follow no geometry."""
    distances = np.random.default_rng(seed).integers(1, 100, (nodes, nodes)).astype(float)
    if symmetric:
        distances = np.minimum(distances, distances.T)
    np.fill_diagonal(distances, 0.0)
    return distances


def least_length(distances: Matrix, start: int, end: int | None) -> float:
    """Of all orders of those who are neither start nor end; the way home is free without an end."""
    others = [node for node in range(len(distances)) if node not in (start, end)]
    last = [] if end is None else [end]
    return min(
        sum(distances[a, b] for a, b in pairwise([start, *order, *last]))
        for order in permutations(others)
    )


def tour_length(problem: Problem, seed: int, iterations: int = 2000) -> float:
    native = native_model(problem)
    begin = native.model.construct("insertion", seed)
    found = native.model.search(*begin, seed=seed, iterations=iterations, tuning=CHECK)
    plan = native.solution(found.routes, found.types)
    assert plan.feasible
    assert plan.cost == pytest.approx(found.cost)
    return plan.cost


@settings(max_examples=40, deadline=None)
@given(
    nodes=st.integers(4, 8),
    seed=st.integers(0, 10**6),
    symmetric=st.booleans(),
    way=st.sampled_from(["home", "open", "elsewhere"]),
)
def test_short_tours_are_the_best_of_all_orders(
    nodes: int, seed: int, symmetric: bool, way: str
) -> None:
    distances = matrix_of(nodes, seed, symmetric)
    ends = {"home": (0, {}), "open": (None, {"open_routes": True})}
    vehicle = {"start": 0, "end": nodes - 1}
    elsewhere = nodes - 1, {"vehicles": [vehicle], "depots": [0, nodes - 1]}
    end, features = ends.get(way, elsewhere)
    problem = Problem.from_matrix(distances, **{"max_routes": 1, **features})
    assert tour_length(problem, seed) == pytest.approx(least_length(distances, 0, end))


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_length_of_a_tour_is_that_of_its_links(symmetric: bool) -> None:
    for seed in range(5):
        problem = Problem.from_matrix(matrix_of(60, seed, symmetric), max_routes=1)
        few, many = (tour_length(problem, seed, iterations) for iterations in (0, 3000))
        assert many < few


def test_missing_arcs_are_never_driven() -> None:
    # A ring in one direction, and back by every second node; nothing else may be driven.
    n = 12
    distances = np.full((n, n), np.inf)
    for node in range(n):
        distances[node, node] = 0.0
        distances[node, (node + 1) % n] = 1.0
        distances[node, (node + 3) % n] = 2.5
    problem = Problem.from_matrix(distances, max_routes=1)
    native = native_model(problem)
    ring = [list(range(1, n))]
    found = native.model.search(ring, [0], seed=3, iterations=2000, tuning=CHECK)
    assert found.cost == n
    assert found.routes == ring


def test_one_route_becomes_several_where_that_is_cheaper() -> None:
    # From one customer to another it is far, and home it is near.
    n = 10
    distances = np.full((n, n), 50.0)
    distances[0, :] = distances[:, 0] = 1.0
    np.fill_diagonal(distances, 0.0)
    native = native_model(Problem.from_matrix(distances))
    found = native.model.search([list(range(1, n))], [0], seed=1, iterations=2000)
    assert found.cost == 2.0 * (n - 1)


def test_the_same_seed_gives_the_same_tour() -> None:
    native = native_model(Problem.from_matrix(matrix_of(40, 5, False), max_routes=1))
    begin = native.model.construct("insertion", 0)
    first, second = (native.model.search(*begin, seed=7, iterations=503) for _ in range(2))
    assert first.routes == second.routes
    assert first.iterations == second.iterations == 503
    costs = [cost for _, _, cost, _ in first.trace]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == first.cost
