"""Reductions: problems that the model has not learned, mapped to problems that it has.

A model that knows asymmetric distances can be told of some constraints by distances alone:

- An open problem is a closed one whose ways home cost nothing.
- Of an open problem with several depots, all depots are one place: to each customer it is as near
  as the nearest of them.
- So they are of a closed problem, nearly: a route may then seem to end at another depot than it
  left from. The depot that is best for the whole route takes it.
- Where linehauls come first, the way from a backhaul to a linehaul leads over the depot.
- A vehicle that carries few loads at a time has to deliver soon: deliveries seem nearer.
- Prize collecting it has learned with penalties of about what a visit costs. Where they are much
  higher it still goes home early: a tour of everybody is a plan, too.

Plans are mapped back to the problem itself, and only there they are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from spacevrp.problems.canonical import canonical, needs_fleet_rules, restore
from spacevrp.problems.distances import NO_MAP, Distances
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around, judge_route

Routes = Sequence[Sequence[int]]

# Nodes; a reduction needs a matrix of its own.
MOST_NODES = 2000
# Where fewer loads of the mean size fit, they are few; the model has learned to carry all at once.
FEW_LOADS = 16
# How near deliveries seem then, beside what they are.
_NEARER = (0.7, 0.4)
# A visit costs about as much as the way to the next neighbour. In training, penalties
# are 1.1 to 1.3 times that in the mean.
_HIGH = 1.5


@dataclass(frozen=True)
class Reduction:
    """What the model sees, and the way back."""

    problem: Problem  # as the model sees it
    map_back: Callable[[Routes], Routes]  # from its routes to those of the problem itself
    # Whether every plan costs the same in both and none is lost: nothing else need be tried.
    exact: bool = True
    # What distances the network is shown, where they are not those of that problem, whose rules
    # and costs hold all the same.
    shown: Problem | None = None
    # Whether it takes the place of the problem as it is, of which one augmentation is then enough.
    in_place: bool = True


def plain_reduction(problem: Problem) -> Reduction:
    """The problem as it is, or in a form that differs in nothing but words."""
    return Reduction(canonical(problem), partial(restore, problem))


def as_it_is(problem: Problem) -> Reduction:
    """The problem itself, in every respect."""
    return Reduction(problem, lambda routes: routes)


def other_reductions(problem: Problem) -> list[Reduction]:
    """In which other ways to plan it."""
    if problem.has_route_rules:
        return []
    if may_collect(problem):
        return [everybody_served(problem)] if pays_to_serve(problem) else []
    usual = not (problem.open_routes or problem.backhaul_last or problem.pairs)
    if usual and len(problem.depots) < 2:
        return []  # most problems; nothing below need be looked at
    if not problem.depots or problem.size > MOST_NODES or problem.maximise_prize:
        return []
    if not has_one_metric(problem):
        return []
    reduction = plain_reduction(problem)
    plain = reduction.problem
    if len(problem.depots) > 1:
        if problem.pairs or not depots_are_alike(problem):
            return []
        reduction = _merged(problem)
    elif problem.open_routes and has_no_map(problem):
        reduction = _closed(problem)
    if problem.backhaul_last and not reduction.problem.open_routes:
        reduction = replace(reduction, problem=_over_the_depot(reduction.problem))
    reductions = [] if reduction.problem is plain else [reduction]
    if problem.pairs and _carries_few(problem):
        reductions += [_with_deliveries_near(reduction, by) for by in _NEARER]
    return reductions


def has_one_metric(problem: Problem) -> bool:
    """Whether lengths are all there is to an arc, whatever the vehicle."""
    simple = problem.durations is problem.distances and not problem.distances.has_missing_arcs
    return simple and not needs_fleet_rules(problem) and not problem.has_route_rules


def has_no_map(problem: Problem) -> bool:
    """Whether there and back are too unlike for points on a map."""
    if problem.distances.is_symmetric:
        return False
    length = problem.distances.matrix()
    return bool(np.abs(length - length.T).sum() > NO_MAP * length.sum())


def depots_are_alike(problem: Problem) -> bool:
    """Whether it makes no difference but in distance which depot a route begins at."""
    windows = problem.windows[list(problem.depots)]
    return bool((windows == windows[0]).all())


# --------------------------------------------------------------------------------- free ways home


def _closed(problem: Problem) -> Reduction:
    """With ways home that cost nothing."""
    (depot,) = problem.depots
    length = problem.distances.matrix().copy()
    length[:, depot] = 0.0
    form = problem.replace(
        distances=Distances(matrix=length),
        durations=None,
        windows=_never_closing(problem),
        open_routes=False,
        variant=None,
    )
    return Reduction(form, partial(_without_the_way_home, depot))


def _never_closing(problem: Problem) -> np.ndarray:
    """The windows (N, 2) with depots to which a route may come home however late.

    An open route does not come home, so that no closing of a depot binds it; a closed one would
    lose plans to it though its way home takes no time.
    """
    windows = problem.windows.copy()
    windows[list(problem.depots), 1] = np.inf
    return windows


def _without_the_way_home(depot: int, routes: Routes) -> Routes:
    return tuple(route[:-1] if route[-1] == depot else route for route in routes)


# --------------------------------------------------------------------------------------- one depot


def _merged(problem: Problem) -> Reduction:
    """With one depot where all are."""
    depots = list(problem.depots)
    nodes = np.array([depots[0], *problem.customers])
    length = problem.distances.matrix()
    one = length[nodes][:, nodes]  # (M, M)
    one[0, 1:] = length[depots][:, nodes[1:]].min(axis=0)
    one[1:, 0] = length[nodes[1:]][:, depots].min(axis=1)
    closes = problem.open_routes and has_no_map(problem)
    if closes:
        one[1:, 0] = 0.0
    form = with_one_depot(problem, nodes, one, open_routes=problem.open_routes and not closes)
    if closes:
        form = form.replace(windows=_never_closing(form))
    map_back = partial(_to_the_best_depot, problem, length, nodes)
    return Reduction(form, map_back, exact=problem.open_routes)


def with_one_depot(
    problem: Problem, nodes: np.ndarray, length: np.ndarray, *, open_routes: bool
) -> Problem:
    """The problem of some nodes, the first of them a depot, with these distances (M, M)."""
    return Problem(
        Distances(matrix=length),
        depots=(0,),
        demand=problem.demand[nodes],
        capacity=problem.capacity,
        load_rule=problem.load_rule,
        backhaul_last=problem.backhaul_last,
        windows=problem.windows[nodes],
        service=problem.service[nodes],
        max_length=problem.max_length,
        max_routes=problem.max_routes,
        open_routes=open_routes,
        name=problem.name,
        allow_unservable=True,  # as far as the problem itself is servable, so is this one
    )


def _to_the_best_depot(
    problem: Problem, length: np.ndarray, nodes: np.ndarray, routes: Routes
) -> Routes:
    """Every route at the depot that makes it shortest, of those that let it keep the rules.

    Where none does, two routes do in its place, if there is such a pair.
    """
    resolved: list[tuple[int, ...]] = []
    for route in routes:
        stops = [int(nodes[place]) for place in route if place != 0]
        whole = _shortest(problem, length, stops)
        if whole is not None:
            resolved.append(whole[1])
            continue
        pairs = [
            (first[0] + second[0], first[1], second[1])
            for cut in range(1, len(stops))
            if (first := _shortest(problem, length, stops[:cut])) is not None
            and (second := _shortest(problem, length, stops[cut:])) is not None
        ]
        resolved += min(pairs)[1:] if pairs else [around(stops, problem.fleet[0])]
    return resolved


def _shortest(
    problem: Problem, length: np.ndarray, stops: Sequence[int]
) -> tuple[float, tuple[int, ...]] | None:
    """Length and nodes of the shortest route that keeps the rules, over all depots."""
    ways = []
    for terms in problem.fleet:
        way = around(stops, terms)
        ways.append((float(length[way[:-1], way[1:]].sum()), way, terms))
    for total, way, terms in sorted(ways, key=lambda one: one[0]):
        if not judge_route(problem, 1, way, terms)[1]:
            return total, way
    return None


# ---------------------------------------------------------------------------------- linehauls first


def _over_the_depot(problem: Problem) -> Problem:
    """With ways from backhauls to linehauls, which no route can take, as long as over the depot."""
    (depot,) = problem.depots
    length = problem.distances.matrix().copy()
    linehauls, backhauls = (np.flatnonzero(problem.demand * sign > 0) for sign in (1, -1))
    over = length[backhauls, depot][:, None] + length[depot, linehauls]  # (b, l)
    length[np.ix_(backhauls, linehauls)] = over
    return problem.replace(distances=Distances(matrix=length), durations=None, variant=None)


# ------------------------------------------------------------------------------------- few loads


def _carries_few(problem: Problem) -> bool:
    """Whether a vehicle is full long before it has seen all pickups."""
    loads = -problem.demand[[pickup for pickup, _ in problem.pairs]]
    return bool(problem.capacity < FEW_LOADS * loads.mean()) and problem.capacity < loads.sum()


def _with_deliveries_near(reduction: Reduction, by: float) -> Reduction:
    """With shorter ways to deliveries for the network to see."""
    problem = reduction.problem
    length = problem.distances.matrix().copy()
    length[:, [delivery for _, delivery in problem.pairs]] *= by
    shown = problem.replace(distances=Distances(matrix=length), durations=None, variant=None)
    return replace(reduction, shown=shown)


# --------------------------------------------------------------------------------------- everybody


def may_collect(problem: Problem) -> bool:
    """Whether the model itself decides who is served for the sake of penalties."""
    return problem.features.prize_collecting and not needs_fleet_rules(problem)


def pays_to_serve(problem: Problem) -> bool:
    """Whether penalties are so high that most customers are worth a visit."""
    customers = list(problem.customers)
    penalty = problem.penalty[customers]
    optional = np.isfinite(penalty)
    nearest = _to_the_nearest(problem)[customers]
    return bool(optional.any() and penalty[optional].mean() > _HIGH * nearest[optional].mean())


def _to_the_nearest(problem: Problem) -> np.ndarray:
    """The shortest arc to or from each node, (N,); row by row, as matrices can be large."""
    nearest = np.full(problem.size, np.inf)
    for node in range(problem.size):
        row = problem.distances.from_node(node)
        row[node] = np.inf
        nearest[node] = min(nearest[node], row.min())
        nearest = np.minimum(nearest, row)
    return nearest


def everybody_served(problem: Problem) -> Reduction:
    """The same where everybody has to be served, whose plans are plans of the problem."""
    penalty = np.zeros(problem.size)
    penalty[list(problem.customers)] = np.inf
    whole = problem.replace(
        variant=None,
        penalty=penalty,
        prize=np.zeros(problem.size),
        revealed_prize=None,
        min_prize=0.0,
    )
    return replace(plain_reduction(whole), exact=False, in_place=False)


@dataclass(frozen=True)
class Decomposition:
    """A problem for each depot that is the nearest of a customer.

    Where routes come home and the depots lie on a map, most customers belong to the nearest depot.
    """

    problems: tuple[Problem, ...]  # with one depot, node 0, for each part
    nodes: tuple[np.ndarray, ...]  # of each part: which nodes of the whole problem its nodes are

    def together(self, plans: Sequence[Routes]) -> Routes:
        """Routes of the whole problem, from those of every part."""
        return [
            tuple(int(nodes[node]) for node in route)
            for nodes, routes in zip(self.nodes, plans, strict=True)
            for route in routes
        ]


def decompose(problem: Problem) -> Decomposition | None:
    """The parts; None where there is one at most, or planning them apart does not help.

    On open routes it helps where linehauls come first; on distances that have nothing of a map it
    does not, as customers near the same depot need not be near each other.
    """
    if len(problem.depots) < 2 or problem.size > MOST_NODES or problem.max_routes is not None:
        return None
    if problem.pairs or problem.maximise_prize:
        return None
    if problem.open_routes and not problem.backhaul_last:
        return None
    if not has_one_metric(problem) or not depots_are_alike(problem) or has_no_map(problem):
        return None
    length = problem.distances.matrix()
    customers, depots = np.array(problem.customers), np.array(problem.depots)
    away = length[depots][:, customers]  # (K, C)
    if not problem.open_routes:
        away = away + length[customers][:, depots].T
    nearest = away.argmin(axis=0)
    nodes = [
        np.array([depot, *customers[nearest == number]])
        for number, depot in enumerate(depots)
        if (nearest == number).any()
    ]
    if len(nodes) < 2:
        return None
    problems = tuple(
        with_one_depot(problem, some, length[some][:, some], open_routes=problem.open_routes)
        for some in nodes
    )
    return Decomposition(problems, tuple(nodes))
