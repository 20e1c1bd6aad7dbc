"""A plan as data: rows of a table, CSV, a document, GeoJSON, VRPLIB's .sol."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol

from spacevrp.problems.clock import write_iso
from spacevrp.problems.distances import Array
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan import Plan, RoutePlan, Stop
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation


def plan_rows(plan: Plan) -> list[dict[str, Any]]:
    """One row a stop, in the order of the routes; moments are the user's own."""
    return [
        {
            "route": route.number,
            **_vehicle_entry(route),
            "position": position,
            "id": stop.id,
            "node": stop.node,
            "kind": stop.kind,
            "arrival": stop.arrival,
            "waiting": stop.waiting,
            "service": stop.service,
            "departure": stop.departure,
            "amount": stop.amount,
            "load": stop.load,
            **_loads_entry(stop),
            "leg_cost": stop.leg_cost,
            "leg_duration": stop.leg_duration,
        }
        for route in plan.routes
        for position, stop in enumerate(route.stops)
    ]


def plan_document(plan: Plan, violations: Sequence[Violation]) -> dict[str, Any]:
    """The plan as plain values, ready for JSON: null for infinity, ISO text for dates."""
    problem = plan.problem
    return {
        "name": problem.name,
        "variant": problem.variant_name,
        "cost": plain(plan.cost),
        "feasible": not violations,
        "violations": [
            {
                "code": violation.code,
                "message": violation.message,
                "route": violation.route,
                "node": violation.node,
                "id": None if violation.node is None else plain(plan.id_of(violation.node)),
            }
            for violation in violations
        ],
        "totals": {
            "routes": len(plan.routes),
            "length": plain(plan.length),
            "driving": plain(sum(route.driving for route in plan.routes)),
            "waiting": plain(sum(route.waiting for route in plan.routes)),
            "service": plain(sum(route.service for route in plan.routes)),
            "delivered": plain(sum(route.delivered for route in plan.routes)),
            "collected": plain(sum(route.collected for route in plan.routes)),
            "prize": plain(plan.prize),
            "penalties": plain(plan.penalties),
            **({} if problem.vehicles is None else {"fixed_costs": plan.fixed_costs}),
        },
        "skipped": [plain(plan.id_of(node)) for node in plan.skipped],
        "routes": [_route_document(route) for route in plan.routes],
    }


def _route_document(route: RoutePlan) -> dict[str, Any]:
    return {
        "number": route.number,
        **_vehicle_entry(route),
        "cost": plain(route.cost),
        **({} if route.vehicle is None else {"fixed_cost": route.fixed_cost}),
        "driving": plain(route.driving),
        "waiting": plain(route.waiting),
        "service": plain(route.service),
        "delivered": plain(route.delivered),
        "collected": plain(route.collected),
        "peak_load": plain(route.peak_load),
        "spare": plain(route.spare),
        "stops": [
            {
                "id": plain(stop.id),
                "node": stop.node,
                "kind": stop.kind,
                "arrival": plain(stop.arrival),
                "waiting": plain(stop.waiting),
                "service": plain(stop.service),
                "departure": plain(stop.departure),
                "load": plain(stop.load),
                **_loads_entry(stop),
                "leg_cost": plain(stop.leg_cost),
                "leg_duration": plain(stop.leg_duration),
            }
            for stop in route.stops
        ],
    }


def _vehicle_entry(route: RoutePlan) -> dict[str, Any]:
    """Which vehicle drives, where there are types of them: its name, or the type's number."""
    return {} if route.vehicle is None else {"vehicle": route.vehicle.name or route.vehicle.number}


def _loads_entry(stop: Stop) -> dict[str, Any]:
    """Loads of every kind, where there are several."""
    return {"loads": list(stop.loads)} if len(stop.loads) > 1 else {}


def plain(value: Hashable) -> Any:
    """A value that JSON has."""
    if isinstance(value, datetime):
        return write_iso(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    return str(value)


def plan_csv(document: dict[str, Any]) -> str:
    """The stops of :func:`plan_document` as comma-separated text, one line a stop."""
    stream = io.StringIO()
    stops = [
        {"route": route["number"], **({"vehicle": route["vehicle"]} if "vehicle" in route else {})}
        | {key: _cell(value) for key, value in stop.items()}
        for route in document["routes"]
        for stop in route["stops"]
    ]
    columns = list(stops[0]) if stops else ["route", "id", "node"]
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(stops)
    return stream.getvalue()


def _cell(value: Any) -> Any:
    """One cell: loads of several kinds with blanks between them."""
    return " ".join(map(str, value)) if isinstance(value, list) else value


# ----------------------------------------------------------------------------------------- GeoJSON


def places_of(problem: Problem) -> Array | None:
    """Where nodes lie: their places, or their coordinates; None where it is unknown."""
    return problem.places if problem.places is not None else problem.distances.coordinates


def plan_geojson(plan: Plan, violations: Sequence[Violation]) -> dict[str, Any]:
    """A collection with a line for each route and a point for each stop (RFC 7946).

    Lines are straight from stop to stop: the plan knows how long roads are, not where they run.
    """
    problem = plan.problem
    places = places_of(problem)
    if places is None or not problem.geographic:
        has = "no places" if places is None else "places that are not said to be geographic"
        raise UnsupportedError(
            f"GeoJSON: expected longitudes and latitudes, received {has}; build the problem with "
            f"from_lonlat, or give places and geographic=True"
        )
    features = []
    for route in plan.routes:
        features.append(_line(places, route))
    for route in plan.routes:
        for position, stop in enumerate(route.stops):
            # An end lies where the start does, unless the vehicle ends elsewhere.
            if stop.kind != "end" or stop.node != route.stops[0].node:
                features.append(_point(places, route, position, stop))
    for node in plan.skipped:
        features.append(
            _feature(
                "Point",
                place_of(places, node),
                {
                    "id": plain(plan.id_of(node)),
                    "node": node,
                    "kind": "not visited",
                },
            )
        )
    return {
        "type": "FeatureCollection",
        "features": features,
        # A foreign member, which RFC 7946 allows and map programs ignore.
        "plan": {
            "name": problem.name,
            "variant": problem.variant_name,
            "cost": plain(plan.cost),
            "feasible": not violations,
        },
    }


def _line(places: Array, route: RoutePlan) -> dict[str, Any]:
    points = [place_of(places, stop.node) for stop in route.stops]
    if len(points) == 1:
        points *= 2  # a line has two ends
    return _feature(
        "LineString",
        points,
        {
            "route": route.number,
            **_vehicle_entry(route),
            "stops": len(route.visits),
            "cost": plain(route.cost),
            "driving": plain(route.driving),
            "peak_load": plain(route.peak_load),
        },
    )


def _point(places: Array, route: RoutePlan, position: int, stop: Stop) -> dict[str, Any]:
    return _feature(
        "Point",
        place_of(places, stop.node),
        {
            "id": plain(stop.id),
            "node": stop.node,
            "kind": stop.kind,
            "route": route.number,
            "position": position,
            "arrival": plain(stop.arrival),
            "departure": plain(stop.departure),
            "waiting": plain(stop.waiting),
            "load": plain(stop.load),
        },
    )


def _feature(kind: str, coordinates: Any, properties: dict[str, Any]) -> dict[str, Any]:
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def place_of(places: Array, node: int) -> list[float]:
    """Where a node lies, as JSON has it."""
    return [float(places[node, 0]), float(places[node, 1])]


# ------------------------------------------------------------------------------- files of solutions


class Solved(Protocol):
    """Anything that knows its routes, what they cost and whether they keep the rules."""

    @property
    def routes(self) -> tuple[tuple[int, ...], ...]: ...

    @property
    def cost(self) -> float | None: ...

    @property
    def feasible(self) -> bool | None: ...

    @property
    def vehicles(self) -> tuple[int, ...] | None: ...


def solution_document(
    variant: str | None,
    solutions: Iterable[Solved],
    *,
    seconds: float | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """The JSON document of a batch of solutions, as ``spacevrp solve`` prints it."""
    instances = [
        {
            "cost": None if s.cost is None or not math.isfinite(s.cost) else float(s.cost),
            "routes": [[int(node) for node in route] for route in s.routes],
            **({} if s.vehicles is None else {"vehicles": list(s.vehicles)}),
            "feasible": None if s.feasible is None else bool(s.feasible),
        }
        for s in solutions
    ]
    return {"variant": variant, "instances": instances, "seconds": seconds, "device": device}


def only_depot(problem: Problem, verb: str) -> int:
    """The one depot that VRPLIB's format has a place for."""
    if len(problem.depots) != 1:
        raise UnsupportedError(
            f".sol lists customers of one depot and cannot be {verb} for "
            f"{len(problem.depots)} depots; use JSON"
        )
    return problem.depots[0]


def solution_sol(problem: Problem, solution: Solved) -> str:
    """The routes of one instance as VRPLIB's .sol text."""
    depot = only_depot(problem, "written")
    if problem.vehicles is not None:
        raise UnsupportedError(".sol has no place for types of vehicles; use JSON")
    number_of = {node: number for number, node in enumerate(problem.customers, start=1)}
    lines = []
    for number, route in enumerate(solution.routes, start=1):
        unknown = [node for node in route if node != depot and node not in number_of]
        if unknown:
            raise UnsupportedError(f".sol: route {number} visits node {unknown[0]}, which is none")
        listed = " ".join(str(number_of[node]) for node in route if node != depot)
        lines.append(f"Route #{number}: {listed}")
    if solution.cost is not None:
        cost = float(solution.cost)
        lines.append(f"Cost {int(cost) if cost.is_integer() else repr(cost)}")
    return "\n".join(lines) + "\n"
