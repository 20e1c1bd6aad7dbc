"""A long search that begins with several plans: never worse than the first, and repeatable."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import problems

from spacevrp import Solution, native
from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.search import Stop, improve, native_model
from spacevrp.search.improve import rank

ITERATIONS = 300
STAGED = {"staged": 1.0, "check": 1.0}
NO_PLAN = ([[10**6, -3], [1, 1]], [0, 99])


@settings(max_examples=60)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_never_worse_than_the_first(problem: Problem, seed: int) -> None:
    one = native_model(problem.as_expected())
    first, *others = (one.model.construct("insertion", seed + more) for more in range(3))

    def found() -> tuple[list[list[int]], list[int]]:
        run = one.model.search(
            *first, seed=seed, iterations=ITERATIONS, tuning=STAGED, others=[*others, NO_PLAN]
        )
        return run.routes, run.types

    plan = one.solution(*found())
    assert rank(plan) <= rank(one.solution(*first))
    assert found() == found()


def test_plans_for_each_of_many() -> None:
    assert native.core is not None
    models = [native_model(problem).model for problem in generate("CVRP", 30, 2, seed=4)]
    starts = [model.construct("savings", 0) for model in models]
    others = [[model.construct("insertion", seed) for seed in range(3)] for model in models]
    limits = {"iterations": 3_000, "tuning": {"staged": 10.0}}
    alone = [
        model.search(*start, seed=1, others=more, **limits).routes
        for model, start, more in zip(models, starts, others, strict=True)
    ]
    together = native.core.search_many(
        models, starts, seeds=[1, 1], threads=2, others=others, **limits
    )
    assert [run.routes for run in together] == alone
    assert alone[0] != models[0].search(*starts[0], seed=1, **limits).routes
    with pytest.raises(ValueError, match="others: expected plans for each of the models"):
        native.core.search_many(models, starts, seeds=[1, 1], others=others[:1], **limits)


def test_of_several_plans_the_best_is_improved() -> None:
    (problem,) = generate("CVRP", 12, 1, seed=5)
    (good,) = improve([problem], [None], stop=Stop(iterations=500))
    bad = Solution.judged(problem, [[0, customer, 0] for customer in range(1, 13)])
    (same,) = improve([problem], [[bad, good]], stop=Stop(iterations=0))
    assert same.routes == good.routes
