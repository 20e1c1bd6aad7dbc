"""Which of two plans is better."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spacevrp.problems.explanation import is_missing_visit
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation
from spacevrp.problems.solution import Solution


def better_of(first: Solution, second: Solution) -> Solution:
    """The plan that leaves out fewer compulsory customers, then lacks less prize, then costs less.

    Where customers have priorities, first the one that leaves out less of their sum; where the cost
    is not the objective, the objective in its place. The first of equals, and wherever the second
    breaks a rule.
    """
    return second if second.is_legal and _lack(second) < _lack(first) else first


def _lack(solution: Solution) -> tuple[float, ...]:
    """What a plan lacks: customers, then prize where there is too little; then what it costs."""
    left_out = sum(violation.code in ("visit", "group") for violation in solution.violations)
    short = any(violation.code == "prize" for violation in solution.violations)
    lost = lost_priority(solution.problem, solution.violations)
    return lost, left_out, -solution.plan.prize if short else -math.inf, *worth(solution)


def worth(solution: Solution) -> tuple[float, ...]:
    """What is compared of plans that leave out as much: the objective, then the cost."""
    if solution.problem is None or solution.problem.objective.is_cost:
        return (solution.cost,)
    return (*solution.objective, solution.cost)


def lost_priority(problem: Problem | None, violations: Sequence[Violation]) -> float:
    """The sum of the priorities of those left out; of a group, the highest of its members."""
    if problem is None or problem.priority is None:
        return 0.0
    lost = 0.0
    nodes_of = {group.nodes[0]: list(group.nodes) for group in problem.groups}
    for violation in violations:
        if violation.code != "pin" and is_missing_visit(violation) and violation.node is not None:
            lost += float(problem.priority[nodes_of.get(violation.node, [violation.node])].max())
    return lost
