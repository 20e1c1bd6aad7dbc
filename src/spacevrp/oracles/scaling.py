"""Integer scaling as a policy: the whole-number twin of a problem that foreign solvers can hold.

Classical solvers count in whole numbers. What they call feasible must be feasible for the referee,
and what is feasible must stay open to them; both follow from how each kind of number is rounded:

amounts (demand, prize of a threshold)
    multiplied by the smallest number that makes them whole: 1 for whole demands, 10 for tenths, 30
    for thirtieths. Where there is none, by a power of ten so large that all roundings together
    stay within a quarter of the referee's slack. A vehicle that is exactly full stays full.
costs (distance, penalty)
    by the smallest power of ten that makes them whole, if it is at most 10^6 of the instance's
    unit, otherwise by the solver's own power of ten; rounded to the nearest.
limits (length of a route, time windows)
    by a power of ten of their own. What adds up (lengths, durations, service, opening times) is
    rounded up, what limits it (limit, closing times) is rounded down, and the limit is then
    moved out by as much as rounding up can have added on the longest route. The power of ten is
    chosen such that this is within the referee's tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import BASE_TOLERANCE, Problem

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]
Routes = tuple[tuple[int, ...], ...]

# A product this close to a whole number, relative to its size, is that number.
_WHOLE = 1e-9
# What float32 adds to a number or takes from it at most, relative to its size.
_FLOAT32 = 2.0**-24
# So many are looked at before all of a large matrix are.
_FEW = 256
# Common denominators tried before powers of ten.
_LARGEST_DENOMINATOR = 1000
_LARGEST_POWER = 12
# Rules of routes for which time matters, whatever closes.
TIMED_RULES = frozenset(("release", "latest_start", "max_overtime", "unit_duration_cost"))
# Distances that are whole at this scale in units of the instance are kept exactly.
_EXACT_DIGITS = 6
# Prizes that are maximised keep so many digits where they are not whole at fewer.
_PRIZE_DIGITS = 4


@dataclass(frozen=True)
class Amounts:
    """Amounts as whole numbers: ``values`` are ``scale`` times the true ones, up to ``error``."""

    values: Whole  # (N,)
    scale: float
    error: float  # largest rounding error of one value, in whole units


@dataclass(frozen=True)
class Times:
    """Clock and windows as whole numbers; time 0 is the earliest opening of any node."""

    duration: Whole  # (N, N), 0 where there is no arc
    service: Whole  # (N,)
    opening: Whole  # (N,)
    closing: Whole  # (N,), the horizon where a window never closes
    horizon: int  # no route takes longer
    scale: float
    origin: float  # the user's moment of time 0
    room: int  # closing times have moved out by so much
    release: Whole  # (N,), 0 where goods are always there
    reload_service: Whole  # (N,), of depots


@dataclass(frozen=True)
class WholeProblem:
    """The whole-number twin of a problem; nodes keep their numbers.

    Without a depot, node 0 stands for one: a tour may start anywhere.
    """

    starts: tuple[int, ...]
    stops: tuple[int, ...]  # the nodes to visit
    banned: NDArray[np.bool_]  # (N, N) arcs no route may use
    cost: Whole  # (N, N), 0 where there is no arc
    cost_scale: float
    cost_error: float  # largest error of one entry, in the user's units
    penalty: Whole  # (N,) at the scale of the costs; 0 where a visit is compulsory
    compulsory: NDArray[np.bool_]  # (N,)
    length: Whole | None  # (N, N) rounded up, where routes have a limit that can bind
    max_length: int | None  # where all vehicles are alike
    length_scale: float
    length_room: int  # limits move out by so much
    times: Times | None
    demand: Whole | None  # (N,), where vehicles have a capacity
    capacity: int | None
    prize: Whole | None  # (N,), where prizes matter
    min_prize: int
    prize_scale: float
    prize_error: float  # largest error of one prize, in the user's units

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.cost)

    def claim(self, objective: int, prize_weight: int, maximise_prize: bool) -> float:
        """A solver's objective in the user's units.

        Where prize is maximised, a prize that is missed weighs more than all travelling together.
        """
        if not maximise_prize or self.prize is None:
            return objective / self.cost_scale
        collected = int(self.prize[list(self.stops)].sum()) - objective // prize_weight
        return -collected / self.prize_scale

    def claim_error(self, routes: Routes, maximise_prize: bool) -> float:
        """How far rounding can move the cost of these routes, in the user's units."""
        if maximise_prize:
            return self.prize_error * len(self.stops)
        legs = sum(len(route) for route in routes)
        return self.cost_error * (legs + len(self.stops))


def scale_problem(
    problem: Problem, *, digits: int = 6, largest: int = 2**40, one_length: bool = False
) -> WholeProblem:
    """The whole-number twin of a problem.

    Parameters
    ----------
    digits
        Digits of a cost of one unit of the instance, where no smaller power of ten is exact.
    largest
        The largest entry of a matrix or limit that the solver can hold.
    one_length
        The solver limits what it also minimises, so that costs and lengths must be the same.
    """
    starts = problem.depots or (0,)
    stops = tuple(node for node in range(problem.size) if node not in starts)
    distances = problem.distances.matrix()
    exists = np.isfinite(distances) & np.isfinite(problem.durations.matrix())
    finite = np.where(exists, distances, 0.0)
    legs = len(stops) + 1

    length, length_scale, length_room = _scale_lengths(problem, finite, legs, largest)
    max_length = None
    if length is not None and problem.vehicles is None:
        max_length = limit_of(problem.max_length, length_scale, length_room)
    compulsory = np.isinf(problem.penalty)
    penalty = np.where(compulsory, 0.0, problem.penalty)
    # What is paid once, for whom is left out and for vehicles that leave.
    once = np.append(penalty, [terms.fixed_cost for terms in problem.fleet])
    if one_length and length is not None:
        cost, cost_scale = length, length_scale
        # Lengths are rounded up, all else to the nearest.
        cost_error = float(np.abs(cost / cost_scale - finite).max())
        cost_error = max(cost_error, 0.5 / cost_scale if once.any() else 0.0)
    else:
        cost_scale = _cost_scale(problem, np.append(finite.ravel(), once), digits, largest)
        cost = nearest(finite, cost_scale)
        errors = (cost / cost_scale - finite, nearest(once, cost_scale) / cost_scale - once)
        cost_error = max(float(np.abs(error).max()) for error in errors)
    loads = scale_loads(problem, problem.demand, [problem.capacity], len(stops))
    prize = _scale_prizes(problem, len(stops))
    return WholeProblem(
        starts=starts,
        stops=stops,
        banned=~exists | _backhaul_to_linehaul(problem),
        cost=cost,
        cost_scale=cost_scale,
        cost_error=cost_error,
        penalty=nearest(penalty, cost_scale),
        compulsory=compulsory,
        length=length,
        max_length=max_length,
        length_scale=length_scale,
        length_room=length_room,
        times=_scale_times(problem, exists, legs, largest),
        demand=None if loads is None else loads[0],
        capacity=None if loads is None else loads[1][0],
        prize=None if prize is None else prize[0].values,
        min_prize=0 if prize is None else prize[1],
        prize_scale=1.0 if prize is None else prize[0].scale,
        prize_error=0.0 if prize is None else prize[0].error / prize[0].scale,
    )


def has_binding_windows(problem: Problem) -> bool:
    """Whether time matters: not where nothing ever closes, no shift ends, and none is limited."""
    ends = [terms.end for terms in problem.fleet if terms.end is not None]
    closing = problem.windows[[*problem.customers, *ends], 1]
    shifts = [min(terms.back_by, terms.max_duration) for terms in problem.fleet]
    timed = not TIMED_RULES.isdisjoint(problem.route_rules)
    return bool(problem.depots) and (timed or bool(np.isfinite([*closing, *shifts]).any()))


# ----------------------------------------------------------------------------------------- amounts


def scale_amounts(values: Floats, tolerance: float, count: int) -> Amounts:
    """The amounts times the smallest number that makes them whole, or nearly so.

    Nearly: all ``count`` roundings together stay within a quarter of the tolerance, so that a sum
    can be compared with a limit moved by half of it, safely and without losing what just fits. Or
    each is what rounding to float32 has done to a whole number, within the tolerance, too.
    """
    powers = (10**power for power in range(4, _LARGEST_POWER + 1))
    for scale in (*range(1, _LARGEST_DENOMINATOR + 1), *powers):
        scaled = values * float(scale)
        whole = np.rint(scaled)
        error = float(np.abs(scaled - whole).max(initial=0.0))
        rounded = bool((np.abs(scaled - whole) <= _FLOAT32 * np.abs(scaled)).all())
        if error <= _WHOLE or rounded or 4 * count * error <= tolerance * scale:
            return Amounts(whole.astype(np.int64), float(scale), error)
    raise UnsupportedError(
        f"amounts cannot be made whole: even times 10^{_LARGEST_POWER} they are not close enough "
        f"to whole numbers for the tolerance {tolerance:g}"
    )


def scale_loads(
    problem: Problem, values: Floats, capacities: Sequence[float], stops: int, kind: int = 0
) -> tuple[Whole, tuple[int, ...]] | None:
    """A kind of load, and the capacities for it; None where it is never too much."""
    limited = [capacity for capacity in capacities if math.isfinite(capacity)]
    if not limited or not values.any():
        return None
    slack = min(problem.load_slack(capacity, kind) for capacity in limited)
    amounts = scale_amounts(values, slack, stops)
    everything = int(np.abs(amounts.values).sum())
    room = stops * amounts.error + slack * amounts.scale / 2
    return amounts.values, tuple(
        math.floor(capacity * amounts.scale + room) if math.isfinite(capacity) else everything
        for capacity in capacities
    )


def _scale_prizes(problem: Problem, stops: int) -> tuple[Amounts, int] | None:
    """Prizes and the least that must be collected; None where they do not matter."""
    prizes = problem.prize
    if problem.maximise_prize:
        return _scale_maximised_prizes(prizes), 0
    total = float(prizes[list(problem.customers)].sum())
    required = min(problem.min_prize, total)
    if required <= 0.0:
        return None
    tolerance = BASE_TOLERANCE * problem.min_prize
    amounts = scale_amounts(prizes, tolerance, stops)
    room = stops * amounts.error + tolerance * amounts.scale / 2
    return amounts, math.ceil(required * amounts.scale - room)


def _scale_maximised_prizes(prizes: Floats) -> Amounts:
    exponent = exact_exponent(prizes, _PRIZE_DIGITS)
    if exponent is None:
        exponent = _PRIZE_DIGITS - math.floor(math.log10(float(prizes.max())))
    scale = 10.0**exponent
    whole = nearest(prizes, scale)
    return Amounts(whole, scale, float(np.abs(whole - prizes * scale).max()))


# ------------------------------------------------------------------------------- costs and lengths


def _cost_scale(problem: Problem, values: Floats, digits: int, largest: int) -> float:
    top = _highest_exponent(float(values.max(initial=0.0)), largest)
    magnitude = math.floor(math.log10(problem.unit))
    exact = exact_exponent(values, _EXACT_DIGITS - magnitude)
    return 10.0 ** min(digits - magnitude if exact is None else exact, top)


def _scale_lengths(
    problem: Problem, finite: Floats, legs: int, largest: int
) -> tuple[Whole | None, float, int]:
    """Lengths rounded up, None where no route can be too long; scale and room of their limits."""
    longest = float(finite.max(initial=0.0)) * legs
    limits = [terms.max_length for terms in problem.fleet] or [problem.max_length]
    binding = [limit for limit in limits if limit < longest]
    if not binding:
        return None, 1.0, 0
    top = _highest_exponent(max(float(finite.max()), *binding), largest)
    exact = exact_exponent(finite.ravel(), _EXACT_DIGITS - math.floor(math.log10(problem.unit)))
    scale, room = _limit_scale(problem.length_tolerance, exact, legs, top)
    return up(finite, scale), scale, room


def limit_of(value: float, scale: float, room: int) -> int:
    """A limit as a whole number."""
    return int(down(np.array(value), scale)) + room


def _scale_times(
    problem: Problem, exists: NDArray[np.bool_], legs: int, largest: int
) -> Times | None:
    if not has_binding_windows(problem):
        return None
    durations = np.where(exists, problem.durations.matrix(), 0.0)
    service = problem.service.copy()
    reloading = np.zeros_like(service)
    reloading[list(problem.depots)] = service[list(problem.depots)]
    service[list(problem.depots)] = 0.0  # a depot takes no time, but for reloads
    origin = float(problem.windows[:, 0].min())
    release = np.zeros(problem.size)
    if problem.release is not None:
        release = np.maximum(problem.release - origin, 0.0)
        release[~np.isfinite(release)] = 0.0
    opening = problem.windows[:, 0] - origin
    closing = problem.windows[:, 1] - origin
    begun = [max(terms.leaves_from - origin, 0.0) for terms in problem.fleet]  # shifts
    # No route takes longer, so that later closing times do not bind.
    latest_start = max(float(opening.max()), float(release.max()), *begun)
    horizon = float(durations.max(axis=1).sum() + service.sum()) + latest_start
    if "reload_depots" in problem.route_rules:  # at the most one before each customer
        horizon += legs * float(reloading.max() + durations.max())
    closing = np.minimum(closing, horizon)
    summands = np.concatenate([durations.ravel(), service, reloading, release, opening, begun])
    top = _highest_exponent(max(float(summands.max()), horizon), largest)
    magnitude = math.floor(math.log10(problem.unit_of_time))
    exact = exact_exponent(summands, _EXACT_DIGITS - magnitude)
    # Each leg and each service is rounded, and one opening time.
    scale, room = _limit_scale(problem.time_tolerance, exact, 2 * legs + 1, top)
    latest = down(closing, scale) + room
    end = math.ceil(horizon * scale) + 2 * legs + 2
    return Times(
        duration=up(durations, scale),
        service=up(service, scale),
        opening=up(opening, scale),
        closing=np.minimum(latest, end),
        horizon=end,
        scale=scale,
        origin=origin,
        room=room,
        release=up(release, scale),
        reload_service=up(reloading, scale),
    )


def _limit_scale(
    tolerance: float, exact: int | None, roundings: int, top: int
) -> tuple[float, int]:
    """A scale for what is limited, and how far the limit moves out, in whole units."""
    if exact is not None and exact <= top:
        return 10.0**exact, 0
    exponent = min(math.ceil(math.log10(roundings / tolerance)), top)
    scale = 10.0**exponent
    return scale, min(roundings, math.floor(tolerance * scale))


def _backhaul_to_linehaul(problem: Problem) -> NDArray[np.bool_]:
    """(N, N) the arcs that backhauls-last forbids whatever else the route holds."""
    if not problem.backhaul_last:
        return np.zeros((problem.size, problem.size), dtype=bool)
    loads = problem.loads  # of one sign at each node
    return np.outer((loads < 0).any(axis=1), (loads > 0).any(axis=1))


# ---------------------------------------------------------------------------------------- rounding


def exact_exponent(values: Iterable[float] | Floats, highest: int) -> int | None:
    """The smallest power of ten, 10^0 or more, that makes all values whole; None beyond."""
    array = np.asarray(values, dtype=np.float64)
    few = array.ravel()[:_FEW]
    for exponent in range(highest + 1):
        if _are_whole(few * 10.0**exponent) and _are_whole(array * 10.0**exponent):
            return exponent
    return None


def _are_whole(scaled: Floats) -> bool:
    off = np.abs(scaled - np.rint(scaled))
    return bool((off <= _WHOLE * np.maximum(1.0, np.abs(scaled))).all())


def _highest_exponent(value: float, largest: int) -> int:
    """The largest power of ten that keeps the value below the largest number allowed."""
    return 18 if value <= 0.0 else math.floor(math.log10(largest / value))


def nearest(values: Floats, scale: float) -> Whole:
    """Scaled and rounded to the nearest whole number."""
    return np.rint(values * scale).astype(np.int64)


def up(values: Floats, scale: float) -> Whole:
    """Scaled and rounded up."""
    return _snap(values * scale, np.ceil(values * scale))


def down(values: Floats, scale: float) -> Whole:
    """Scaled and rounded down."""
    return _snap(values * scale, np.floor(values * scale))


def _snap(scaled: Floats, rounded: Floats) -> Whole:
    """What floats make of a whole number is that number; everything else as rounded."""
    nearest = np.rint(scaled)
    is_whole = np.abs(scaled - nearest) <= _WHOLE * np.maximum(1.0, np.abs(scaled))
    return np.where(is_whole, nearest, rounded).astype(np.int64)


# ------------------------------------------------------------------------------------------ routes


def write_route(problem: Problem, start: int, stops: Sequence[int]) -> tuple[int, ...]:
    """A route as the package writes it: its depot first, and last when it is closed."""
    if problem.open_routes or not problem.depots:
        return (start, *stops)
    return (start, *stops, start)
