"""Stochastic prizes: what a vehicle does when the real prizes fall short of the expected ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spacevrp.problems.conversion import Array
from spacevrp.problems.problem import BASE_TOLERANCE, Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.relations import present_relations
from spacevrp.problems.solution import Solution

Routes = tuple[tuple[int, ...], ...]

# Nodes up to which plans are changed on the way; beyond, at the end alone.
MOST_NODES = 3000
# Of the referee's slack, so much is used: more than a search does, so that its plans suffice.
_SHARE = 0.75


def can_plan_ahead(problem: Problem) -> bool:
    """Whether a plan can be made before the first visit, whatever the visits reveal.

    So it is where nothing is unknown, and where no rule keeps a vehicle from visiting one customer
    more: neither loads, times, lengths, an order of visits or arcs that do not exist.
    """
    if not problem.has_unknown_prizes:
        return True
    capacities = [room for terms in problem.fleet for room in terms.capacities]
    limits = [*capacities, problem.max_length, *problem.windows[:, 1].tolist()]
    ordered = bool(problem.pairs or present_relations(problem)) or problem.backhaul_last
    missing = problem.distances.has_missing_arcs or problem.durations.has_missing_arcs
    free = bool(problem.depots) and problem.vehicles is None and all(map(math.isinf, limits))
    return free and not (ordered or missing)


def visit_more(problem: Problem, routes: Routes) -> tuple[Routes, int]:
    """The routes with further visits so that enough is collected, and the number of these.

    The prizes are known only on the visit, so nothing here looks at those to come. After each visit
    the vehicle compares what it has, and what is expected of the rest of its plan, with what is
    required. While that is too little, a customer is put into the rest: the one whose detour less
    its penalty costs least for the prize that is expected of it. Beyond ``MOST_NODES`` nodes, and
    where a rule may forbid that, this is done at the very end: before the last vehicle returns, it
    goes on to the customer whose detour less its penalty costs least, until the prizes suffice.
    """
    driven = [route for route in routes if set(route).difference(problem.depots)]
    depot = problem.depots[0]
    current = driven or [(depot,) if problem.open_routes else (depot, depot)]
    before = sum(map(len, current))
    if problem.size <= MOST_NODES and can_plan_ahead(problem):
        current = _on_the_way(problem, current)
    while any(violation.code == "prize" for violation in judge(problem, current).violations):
        visited = {node for route in current for node in route}
        left = [node for node in problem.customers if node not in visited]
        if not left:
            break
        more = _at_the_end(problem, current[-1], left)
        end = len(current[-1]) - (not problem.open_routes)
        current[-1] = (*current[-1][:end], *more, *current[-1][end:])
    added = sum(map(len, current)) - before
    return tuple(current) if added else routes, added


def carry_out(problem: Problem, plan: Solution) -> Solution:
    """What becomes of a plan on the way, refereed (see :func:`visit_more`).

    Of a problem whose prizes are known, such as ``problem.as_expected()``, this is what is
    expected. A plan that breaks a rule beside these stays as it is.
    """
    same = plan if plan.problem is problem else Solution.judged(problem, plan.routes, plan.vehicles)
    if not same.is_legal:
        return same
    routes, added = visit_more(problem, same.routes)
    return Solution.judged(problem, routes) if added else same


def expected_cost(problem: Problem, plan: Solution) -> float | None:
    """What a plan would cost if every visit yielded what is expected of it.

    None where that is what it costs anyway, and where plans cannot be made before the first visit.
    """
    if not problem.has_unknown_prizes or not can_plan_ahead(problem):
        return None
    return carry_out(problem.as_expected(), plan).cost


def _on_the_way(problem: Problem, routes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The routes as they are driven one after the other, with visits put in ahead of a vehicle."""
    length, real = problem.distances.matrix(), problem.real_prizes
    # A plan made with expected prizes may use half of the referee's slack.
    required = (1.0 - _SHARE * BASE_TOLERANCE) * problem.min_prize
    planned = {node for route in routes for node in route}
    left = np.array([node for node in problem.customers if node not in planned], dtype=np.intp)
    current, collected = [list(route) for route in routes], 0.0
    number = position = 0  # of the route that is driven, and in it
    while left.size:
        ahead = [node for route in current[number + 1 :] for node in route]
        ahead += current[number][position + 1 :]
        short = required - collected - float(problem.prize[ahead].sum())
        while short > 0.0 and left.size:
            chosen, (row, place) = _cheapest(problem, length, current, (number, position), left)
            node = int(left[chosen])
            current[row].insert(place, node)
            left = np.delete(left, chosen)
            short -= float(problem.prize[node])
        position += 1
        if position == len(current[number]):
            number, position = number + 1, 0
        last = number == len(current) - 1 and position == len(current[number]) - 1
        if number == len(current) or (last and not problem.open_routes):
            break  # back home
        collected += float(real[current[number][position]])
    return [tuple(route) for route in current]


def _cheapest(
    problem: Problem,
    length: Array,
    routes: Sequence[Sequence[int]],
    at: tuple[int, int],
    left: NDArray[np.intp],
) -> tuple[int, tuple[int, int]]:
    """Whose visit costs least for its prize, of those ``left``, and the route and place for it."""
    places = [
        (row, place)
        for row in range(at[0], len(routes))
        for place in range(at[1] + 1 if row == at[0] else 1, len(routes[row]) + problem.open_routes)
    ]
    before = np.array([routes[row][place - 1] for row, place in places])
    detour = length[np.ix_(before, left)]  # (places, left)
    # Behind the last customer of an open route there is no way home to count.
    inner = [n for n, (row, place) in enumerate(places) if place < len(routes[row])]
    after = np.array([routes[places[n][0]][places[n][1]] for n in inner], dtype=np.intp)
    detour[inner] += length[np.ix_(left, after)].T - length[before[inner], after][:, None]
    price = detour.min(axis=0) - problem.penalty[left]  # (left,)
    prize = np.maximum(problem.prize[left], np.finfo(float).tiny)
    # A visit that pays for itself comes first, whatever its prize.
    pays = price.min() <= 0.0
    chosen = int((price if pays else price / prize).argmin())
    return chosen, places[int(detour[:, chosen].argmin())]


def _at_the_end(problem: Problem, route: tuple[int, ...], left: list[int]) -> list[int]:
    """Whom a vehicle visits before it returns, one after the other, until it has enough."""
    prizes = problem.real_prizes
    total = float(prizes[list(problem.customers)].sum())
    required = min(problem.min_prize, total) - BASE_TOLERANCE * problem.min_prize
    collected = total - float(prizes[left].sum())
    position = route[-1] if problem.open_routes else route[-2]
    home = None if problem.open_routes else route[-1]
    rest, more = np.array(left), list[int]()
    while rest.size and (not more or collected < required):
        price = problem.distances.from_node(position)[rest]
        if home is not None:
            back = problem.distances.to_node(home)
            price = price + (back[rest] - back[position])
        best = int((price - problem.penalty[rest]).argmin())
        position = int(rest[best])
        rest = np.delete(rest, best)
        more.append(position)
        collected += float(prizes[position])
    return more
