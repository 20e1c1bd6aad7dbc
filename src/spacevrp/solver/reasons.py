"""Why no complete plan was found, in a line: who is left out of the best partial one, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.explanation.reasons import Unserved, explain_unserved
from spacevrp.problems.plan_text import count
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

# A message names this many nodes, and says how many more there are.
_MOST_NAMED = 5


def explain(
    partial: Solution, deadline: Deadline = NEVER, known: Sequence[Unserved] | None = None
) -> str:
    """The reasons, from the data and from the best partial plan; empty where no customer is missed.

    ``known`` are the reasons of single customers where these were found before.
    """
    problem = partial.plan.problem
    left = [violation for violation in partial.violations if violation.code == "visit"]
    if not left:
        return "; ".join(violation.message for violation in partial.violations)
    reasons = fleet_too_small(problem)
    if not reasons:
        # Those first whose reasons are known.
        named = known and sorted(known, key=lambda one: one.code == "unexplained")[:_MOST_NAMED]
        if named is None:
            named = explain_unserved(problem, partial.routes, _MOST_NAMED, deadline=deadline)
        reasons = list(dict.fromkeys(one.message for one in named if one.code != "unexplained"))
        if not reasons:
            reasons = ["the time was up before the reasons were found"]
        elif len(left) > len(named):
            reasons.append(f"and so on for {len(left) - len(named)} more")
    noun = "node" if not problem.depots else "customer"
    total = len(problem.customers)
    head = f"{len(left)} of {count(total, noun)} left out"
    return f"{head}: {'; '.join(reasons)}"


def tell(
    partial: Solution,
    reason: str = "",
    deadline: Deadline = NEVER,
    known: Sequence[Unserved] | None = None,
) -> str:
    """The same with the name of the instance, and what else is known."""
    name = partial.plan.problem.name
    label = f"{name!r}, " if name else ""
    return label + "; ".join(filter(None, (reason, explain(partial, deadline, known))))


def fleet_too_small(problem: Problem) -> list[str]:
    """Why no fleet of that size can carry everything, whatever the routes; empty if it may."""
    if problem.max_routes is None or problem.pairs or not np.isfinite(problem.capacity):
        return []
    compulsory = np.array([n for n in problem.customers if np.isinf(problem.penalty[n])], dtype=int)
    demand = problem.demand[compulsory]
    room = problem.max_routes * problem.capacity
    reasons = []
    for what, amount in (
        ("deliveries", float(demand[demand > 0].sum())),
        ("pickups", float(-demand[demand < 0].sum())),
    ):
        if amount > room + problem.load_tolerance:
            fleet = count(problem.max_routes, "vehicle")
            reasons.append(
                f"the fleet is too small: {what} amount to {amount:g}, {fleet} of capacity "
                f"{problem.capacity:g} carry {room:g}"
            )
    return reasons
