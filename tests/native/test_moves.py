"""Moves: the change of cost that the search predicts, and the rules that it keeps."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import check_moves, faults
from hypothesis import given, settings
from hypothesis import strategies as st
from native_problems import problems, random_plan

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS
from spacevrp.search import native_model
from spacevrp.search.model import Native, Plan


def some_plans(native: Native, seed: int) -> list[Plan]:
    """Plans that keep the rules: constructed, searched, and by chance."""
    model, rng = native.model, np.random.default_rng(seed)
    plans = [model.construct("insertion", seed), random_plan(native.problem, rng)]
    found = model.search(*plans[0], seed=seed, iterations=20)
    plans.append((found.routes, found.types))
    # A part of a good plan, so that there are customers to insert.
    plans.append((found.routes[1:], found.types[1:]))
    return [plan for plan in plans if not faults(native.solution(*plan))]


@pytest.mark.parametrize("name", VARIANTS)
def test_moves_of_every_variant(name: str) -> None:
    (problem,) = generate(name, 12, 1, seed=4)
    native = native_model(problem.as_expected())
    names: set[str] = set()
    for seed, plan in enumerate(some_plans(native, 1)):
        names |= check_moves(native, plan, seed, 40)
    assert names


@settings(max_examples=80)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_moves_of_random_problems(problem: Problem, seed: int) -> None:
    native = native_model(problem)
    for plan in some_plans(native, seed):
        check_moves(native, plan, seed, 20)


@pytest.mark.slow
@settings(max_examples=3000)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_moves_of_many_random_problems(problem: Problem, seed: int) -> None:
    test_moves_of_random_problems.hypothesis.inner_test(problem, seed)


def test_every_kind_of_move_is_sampled() -> None:
    """With 40 customers and room in the vehicles there is a legal move of each kind."""
    names: set[str] = set()
    for variant in ("CVRP", "ACVRP", "PDCVRP", "PCTSP"):
        (problem,) = generate(variant, 40, 1, seed=2)
        native = native_model(problem)
        for seed, plan in enumerate(some_plans(native, 3)):
            names |= check_moves(native, plan, seed, 200)
    assert len(names) >= 6, names
