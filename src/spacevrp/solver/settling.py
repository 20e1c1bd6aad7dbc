"""The referee's last word: the best candidate that keeps every rule, if there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spacevrp.decode import routes_of
from spacevrp.problems.familiar import restore
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.search import Candidate


def settle(
    problem: Problem, candidates: Sequence[Candidate], form: Problem
) -> tuple[Solution | None, str, int]:
    """The first candidate that the referee passes; why it passes none that is whole; the refused.

    Where all candidates are stuck there is no reason yet: the best partial plan tells it.
    ``form`` is the problem as the model saw it (see :mod:`spacevrp.problems.familiar`).
    Where nobody has to be visited, staying at home is a candidate, too: no rollout proposes it.
    """
    solution, reason, refused = _first_passed(problem, candidates, form)
    if problem.depots and np.isfinite(problem.penalty[list(problem.customers)]).all():
        idle = Solution.judged(problem, ())
        if idle.feasible and (solution is None or idle.cost < solution.cost):
            return idle, "", refused
    return solution, reason, refused


def _first_passed(
    problem: Problem, candidates: Sequence[Candidate], form: Problem
) -> tuple[Solution | None, str, int]:
    refused: list[Solution] = []
    for candidate in candidates:
        if candidate.cost == float("inf"):
            break  # the best come first
        routes = restore(problem, routes_of(form, candidate.sequence.tolist()))
        solution = Solution.judged(problem, routes)
        if solution.feasible:
            return solution, "", len(refused)
        refused.append(solution)
    if refused:
        reason = f"the best plan breaks a rule: {refused[0].violations[0].message}"
        return None, reason, len(refused)
    return None, "", 0
