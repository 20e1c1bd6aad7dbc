"""What is legal of rollouts that came to a dead end.

What the referee refuses is taken out of the routes of a rollout. Of several rollouts the plan that
serves most compulsory customers is taken, of those the one that lacks least prize, of those the
cheapest. To serve more is the work of the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from spacevrp.arrays.routes import routes_of
from spacevrp.inference.construct import Candidate
from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.explanation.insertions import Insertions, Route
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution, better_of

# Rollouts that are looked at; the others served fewer, or as many in a later rank.
_MOST_READ = 4


def best_partial(
    problem: Problem,
    candidates: Sequence[Candidate],
    form: Problem,
    deadline: Deadline = NEVER,
) -> Solution:
    """The partial plan that serves most.

    Parameters
    ----------
    candidates
        Rollouts, those first that served most.
    form
        The problem as the model saw it (see :mod:`spacevrp.problems.canonical`).
    deadline
        When it is over, the best plan so far is taken; an empty one, at the worst.
    """
    plans: dict[tuple[Route, ...], None] = {}  # different ones, in their order
    for candidate in candidates:
        plans[_read(problem, form, candidate)] = None
        if len(plans) == _MOST_READ:
            break
    solutions: list[Solution] = []
    for routes in plans or {(): None}:
        if solutions and deadline.over:
            break
        solutions.append(legal_part(problem, routes, deadline))
    return reduce(better_of, solutions)


def legal_part(problem: Problem, routes: Sequence[Route], deadline: Deadline = NEVER) -> Solution:
    """The part of the routes that keeps the rules; less of it when the time is up."""
    legal = [route for route in (_cut(problem, route, deadline) for route in routes) if route]
    legal = [*legal, *_pinned(problem, legal)]
    legal.sort(key=len, reverse=True)
    solution = Solution.judged(problem, legal)
    while legal and not solution.is_legal:
        legal.pop()  # each is legal alone: there are not vehicles enough
        solution = Solution.judged(problem, legal)
    return solution


def _pinned(problem: Problem, routes: Sequence[Route]) -> list[Route]:
    """Routes of vehicles whose first customers are decided, where there are none of them yet."""
    visited = {node for route in routes for node in route}
    pinned = []
    for terms in problem.fleet:
        if terms.pinned and visited.isdisjoint(terms.pinned):
            end = () if terms.end is None else (terms.end,)
            pinned.append(_cut(problem, (terms.start, *terms.pinned, *end)))
    return [route for route in pinned if route]


def _read(problem: Problem, form: Problem, candidate: Candidate) -> tuple[Route, ...]:
    """The routes of a rollout, finished or not."""
    moves = candidate.sequence.tolist()
    # A stuck vehicle stays where it is.
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
    judged = Insertions(problem, ())
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
