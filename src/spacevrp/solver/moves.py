"""Moves between two routes and within one, those that save most first.

What a move saves is told by the lengths of a few arcs, for all moves of a kind at once. Whether it
is legal is for the referee to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spacevrp.solver.roads import Roads, Route, Stops

# Customers that are moved together, in their order or turned round; and that change places.
_LONGEST_MOVED, _LONGEST_SWAPPED = 3, 2
# Of one kind of move between two routes; the rest saves less.
_MOST = 100


@dataclass(frozen=True)
class Move:
    """What two routes become (one stays as it is, or empty, in some moves), and what that adds."""

    extra: float
    first: Route
    second: Route | None


def moves_between(roads: Roads, first: Route, second: Route, dust: float) -> Iterator[Move]:
    """Moves that make two routes together cheaper by more than ``dust``, the best first.

    ``second`` may be one that has not left yet.
    """
    a, b = _Sheet.of(roads, first), _Sheet.of(roads, second)
    found: list[tuple[float, Callable[[], tuple[Stops, Stops]]]] = []
    if roads.problem.pairs:
        found += _pairs_moved(roads, a, b, dust)
        found += [(extra, _turned(build)) for extra, build in _pairs_moved(roads, b, a, dust)]
    else:
        for count in range(1, _LONGEST_MOVED + 1):
            for turned in (False, True)[: 1 if count == 1 else 2]:
                found += _moved(a, b, count, turned, dust)
                back = _moved(b, a, count, turned, dust)
                found += [(extra, _turned(build)) for extra, build in back]
        for here in range(1, _LONGEST_SWAPPED + 1):
            for there in range(1, _LONGEST_SWAPPED + 1):
                found += _swapped(a, b, here, there, dust)
    found += _tails(a, b, dust)
    found += _heads(a, b, dust)
    for extra, build in sorted(found, key=lambda one: one[0]):
        left, right = build()
        yield Move(extra, Route(first.kind, left), Route(second.kind, right))


def moves_within(roads: Roads, route: Route, dust: float) -> Iterator[Move]:
    """Moves that make one route shorter by more than ``dust``, the best first."""
    a = _Sheet.of(roads, route)
    found: list[tuple[float, Callable[[], Stops]]] = [
        *_reversed(a, dust),
        *_swapped_within(a, dust),
    ]
    for count in range(1, _LONGEST_MOVED + 1):
        for turned in (False, True)[: 1 if count == 1 else 2]:
            found += _moved_within(a, count, turned, dust)
    for pair in dict.fromkeys(roads.couple[node] for node in route.stops if node in roads.couple):
        rest = tuple(node for node in route.stops if node not in pair)
        base = _Sheet.of(roads, Route(route.kind, rest))
        more = base.insertions_of_pair(pair) - (a.total - base.total)  # (S + 1, S + 1)
        found += [(extra, _inserting(rest, pair, place)) for extra, place in _best(more, dust)]
    for extra, build in sorted(found, key=lambda one: one[0]):
        yield Move(extra, Route(route.kind, build()), None)


def with_pair(rest: Stops, pair: Stops, place: tuple[int, int]) -> Stops:
    """The stops with a pickup and its delivery after so many of them each."""
    pickup, delivery = place
    return (*rest[:pickup], pair[0], *rest[pickup:delivery], pair[1], *rest[delivery:])


class _Sheet:
    """A route with all that its moves need to know."""

    def __init__(self, length: np.ndarray, nodes: np.ndarray, idle: float) -> None:
        self.length, self.nodes, self.idle = length, nodes, idle
        self.stops: Stops = tuple(nodes[1:-1].tolist())
        self.count = len(self.stops)
        self.forward = np.append(0.0, np.cumsum(length[nodes[:-1], nodes[1:]]))  # (S + 2,)
        self.backward = np.append(0.0, np.cumsum(length[nodes[1:], nodes[:-1]]))  # (S + 2,)
        self.total = float(self.forward[-1])

    @cached_property
    def between(self) -> np.ndarray:
        """(S + 2, S + 2) the lengths between all of its places: of these, moves take slices."""
        return self.length[self.nodes[:, None], self.nodes]

    @classmethod
    def of(cls, roads: Roads, route: Route) -> _Sheet:
        return cls(roads.length, roads.nodes(route), roads.idle(route.kind))

    def insertions(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """(P, S + 1) what P chains add to each arc, but for their own length."""
        length, nodes = self.length, self.nodes
        arcs = np.diff(self.forward)  # (S + 1,)
        return length[nodes[:-1], first[:, None]] + length[last[:, None], nodes[1:]] - arcs

    def insertions_of_pair(self, pair: Stops) -> np.ndarray:
        """(S + 1, S + 1) what a pickup and its delivery add to an arc each; inf where too early."""
        alone = self.insertions(np.array(pair), np.array(pair))  # (2, S + 1)
        more = alone[0][:, None] + alone[1][None, :]
        more[np.tri(len(more), k=-1, dtype=bool)] = np.inf
        together = self.insertions(np.array(pair[:1]), np.array(pair[1:]))[0]
        np.fill_diagonal(more, together + self.length[pair])
        return more

    def chains(self, count: int, turned: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First and last node and own length of all chains of so many stops, (S - count + 1,)."""
        starts = np.arange(1, self.count - count + 2)
        ends = starts + count - 1
        sums = self.backward if turned else self.forward
        first, last = self.nodes[starts], self.nodes[ends]
        if turned:
            first, last = last, first
        return first, last, sums[ends] - sums[starts]

    def savings(self, count: int) -> np.ndarray:
        """(S - count + 1,) what the route saves without each chain of so many stops."""
        places = np.arange(0, self.count - count + 1)
        skipped = self.forward[places + count + 1] - self.forward[places]
        return skipped - self.length[self.nodes[places], self.nodes[places + count + 1]]


Built = Callable[[], tuple[Stops, Stops]]


def _best(extra: np.ndarray, dust: float) -> Iterator[tuple[float, tuple[int, ...]]]:
    """The entries that save something, the best first, with their places."""
    flat = extra.ravel()
    where = np.flatnonzero(flat < -dust)
    if len(where) > _MOST:
        where = where[np.argpartition(flat[where], _MOST)[:_MOST]]
    for place in where:
        yield float(flat[place]), tuple(int(n) for n in np.unravel_index(place, extra.shape))


def _turned(build: Built) -> Built:
    return lambda: build()[::-1]


def _inserting(rest: Stops, pair: Stops, place: tuple[int, ...]) -> Callable[[], Stops]:
    return lambda: with_pair(rest, pair, (place[0], place[1]))


def _cut(stops: Stops, place: int, count: int) -> tuple[Stops, Stops]:
    """A chain of the stops, and the others."""
    return stops[place : place + count], stops[:place] + stops[place + count :]


def _moved(
    a: _Sheet, b: _Sheet, count: int, turned: bool, dust: float
) -> list[tuple[float, Built]]:
    """Chains of the first route that go over to the second."""
    if a.count < count:
        return []
    first, last, own = a.chains(count, turned)
    extra = b.insertions(first, last) + (own - a.savings(count))[:, None]  # (P, S + 1)
    if a.count == count:
        extra -= a.idle  # the vehicle stays at home
    if not b.count:
        extra += b.idle

    def build(i: int, k: int) -> Built:
        def built() -> tuple[Stops, Stops]:
            chain, rest = _cut(a.stops, i, count)
            return rest, b.stops[:k] + (chain[::-1] if turned else chain) + b.stops[k:]

        return built

    return [(gain, build(i, k)) for gain, (i, k) in _best(extra, dust)]


def _swapped(a: _Sheet, b: _Sheet, here: int, there: int, dust: float) -> list[tuple[float, Built]]:
    """A chain of each route takes the place of the other's."""
    if a.count < here or b.count < there:
        return []
    first_a, last_a, own_a = a.chains(here, turned=False)
    first_b, last_b, own_b = b.chains(there, turned=False)
    extra = _replaced(a, here, first_b, last_b, own_b)
    extra = extra + _replaced(b, there, first_a, last_a, own_a).T

    def build(i: int, k: int) -> Built:
        def built() -> tuple[Stops, Stops]:
            mine, other = a.stops[i : i + here], b.stops[k : k + there]
            return (
                a.stops[:i] + other + a.stops[i + here :],
                b.stops[:k] + mine + b.stops[k + there :],
            )

        return built

    return [(gain, build(i, k)) for gain, (i, k) in _best(extra, dust)]


def _replaced(
    a: _Sheet, count: int, first: np.ndarray, last: np.ndarray, own: np.ndarray
) -> np.ndarray:
    """(P, Q) what a route adds with each of Q other chains in the place of each of its own P."""
    places = np.arange(0, a.count - count + 1)
    before, after = a.nodes[places], a.nodes[places + count + 1]
    skipped = a.forward[places + count + 1] - a.forward[places]
    link = a.length[before[:, None], first] + a.length[last, after[:, None]] + own
    return link - skipped[:, None]


def _tails(a: _Sheet, b: _Sheet, dust: float) -> list[tuple[float, Built]]:
    """The routes exchange what follows after some stop; joining and splitting are among it."""
    extra = _begun(a)[:, None] + _joined(a, b) + _begun(b)[None, :] + _joined(b, a).T
    extra -= a.total + b.total  # (A + 1, B + 1)
    _count_vehicles(extra, a, b, (0, b.count), (a.count, 0))
    extra[a.count, b.count] = 0.0

    def build(i: int, k: int) -> Built:
        return lambda: (a.stops[:i] + b.stops[k:], b.stops[:k] + a.stops[i:])

    return [(gain, build(i, k)) for gain, (i, k) in _best(extra, dust)]


def _begun(a: _Sheet) -> np.ndarray:
    """(A + 1,) the way to each stop, the start included."""
    return a.forward[:-1]


def _joined(a: _Sheet, b: _Sheet) -> np.ndarray:
    """(A + 1, B + 1) on from a stop of the first over the second's tail to the first's end."""
    link = a.length[a.nodes[:-1, None], b.nodes[None, 1:]].copy()  # its last column is not used
    link[:, -1] = a.length[a.nodes[:-1], a.nodes[-1]]
    if b.count:
        tail = b.forward[-2] - b.forward[1:-1] + b.length[b.nodes[-2], a.nodes[-1]]
        link[:, :-1] += tail
    return link


def _heads(a: _Sheet, b: _Sheet, dust: float) -> list[tuple[float, Built]]:
    """The first goes on with the second's head turned round, the second begins with its tail."""
    if not a.count or not b.count:
        return []
    length, start, end = a.length, b.nodes[0], a.nodes[-1]
    # (A + 1, B + 1) from stop i of the first back over stops k to 1 of the second
    ahead = length[a.nodes[:-1, None], b.nodes[None, :-1]].copy()
    ahead += b.backward[:-1] - b.backward[1] + length[b.nodes[1], end]
    ahead[:, 0] = length[a.nodes[:-1], end]
    # and from the second's start back over the first's tail to stop k + 1
    behind = length[a.nodes[1:, None], b.nodes[None, 1:]].copy()
    behind += (a.backward[-2] - a.backward[1:] + length[start, a.nodes[-2]])[:, None]
    behind[-1, :] = length[start, b.nodes[1:]]
    rest = b.total - b.forward[1:]  # (B + 1,)
    extra = _begun(a)[:, None] + ahead + behind + rest - (a.total + b.total)
    _count_vehicles(extra, a, b, (0, 0), (a.count, b.count))

    def build(i: int, k: int) -> Built:
        return lambda: (a.stops[:i] + b.stops[:k][::-1], a.stops[i:][::-1] + b.stops[k:])

    return [(gain, build(i, k)) for gain, (i, k) in _best(extra, dust)]


def _count_vehicles(
    extra: np.ndarray, a: _Sheet, b: _Sheet, first: tuple[int, int], second: tuple[int, int]
) -> None:
    """Where a route becomes empty its vehicle stays at home; an empty one leaves elsewhere."""
    if not b.count:
        extra += b.idle
    extra[first] -= a.idle
    extra[second] -= b.idle


def _pairs_moved(roads: Roads, a: _Sheet, b: _Sheet, dust: float) -> list[tuple[float, Built]]:
    """A pickup and its delivery go over to the second route."""
    found: list[tuple[float, Built]] = []
    for pair in dict.fromkeys(map(roads.unit, a.stops)):
        rest = tuple(node for node in a.stops if node not in pair)
        if len(pair) != 2 or len(rest) != a.count - 2:
            continue
        nodes = np.array((a.nodes[0], *rest, a.nodes[-1]))
        saved = a.total - float(a.length[nodes[:-1], nodes[1:]].sum())
        extra = b.insertions_of_pair(pair) - saved
        if not rest:
            extra -= a.idle
        if not b.count:
            extra += b.idle

        def build(rest: Stops, pair: Stops, i: int, k: int) -> Built:
            return lambda: (rest, with_pair(b.stops, pair, (i, k)))

        found += [(gain, build(rest, pair, i, k)) for gain, (i, k) in _best(extra, dust)]
    return found


# -------------------------------------------------------------------------------------- one route


def _reversed(a: _Sheet, dust: float) -> list[tuple[float, Callable[[], Stops]]]:
    """Two stops or more in a row turned round."""
    if a.count < 2:
        return []
    # (S + 1, S + 1) stops i + 1 to j turned round
    inner = a.backward[None, :-1] - a.backward[1:, None]
    skipped = a.forward[None, 1:] - a.forward[:-1, None]
    extra = a.between[:-1, :-1] + inner + a.between[1:, 1:] - skipped
    extra = np.where(np.tri(len(extra), k=1, dtype=bool), 0.0, extra)

    def build(i: int, j: int) -> Callable[[], Stops]:
        return lambda: a.stops[:i] + a.stops[i:j][::-1] + a.stops[j:]

    return [(gain, build(i, j)) for gain, (i, j) in _best(extra, dust)]


def _moved_within(
    a: _Sheet, count: int, turned: bool, dust: float
) -> list[tuple[float, Callable[[], Stops]]]:
    """A chain that goes elsewhere in its route."""
    if a.count <= count:
        return []
    _, _, own = a.chains(count, turned)
    heads, tails = slice(1, a.count - count + 2), slice(count, a.count + 1)
    first, last = (tails, heads) if turned else (heads, tails)
    link = a.between[:-1, first].T + a.between[last, 1:] - np.diff(a.forward)
    extra = link + (own - a.savings(count))[:, None]  # (P, S + 1)
    chain = np.arange(len(own))[:, None]
    extra[chain, chain + np.arange(count + 1)] = 0.0  # its own arcs

    def build(i: int, k: int) -> Callable[[], Stops]:
        def built() -> Stops:
            chain, rest = _cut(a.stops, i, count)
            at = k if k < i else k - count
            return rest[:at] + (chain[::-1] if turned else chain) + rest[at:]

        return built

    return [(gain, build(i, k)) for gain, (i, k) in _best(extra, dust)]


def _swapped_within(a: _Sheet, dust: float) -> list[tuple[float, Callable[[], Stops]]]:
    """Two stops that are not next to each other change places."""
    if a.count < 3:
        return []
    around = a.forward[2:] - a.forward[:-2]  # (S,)
    put = a.between[:-2, 1:-1] + a.between[1:-1, 2:].T  # (S, S) j at i
    extra = put + put.T - around[:, None] - around
    extra = np.where(np.tri(len(extra), k=1, dtype=bool), 0.0, extra)

    def build(i: int, j: int) -> Callable[[], Stops]:
        def built() -> Stops:
            changed = list(a.stops)
            changed[i], changed[j] = changed[j], changed[i]
            return tuple(changed)

        return built

    return [(gain, build(i, j)) for gain, (i, j) in _best(extra, dust)]
