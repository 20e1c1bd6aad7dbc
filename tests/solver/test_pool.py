"""The best plans so far: which of two is kept."""

from __future__ import annotations

from spacevrp.problems.deadline import Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.pool import Pool

# Three customers on a line: 1, 2 and 3 from the depot.
LINE = Problem.from_coordinates([(0, 0), (1, 0), (2, 0), (3, 0)], demand=[0, 1, 1, 1], capacity=3)


def judged(*routes: list[int]) -> Solution:
    return Solution.judged(LINE, routes)


def test_fewest_left_out_first_then_cheapest() -> None:
    told: list[Solution] = []
    plans = Pool([LINE], Deadline(), told.append)
    dear, cheap = judged([0, 1, 0], [0, 2, 3, 0]), judged([0, 1, 2, 3, 0])  # 2 + 6, and 6
    some = judged([0, 1, 2, 0])  # 4, and customer 3 is left out
    assert plans.offer(0, some)
    assert plans.offer(0, dear)
    assert not plans.offer(0, some)
    assert plans.offer(0, cheap)
    assert not plans.offer(0, dear)
    assert plans.of(0) is cheap
    assert plans.complete(0)
    assert told == [some, dear, cheap]


def test_plans_that_reveal_prizes_are_compared_by_what_was_expected() -> None:
    """The cheaper plan in hindsight was the dearer one when it was chosen."""
    plans = Pool([LINE], Deadline())
    dear, cheap = judged([0, 1, 0], [0, 2, 3, 0]), judged([0, 1, 2, 3, 0])  # 8 and 6
    assert plans.offer(0, dear, 5.0)
    assert not plans.offer(0, cheap, 5.5)
    assert not plans.offer(0, cheap)
    assert plans.offer(0, cheap, 4.5)
    assert not plans.offer(0, dear, 4.6)


def test_every_problem_has_a_plan_in_the_end() -> None:
    """At the worst the empty one."""
    plans = Pool([LINE, LINE], Deadline())
    assert not plans.any
    plans.offer(1, judged([0, 1, 2, 0]))
    assert plans.any
    assert plans.cost(range(2)) is None  # neither is complete
    assert [plan.routes for plan in plans.finish()] == [(), ((0, 1, 2, 0),)]


def test_a_plan_that_breaks_a_rule_is_never_kept() -> None:
    plans = Pool([LINE], Deadline())
    assert not plans.offer(0, judged([0, 1, 1, 2, 3, 0]))
    assert plans.of(0) is None


def test_others_are_the_cheapest_that_differ_in_cost() -> None:
    plans = Pool([LINE], Deadline())
    cheap = judged([0, 1, 2, 3, 0])  # 6
    plans.keep(0, [judged([0, 1, 0], [0, 2, 3, 0]), cheap])  # 8
    plans.keep(0, [judged([0, 1, 2, 0], [0, 3, 0]), judged([0, 1, 1, 2, 3, 0])])  # 10, infeasible
    plans.keep(0, [judged([0, 3, 2, 0], [0, 1, 0])])  # 8 again
    plans.offer(0, cheap)
    assert [plan.cost for plan in plans.others(0)] == [8.0, 10.0]
