"""A plan as GPX 1.1, which navigation devices and map programs take: a route for each vehicle."""

from __future__ import annotations

from datetime import datetime
from xml.sax.saxutils import escape

from spacevrp.problems.clock import write_iso
from spacevrp.problems.plan import Plan, RoutePlan, Stop
from spacevrp.problems.plan_documents import geographic_places, place_of, plain


def plan_gpx(plan: Plan) -> str:
    """The stops of every route in their order; devices find the roads between them."""
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
