"""Fleets and policy heads from end to end: every rule kept, and never below the proven optimum."""

from __future__ import annotations

from typing import Any

import pytest
from enumeration import best_plan

from spacevrp.generators import generate
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.solver import Solver

PLACES = [(0, 0), (8, 0), (3, 1), (1, 4), (5, 3), (7, 2), (2, 2)]


def tiny(*vehicles: dict[str, Any], **features: Any) -> Problem:
    """Two depots and five customers, who need 12 in all."""
    given = {"demand": [0, 0, 2, 3, 1, 4, 2], "depots": [0, 1], **features}
    return Problem.from_coordinates(PLACES, vehicles=list(vehicles), **given)


SMALL = {"name": "small", "capacity": 5, "fixed_cost": 1.0, "start": 0}
LARGE = {"name": "large", "capacity": 9, "fixed_cost": 4.0, "start": 1}


@pytest.mark.parametrize(
    ("vehicles", "features"),
    [
        ((SMALL, LARGE), {}),
        ((SMALL, {**LARGE, "end": 0, "count": 1}), {}),
        (({**SMALL, "open_route": True}, {**LARGE, "forbidden": [4, 5]}), {}),
        (
            ({**SMALL, "max_length": 14.0}, {**LARGE, "window": (2, 30)}),
            {"service": [0, 0] + [1] * 5},
        ),
        ((SMALL, {**LARGE, "pinned": [6, 4]}), {}),
        (
            ({**SMALL, "capacity": (5, 2)}, {**LARGE, "capacity": (9, 3)}),
            {"demand": [[0, 0], [0, 0], [2, 1], [3, 1], [1, 1], [4, 1], [2, 1]]},
        ),
    ],
)
def test_plans_are_legal_and_never_beat_the_optimum(solver, vehicles, features):
    """The model is a random one, but tiny instances are searched from everywhere."""
    problem = tiny(*vehicles, **features)
    solution = solver.solve(problem, augment=2, sample=2)
    assert solution.feasible
    proven = best_plan(problem).cost
    assert solution.cost >= proven - 1e-9
    assert solution.cost <= 1.25 * proven


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
