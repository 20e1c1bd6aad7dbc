"""The referee's last word: the best candidate that keeps every rule, if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from spacevrp.arrays.routes import routes_of
from spacevrp.inference.construct import Candidate
from spacevrp.problems.canonical import Routes, restore
from spacevrp.problems.judging import judge_all
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

# A problem, its candidates, and the form in which the network saw it.
Case = tuple[Problem, Sequence[Candidate], Problem]
# Costs that agree to so many digits are of the same plan, driven in another order.
_DIGITS = 9
# The best candidate that the referee passes; why it passes none that is whole; the refused.
Selected = tuple[Solution | None, str, int]


def select(problem: Problem, candidates: Sequence[Candidate], form: Problem) -> Selected:
    """The best candidate that the referee passes; why it passes none that is whole; the refused.

    Where all candidates are stuck there is no reason yet: the best partial plan tells it.
    ``form`` is the problem as the network saw it: plans cost the same there.
    Where all customers are optional, no route at all is a candidate, too: no rollout proposes it.
    """
    return select_all([(problem, candidates, form)])[0]


def select_all(cases: Sequence[Case]) -> list[Selected]:
    """The same for several problems with their candidates, whose plans are judged together."""
    # The best come first, the stuck ones last.
    whole = [list(takewhile(_is_whole, candidates)) for _, candidates, _ in cases]
    # If the first of them passes, it is the best.
    rows = [row for row, some in enumerate(whole) if some]
    plans = [_routes(whole[row][0], *cases[row][::2]) for row in rows]
    optional = [row for row, (problem, _, _) in enumerate(cases) if _may_rest(problem)]
    judged = judge_all(
        [cases[row][0] for row in (*rows, *optional)], [*plans, *[()] * len(optional)]
    )
    verdicts: list[list[Solution]] = [[] for _ in cases]
    for row, solution in zip(rows, judged, strict=False):
        verdicts[row].append(solution)
    idle = dict(zip(optional, judged[len(rows) :], strict=True))
    for row, (problem, _, form) in enumerate(cases):
        for candidate in whole[row][1:]:
            if verdicts[row][-1].feasible:
                break
            verdicts[row].append(Solution.judged(problem, _routes(candidate, problem, form)))
    return [_chosen(some, idle.get(row)) for row, some in enumerate(verdicts)]


def others_of(cases: Sequence[Case], most: int) -> list[list[Solution]]:
    """Of each case the best candidates that differ in cost, refereed.

    By the compiled referee, where there is one: only a search sees them.
    """
    several = [
        list({round(one.cost, _DIGITS): one for one in takewhile(_is_whole, candidates)}.values())
        for _, candidates, _ in cases
    ]
    rows = [row for row, some in enumerate(several) for _ in some[:most]]
    plans = [
        _routes(one, problem, form)
        for (problem, _, form), some in zip(cases, several, strict=True)
        for one in some[:most]
    ]
    judged = judge_all([cases[row][0] for row in rows], plans, few=0)
    found: list[list[Solution]] = [[] for _ in cases]
    for row, solution in zip(rows, judged, strict=True):
        found[row].append(solution)
    return found


def _chosen(judged: Sequence[Solution], idle: Solution | None) -> Selected:
    refused = [one for one in judged if not one.feasible]
    best = next((one for one in judged if one.feasible), None)
    if idle is not None and idle.feasible and (best is None or idle.cost < best.cost):
        return idle, "", len(refused)
    if best is not None or not refused:
        return best, "", len(refused)
    return None, f"the best plan breaks a rule: {refused[0].violations[0].message}", len(refused)


def _is_whole(candidate: Candidate) -> bool:
    return candidate.cost != float("inf")


def _routes(candidate: Candidate, problem: Problem, form: Problem) -> Routes:
    routes = routes_of(form, candidate.sequence.tolist())
    return routes if form is problem else restore(problem, routes)


def _may_rest(problem: Problem) -> bool:
    """Whether there are vehicles, and no customer has to be visited."""
    return bool(problem.depots and np.isfinite(problem.penalty[list(problem.customers)]).all())
