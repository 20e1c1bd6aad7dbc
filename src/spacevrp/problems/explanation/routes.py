"""How much room each route of a plan has left, and which limit it would meet first."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

from spacevrp.problems.explanation.remedies import max_length_of
from spacevrp.problems.plan import Plan, RoutePlan, capacities_of, node_id, peaks_of
from spacevrp.problems.problem import Problem


@dataclass(frozen=True)
class Limit:
    """One limit of a route.

    Attributes
    ----------
    code
        ``capacity``, ``window``, ``length``, ``duration`` or ``stops``.
    used, allowed
        How much of the limit is used. For windows: time from the departure until the service at
        ``node`` begins if the vehicle never waits again, and until the window there closes.
    node, id
        The stop whose window would break first; None for other limits.
    load
        Number of the kind of load of a capacity.
    """

    code: str
    used: float
    allowed: float
    node: int | None = None
    id: Hashable = None
    load: int = 0

    @property
    def slack(self) -> float:
        """What is left of it; negative where the limit is broken."""
        return self.allowed - self.used

    @property
    def share(self) -> float:
        """What is left of it, as a share of the limit."""
        return self.slack / self.allowed if self.allowed > 0 else min(self.slack, 0.0)


@dataclass(frozen=True)
class RouteLimits:
    """The limits of one route, the one that binds first in front."""

    number: int
    limits: tuple[Limit, ...]

    @property
    def binding(self) -> Limit | None:
        """The limit of which the smallest share is left; None where nothing limits the route."""
        return self.limits[0] if self.limits else None


def limits_of(plan: Plan) -> tuple[RouteLimits, ...]:
    """The limits of every route with customers."""
    return tuple(_limits(plan.problem, route) for route in plan.routes)


def _limits(problem: Problem, route: RoutePlan) -> RouteLimits:
    found = []
    capacities = capacities_of(problem, route)
    for kind, (peak, capacity) in enumerate(zip(peaks_of(route), capacities, strict=True)):
        if problem.loads[:, kind].any() and math.isfinite(capacity):
            found.append(Limit("capacity", peak, capacity, load=kind))
    window = _tightest_window(problem, route)
    if window is not None:
        found.append(window)
    longest = max_length_of(problem, route)
    if math.isfinite(longest):
        found.append(Limit("length", route.length, longest))
    if route.vehicle is not None and math.isfinite(route.vehicle.max_duration):
        longest = route.vehicle.max_duration + route.vehicle.max_overtime
        found.append(Limit("duration", route.duration, longest))
    if route.vehicle is not None and route.vehicle.max_stops is not None:
        found.append(Limit("stops", float(len(route.visits)), float(route.vehicle.max_stops)))
    return RouteLimits(route.number, tuple(sorted(found, key=lambda limit: limit.share)))


def _tightest_window(problem: Problem, route: RoutePlan) -> Limit | None:
    """The window that breaks first if the vehicle leaves later and later.

    A delay is first taken out of the waiting on the way. By a stop whose service begins at b after
    w of waiting, the departure may be d later as long as b + (d - w) is before the closing.
    """
    departure = route.stops[0].reached
    waited = 0.0
    tightest: Limit | None = None
    for stop in route.stops[1:]:
        # A route that leaves as late as it may has no waiting left that a delay would shorten.
        waited += 0.0 if route.scheduled else stop.waiting
        begin = stop.reached + stop.waiting
        if not math.isfinite(stop.closing) or not math.isfinite(begin):
            continue
        limit = Limit(
            "window",
            begin - waited - departure,
            stop.closing - departure,
            stop.node,
            node_id(problem, stop.node),
        )
        if tightest is None or limit.slack < tightest.slack:
            tightest = limit
    return tightest
