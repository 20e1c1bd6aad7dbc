"""Why no complete plan was found: which customers are left over, and what stands in their way."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge

# A message names this many nodes, and says how many more there are.
_MOST_NAMED = 5


def explain(problem: Problem, served: Iterable[int]) -> str:
    """The reasons, from the data and from the attempt that served the most customers."""
    reached = set(served)
    left = [
        node
        for node in problem.customers
        if node not in reached and np.isinf(problem.penalty[node])
    ]
    reasons = _unservable(problem, left) + fleet_too_small(problem)
    if not reasons and left:
        reasons = [_left_over(problem, left)]
    if not reasons:
        reasons = _too_little_prize(problem, reached)
    if not reasons and not problem.depots:
        reasons = ["the tour cannot be closed over the arcs there are"]
    return "; ".join(reasons) or "every attempt came to a dead end"


def _unservable(problem: Problem, left: list[int]) -> list[str]:
    """Customers (with their partners) that the referee refuses on a route of their own."""
    if not problem.depots:
        return []
    couple = {node: pair for pair in problem.pairs for node in pair}
    faults: dict[tuple[int, ...], str] = {}
    for node in left:
        stops = couple.get(node, (node,))
        if stops not in faults:
            fault = _fault_alone(problem, stops)
            if fault is not None:
                faults[stops] = fault
    reasons = [
        f"{_name(stops)} cannot be served alone (that route {fault})"
        for stops, fault in list(faults.items())[:_MOST_NAMED]
    ]
    if len(faults) > _MOST_NAMED:
        reasons.append(f"so it is with {len(faults) - _MOST_NAMED} more")
    return reasons


def _fault_alone(problem: Problem, stops: tuple[int, ...]) -> str | None:
    """What is wrong with serving these stops alone, or None if some depot can."""
    fault = None
    for depot in problem.depots:
        route = (depot, *stops) if problem.open_routes else (depot, *stops, depot)
        broken = [v.message for v in judge(problem, [route]).violations if v.route == 1]
        if not broken:
            return None
        fault = fault or broken[0].removeprefix("route 1 ")
    return fault


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
            fleet = _count(problem.max_routes, "vehicle")
            reasons.append(
                f"the fleet is too small: {what} amount to {amount:g}, {fleet} of capacity "
                f"{problem.capacity:g} carry {room:g}"
            )
    return reasons


def _left_over(problem: Problem, left: list[int]) -> str:
    named = ", ".join(map(str, left[:_MOST_NAMED]))
    if len(left) > _MOST_NAMED:
        named += f" and {len(left) - _MOST_NAMED} more"
    noun = "node" if not problem.depots else "customer"
    text = f"{noun if len(left) == 1 else noun + 's'} {named} left over in the best attempt"
    if problem.max_routes is not None and problem.depots:
        return f"{text}, with {_count(problem.max_routes, 'vehicle')} in all"
    if problem.distances.has_missing_arcs:
        return f"{text}, no arc leads on to them"
    return text


def _too_little_prize(problem: Problem, reached: set[int]) -> list[str]:
    prizes = problem.prize if problem.revealed_prize is None else problem.revealed_prize
    collected = float(prizes[sorted(reached)].sum())
    if collected >= problem.min_prize:
        return []
    return [f"the best attempt collects a prize of {collected:g} of {problem.min_prize:g} required"]


def _name(stops: tuple[int, ...]) -> str:
    if len(stops) == 1:
        return f"customer {stops[0]}"
    return f"customers {' and '.join(map(str, stops))}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
