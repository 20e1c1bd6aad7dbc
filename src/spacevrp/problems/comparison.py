"""Which of two plans is better."""

from __future__ import annotations

import math

from spacevrp.problems.solution import Solution


def better_of(first: Solution, second: Solution) -> Solution:
    """The plan that leaves out fewer compulsory customers, then lacks less prize, then costs less.

    The first of equals, and wherever the second breaks a rule.
    """
    return second if second.is_legal and _lack(second) < _lack(first) else first


def _lack(solution: Solution) -> tuple[int, float, float]:
    """What a plan lacks: customers, then prize where there is too little; then what it costs."""
    left_out = sum(violation.code == "visit" for violation in solution.violations)
    short = any(violation.code == "prize" for violation in solution.violations)
    return left_out, -solution.plan.prize if short else -math.inf, solution.cost
