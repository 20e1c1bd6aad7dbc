"""Policy heads, through the solver: every path, and what stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from spacevrp.generators import generate
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.solver import Solver

# What is looked at here is the network. What a random model wants is mostly what is near.
ALONE: dict[str, Any] = {"search": False}
BASE: dict[str, Any] = {**ALONE, "policy_heads": 0}
HEADS: dict[str, Any] = {**ALONE, "policy_heads": 50}


def fleets() -> list[Problem]:
    plain = generate("CVRP", 12, 4)
    vehicles = [Vehicle(count=3, capacity=30), Vehicle(count=6, capacity=20)]
    return [problem.replace(vehicles=vehicles, variant=None) for problem in plain]


SETS: dict[str, tuple[list[Problem], dict[str, Any]]] = {
    "usual": (generate("CVRP", 30, 4), {"starts": 1}),
    "large": (generate("OCVRPTW", 15, 4), {"candidates": 5}),
    "fleets": (fleets(), {}),
}


@pytest.mark.parametrize("name", ["usual", "large", pytest.param("fleets", marks=pytest.mark.slow)])
def test_other_augmentations_find_other_plans_and_the_first_is_as_it_was(solver, name):
    problems, options = SETS[name]
    first = solver.solve(problems, augment=1, **options, **HEADS)
    assert first == solver.solve(problems, augment=1, **options, **BASE)
    plans = solver.solve(problems, augment=6, **options, **HEADS)
    assert plans != solver.solve(problems, augment=6, **options, **BASE)
    for plan, before in zip(plans, first, strict=True):
        assert plan.feasible
        assert plan.cost <= before.cost


@pytest.mark.slow
def test_augmentations_are_the_same_however_the_work_is_cut(solver: Solver) -> None:
    problems, options = SETS["usual"]
    options = {"augment": 6, **options, **HEADS}
    together = solver.solve(problems, **options)
    assert solver.solve(problems, batch_memory=1, **options) == together
    assert [solver.solve(problem, **options) for problem in problems] == together


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), "far"])
def test_their_strength_is_checked(solver: Solver, value: Any) -> None:
    with pytest.raises(SpacevrpError, match="policy_heads: expected a number"):
        solver.solve(SETS["usual"][0], policy_heads=value)
