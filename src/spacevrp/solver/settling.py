"""The referee's last word: the best candidate that keeps every rule, if there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spacevrp.decode import routes_of
from spacevrp.inference.construct import Candidate
from spacevrp.problems.problem import Problem
from spacevrp.problems.readings import Reading
from spacevrp.problems.solution import Solution


def settle(
    problem: Problem, candidates: Sequence[Candidate], reading: Reading
) -> tuple[Solution | None, str, int]:
    """The best candidate that the referee passes; why it passes none that is whole; the refused.

    Where all candidates are stuck there is no reason yet: the best partial plan tells it.
    ``reading`` is the problem as the model saw it.
    Where nobody has to be visited, staying at home is a candidate, too: no rollout proposes it.
    """
    solution, reason, refused = _best_passed(problem, candidates, reading)
    if problem.depots and np.isfinite(problem.penalty[list(problem.customers)]).all():
        idle = Solution.judged(problem, ())
        if idle.feasible and (solution is None or idle.cost < solution.cost):
            return idle, "", refused
    return solution, reason, refused


def _best_passed(
    problem: Problem, candidates: Sequence[Candidate], reading: Reading
) -> tuple[Solution | None, str, int]:
    passed: list[Solution] = []
    refused: list[Solution] = []
    for candidate in candidates:
        if candidate.cost == float("inf"):
            break  # the best come first
        routes = routes_of(reading.problem, candidate.sequence.tolist())
        solution = Solution.judged(problem, reading.bring_back(routes))
        (passed if solution.feasible else refused).append(solution)
        if passed and reading.exact:
            break
    # Where the model saw another problem, to be refused is no surprise.
    surprises = len(refused) if reading.exact else 0
    if passed:
        return min(passed, key=lambda solution: solution.cost), "", surprises
    if refused:
        reason = f"the best plan breaks a rule: {refused[0].violations[0].message}"
        return None, reason, surprises
    return None, "", 0
