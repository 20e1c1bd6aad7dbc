"""A plan as data: rows of a table, CSV, a document, GeoJSON, GPX."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Protocol
from xml.sax.saxutils import escape

from spacevrp.problems.clock import moment_of, write_iso
from spacevrp.problems.distances import Array
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan import Plan, RoutePlan, Stop
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation

_TIMES = ("id", "node", "kind", "arrival", "waiting", "service", "departure")
_SUMS = ("driving", "waiting", "service", "delivered", "collected")  # of a route


def plan_rows(plan: Plan) -> list[dict[str, Any]]:
    """One row a stop, in the order of the routes; moments are the user's own."""
    amounts = ("amount", "pickup") if plan.problem.pickups.any() else ("amount",)
    return [
        {
            **_route_entry(route, "route"),
            "position": position,
            **_stop_entry(stop, *amounts, *_further(plan)),
        }
        for route in plan.routes
        for position, stop in enumerate(route.stops)
    ]


def plan_document(plan: Plan, violations: Sequence[Violation]) -> dict[str, Any]:
    """The plan as plain values, ready for JSON: null for infinity, ISO text for dates."""
    problem = plan.problem
    document: dict[str, Any] = {
        "name": problem.name,
        "variant": problem.variant_name,
        "cost": plan.cost,
        "feasible": not violations,
        "violations": [
            {**asdict(one), "id": None if one.node is None else plan.id_of(one.node)}
            for one in violations
        ],
        "totals": {
            "routes": len(plan.routes),
            "length": plan.length,
            **{name: sum(getattr(route, name) for route in plan.routes) for name in _SUMS},
            "prize": plan.prize,
            "penalties": plan.penalties,
            **({} if problem.vehicles is None else _costs_of_fleet(plan)),
            **({"time_costs": plan.time_costs} if problem.has_route_rules else {}),
        },
        "skipped": [plan.id_of(node) for node in plan.skipped],
        "routes": [
            {
                **_route_entry(route, "number"),
                **_costs_of_route(route),
                "length": route.length,
                **{name: getattr(route, name) for name in (*_SUMS, "peak_load", "spare")},
                **_working_time(route),
                "stops": [_stop_entry(stop, *_further(plan)) for stop in route.stops],
            }
            for route in plan.routes
        ],
    }
    plain_document: dict[str, Any] = plain(document)
    return plain_document


def _route_entry(route: RoutePlan, key: str) -> dict[str, Any]:
    """The number of a route and, where there are types, the name or number of its vehicle's."""
    if route.vehicle is None:
        return {key: route.number}
    return {key: route.number, "vehicle": route.vehicle.name or route.vehicle.number}


def _costs_of_route(route: RoutePlan) -> dict[str, float]:
    """What its legs cost and, where there are types, its vehicle, and all of it together."""
    told = {"cost": route.cost}
    if route.vehicle is not None:
        told |= {"fixed_cost": route.fixed_cost, "total_cost": route.total_cost}
    return told


def _costs_of_fleet(plan: Plan) -> dict[str, float]:
    return {"leg_costs": plan.leg_costs, "fixed_costs": plan.fixed_costs}


def _further(plan: Plan) -> tuple[str, ...]:
    """What is told of a stop where it says something: breaks, and lengths that are no costs."""
    rates = (vehicle.unit_distance_cost for vehicle in plan.problem.vehicles or ())
    lengths = ("leg_length",) if any(rate != 1.0 for rate in rates) else ()
    return (("pause",) if "breaks" in plan.problem.route_rules else ()) + lengths


def _working_time(route: RoutePlan) -> dict[str, Any]:
    """What is told beside that of a route with rules of its own."""
    if not route.scheduled:
        return {}
    told: dict[str, Any] = {"duration": route.duration, "time_cost": route.time_cost}
    clock = route.stops[0].clock
    breaks = [] if route.vehicle is None else route.vehicle.breaks
    told["breaks"] = [
        {
            "number": pause.number,
            "name": breaks[pause.number - 1].name,
            "before_stop": pause.place,
            "begin": moment_of(clock, pause.begin),
            "end": moment_of(clock, pause.end),
        }
        for pause in route.pauses
    ]
    return told


def _stop_entry(stop: Stop, *more: str) -> dict[str, Any]:
    """What is told of a stop; loads of every kind, where there are several."""
    told = {name: getattr(stop, name) for name in (*_TIMES, *more, "load")}
    told |= {"loads": list(stop.loads)} if len(stop.loads) > 1 else {}
    return told | {"leg_cost": stop.leg_cost, "leg_duration": stop.leg_duration}


def plain(value: Any) -> Any:
    """A value that JSON has, and the same of all that tables and lists hold."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
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


def geographic_places(problem: Problem, what: str) -> Array:
    """Longitudes and latitudes of all nodes, (N, 2), for a document that is made of them."""
    places = places_of(problem)
    if places is None or not problem.geographic:
        has = "no places" if places is None else "places that are not said to be geographic"
        raise UnsupportedError(
            f"{what}: expected longitudes and latitudes, received {has}; build the problem with "
            f"from_lonlat, or give places and geographic=True"
        )
    return places


def plan_geojson(plan: Plan, violations: Sequence[Violation]) -> dict[str, Any]:
    """A collection with a line for each route and a point for each stop (RFC 7946).

    Lines are straight from stop to stop: the plan knows how long roads are, not where they run.
    """
    problem = plan.problem
    places = geographic_places(problem, "GeoJSON")
    features = [_line(places, route) for route in plan.routes]
    features += [
        _point(places, route, position, stop)
        for route in plan.routes
        for position, stop in enumerate(route.stops)
        # An end lies where the start does, unless the vehicle ends elsewhere.
        if stop.kind != "end" or stop.node != route.stops[0].node
    ]
    for node in plan.skipped:
        about = {"id": plan.id_of(node), "node": node, "kind": "not visited"}
        features.append(_feature("Point", place_of(places, node), about))
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
    about = {**_route_entry(route, "route"), "stops": len(route.visits)}
    about |= _costs_of_route(route) | {"driving": route.driving, "peak_load": route.peak_load}
    return _feature("LineString", points, about)


def _point(places: Array, route: RoutePlan, position: int, stop: Stop) -> dict[str, Any]:
    about = {name: getattr(stop, name) for name in ("id", "node", "kind")}
    about |= {"route": route.number, "position": position}
    about |= {name: getattr(stop, name) for name in ("arrival", "departure", "waiting", "load")}
    return _feature("Point", place_of(places, stop.node), about)


def _feature(kind: str, coordinates: Any, properties: dict[str, Any]) -> dict[str, Any]:
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": plain(properties)}


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


def plan_gpx(plan: Plan) -> str:
    """GPX 1.1: the stops of every route in their order; devices find the roads between them."""
    problem = plan.problem
    places = geographic_places(problem, "GPX")
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<gpx version="1.1" creator="spacevrp" xmlns="http://www.topografix.com/GPX/1/1">',
        f"<metadata><name>{_text(problem.name or problem.variant_name)}</name></metadata>",
    ]
    for route in plan.routes:
        lines.append(f"<rte><name>{_text(_called(route))}</name><number>{route.number}</number>")
        for stop in route.stops:
            lon, lat = place_of(places, stop.node)
            dated = (
                f"<time>{write_iso(stop.arrival)}</time>"
                if isinstance(stop.arrival, datetime)
                else ""
            )
            told = f"<name>{_text(stop.id)}</name><desc>{_text(_about(stop))}</desc>"
            lines.append(f'<rtept lat="{lat:.7f}" lon="{lon:.7f}">{dated}{told}</rtept>')
        lines.append("</rte>")
    return "\n".join([*lines, "</gpx>"]) + "\n"


def _called(route: RoutePlan) -> str:
    named = route.vehicle is not None and route.vehicle.name
    return f"route {route.number}" + (f" ({route.vehicle.name})" if named else "")  # type: ignore[union-attr]


def _about(stop: Stop) -> str:
    arrival = plain(stop.arrival)
    return stop.kind if arrival is None else f"{stop.kind}, arrival {arrival}"


def _text(value: object) -> str:
    """Text for XML, without characters that it cannot hold."""
    return escape("".join(letter for letter in str(value) if letter.isprintable()))
