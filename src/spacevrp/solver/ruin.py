"""Ruin and recreate: customers are taken out of a plan and put in again, many times.

Several trials are made of the same plan at once, each without other customers; these are put in one
by one, each where it costs least. The best trial is gone on with if it is better, or not much
worse; less and less so.

All routes of a plan are one tour here, with the depot before, between and behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.solution import Solution
from spacevrp.solver.roads import Roads, Route

# Trials of one round: they take little longer than one alone.
TRIALS = 16
# How often those taken out are neighbours on the map, and on the tour; else they are any.
_NEAR, _NEXT = 0.5, 0.4
# How far distances are misjudged when neighbours are chosen.
_NOISE = 0.5


class Trials(Protocol):
    """What became of a plan in several trials."""

    @property
    def costs(self) -> np.ndarray:
        """(B,), inf where somebody found no place."""

    def tour(self, number: int) -> np.ndarray:
        """(L,) one of them."""


class Plans(Protocol):
    """The plans of a problem, as the search needs to know them.

    Attributes
    ----------
    units
        (P, U) customers that come and go together.
    near
        (N, N) how far nodes are from each other.
    dust
        Differences of costs that do not count.
    """

    units: np.ndarray
    near: np.ndarray
    dust: float

    def read(self, routes: Sequence[Route]) -> np.ndarray:
        """(L,) the routes as one tour."""

    def written(self, tour: np.ndarray) -> list[Route]:
        """The routes of a tour; some may be empty."""

    def cost(self, tour: np.ndarray) -> float:
        """Of a plan."""

    def trials(self, tour: np.ndarray, out: np.ndarray, draws: np.random.Generator) -> Trials:
        """The plan with units (B, K, U) elsewhere, put in in that order."""


class Manner(NamedTuple):
    """How a search goes about it."""

    most_out: int  # units that a trial takes out, at the most
    # A worse plan is gone on with up to such a part of what a customer costs, at first and in
    # the end.
    hot: float
    cold: float


def search_on(
    solution: Solution,
    plans_of: Callable[[Roads], Plans],
    manner: Manner,
    rounds: int,
    progress: Callable[[int], float] | None = None,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
    *,
    deadline: Deadline = NEVER,
    found: Callable[[Solution], object] | None = None,
) -> Solution:
    """A cheaper plan, or the same where none is found or somebody is left out.

    Without ``progress`` there are so many rounds for each customer. ``found`` is told every better
    plan, judged by the referee.
    """
    if not solution.feasible or deadline.over:
        return solution
    problem = solution.plan.problem
    progress = progress or (lambda done: done / (rounds * len(problem.customers)))
    roads = Roads(problem)
    plans, draws = plans_of(roads), np.random.default_rng(seed)
    start = plans.read(roads.read(solution))

    def tell(tour: np.ndarray) -> None:
        better = roads.judged_plan(plans.written(tour))
        if found is not None and better.feasible and better.cost < solution.cost:
            found(better)

    hear = None if found is None else tell
    best = search(plans, start, manner, deadline.bound(progress), draws, watch, hear)
    last = roads.judged_plan(plans.written(best))
    return last if last.feasible and last.cost < solution.cost else solution


def search(
    plans: Plans,
    start: np.ndarray,
    manner: Manner,
    progress: Callable[[int], float],
    draws: np.random.Generator,
    watch: Callable[[float], None] | None = None,
    hear: Callable[[np.ndarray], None] | None = None,
) -> np.ndarray:
    """(L,) the best plan found from a plan on.

    Parameters
    ----------
    progress
        Part of the work that is done after so many rounds; at 1 the search is over.
    watch, hear
        Told the cost, and the tour (L,), whenever the plan gets better.
    """
    best = now = start
    least = cost = plans.cost(start)
    done = 0
    while (part := progress(done)) < 1.0:
        warmth = manner.hot ** (1.0 - part) * manner.cold**part * least / plans.units.size
        trials = plans.trials(now, _chosen(plans, now, manner.most_out, draws), draws)
        judged = trials.costs - warmth * draws.exponential(size=TRIALS)
        number = int(judged.argmin())
        if judged[number] < cost:
            now, cost = trials.tour(number), float(trials.costs[number])
        if cost < least - plans.dust:
            best, least = now, cost
            if watch is not None:
                watch(least)
            if hear is not None:
                hear(best)
        done += 1
    return best


def _chosen(
    plans: Plans, tour: np.ndarray, most_out: int, draws: np.random.Generator
) -> np.ndarray:
    """(B, K, U) units in any order: neighbours of somebody on the map or on the tour, or any."""
    units = plans.units
    centre = draws.choice(units.ravel(), TRIALS)  # (B,)
    place = np.empty(len(plans.near))
    place[tour] = np.arange(len(tour))
    way = draws.random((TRIALS, 1))
    apart = np.where(way < _NEAR, plans.near[centre], np.abs(place - place[centre, None]))
    apart[way[:, 0] >= _NEAR + _NEXT] = 1.0
    key = apart[:, units].min(axis=2)  # (B, P)
    key *= 1.0 + _NOISE * draws.random(key.shape)
    count = int(draws.integers(min(most_out, len(units)))) + 1
    nearest = np.argpartition(key, count - 1, axis=1)[:, :count]
    return units[draws.permuted(nearest, axis=1)]
