"""A local search for one closed route that visits everybody, whose length is all that counts.

Arcs are exchanged three at a time, so that two neighbouring parts of the route change places, or
two at a time, so that a part is turned round, where both directions are as long. New arcs lead to
near neighbours. When nothing helps any more two parts change places at random, and only what that
has touched is looked at again; a route that has become much longer is forgotten. A plan never gets
worse.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.roads import Roads, Route, asks_only_for

# Shakes for each node in ``solve``, of so many nodes at the most: 1 s with 100 of them.
ROUNDS, _MOST_SHAKEN = 10, 200
# What the arithmetic here knows of, among all that a problem may ask for.
_KNOWN = {"asymmetric", "depot"}
# Neighbours of all nodes are found in one go, which takes at most so long for each pair of them.
_SECONDS_A_PAIR = 4e-7
_SMALLEST = 5  # nodes; of fewer there are no three arcs with parts between them
# Neighbours that a new arc may lead to.
_NEAR = 7
# Nodes that are looked at together.
_AT_ONCE = 64
# Stops of each of the parts that a shake lets change places, at the most.
_LONGEST = 30
# How often a shake does so twice.
_TWICE = 0.5
# How much longer a loop may be that is gone on with, in mean arcs, at first.
_WARMTH = 0.3


def is_plain_loop(problem: Problem) -> bool:
    """Whether there is one closed route of everybody, and nothing that limits it."""
    return problem.size >= _SMALLEST and asks_only_for(problem, _KNOWN)


def shorten(
    solution: Solution,
    progress: Callable[[int], float] | None = None,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
    *,
    deadline: Deadline = NEVER,
    found: Callable[[Solution], object] | None = None,
) -> Solution:
    """A shorter plan of a plain loop, or the same where none is found or somebody is left out.

    Parameters
    ----------
    progress
        Part of the work that is done after so many descents, the first of which needs no shake; at
        1 the search is over. By default there are ``ROUNDS`` shakes for each node, of 200 nodes at
        the most.
    watch
        Told the cost whenever the plan gets better.
    deadline
        When it is over the best plan so far is taken.
    found
        Told every better plan, judged by the referee.
    """
    problem = solution.plan.problem
    if not solution.feasible or deadline.left < _SECONDS_A_PAIR * problem.size**2:
        return solution  # or there is no time to find the neighbours
    shakes = ROUNDS * min(problem.size, _MOST_SHAKEN)
    progress = progress or (lambda done: done / (shakes + 1))
    roads = Roads(problem)
    (route,) = roads.read(solution)
    home = roads.nodes(route)[0]

    def judged(loop: np.ndarray) -> Solution:
        around = np.roll(loop, -int(np.flatnonzero(loop == home)[0]))
        return roads.judged_plan([Route(route.kind, tuple(around[1:].tolist()))])

    def tell(loop: np.ndarray) -> None:
        better = judged(loop)
        if found is not None and better.feasible and better.cost < solution.cost:
            found(better)

    hear = None if found is None else tell
    bounded = deadline.bound(progress)
    search = _Search(roads, bounded, np.random.default_rng(seed), watch, hear)
    last = judged(search.run(np.array([home, *route.stops])))
    return last if last.feasible and last.cost < solution.cost else solution


def best_exchange(
    length: np.ndarray, loop: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[float, tuple[int, int, int]]:
    """The best way to let two neighbouring parts of a loop (N,) change places.

    For pairs (P,) of places i and j, the parts are those from behind i up to j, and from behind j
    up to some k. Returns what it adds to the length, and i, j and k.
    """
    size = len(loop)
    after = np.append(loop[1:], loop[0])
    arcs = length[loop, after]  # (N,)
    behind = (second - first) % size  # (P,) from i to j
    third = np.arange(size)  # (N,)
    beyond = (third - first[:, None]) % size  # (P, N) from i to k
    legal = (behind > 0)[:, None] & (beyond > behind[:, None])
    extra = (length[loop[first], after[second]] - arcs[first] - arcs[second])[:, None]
    extra = extra + length[loop[third], after[first][:, None]]
    extra = extra + length[loop[second][:, None], after[third]] - arcs
    extra = np.where(legal, extra, np.inf)
    best = int(extra.argmin())
    pair, k = divmod(best, size)
    return float(extra.flat[best]), (int(first[pair]), int(second[pair]), k)


def exchanged(loop: np.ndarray, i: int, j: int, k: int) -> np.ndarray:
    """The loop from behind i on, the part behind j ahead of the one behind i."""
    turned = np.roll(loop, -(i + 1))
    j, k = (j - i - 1) % len(loop), (k - i - 1) % len(loop)
    return np.concatenate([turned[j + 1 : k + 1], turned[: j + 1], turned[k + 1 :]])


def best_reversal(
    length: np.ndarray, loop: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[float, tuple[int, int]]:
    """The best way to turn round a part of a loop (N,) that is as long both ways.

    For pairs (P,) of places i and j, the part is that from behind i up to j. Returns what it adds
    to the length, and i and j.
    """
    after = np.append(loop[1:], loop[0])
    extra = length[loop[first], loop[second]] + length[after[first], after[second]]
    extra = extra - length[loop[first], after[first]] - length[loop[second], after[second]]
    extra = np.where(first == second, np.inf, extra)
    best = int(extra.argmin())
    return float(extra[best]), (int(first[best]), int(second[best]))


def reversed_part(loop: np.ndarray, i: int, j: int) -> np.ndarray:
    """The loop from behind i on, turned round up to j."""
    turned = np.roll(loop, -(i + 1))
    j = (j - i - 1) % len(loop)
    return np.concatenate([turned[j::-1], turned[j + 1 :]])


def _ends(loop: np.ndarray, *places: int) -> set[int]:
    """The nodes of the arcs that begin at these places."""
    return {int(loop[(place + more) % len(loop)]) for place in places for more in (0, 1)}


class _Search:
    """The search for a shorter loop."""

    def __init__(
        self,
        roads: Roads,
        progress: Callable[[int], float],
        draws: np.random.Generator,
        watch: Callable[[float], None] | None,
        hear: Callable[[np.ndarray], None] | None,
    ) -> None:
        self._progress, self._draws, self._watch, self._hear = progress, draws, watch, hear
        self._done = 0  # descents
        self._length = length = roads.length[:-1, :-1]
        self._dust = 1e-2 * roads.problem.length_tolerance
        self._both_ways = bool((length == length.T).all())
        apart = length.copy()
        np.fill_diagonal(apart, np.inf)
        near = min(_NEAR, len(length) - 1)
        self._to = apart.argsort(axis=1, kind="stable")[:, :near]  # (N, K) where arcs lead
        self._from = apart.T.argsort(axis=1, kind="stable")[:, :near]  # (N, K) where from

    def run(self, loop: np.ndarray) -> np.ndarray:
        """The shortest loop found."""
        best = now = self._descended(loop, set(loop.tolist()))
        least = cost = self._cost(best)
        self._tell(least, best)
        while (part := self._progress(self._done)) < 1.0:
            trial = self._descended(*self._shaken(now))
            new = self._cost(trial)
            # One that is as short is gone on with, and one that is a bit longer, less and less.
            warmth = _WARMTH * (1.0 - part) * least / len(loop)
            if new <= cost + self._dust - warmth * np.log(self._draws.uniform(1e-12, 1.0)):
                now, cost = trial, new
            if new < least - self._dust:
                best, least = trial, new
                self._tell(least, best)
        return best

    def _tell(self, cost: float, loop: np.ndarray) -> None:
        if self._watch is not None:
            self._watch(cost)
        if self._hear is not None:
            self._hear(loop)

    def _cost(self, loop: np.ndarray) -> float:
        return float(self._length[loop, np.roll(loop, -1)].sum())

    def _descended(self, loop: np.ndarray, touched: set[int]) -> np.ndarray:
        """The loop when nothing near the touched nodes helps any more, or the time is up."""
        waiting = sorted(touched)
        while waiting and self._progress(self._done) < 1.0:
            some, rest = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
            better = self._better(loop, np.array(some))
            if better is None:
                waiting = rest
            else:
                loop, nodes = better
                waiting = sorted(nodes.union(some)) + [node for node in rest if node not in nodes]
        self._done += 1
        return loop

    def _better(self, loop: np.ndarray, touched: np.ndarray) -> tuple[np.ndarray, set[int]] | None:
        """A shorter loop, and the nodes whose arcs have changed; None where nothing helps."""
        size = len(loop)
        place = np.empty(size, dtype=np.int64)
        place[loop] = np.arange(size)
        if self._both_ways:
            first = np.repeat(place[touched], self._to.shape[1])
            second = place[self._to[touched]].ravel()
            # A new arc joins the first nodes of two old arcs, or their last ones.
            ahead = np.stack([first, (first - 1) % size], axis=0).ravel()
            other = np.stack([second, (second - 1) % size], axis=0).ravel()
            extra, (i, j) = best_reversal(self._length, loop, ahead, other)
            if extra < -self._dust:
                return reversed_part(loop, i, j), _ends(loop, i, j)
        # A new arc leads from a touched node, or to one.
        near = self._to.shape[1]
        tails = np.concatenate([np.repeat(touched, near), self._from[touched].ravel()])
        heads = np.concatenate([self._to[touched].ravel(), np.repeat(touched, near)])
        first, second = place[tails], (place[heads] - 1) % size
        saved = self._length[loop[first], loop[(first + 1) % size]]
        promising = (self._length[tails, heads] < saved) & (first != second)
        if promising.any():
            pairs = first[promising], second[promising]
            extra, (i, j, k) = best_exchange(self._length, loop, *pairs)
            if extra < -self._dust:
                return exchanged(loop, i, j, k), _ends(loop, i, j, k)
        return None

    def _shaken(self, loop: np.ndarray) -> tuple[np.ndarray, set[int]]:
        """Two neighbouring parts change places, now and then twice; with the nodes at their ends.

        Once alone could lead back to where it came from, always.
        """
        size = len(loop)
        longest = min(_LONGEST, (size - 1) // 2)
        touched: set[int] = set()
        for _ in range(1 + (self._draws.random() < _TWICE)):
            i = int(self._draws.integers(size))
            j, k = i + np.cumsum(self._draws.integers(1, longest + 1, size=2))
            touched |= _ends(loop, i, int(j), int(k))
            loop = exchanged(loop, i, int(j) % size, int(k) % size)
        return loop, touched
