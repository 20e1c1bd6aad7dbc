"""The units of lengths and of times change no plan: each may be what it likes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from spacevrp.decode import rollout, routes_of
from spacevrp.env import Environment, start_nodes
from spacevrp.model import augmentation_seeds
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.solver import Solver
from spacevrp.tensors import stack

CUSTOMERS = 9


@pytest.fixture(scope="module")
def solver() -> Solver:
    return Solver(device="cpu", engine="torch")


def drawn(seed: int, length: float, time: float, since: float = 0.0, **features: Any) -> Problem:
    """Lengths and times in any units, time counted from anywhere."""
    rng = np.random.default_rng(seed)
    points = rng.random((CUSTOMERS + 1, 2))
    ways = np.linalg.norm(points[:, None] - points[None], axis=2)
    ways *= rng.uniform(0.9, 1.1, ways.shape)  # a route and its reverse are no tie
    opening = np.array([0.0, *rng.uniform(0, 1.5, CUSTOMERS)])
    closing = np.array([5.0, *(opening[1:] + rng.uniform(1.5, 2.5, CUSTOMERS))])
    windows = np.stack([opening, closing], axis=1)
    return Problem.from_matrix(
        ways * length,
        durations=ways * rng.uniform(0.9, 1.1) * time,
        windows=windows * time + since,
        service=[0, *(rng.uniform(0, 0.2, CUSTOMERS) * time)],
        max_length=4.0 * length,
        demand=[0, *rng.integers(1, 10, CUSTOMERS).tolist()],
        capacity=25,
        **features,
    )


def plans(solver: Solver, problem: Problem) -> list[list[list[int]]]:
    """What the model constructs from every start."""
    batch = stack([problem])
    environment = Environment(batch)
    with torch.no_grad():
        tables = solver.model(batch, augmentation_seeds(batch, solver.model.config, 1, 0)[:, 0])
    found = rollout(environment, tables, start_nodes(environment, CUSTOMERS))
    assert torch.isfinite(found.cost).all()
    return [routes_of(problem, moves) for moves in found.sequence[0].tolist()]


@settings(max_examples=3, derandomize=True, deadline=None, phases=[Phase.generate])
@given(st.integers(0, 10**6), st.floats(1e-3, 1e5), st.floats(1e-3, 1e5))
def test_no_plan_depends_on_units(solver: Solver, seed: int, length: float, time: float) -> None:
    plain, scaled = drawn(seed, 1.0, 1.0), drawn(seed, length, time)
    expected = plans(solver, plain)
    assert plans(solver, scaled) == expected
    for routes in expected:
        one, other = judge(plain, routes), judge(scaled, routes)
        assert one.feasible
        assert other.feasible
        assert other.cost == pytest.approx(one.cost * length, rel=1e-9)


def test_no_plan_depends_on_when_time_begins(solver: Solver) -> None:
    """A depot that is open since 1970, and windows in our time: still the same plan."""
    time = 3600.0
    plain, since = drawn(5, 1.0, time, since=time), drawn(5, 1.0, time, since=1.6e9)
    assert plans(solver, since) == plans(solver, plain)
    windows = since.windows.copy()
    windows[0] = 0.0, np.inf
    always = since.replace(windows=windows)
    assert always.day_start > 1.5e9
    assert all(judge(always, routes).feasible for routes in plans(solver, always))
