"""The approximate search for a minimum prize: always feasible, never better than the optimum."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spacevrp.generators import generate
from spacevrp.oracles import SolverOracle
from spacevrp.oracles.pyvrp import PrizeSearchOracle
from spacevrp.problems.problem import Problem


@pytest.mark.parametrize("variant", ["PCTSP", "APCTSP"])
def test_feasible_and_sometimes_optimal(variant, optimum, make_tiny_oracle):
    make_tiny_oracle("pyvrp")
    oracle = PrizeSearchOracle(iterations=200)
    gaps = []
    for problem in generate(variant, 5, 4, seed=11):
        result = oracle.solve(problem, 60.0)
        assert result.solution.feasible
        assert "approximate" in result.note
        best = optimum(problem)
        gaps.append(result.solution.cost / best - 1)
    # With five customers the optimum is often between two values of the worth, out of reach.
    assert min(gaps) == pytest.approx(0.0, abs=1e-9)


def test_a_threshold_that_does_not_bind(make_tiny_oracle: Callable[[str], SolverOracle]) -> None:
    make_tiny_oracle("pyvrp")
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (9, 0), (0, 2)],
        prize=[0, 1, 1, 1],
        penalty=[0, 5, 5, 5],
        min_prize=1.5,
        max_routes=1,
    )
    result = PrizeSearchOracle(iterations=100).solve(problem, 60.0)
    # 1 + sqrt(5) + 2 around the near ones, and the penalty of the far one.
    assert result.solution.cost == pytest.approx(1 + 5**0.5 + 2 + 5)
