"""More customers for a plan that leaves some out, within a time.

Classical solvers are asked for the best plan of a problem in which everybody may be left out, at a
price beyond whatever plans may cost: its best plan serves as many as any can, then costs least, and
is complete if there is a complete one. The plan there is, is one of its plans, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from spacevrp.oracles import SolverOracle
from spacevrp.problems.comparison import better_of
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import InfeasibleError, ProblemError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

# Of what is left, for each solver but the last.
_SHARE = 0.7


def serve_more(
    partial: Solution,
    deadline: Deadline,
    engines: Sequence[SolverOracle],
    seed: int,
    better: Callable[[Solution], object] | None = None,
) -> Solution:
    """The best plan found until the time is up; never a worse one. ``better`` is told of plans.

    A plan is better that leaves out fewer compulsory customers, then that lacks less of a required
    prize, then that costs less.
    """
    problem = partial.plan.problem
    free = all_optional(problem)
    able = [] if free is None else [one for one in engines if one.supports(free) is None]
    best = partial

    def tell(routes: Sequence[Sequence[int]]) -> None:
        if better is not None:
            better(Solution.judged(problem, routes))

    for turn, engine in enumerate(able):
        if deadline.over:
            break
        seconds = deadline.left if turn == len(able) - 1 else _SHARE * deadline.left
        if seconds <= engine.seconds_needed(problem):
            continue
        part = deadline.until(deadline.spent + seconds)
        assert free is not None
        start = best.routes if Solution.judged(free, best.routes).feasible else None
        with (
            suppress(InfeasibleError, UnsupportedError),
            engine.heard(part, found=None if better is None else tell),
        ):
            found = engine.solve(free, seconds, seed, start).solution
            best = better_of(best, Solution.judged(problem, found.routes))
    return best


def all_optional(problem: Problem) -> Problem | None:
    """The problem with a price for everybody who is left out, which no plan's cost comes up to.

    None where that is no problem: where there is no depot to stay at, or costs are prizes.
    """
    if problem.maximise_prize or not problem.depots:
        return None
    penalty = problem.penalty
    finite = np.isfinite(penalty)
    matrix = problem.distances.matrix()
    longest = np.where(np.isfinite(matrix), matrix, 0.0).max(axis=1)  # (N,) the arc on from a node
    # A route has an arc more than customers; each may be driven alone.
    travel = longest.sum() + len(problem.customers) * longest[list(problem.depots)].max()
    vehicles = len(problem.customers) * max(terms.fixed_cost for terms in problem.fleet)
    beyond = float(travel + vehicles + penalty[finite].sum()) + problem.unit
    with suppress(ProblemError):
        return problem.replace(penalty=np.where(finite, penalty, beyond), variant=None)
    return None
