"""Fleets in whole numbers: what each type of vehicle carries, how far and how long it drives."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spacevrp.oracles.scaling import (
    Whole,
    WholeProblem,
    exact_exponent,
    limit_of,
    nearest,
    scale_loads,
    up,
)
from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import Problem

# Decimals of unit costs of distance.
UNIT_DIGITS = 6
# What a type says in whole numbers, or without any, already.
_SAME = ("number", "start", "end", "count", "forbidden", "max_reloads")


@dataclass(frozen=True)
class WholeType:
    """A type of vehicle; nodes keep their numbers."""

    number: int  # in the problem's fleet
    start: int
    end: int | None  # None where the route ends at its last customer
    count: int | None
    capacities: tuple[int, ...]  # one for each kind of load that can be too much
    fixed_cost: int
    unit_cost: int  # of distance
    max_length: int | None
    max_duration: int | None
    opening: int | None  # of the shift; None where there is none, or nothing ever closes
    closing: int | None
    forbidden: frozenset[int]
    latest_start: int | None = None
    max_overtime: int = 0
    duration_cost: int = 0  # of a unit of time
    overtime_cost: int = 0
    reload_depots: tuple[int, ...] = ()
    max_reloads: int | None = None


@dataclass(frozen=True)
class WholeFleet:
    """All types, and the loads that they carry."""

    types: tuple[WholeType, ...]
    loads: tuple[Whole, ...]  # (N,) each, of the kinds that can be too much
    collected: tuple[Whole, ...]  # (N,) each, beside what is delivered there
    # Where unit costs of distance are broken numbers, so many times all costs make them whole.
    cost_factor: int = 1

    @property
    def dearest_unit(self) -> int:
        """The largest unit cost of distance."""
        return max(one.unit_cost for one in self.types)


def scale_fleet(problem: Problem, whole: WholeProblem) -> WholeFleet:
    """The fleet at the scales of the problem's whole-number twin.

    Types whose shift is over before it begins are left out: they serve no customer.
    """
    # Without a depot, one vehicle that starts and ends at node 0, for which no rule is made.
    tour = Terms(0, "", 1, problem.capacities, 0, 0, 0.0, problem.max_length)
    fleet = problem.fleet or (tour,)
    loads: list[Whole] = []
    collected: list[Whole] = []
    rooms: list[tuple[int, ...]] = []  # of each kind, for each type
    for kind in range(problem.kinds_of_load):
        values = np.concatenate([problem.loads[:, kind], problem.pickups[:, kind]])
        capacities = [terms.capacities[kind] for terms in fleet]
        scaled = scale_loads(problem, values, capacities, len(whole.stops), kind)
        if scaled is not None:
            loads.append(scaled[0][: problem.size])
            collected.append(scaled[0][problem.size :])
            rooms.append(scaled[1])
    a_time = 1.0 if whole.times is None else whole.cost_scale / whole.times.scale
    factor = 10 ** (exact_exponent(_rates(fleet, a_time), UNIT_DIGITS) or 0)
    types = []
    for position, terms in enumerate(fleet):
        opening, closing = _shift(whole, terms)
        latest = None
        if whole.times is not None and math.isfinite(terms.latest_start):
            latest = limit_of(terms.latest_start - whole.times.origin, whole.times.scale, 0)
            latest = latest if closing is None else min(latest, closing)
        if any(end is not None and end < (opening or 0) for end in (closing, latest)):
            continue
        types.append(
            WholeType(
                **{name: getattr(terms, name) for name in _SAME},
                capacities=tuple(room[position] for room in rooms),
                fixed_cost=int(nearest(np.array(terms.fixed_cost), whole.cost_scale)) * factor,
                unit_cost=round(terms.unit_distance_cost * factor),
                max_length=_limit(whole, terms.max_length),
                max_duration=_duration(whole, terms, terms.max_duration),
                opening=opening,
                closing=closing,
                latest_start=latest,
                max_overtime=_duration(whole, terms, terms.max_overtime) or 0,
                duration_cost=round(terms.unit_duration_cost * a_time * factor),
                overtime_cost=round(terms.overtime_cost * a_time * factor),
                reload_depots=terms.reload_depots if terms.may_reload else (),
            )
        )
    return WholeFleet(tuple(types), tuple(loads), tuple(collected), factor)


def _rates(fleet: tuple[Terms, ...], a_time: float) -> list[float]:
    """What units of distance and time cost, in units of the whole costs."""
    times = (rate for one in fleet for rate in (one.unit_duration_cost, one.overtime_cost))
    return [*(one.unit_distance_cost for one in fleet), *(rate * a_time for rate in times)]


def refuse_time_costs(problem: Problem, whole: WholeProblem) -> str | None:
    """Why costs of time cannot be whole numbers, if so."""
    costs = [rate for one in problem.fleet for rate in (one.unit_duration_cost, one.overtime_cost)]
    if not any(costs) or whole.times is None:
        return None
    a_time = whole.cost_scale / whole.times.scale
    if whole.times.room or exact_exponent(_rates(problem.fleet, a_time), UNIT_DIGITS) is None:
        return f"costs of time of more than {UNIT_DIGITS} decimals"
    return None


def refuse_units(problem: Problem) -> str | None:
    """Why unit costs of distance cannot be whole numbers, if so."""
    units = [terms.unit_distance_cost for terms in problem.fleet]
    if exact_exponent(units, UNIT_DIGITS) is None:
        return f"a unit_distance_cost of more than {UNIT_DIGITS} decimals"
    return None


def _limit(whole: WholeProblem, limit: float) -> int | None:
    """The limit on the length of a route; None where no route is longer."""
    if whole.length is None:
        return None
    longest = int(whole.length.max()) * (len(whole.stops) + 1)
    if limit * whole.length_scale >= longest:
        return None
    return limit_of(limit, whole.length_scale, whole.length_room)


def _duration(whole: WholeProblem, terms: Terms, duration: float) -> int | None:
    """A duration that is limited, or added to its limit; None where there is no limit.

    It does not move out: windows that do let a vehicle leave later by as much.
    """
    if whole.times is None or math.isinf(terms.max_duration):
        return None
    return min(limit_of(duration, whole.times.scale, 0), whole.times.horizon)


def _shift(whole: WholeProblem, terms: Terms) -> tuple[int | None, int | None]:
    times = whole.times
    if times is None:
        return None, None
    opening, closing = None, None
    if terms.leaves_from > times.origin:
        opening = int(up(np.array(terms.leaves_from - times.origin), times.scale))
    if math.isfinite(terms.back_by):
        last = limit_of(terms.back_by - times.origin, times.scale, times.room)
        closing = min(last, times.horizon)
    return opening, closing
