"""Changes of an instance that let a customer in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spacevrp.problems.conversion import NodeNumber
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.explanation.insertions import Insertion, Route
from spacevrp.problems.fleet import Break, Vehicle
from spacevrp.problems.problem import Problem

# Relations, of which one less counts as much as a second vehicle where there is one.
_RELATIONS = ("lifo", "order", "same_route", "different_routes")
# Changes of a moment, which compare with the day.
_MOMENTS = ("window", "opening", "release", "start", "break")
# Fields of a vehicle that change to a limit, or to a whole number.
_LIMITS = {"length": "max_length", "duration": "max_duration", "start": "latest_start"}
_COUNTS = {"stops": "max_stops", "reload": "max_reloads", "fleet": "count"}
# No change of a number is as large as a road that has to be built.
_ROAD = 1e6


@dataclass(frozen=True)
class Change:
    """One change of an instance.

    Attributes
    ----------
    kind
        ``capacity``, ``length``, ``duration``, ``stops`` or ``reload`` (the limit of a route),
        ``window`` (closing later), ``opening`` (earlier), ``release`` (earlier), ``start`` (a later
        latest start), ``break`` (beginning later), ``ride`` (a longer time on board), ``fleet``
        (further routes), ``permission`` (a vehicle may serve whom it may not now), ``arc`` (a road
        where there is none), or a relation less: ``lifo``, ``order``, ``same_route`` or
        ``different_routes``.
    amount
        By how much, in the user's units; how many routes, permissions, roads or relations.
    limit
        What the limit is then; the latest closing of the windows. None for permissions, roads and
        relations.
    nodes
        Whose windows change (none where only a shift ends later), whose goods are released, who may
        be served, the pairs whose ride is longer or the ends of the roads, two each, or the
        customers of the relation.
    vehicle
        Number of the type of vehicle that changes; None where there are no types.
    load
        Number of the kind of load of a capacity.
    breaks
        Numbers of the breaks that may begin later, counted from 1.
    """

    kind: str
    amount: float
    limit: float | None = None
    nodes: Route = ()
    vehicle: int | None = None
    load: int = 0
    breaks: tuple[int, ...] = ()

    def add_to(self, changes: dict[str, Any], problem: Problem) -> None:
        """Add the change to changed fields of an instance."""
        if self.kind == "arc":
            self._add_roads(changes, problem)
        if self.kind == "window" and self.nodes:
            windows = np.array(changes.get("windows", problem.windows))
            windows[list(self.nodes), 1] += self.amount
            changes |= {"windows": windows, "closed": problem.closed}
        if self.kind in _EDITS:
            _EDITS[self.kind](self, changes, problem)
        if self.vehicle is not None and problem.vehicles is not None:
            types = list(changes.get("vehicles", problem.vehicles))
            fields = self._of_type(problem, types[self.vehicle])
            types[self.vehicle] = replace(types[self.vehicle], **fields)
            changes["vehicles"] = types
        elif self.kind == "capacity":
            capacities = [*np.atleast_1d(changes.get("capacity", problem.capacities)).tolist()]
            capacities[self.load] = self.limit
            changes["capacity"] = capacities if len(capacities) > 1 else capacities[0]
        elif self.kind == "length":
            changes["max_length"] = self.limit
        elif self.kind == "fleet":
            changes["max_routes"] = round(self.limit or 0)

    def _of_type(self, problem: Problem, vehicle: Vehicle) -> dict[str, Any]:
        """The fields of the type of vehicle that change."""
        if self.kind == "permission":
            more = map(NodeNumber, self.nodes)
            allowed = None if vehicle.allowed is None else (*vehicle.allowed, *more)
            kept = tuple(node for node in vehicle.forbidden if node not in self.nodes)
            return {"allowed": allowed, "forbidden": kept}
        terms = problem.fleet[self.vehicle or 0]
        if self.kind == "capacity":
            capacities = [*terms.capacities]
            capacities[self.load] = self.limit or 0.0
            return {"capacity": capacities}
        if self.kind == "break":
            return {"breaks": self._later_breaks(terms.breaks)}
        if self.kind in _COUNTS:
            return {_COUNTS[self.kind]: round(self.limit or 0)}
        if self.kind in _LIMITS:
            return {_LIMITS[self.kind]: self.limit}
        first = terms.leaves_from if np.isfinite(terms.leaves_from) else None
        last = terms.back_by + self.amount if np.isfinite(terms.back_by) else None
        return {"window": (first, last)}

    def _later_breaks(self, breaks: tuple[Break, ...]) -> tuple[Break, ...]:
        """The same breaks, of which some may begin later."""
        later = list(breaks)
        for number in self.breaks:
            *others, (opening, closing) = breaks[number - 1].windows
            windows = (*others, (opening, closing + self.amount))
            later[number - 1] = replace(breaks[number - 1], windows=windows)
        return tuple(later)

    def _add_roads(self, changes: dict[str, Any], problem: Problem) -> None:
        """Roads of no length: how long they may be is for the user to say."""
        both = problem.durations is not problem.distances
        for name in ("distances", "durations") if both else ("distances",):
            held: Distances = changes.get(name, getattr(problem, name))
            if not held.has_missing_arcs:
                continue
            matrix = np.array(held.matrix())
            for arc in zip(self.nodes[::2], self.nodes[1::2], strict=True):
                matrix[arc] = 0.0 if np.isinf(matrix[arc]) else matrix[arc]
            changes[name] = Distances(matrix=matrix, field=name)

    def relative(self, problem: Problem) -> float:
        """The change as a share of what it changes, so that changes of all kinds compare."""
        if self.kind == "arc":
            return _ROAD * self.amount
        if self.kind == "permission" or self.kind in _RELATIONS:
            return self.amount  # as much as a second vehicle where there was one
        if self.kind in _MOMENTS:
            return self.amount / horizon(problem)
        before = (self.limit or 0.0) - self.amount
        return self.amount / before if before > 0 else self.amount


# ----------------------------------------------------------- changes of fields that relations have


def _open_earlier(change: Change, changes: dict[str, Any], problem: Problem) -> None:
    """The window that begins where the wait ends: the first one, or the one after a gap."""
    windows = np.array(changes.get("windows", problem.windows))
    closed = []
    for node, begin, end in changes.get("closed", problem.closed):
        earlier = node in change.nodes and np.isclose(end - change.amount, change.limit or 0.0)
        closed.append((node, begin, end - change.amount if earlier else end))
    if tuple(closed) == tuple(problem.closed):
        windows[list(change.nodes), 0] -= change.amount
    changes |= {"windows": windows, "closed": tuple(one for one in closed if one[1] < one[2])}


def _release_earlier(change: Change, changes: dict[str, Any], problem: Problem) -> None:
    release = np.array(changes.get("release", problem.release))
    nodes = list(change.nodes)
    release[nodes] = np.minimum(release[nodes], change.limit or 0.0)
    changes["release"] = release


def _ride_longer(change: Change, changes: dict[str, Any], problem: Problem) -> None:
    limits = np.array(changes.get("max_ride", problem.max_ride))
    for pickup, delivery in zip(change.nodes[::2], change.nodes[1::2], strict=True):
        limits[problem.pairs.index((pickup, delivery))] += change.amount
    changes["max_ride"] = limits


def _drop_order(change: Change, changes: dict[str, Any], problem: Problem) -> None:
    dropped = set(zip(change.nodes[::2], change.nodes[1::2], strict=True))
    kept = changes.get("order", problem.order)
    changes["order"] = tuple(pair for pair in kept if pair not in dropped)


def _part_sets(change: Change, changes: dict[str, Any], problem: Problem) -> None:
    """Those of a set of ``same_route`` who are named may be apart from the others."""
    parts: list[tuple[int, ...]] = []
    for nodes in changes.get("same_route", problem.same_route):
        here = tuple(node for node in nodes if node in change.nodes)
        parts += [here, tuple(node for node in nodes if node not in here)]
    changes["same_route"] = tuple(part for part in parts if len(part) > 1)


def _join_sets(change: Change, changes: dict[str, Any], problem: Problem) -> None:
    """Those of a set of ``different_routes`` who are named may be together."""
    apart: list[tuple[int, ...]] = []
    for nodes in changes.get("different_routes", problem.different_routes):
        here = [node for node in nodes if node in change.nodes]
        if len(here) < 2:
            apart.append(nodes)
        else:
            others = tuple(node for node in nodes if node not in here)
            apart += [(node, *others) for node in here if others]
    changes["different_routes"] = tuple(apart)


_EDITS: dict[str, Callable[[Change, dict[str, Any], Problem], None]] = {
    "opening": _open_earlier,
    "release": _release_earlier,
    "ride": _ride_longer,
    "lifo": lambda change, changes, problem: changes.update(lifo=False),
    "order": _drop_order,
    "same_route": _part_sets,
    "different_routes": _join_sets,
}


@dataclass(frozen=True)
class Relaxation:
    """What would let a customer in: changes, nearly always one, and the way in.

    Attributes
    ----------
    changes
        None of them where the customer fits as it is.
    way
        The route that serves the customer then.
    routes
        The whole plan then; the referee finds nothing wrong with that route in it.
    message
        The changes in words, and where they let the customer in.
    """

    changes: tuple[Change, ...]
    insertion: Insertion = field(repr=False)
    routes: tuple[Route, ...] = field(repr=False)
    message: str = ""

    def apply(self, problem: Problem) -> Problem:
        """The instance with all changes."""
        return change_all(problem, self.changes)


def change_all(problem: Problem, changes: Iterable[Change]) -> Problem:
    """The instance with the changes, checked once they are all made.

    A declared variant is left out where it forbids them, as a second route in a TSP.
    """
    fields: dict[str, Any] = {}
    for change in changes:
        change.add_to(fields, problem)
    try:
        return problem.replace(**fields)
    except ProblemError:
        if problem.variant is None:
            raise
        # The rule for loads goes with the variant unless it is said.
        return problem.replace(variant=None, load_rule=problem.load_rule, **fields)


def horizon(problem: Problem) -> float:
    """How long the day is: from the first opening to the last closing, shifts included."""
    shifts = [] if problem.vehicles is None else problem.fleet
    closings = np.array([*problem.windows[:, 1], *(terms.back_by for terms in shifts)])
    first = min((terms.leaves_from for terms in shifts), default=-np.inf)
    first = max(first, problem.day_start)
    last = float(closings[np.isfinite(closings)].max(initial=first))
    return max(last - first, problem.time_tolerance)
