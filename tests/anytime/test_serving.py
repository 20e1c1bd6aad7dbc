"""Serving more: as many as can be, then at the least cost; never a worse plan."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spacevrp.anytime.serving import all_optional, serve_more
from spacevrp.oracles.pyvrp import PyVrpOracle
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import InfeasibleError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

from .conftest import Clock, FakeEngine

Build = Callable[..., Problem]


def test_the_price_of_leaving_out_is_beyond_what_plans_cost(four_customers: Build) -> None:
    problem = four_customers(
        penalty=[0, 2, math.inf, math.inf, 7], vehicles=[{"fixed_cost": 5}, {"fixed_cost": 1}]
    )
    free = all_optional(problem)
    assert free is not None
    assert free.penalty[[1, 4]].tolist() == [2, 7]
    price = free.penalty[2]
    assert np.isfinite(price)
    dearest = Solution.judged(problem, [(0, n, 0) for n in (2, 3)], [0, 0])
    assert dearest.feasible
    assert price > dearest.cost
    assert Solution.judged(free, ()).cost == pytest.approx(9 + 2 * price)
    assert all_optional(four_customers(depots=())) is None


def test_more_served_is_better_whatever_it_costs(four_customers: Build, clock: Clock) -> None:
    """An engine may hand over plans that leave somebody out; the one that serves most counts."""
    problem = four_customers()
    start = Solution.judged(problem, [(0, 1, 0)])
    few, many, none = ([(0, 1, 2, 0)], [(0, 4, 1, 2, 0)], InfeasibleError("none"))

    def served(*found: Any) -> Solution:
        engines = [FakeEngine(one, clock) for one in found]
        return serve_more(start, Deadline(9.0, clock), engines, 0)

    assert served(few).routes == ((0, 1, 2, 0),)
    assert served(many, few).routes == ((0, 4, 1, 2, 0),)
    assert served([]) is start
    assert served(none) is start
    assert served(none, few).routes == ((0, 1, 2, 0),)


def test_the_last_engine_has_what_the_others_leave(four_customers: Build, clock: Clock) -> None:
    start = Solution.judged(four_customers(), [(0, 1, 0)])
    engines = [FakeEngine([(0, 2, 0)], clock), FakeEngine([(0, 3, 0)], clock)]
    serve_more(start, Deadline(10.0, clock), engines, 4)
    asked = [engine.asked[0] for engine in engines]
    assert [seconds for seconds, *_ in asked] == pytest.approx([7.0, 3.0])
    assert clock.now == pytest.approx(110.0)
    assert asked[0][1:] == (4, ((0, 1, 0),))


@pytest.mark.skipif(not PyVrpOracle.is_installed(), reason="oracles are an extra")
def test_all_are_served_where_that_is_possible() -> None:
    """Two vehicles, loads of 2, 2 and 3, 3 for capacities of 5: only 2 with 3 will do."""
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (1, 1), (-1, 0), (-1, 1)],
        demand=[0, 2, 2, 3, 3],
        capacity=5,
        max_routes=2,
    )
    start = Solution.judged(problem, [(0, 1, 2, 0), (0, 3, 0)])  # no room for 4
    assert start.partial
    found = serve_more(start, Deadline(0.5), [PyVrpOracle(iterations=200)], 0)
    assert found.feasible
    # 1 with 3: 1 + 2 + 1, and 2 with 4: twice the diagonal and 2.
    assert found.cost == pytest.approx(6 + 2 * math.sqrt(2))
