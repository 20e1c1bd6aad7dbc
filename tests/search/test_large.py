"""Large problems: divided among threads, with the same plan on any number of them."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import compare, faults

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.search import Stop, improve, native_model
from spacevrp.search import model as search_model

# Customers; the search divides plans from 800 on.
SIZE = 820


def fleet() -> Problem:
    """Few vehicles of three types, with skills, a pin and windows."""
    rng = np.random.default_rng(3)
    size = SIZE + 2
    loads = np.where(np.arange(size) < 2, 0, rng.integers(1, 10, size))
    opening = np.where(np.arange(size) < 2, 0, rng.integers(0, 300, size))
    windows = np.stack([opening, np.where(np.arange(size) < 2, 900, opening + 250)], axis=1)
    return Problem.from_coordinates(
        rng.integers(0, 100, (size, 2)),
        depots=[0, 1],
        demand=loads,
        windows=windows,
        service=np.where(np.arange(size) < 2, 0, 2.0),
        vehicles=[
            {"name": "van", "count": 30, "capacity": 150, "start": 0, "fixed_cost": 50.0},
            {"name": "lorry", "capacity": 300, "start": 1, "end": 0, "forbidden": [9, 10, 11]},
            {"name": "first", "count": 1, "capacity": 150, "start": 1, "pinned": [5, 6]},
        ],
        allow_unservable=True,
    )


@pytest.mark.parametrize("name", ["CVRP", "MDOCVRPBLTW"])
def test_the_same_plan_on_any_number_of_threads(name: str) -> None:
    (problem,) = generate(name, SIZE, 1, seed=1)
    native = native_model(problem)
    start = native.model.construct("insertion", 1)
    before = compare(native, start)
    plans = set()
    for threads in (1, 2, 4):
        found = native.model.search(*start, seed=3, iterations=1200, threads=threads)
        plans.add((tuple(map(tuple, found.routes)), tuple(found.types)))
    assert len(plans) == 1
    (other,) = improve(
        [problem], [native.solution(*start)], stop=Stop(iterations=1200), seed=3, threads=2
    )
    assert plans == {native_plan(native, other)}
    assert other.feasible
    assert other.cost < before.cost
    # Alone and among others.
    both = improve([problem] * 2, [before] * 2, stop=Stop(iterations=1200), seed=3, threads=2)
    assert plans == {native_plan(native, plan) for plan in both}


def native_plan(native: search_model.Native, plan: search_model.Solution) -> tuple:
    routes, types = native.start_of(plan)
    return tuple(map(tuple, routes)), tuple(types)


def test_a_large_fleet_keeps_its_rules() -> None:
    problem = fleet()
    native = native_model(problem)
    start = native.model.construct("insertion", 1)
    before = compare(native, start)
    assert not faults(before)
    for threads in (1, 2):
        found = native.model.search(*start, seed=1, iterations=2000, threads=threads)
        after = compare(native, (found.routes, found.types))
        assert not faults(after)
        assert len(after.violations) <= len(before.violations)
        assert found.cost == pytest.approx(after.cost)


def test_coordinates_give_the_plan_that_a_matrix_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """The costs at least: the near neighbours may differ."""
    (problem,) = generate("CVRP", 300, 1, seed=1)
    matrix = native_model(problem)
    monkeypatch.setattr(search_model, "MATRIX_NODES", 100)
    points = native_model(problem)
    found = points.model.search(*points.model.construct("savings", 1), seed=1, iterations=500)
    plan = found.routes, found.types
    assert compare(points, plan).feasible
    cost = matrix.model.evaluate(*plan)["cost"]
    assert found.cost == pytest.approx(cost)


def test_nothing_to_move_ends_the_search() -> None:
    """Every customer is pinned to one vehicle."""
    rng = np.random.default_rng(1)
    pinned = list(range(1, SIZE + 1))
    problem = Problem.from_coordinates(
        rng.random((SIZE + 1, 2)), vehicles=[{"count": 1, "pinned": pinned}]
    )
    (found,) = improve([problem], [None], stop=Stop(iterations=1000))
    assert found.feasible
    (found,) = improve([problem], [None], stop=Stop(no_gain=1000))
    assert found.feasible
