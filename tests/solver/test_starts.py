"""The solver of the public face without a time: told on the way, and begun from a plan."""

from __future__ import annotations

import pytest
import torch

import spacevrp
from spacevrp.generators import generate
from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.problems.errors import SolutionError
from spacevrp.problems.solution import Solution


@pytest.fixture(scope="module")
def solver() -> spacevrp.Solver:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = SpaceModel(ModelConfig(width=16, layers=1, feedforward=16, pivots=2, rank=2))
    return spacevrp.Solver(model, "cpu")


def test_every_new_best_plan_is_told(solver: spacevrp.Solver) -> None:
    (problem,) = generate("CVRP", 12, 1)
    told: list[Solution] = []
    plan = solver.solve(problem, augment=2, callback=told.append)
    costs = [one.cost for one in told]
    assert costs == sorted(costs, reverse=True)
    assert told[-1] == plan == solver.solve(problem, augment=2)


def test_the_result_is_never_worse_than_the_start(solver: spacevrp.Solver) -> None:
    (problem,) = generate("CVRP", 12, 1)
    good = solver.solve(problem, augment=4)
    again = solver.solve(problem, augment=1, improve=False, start=good.routes)
    assert again.cost <= good.cost
    first, second = solver.solve([problem] * 2, augment=1, improve=False, start=[good, None])
    assert first.cost <= good.cost
    assert second.feasible
    with pytest.raises(SolutionError, match=r"^start: expected a feasible plan"):
        solver.solve(problem, start=[(0, 1, 0)])


def test_a_callback_may_stop_it(solver: spacevrp.Solver) -> None:
    """Each problem has a legal plan all the same."""

    def stop(plan: Solution) -> None:
        raise StopIteration

    plans = solver.solve(generate("CVRP", 12, 3), augment=1, callback=stop, partial=True)
    assert [plan.is_legal for plan in plans] == [True] * 3
    assert any(plan.feasible for plan in plans)
