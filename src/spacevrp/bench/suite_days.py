"""Days as people have them: seeded instances with roads, shifts, skills, pins and too few vehicles.

Lengths are whole metres and times whole seconds after midnight, so that solvers that count in whole
numbers are given exactly the same problem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from spacevrp.bench.suite_methods import Item
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

Floats = NDArray[np.float64]

_HOUR, _MINUTE = 3600, 60
_DAY = (8 * _HOUR, 18 * _HOUR)
_SIDE = 30_000  # metres
_WINDING = 1.3  # roads against straight lines
_SPEED = 12.0  # metres a second
_START_UP = 40  # seconds added to every trip
# Of streets: to how many neighbours, metres a second, and seconds lost at each end.
_NEIGHBOURS, _STREET_SPEEDS, _AT_JUNCTIONS = 5, (7.0, 12.0, 22.0), 8
# To leave out a stop that must be served costs so many times the longest trip there and back.
_PRICE_OF_A_STOP = 5


def build_day(kind: str, size: int, number: int, seed: int) -> Item:
    """Day ``number`` of a series; ``size`` are stops, or pairs where there are pairs.

    Other solvers are given the same, but for what they do not know: stops that must be served, and
    cannot all be, become optional at a high price, and a vehicle with pinned stops starts where
    these end.
    """
    draw = np.random.default_rng([seed, number, size, *kind.encode()])
    problem = KINDS[kind](draw, size).replace(name=f"{kind}-n{size}-s{seed}-i{number}")
    if kind in FLEETS:
        problem = problem.replace(max_routes=-(-size // FLEETS[kind][number % len(FLEETS[kind])]))
    if any(terms.pinned for terms in problem.fleet):
        return _without_pins(problem)
    if kind == "overloaded":
        return Item(
            problem, given=_with_prices(problem), back=lambda found: _judged(problem, found)
        )
    return Item(problem)


# ------------------------------------------------------------------------------------------- parts


def _town(draw: Generator, size: int, depots: int) -> Floats:
    """(depots + size, 2) metres: depots on a ring, half of the stops in five quarters."""
    turn = draw.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(depots) / max(depots, 1)
    ring = _SIDE / 2 + (depots > 1) * _SIDE / 4 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    quarters = draw.uniform(0.15, 0.85, (5, 2)) * _SIDE
    near = quarters[draw.integers(0, 5, size)] + draw.normal(0, 0.05 * _SIDE, (size, 2))
    far = draw.uniform(0, _SIDE, (size, 2))
    stops = np.where(draw.random((size, 1)) < 0.5, near, far)
    return np.vstack([ring, stops.clip(0, _SIDE)])


def _roads(draw: Generator, places: Floats) -> tuple[Floats, Floats]:
    """Metres and seconds (N, N), longer uphill; detours never pay."""
    height = draw.uniform(0, 300, len(places))
    straight = np.hypot(*(places[:, np.newaxis] - places).transpose(2, 0, 1))
    metres = np.rint(_WINDING * straight + np.maximum(height - height[:, np.newaxis], 0))
    np.fill_diagonal(metres, 0)
    seconds = np.rint(metres / _SPEED) + _START_UP
    np.fill_diagonal(seconds, 0)
    return metres, seconds


def _street_roads(draw: Generator, places: Floats) -> tuple[Floats, Floats]:
    """Metres and seconds (N, N) of the fastest ways through streets between neighbours.

    Streets are slow, usual or fast, and every third leads one way only. A chain from west to east
    leads both ways, so that there is a way from anywhere to anywhere.
    """
    size = len(places)
    straight = np.hypot(*(places[:, np.newaxis] - places).transpose(2, 0, 1))
    near = np.argsort(straight, axis=1)[:, 1 : _NEIGHBOURS + 1]
    linked = np.zeros((size, size), dtype=bool)
    linked[np.arange(size)[:, np.newaxis], near] = True
    both_ways = draw.random((size, size)) < 2 / 3
    linked |= linked.T & np.triu(both_ways | both_ways.T)
    chain = np.argsort(places[:, 0])
    linked[chain[:-1], chain[1:]] = linked[chain[1:], chain[:-1]] = True
    speed = draw.choice(_STREET_SPEEDS, (size, size))
    speed = np.triu(speed) + np.triu(speed, 1).T  # the same in both directions
    seconds = np.where(linked, _WINDING * straight / speed + _AT_JUNCTIONS, np.inf)
    metres = np.where(linked, _WINDING * straight, np.inf)
    np.fill_diagonal(seconds, 0)
    np.fill_diagonal(metres, 0)
    for over in range(size):  # Floyd and Warshall
        through = seconds[:, over, np.newaxis] + seconds[over]
        faster = through < seconds
        seconds[faster] = through[faster]
        metres[faster] = (metres[:, over, np.newaxis] + metres[over])[faster]
    return np.rint(metres), np.rint(seconds)


def _windows(draw: Generator, size: int, depots: int, hours: tuple[float, float]) -> Floats:
    """(depots + size, 2): depots open all day, stops for so many hours (least, most)."""
    long = np.rint(draw.uniform(*hours, size) * 4) * _HOUR / 4
    latest = _DAY[1] - long - _HOUR
    opening = _DAY[0] + np.rint(draw.random(size) * (latest - _DAY[0]) / 900) * 900
    stops = np.stack([opening, opening + long], axis=1)
    return np.vstack([np.tile(np.array(_DAY, dtype=float), (depots, 1)), stops])


def _make(
    draw: Generator,
    size: int,
    depots: int = 1,
    *,
    hours: tuple[float, float] = (2, 5),
    minutes: tuple[int, int] = (5, 16),
    **features: Any,
) -> Problem:
    """Stops with a demand, open for so many hours, served in so many minutes, unless given."""
    metres, seconds = _roads(draw, _town(draw, size, depots))
    none = np.zeros(depots)
    usual = {
        "demand": np.concatenate([none, draw.integers(1, 10, size)]),
        "windows": _windows(draw, size, depots, hours),
        "service": np.concatenate([none, _MINUTE * draw.integers(*minutes, size)]),
        "depots": tuple(range(depots)),
    }
    return Problem.from_matrix(metres, durations=seconds, **{**usual, **features})


# ------------------------------------------------------------------------------------ kinds of days


def _skills(draw: Generator, size: int) -> Problem:
    """Two depots with a large and a small type each; a quarter of the stops needs two of them."""
    skilled = draw.random(size) < 0.25
    others = tuple(int(node) for node in 2 + np.flatnonzero(~skilled))
    early, late = (_DAY[0], 16 * _HOUR), (10 * _HOUR, _DAY[1])
    vehicles = [
        Vehicle("large A", 4, 90, 0, fixed_cost=15_000, window=early, allowed=others),
        Vehicle("small A", 5, 45, 0, fixed_cost=8_000, window=late),
        Vehicle("large B", 4, 90, 1, fixed_cost=15_000, window=early),
        Vehicle("small B", 5, 45, 1, fixed_cost=8_000, window=late, allowed=others),
    ]
    return _make(draw, size, 2, vehicles=vehicles)


def _pair_up(size: int) -> list[tuple[int, int]]:
    """Pickups come first in the numbering."""
    return [(1 + pair, 1 + size + pair) for pair in range(size)]


def _pairs(draw: Generator, size: int) -> Problem:
    """Goods from one customer to another."""
    amount = draw.integers(1, 10, size)
    windows = _windows(draw, 2 * size, 1, (2, 5))
    pickups, deliveries = windows[1 : size + 1], windows[size + 1 :]
    deliveries[:] = np.minimum(np.maximum(deliveries, pickups + _HOUR), _DAY[1] - _HOUR)
    deliveries[:, 1] = np.maximum(deliveries[:, 1], pickups[:, 0] + 3 * _HOUR)
    demand = np.concatenate([[0], -amount, amount])
    return _make(
        draw,
        2 * size,
        demand=demand,
        capacity=25,
        windows=windows,
        minutes=(3, 9),
        pairs=_pair_up(size),
    )


def _dial_a_ride(draw: Generator, size: int) -> Problem:
    """Passengers with a quarter of an hour at one end, and an hour and a half around the ride."""
    seats = draw.choice([1, 2], size, p=[0.8, 0.2])
    demand = np.concatenate([[0], -seats, seats])
    town = _make(draw, 2 * size, demand=demand, capacity=4, minutes=(1, 4), pairs=_pair_up(size))
    pickups, deliveries = np.arange(1, size + 1), np.arange(size + 1, 2 * size + 1)
    ride = town.durations.matrix()[pickups, deliveries] + town.service[pickups]
    fixed = np.rint(draw.uniform(_DAY[0] + 2 * _HOUR, _DAY[1] - 3 * _HOUR, size) / 300) * 300
    homeward = draw.random(size) < 0.5  # the pickup's moment is fixed, otherwise the arrival
    slack, quarter = 90 * _MINUTE, 15 * _MINUTE
    windows = town.windows.copy()
    windows[pickups, 0] = np.where(homeward, fixed, fixed - ride - slack)
    windows[pickups, 1] = np.where(homeward, fixed + quarter, fixed + quarter - ride)
    windows[deliveries, 0] = np.where(homeward, fixed + ride, fixed)
    windows[deliveries, 1] = np.where(homeward, fixed + ride + slack, fixed + quarter)
    windows[pickups] = np.maximum(windows[pickups], [_DAY[0], _DAY[0] + _HOUR])
    return town.replace(windows=windows)


def _optional(draw: Generator, size: int) -> Problem:
    """Every fifth stop must be served, the others at a price."""
    penalty = np.rint(draw.uniform(2_000, 15_000, size + 1))
    penalty[1::5] = np.inf
    vans = Vehicle("van", max(2, size // 20), 80, fixed_cost=10_000)
    return _make(draw, size, penalty=penalty, vehicles=[vans])


def _mixed(draw: Generator, size: int) -> Problem:
    """Deliveries from the depot and pickups for it, in any order."""
    signs = np.where(draw.random(size) < 0.4, -1, 1)
    demand = np.concatenate([[0], signs * draw.integers(1, 10, size)])
    return _make(
        draw, size, demand=demand, capacity=50, load_rule="separate", hours=(2, 6), minutes=(3, 9)
    )


def _pinned(draw: Generator, size: int) -> Problem:
    """Vehicles on the road: the first stops of each are decided, two more are at the depot."""
    town = _make(draw, size)
    seconds, windows = town.durations.matrix(), town.windows.copy()
    # Each goes its own way: stops in the order of a first tour are divided among them.
    order = [0]
    while len(order) <= size:
        left = np.setdiff1d(np.arange(1, size + 1), order)
        order.append(int(left[np.argmin(seconds[order[-1], left])]))
    vehicles = []
    for number, part in enumerate(np.array_split(order[1:], max(2, size // 15))):
        clock, pins = _DAY[0], [0]
        for node in part[: 1 + number % 4].tolist():
            arrival = clock + seconds[pins[-1], node]
            windows[node] = arrival - _HOUR, arrival + 2 * _HOUR
            clock = arrival + town.service[node]
            pins.append(node)
        vehicles.append(Vehicle(f"out {number}", 1, 80, pinned=tuple(pins[1:])))
    vehicles.append(Vehicle("at the depot", 2, 80, fixed_cost=10_000))
    return town.replace(windows=windows, vehicles=tuple(vehicles))


def _overloaded(draw: Generator, size: int) -> Problem:
    """Shifts too short for all stops, all of which must be served."""
    vans = Vehicle("van", max(1, round(size / 21)), 150, window=_DAY)
    return _make(draw, size, hours=(2, 4), minutes=(13, 29), vehicles=[vans])


def _trips(draw: Generator, size: int) -> Problem:
    """Few small vans that come back to load again, which takes 20 minutes."""
    vans = Vehicle("van", max(1, round(size / 20)), 30, window=_DAY, reload_depots=(0,))
    town = _make(draw, size, hours=(3, 8), vehicles=[vans])
    service = town.service.copy()
    service[0] = 20 * _MINUTE
    return town.replace(service=service)


def _streets(draw: Generator, size: int) -> Problem:
    """One-way streets."""
    metres, seconds = _street_roads(draw, _town(draw, size, 1))
    return Problem.from_matrix(
        metres,
        durations=seconds,
        demand=np.concatenate([[0], draw.integers(1, 10, size)]),
        capacity=130,
        windows=_windows(draw, size, 1, (1, 3)),
        service=np.concatenate([[0], _MINUTE * draw.integers(12, 31, size)]),
    )


KINDS: dict[str, Callable[[Generator, int], Problem]] = {
    "several depots": lambda draw, size: _make(draw, size, 3, capacity=60, hours=(1.5, 4)),
    "skills": _skills,
    "pairs": _pairs,
    "dial-a-ride": _dial_a_ride,
    "optional": _optional,
    "mixed": _mixed,
    "pinned": _pinned,
    "overloaded": _overloaded,
    "trips": _trips,
    "streets": _streets,
}
# Stops for each vehicle, where a fleet is limited so: roomy to tight, instances take turns.
FLEETS = {"streets": (13, 16, 18, 19, 20, 21)}


# ------------------------------------------------------------------ what others are given, and back


def _judged(problem: Problem, found: Solution) -> Solution:
    return Solution.judged(problem, found.routes, found.vehicles)


def _with_prices(problem: Problem) -> Problem:
    """Stops that must be served may be left out, at a price above any detour."""
    there_and_back = 2 * float(problem.distances.matrix().max())
    return problem.replace(
        penalty=np.minimum(problem.penalty, _PRICE_OF_A_STOP * there_and_back), variant=None
    )


def _without_pins(problem: Problem) -> Item:
    """Each vehicle starts at its last pinned stop, when that is done, with what room is left.

    Exact but for a vehicle that goes home from there: its way home is not seen by the search, and
    is counted afterwards.
    """
    ends = {terms.number: terms.pinned[-1] for terms in problem.fleet if terms.pinned}
    done = {node for terms in problem.fleet for node in terms.pinned}
    keep = [node for node in range(problem.size) if node not in done]
    # Places of the reduced problem: what is left, then where each vehicle on the road is.
    places = keep + list(ends.values())
    new = {node: index for index, node in enumerate(keep)}
    starts = {number: len(keep) + k for k, number in enumerate(ends)}
    windows = problem.windows[places].copy()
    windows[len(keep) :] = windows[new[problem.depots[0]]]
    demand, service = problem.demand[places].copy(), problem.service[places].copy()
    demand[len(keep) :], service[len(keep) :] = 0, 0
    vehicles = []
    for terms in problem.fleet:
        vehicle = Vehicle(
            terms.name,
            terms.count,
            terms.capacities[0] - sum(problem.demand[list(terms.pinned)]),
            starts.get(terms.number, new[terms.start]),
            new[terms.start],
            fixed_cost=terms.fixed_cost if not terms.pinned else 0.0,
            window=(_clock_after(problem, terms.start, terms.pinned), None),
        )
        vehicles.append(vehicle)
    given = Problem.from_matrix(
        problem.distances.matrix()[np.ix_(places, places)],
        durations=problem.durations.matrix()[np.ix_(places, places)],
        depots=(new[problem.depots[0]], *starts.values()),
        demand=demand,
        windows=windows,
        service=service,
        vehicles=vehicles,
    )

    def back(found: Solution) -> Solution:
        tails: dict[int, list[list[int]]] = {terms.number: [] for terms in problem.fleet}
        for number, route in zip(found.vehicles or (), found.routes, strict=True):
            stops = [places[node] for node in route if node not in given.depots]
            tails[number].append(stops)
        routes, vehicles = [], []
        for terms in problem.fleet:
            for stops in tails[terms.number] or ([[]] if terms.pinned else []):
                routes.append([terms.start, *terms.pinned, *stops, terms.start])
                vehicles.append(terms.number)
        return Solution.judged(problem, routes, vehicles)

    return Item(problem, given=given, back=back)


def _clock_after(problem: Problem, start: int, pinned: Sequence[int]) -> float:
    """When a vehicle has served its pinned stops."""
    clock = float(problem.windows[start, 0])
    seconds = problem.durations.matrix()
    for before, node in pairwise((start, *pinned)):
        clock = max(clock + seconds[before, node], problem.windows[node, 0]) + problem.service[node]
    return float(clock)
