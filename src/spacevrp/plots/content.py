"""What pictures of a plan share: colours, titles, the legend, kinds of nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from spacevrp.plots.style import SEPARATOR
from spacevrp.problems.distances import Array
from spacevrp.problems.explanation import is_missing_visit
from spacevrp.problems.plan import RoutePlan, capacities_of, peaks_of
from spacevrp.problems.plan_documents import places_of
from spacevrp.problems.plan_text import count, describe_problem, write_number, write_worth
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

# Thirty colours, found by taking again and again the one furthest from all before it: in the
# perceptual space OKLab, and as readers without red or green cones see them. The first six are of
# Okabe and Ito's palette. All are dark enough for white paper.
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#78003c", "#3c00a5"),
    *("#c31eff", "#785a4b", "#87d296", "#c31e96", "#7800d2", "#3c3c69", "#c3000f", "#ff4b69"),
    *("#9687ff", "#ff78d2", "#006900", "#692d00", "#f01ed2", "#0f5a69", "#0000ff", "#6978d2"),
    *("#3ce15a", "#00c396", "#00961e", "#781e87", "#4b3ca5", "#c3a578"),
)
# The second cue, from the 31st route on: lengths of dashes and gaps.
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (7, 2, 1.5, 2))
# Violations beyond so many are only counted.
_MOST_RULES = 3
_LONGEST_NAME, _LONGEST_VARIANT = 24, 60


@dataclass(frozen=True)
class RouteLook:
    """Colour and line of a route, and its line of the legend.

    ``dashes`` are lengths of dashes and gaps in points; none for a solid line.
    """

    number: int
    colour: str
    dashes: tuple[float, ...]
    vehicle: str
    stops: int
    load: str
    cost: str
    trips: int = 1

    @property
    def label(self) -> str:
        """The number, which stands on the map, too, then what the route does."""
        load = f"load {self.load}" if self.load else ""
        trips = count(self.trips, "trip") if self.trips > 1 else ""
        parts = (count(self.stops, "stop"), trips, load, f"cost {self.cost}", self.vehicle)
        return f"{self.number}: " + ", ".join(part for part in parts if part)


def colour_of(position: int) -> str:
    """The colour of the route at a position of the plan, counted from 0."""
    return COLOURS[position % len(COLOURS)]


def dashes_of(position: int) -> tuple[float, ...]:
    """Its dashes: as many routes as there are colours are solid, as many after them dashed."""
    return DASHES[position // len(COLOURS) % len(DASHES)]


def looks_of(solution: Solution) -> list[RouteLook]:
    """How each route of the plan is drawn, in its order."""
    return [_look(solution, position, route) for position, route in enumerate(solution.plan.routes)]


def _look(solution: Solution, position: int, route: RoutePlan) -> RouteLook:
    problem = solution.plan.problem
    load = " + ".join(
        write_number(peak) if math.isinf(limit) else f"{write_number(peak)}/{write_number(limit)}"
        for peak, limit in zip(peaks_of(route), capacities_of(problem, route), strict=True)
    )
    vehicle = ""
    if route.vehicle is not None:
        vehicle = short(route.vehicle.name or f"type {route.vehicle.number}")
    return RouteLook(
        number=route.number,
        colour=colour_of(position),
        dashes=dashes_of(position),
        vehicle=vehicle,
        stops=len(route.visits),
        load=load if problem.loads.any() else "",
        cost=_write_cost(route.total_cost),
        trips=1 + sum(stop.kind == "reload" for stop in route.stops),
    )


def _write_cost(cost: float) -> str:
    """Four digits, or as many as it has before the point."""
    if not math.isfinite(cost):
        return "no road"
    return f"{cost:.0f}" if abs(cost) >= 1000 else f"{cost:.4g}"


def short(name: object) -> str:
    """A name that fits into a picture."""
    text = str(name)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def headline(problem: Problem, solution: Solution | None = None) -> str:
    """The variant, how many stops and routes there are, and what the plan costs."""
    noun = "stops" if problem.depots else "nodes"
    parts = [describe_problem(problem, _LONGEST_VARIANT), f"{len(problem.customers)} {noun}"]
    if problem.name:
        parts.insert(0, short(problem.name))
    if solution is not None:
        parts.append(count(len(solution.plan.routes), "route"))
        parts.append(write_worth(problem, solution.cost))
    return SEPARATOR.join(parts)


def verdict(solution: Solution) -> list[str]:
    """What keeps the plan from being complete: unserved stops, then broken rules, by name."""
    problem = solution.plan.problem
    lines = []
    unserved = unserved_nodes(solution)
    if unserved:
        stops = f"{len(unserved)} of {len(problem.customers)} stops unserved"
        lines.append(f"partial: {stops}" if solution.is_legal else stops)
    elif solution.partial:
        lines.append(
            f"partial: prize {write_number(solution.plan.prize)} of at least "
            f"{write_number(problem.min_prize)}"
        )
    others = [violation for violation in solution.violations if not is_missing_visit(violation)]
    broken = [] if solution.is_legal else others
    lines += [f"breaks a rule: {violation.message}" for violation in broken[:_MOST_RULES]]
    if len(broken) > _MOST_RULES:
        codes = sorted({violation.code for violation in broken[_MOST_RULES:]})
        lines.append(f"and {len(broken) - _MOST_RULES} more times: {', '.join(codes)}")
    return lines


def map_places(problem: Problem) -> Array | None:
    """Where nodes lie on a map; None where it is unknown.

    Longitudes are counted on beyond 180 degrees where nodes lie on both sides of the antimeridian:
    the map ends in the widest gap between them.
    """
    places = places_of(problem)
    if places is None or not problem.geographic:
        return places
    order = np.sort(places[:, 0])
    gaps = np.diff(order, append=order[0] + 360.0)
    if gaps[-1] >= gaps.max():
        return places
    beyond = places[:, 0] <= order[gaps.argmax()]
    return places + np.outer(beyond, (360.0, 0.0))


def unserved_nodes(solution: Solution) -> tuple[int, ...]:
    """Compulsory customers without a visit; those that may be skipped are not among them."""
    missing = {v.node for v in solution.violations if is_missing_visit(v)}
    return tuple(node for node in solution.plan.skipped if node in missing)


@dataclass(frozen=True)
class Kind:
    """Nodes that are drawn alike. ``marker`` is matplotlib's letter; ``hollow`` marks are white."""

    label: str
    marker: str
    nodes: tuple[int, ...]
    hollow: bool = False


def depot_kinds(problem: Problem) -> list[Kind]:
    """Depots by what happens there: routes start and end, only start, only end, or neither."""
    starts = {terms.start for terms in problem.fleet}
    ends = {terms.end for terms in problem.fleet if terms.end is not None}
    kinds: dict[tuple[bool, bool], list[int]] = {}
    for node in problem.depots:
        kinds.setdefault((node in starts, node in ends), []).append(node)
    looks = {
        (True, True): ("depot", "s"),
        (True, False): ("depot, start only", "p"),
        (False, True): ("depot, end only", "D"),
        (False, False): ("depot, not used", "s"),
    }
    if not ends:  # all routes are open: there is nothing to tell apart
        looks[True, False] = ("depot", "s")
    return [
        Kind(*looks[key], tuple(nodes), hollow=not any(key))
        for key, nodes in sorted(kinds.items(), reverse=True)
    ]


def stop_kinds(problem: Problem, nodes: Iterable[int]) -> list[Kind]:
    """Customers by what they do: receive, hand over, or neither of the two."""
    first = {pickup for pickup, _ in problem.pairs}
    collects = [
        node in first or bool((problem.loads[node] < 0).any()) for node in range(problem.size)
    ]
    mixed = any(collects)
    listed = tuple(nodes)
    kinds = [
        Kind("delivery" if mixed else "stop", "o", tuple(n for n in listed if not collects[n])),
        Kind("pickup", "^", tuple(n for n in listed if collects[n])),
    ]
    return [kind for kind in kinds if kind.nodes]


@dataclass(frozen=True)
class Link:
    """Customers who are tied to each other by a relation; dashes of their line, none if solid."""

    label: str
    dashes: tuple[float, ...]
    nodes: tuple[int, ...]


def links_of(problem: Problem) -> list[Link]:
    """What a map shows of relations between customers."""
    links = [Link("one of a group", (0.6, 0.9), tuple(group.nodes)) for group in problem.groups]
    links += [Link("on one route", (2, 0.9), nodes) for nodes in problem.same_route]
    links += [Link("on different routes", (2, 0.9, 0.6, 0.9), s) for s in problem.different_routes]
    return links + [Link("in this order", (), nodes) for nodes in problem.order]
