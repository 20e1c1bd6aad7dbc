"""The referee's last word: the best candidate that keeps every rule, if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from spacevrp.arrays.routes import routes_of
from spacevrp.inference.construct import Candidate
from spacevrp.problems.judging import judge_all
from spacevrp.problems.problem import Problem
from spacevrp.problems.reductions import Reduction, Routes
from spacevrp.problems.solution import Solution

# The best candidate that the referee passes; why it passes none that is whole; the refused.
Selected = tuple[Solution | None, str, int]


def select(problem: Problem, candidates: Sequence[Candidate], reduction: Reduction) -> Selected:
    """The best candidate that the referee passes; why it passes none that is whole; the refused.

    Where all candidates are stuck there is no reason yet: the best partial plan tells it.
    ``reduction`` is the problem as the model saw it.
    Where all customers are optional, no route at all is a candidate, too: no rollout proposes it.
    """
    return select_all([(problem, candidates, reduction)])[0]


def select_all(cases: Sequence[tuple[Problem, Sequence[Candidate], Reduction]]) -> list[Selected]:
    """The same for several problems with their candidates, whose plans are judged together."""
    # The best come first, the stuck ones last.
    whole = [list(takewhile(_is_whole, candidates)) for _, candidates, _ in cases]
    rows, plans = list[int](), list[Routes]()
    for row, (some, (_, _, reduction)) in enumerate(zip(whole, cases, strict=True)):
        # An exact reduction tells what plans cost: if the first of them passes, it is the best.
        for candidate in some[:1] if reduction.exact else some:
            rows.append(row)
            plans.append(_routes(candidate, reduction))
    optional = [row for row, (problem, _, _) in enumerate(cases) if _may_rest(problem)]
    judged = judge_all(
        [cases[row][0] for row in (*rows, *optional)], [*plans, *[()] * len(optional)]
    )
    verdicts: list[list[Solution]] = [[] for _ in cases]
    for row, solution in zip(rows, judged, strict=False):
        verdicts[row].append(solution)
    idle = dict(zip(optional, judged[len(rows) :], strict=True))
    for row, (problem, _, reduction) in enumerate(cases):
        for candidate in whole[row][len(verdicts[row]) :]:  # of an exact reduction, after the first
            if any(one.feasible for one in verdicts[row]):
                break
            verdicts[row].append(Solution.judged(problem, _routes(candidate, reduction)))
    return [
        _chosen(verdicts[row], reduction, idle.get(row))
        for row, (_, _, reduction) in enumerate(cases)
    ]


def _chosen(judged: Sequence[Solution], reduction: Reduction, idle: Solution | None) -> Selected:
    passed = [one for one in judged if one.feasible]
    refused = [one for one in judged if not one.feasible]
    # Where the model saw another problem, to be refused is no surprise.
    surprises = len(refused) if reduction.exact else 0
    best = min(passed, key=lambda solution: solution.cost, default=None)
    if idle is not None and idle.feasible and (best is None or idle.cost < best.cost):
        return idle, "", surprises
    if best is not None or not refused:
        return best, "", surprises
    reason = f"the best plan breaks a rule: {refused[0].violations[0].message}"
    return None, reason, surprises


def _is_whole(candidate: Candidate) -> bool:
    return candidate.cost != float("inf")


def _routes(candidate: Candidate, reduction: Reduction) -> Routes:
    return reduction.map_back(routes_of(reduction.problem, candidate.sequence.tolist()))


def _may_rest(problem: Problem) -> bool:
    """Whether there are vehicles, and no customer has to be visited."""
    return bool(problem.depots and np.isfinite(problem.penalty[list(problem.customers)]).all())
