"""The best partial plan out of rollouts that came to a dead end: legal, with nobody left to add.

What the referee refuses is taken out of the routes of a rollout, and whoever then fits is put in,
always the cheapest next. Of several rollouts the plan that serves most compulsory customers is
taken, of those the one that lacks least prize, of those the cheapest; then who is left out is
exchanged for others, where that helps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spacevrp.decode import routes_of
from spacevrp.problems.conversion import NodeNumber
from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.explanation.ways import Route, Way, Ways, cheapest, fill_up, missing
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.solution import Solution
from spacevrp.solver.search import Candidate

# Rollouts that are mended; the others served fewer, or as many in a later rank.
_MOST_MENDED = 4
# Routes that are judged for exchanges, in all: a second or so.
MOST_TRIALS = 5_000
# Fields of a problem with a row for each node.
_OF_NODES = (
    "demand",
    "more_demand",
    "windows",
    "service",
    "prize",
    "penalty",
    "revealed_prize",
    "places",
)
# Exchanges after which the others are looked at again, before the next are searched for.
_MOST_CHAINS = 12


def best_partial(
    problem: Problem,
    candidates: Sequence[Candidate],
    form: Problem,
    trials: int = MOST_TRIALS,
    deadline: Deadline = NEVER,
) -> Solution:
    """The partial plan that serves most.

    Parameters
    ----------
    candidates
        Rollouts, those first that served most.
    form
        The problem as the model saw it (see :mod:`spacevrp.problems.familiar`).
    trials
        How many exchanges to try for a better plan.
    deadline
        When it is over, the best plan so far is taken; an empty one, at the worst.
    """
    plans: dict[tuple[Route, ...], None] = {}  # different ones, in their order
    for candidate in candidates:
        plans[_read(problem, form, candidate)] = None
        if len(plans) == _MOST_MENDED:
            break
    solutions: list[Solution] = []
    for routes in plans or {(): None}:
        if solutions and deadline.over:
            break
        solutions.append(complete(problem, routes, deadline))
    return exchange(min(solutions, key=_lack), trials, deadline)


def complete(problem: Problem, routes: Iterable[Route], deadline: Deadline = NEVER) -> Solution:
    """Routes of a plan made legal, and filled up; fewer of them when the time is up."""
    legal = [route for route in (_cut(problem, route, deadline) for route in routes) if route]
    legal = [*legal, *_pinned(problem, legal)]
    legal.sort(key=len, reverse=True)
    while legal and not Solution.judged(problem, legal).is_legal:
        legal.pop()  # each is legal alone: there are not vehicles enough
    ways = Ways(problem, legal, deadline)
    fill_up(ways, missing(problem, ways.routes))
    solution = Solution.judged(problem, ways.routes)
    if any(violation.code == "prize" for violation in solution.violations):
        # Now those count, too, who need not be served.
        fill_up(ways, _optional(problem, ways.routes), enough=lambda: _prize_is_enough(ways))
        solution = Solution.judged(problem, ways.routes)
    return solution


def exchange(solution: Solution, trials: int, deadline: Deadline = NEVER) -> Solution:
    """Let customers who are left out take the place of others, as long as the plan gets better.

    It does where the others then fit elsewhere, or where the plan is cheaper without them. About
    ``trials`` routes are judged for that.
    """
    if trials <= 0 or deadline.over:
        return solution
    problem = solution.plan.problem
    ways = Ways(problem, solution.routes, deadline)
    given = solution
    while ways.judged < trials and not deadline.over:
        left = missing(problem, ways.routes)
        for way, out in _swaps(ways, left, trials)[:_MOST_CHAINS]:
            if deadline.over:
                return solution
            better = ways.copy()
            number = better.take(way)
            # Others fit into the route that has changed, if anywhere.
            others = {stops: number for stops in left if stops != way.stops}
            fill_up(better, [*others, out], changed=others)
            ways.judged += better.judged
            trial = Solution.judged(problem, better.routes)
            if trial.is_legal and _lack(trial) < _lack(solution, problem.tolerance):
                better.judged = ways.judged
                solution, ways = trial, better
                break
        else:
            break
    # Where vehicles differ, an exchange may also have set one free.
    if solution is given or deadline.over:
        return solution
    return better_of(solution, complete(problem, solution.routes, deadline))


def _swaps(ways: Ways, left: Sequence[Route], trials: int) -> list[tuple[Way, Route]]:
    """(the way in, who makes room), the cheapest first."""
    problem = ways.problem
    couple = {node: pair for pair in problem.pairs for node in pair}
    found = []
    for stops in left:
        for number, route in enumerate(ways.routes, start=1):
            inside = [node for node in route if node not in problem.depots]
            for out in dict.fromkeys(couple.get(node, (node,)) for node in inside):
                if ways.judged >= trials or ways.deadline.over:
                    break
                if np.isfinite(problem.penalty[list(out)]).any():
                    continue
                way = cheapest(ways.exchanges(stops, number, out))
                if way is not None:
                    found.append((way, out))
    return sorted(found, key=lambda swap: swap[0].extra)


def _pinned(problem: Problem, routes: Sequence[Route]) -> list[Route]:
    """Routes of vehicles whose first customers are decided, where there are none of them yet."""
    visited = {node for route in routes for node in route}
    pinned = []
    for terms in problem.fleet:
        if terms.pinned and visited.isdisjoint(terms.pinned):
            end = () if terms.end is None else (terms.end,)
            pinned.append(_cut(problem, (terms.start, *terms.pinned, *end)))
    return [route for route in pinned if route]


def _lack(solution: Solution, margin: float = 0.0) -> tuple[int, float, float]:
    """What a plan lacks: customers first, then prize, then it should cost less by some margin."""
    left_out = sum(violation.code == "visit" for violation in solution.violations)
    short = any(violation.code == "prize" for violation in solution.violations)
    return left_out, -solution.plan.prize if short else -np.inf, solution.cost - margin


def _optional(problem: Problem, routes: Iterable[Route]) -> list[Route]:
    visited = {node for route in routes for node in route}
    couple = {node: pair for pair in problem.pairs for node in pair}
    return list(dict.fromkeys(couple.get(n, (n,)) for n in problem.customers if n not in visited))


def _prize_is_enough(ways: Ways) -> bool:
    verdict = judge(ways.problem, ways.routes)
    return all(violation.code != "prize" for violation in verdict.violations)


def _read(problem: Problem, form: Problem, candidate: Candidate) -> tuple[Route, ...]:
    """The routes of a rollout, finished or not."""
    moves = candidate.sequence.tolist()
    # Whoever is stuck stays where it is.
    moved = [move for place, move in enumerate(moves) if place == 0 or move != moves[place - 1]]
    routes = routes_of(form, moved)
    if problem.depots and not form.depots:
        # The model saw a tour; it may have come to its end before it came to the depot.
        (depot,), (tour,) = problem.depots, routes
        first = tour.index(depot) if depot in tour else 0
        around = [node for node in (*tour[first:], *tour[:first]) if node != depot]
        routes = [[depot, *around, depot]]
    return tuple(tuple(route) for route in routes)


def _cut(problem: Problem, route: Route, deadline: Deadline = NEVER) -> Route:
    """The most of a route that the referee passes; nothing where it passes none of it.

    Customers are taken out from the end on, where dead ends are, or from the beginning, whichever
    leaves more; of a pair, both.
    """
    couple = {node: pair for pair in problem.pairs for node in pair}
    depots = set(problem.depots)
    here = set(route)
    whole = {node for node in here if here.issuperset(couple.get(node, (node,)))}
    route = tuple(node for node in route if node in depots or node in whole)
    judged = Ways(problem, ())
    from_end, from_start = route, route
    while not depots.issuperset(from_end) and not deadline.over:
        for rest in (from_end, from_start):
            _, faults = judged.judge_alone(rest)
            if not faults:
                return rest
        from_end = _without_first(depots, couple, from_end, from_end[::-1])
        from_start = _without_first(depots, couple, from_start, from_start)
    return ()


def _without_first(
    depots: set[int], couple: Mapping[int, Route], route: Route, order: Route
) -> Route:
    """The route without the first customer of an order, and its partner."""
    first = next(node for node in order if node not in depots)
    dropped = couple.get(first, (first,))
    return tuple(node for node in route if node not in dropped)


# ---------------------------------------------------------------------------------------- the rest


def without(problem: Problem, left: Iterable[int]) -> tuple[Problem, list[int]]:
    """The problem without some customers, and the numbers of the nodes that stay."""
    gone = set(left)
    return restricted(problem, [node for node in range(problem.size) if node not in gone])


def restricted(problem: Problem, stay: list[int]) -> tuple[Problem, list[int]]:
    """The problem of some nodes, all depots among them, and these nodes."""
    number = {node: NodeNumber(position) for position, node in enumerate(stay)}
    rows = np.array(stay)
    changes: dict[str, Any] = {
        "distances": problem.distances.reordered(rows),
        "depots": tuple(number[depot] for depot in problem.depots),
        "pairs": tuple((number[a], number[b]) for a, b in problem.pairs if a in number),
        "ids": None if problem.ids is None else tuple(problem.ids[node] for node in stay),
        "more_capacity": problem.more_capacity,
    }
    if problem.durations is not problem.distances:
        changes["durations"] = problem.durations.reordered(rows)
    for field in _OF_NODES:
        values = getattr(problem, field)
        changes[field] = None if values is None else values[rows]
    if problem.vehicles is not None:
        changes["vehicles"] = [_renumbered(vehicle, number) for vehicle in problem.vehicles]
    return problem.replace(**changes), stay


def _renumbered(vehicle: Vehicle, number: Mapping[int, int]) -> Vehicle:
    """The type of vehicle, with its nodes as they are numbered now."""
    nodes: dict[str, Any] = {
        field: tuple(number[node] for node in getattr(vehicle, field) if node in number)
        for field in ("forbidden", "pinned")
    }
    if vehicle.allowed is not None:
        nodes["allowed"] = tuple(number[node] for node in vehicle.allowed if node in number)
    for field in ("start", "end"):
        depot = getattr(vehicle, field)
        nodes[field] = None if depot is None else number[depot]
    return replace(vehicle, **nodes)


def brought_back(
    problem: Problem, found: Solution, stay: Sequence[int], deadline: Deadline = NEVER
) -> Solution:
    """A plan of :func:`without` as a plan of the problem itself, and filled up."""
    routes = [tuple(stay[node] for node in route) for route in found.routes]
    return complete(problem, routes, deadline)


def better_of(first: Solution, second: Solution) -> Solution:
    """The plan that lacks less; the first of equals, and wherever the second breaks a rule."""
    return second if second.is_legal and _lack(second) < _lack(first) else first
