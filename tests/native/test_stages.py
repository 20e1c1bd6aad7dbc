"""An annealing in stages: what it gives is a plan that the referee knows, and never a worse one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import problems

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS
from spacevrp.search import native_model
from spacevrp.search.improve import rank

ITERATIONS = 400
# Stages of a few iterations each, so that there are dozens of children.
STAGED = {"staged": 1.0, "check": 1.0}


def check_stages(problem: Problem, seed: int) -> None:
    native = native_model(problem.as_expected())
    begin = native.model.construct("insertion", seed)
    found = native.model.search(*begin, seed=seed, iterations=ITERATIONS, tuning=STAGED)
    plan = native.solution(found.routes, found.types)
    assert found.iterations in (0, ITERATIONS)  # none where no customer may be moved
    assert rank(plan) <= rank(native.solution(*begin))
    assert plan.cost == pytest.approx(found.cost) or not plan.is_legal
    again = native.model.search(*begin, seed=seed, iterations=ITERATIONS, tuning=STAGED)
    assert (again.routes, again.types) == (found.routes, found.types)


@pytest.mark.parametrize("name", VARIANTS)
def test_stages_of_every_variant(name: str) -> None:
    (problem,) = generate(name, 20, 1, seed=8)
    check_stages(problem, 3)


@settings(max_examples=60)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_stages_of_random_problems(problem: Problem, seed: int) -> None:
    check_stages(problem, seed)


def test_every_plan_told_is_better_than_the_one_before() -> None:
    (problem,) = generate("CVRP", 40, 1, seed=8)
    model = native_model(problem).model
    told: list[float] = []
    begin = model.construct("savings", 0)
    found = model.search(
        *begin,
        iterations=100_000,
        tuning={"staged": 10.0},
        callback=lambda routes, types, cost: told.append(cost),
    )
    noted = [cost for _, _, cost, _ in found.trace]
    for costs in (told, noted):
        assert costs == sorted(costs, reverse=True)
        assert costs[-1] == pytest.approx(found.cost)


def test_few_iterations_are_annealed_once() -> None:
    (problem,) = generate("CVRP", 40, 1, seed=8)
    model = native_model(problem).model
    begin = model.construct("savings", 0)
    one, other = (
        model.search(*begin, iterations=8_000, tuning=tuning).routes
        for tuning in ({}, {"staged": 1e9})
    )
    assert one == other
