"""A plan in the formats that there are for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from xml.sax.saxutils import escape

from spacevrp.plots.page import page
from spacevrp.problems.clock import write_iso
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan_documents import place_of, places_of, plan_csv
from spacevrp.problems.plan_sol import solution_sol
from spacevrp.problems.solution import Solution
from spacevrp.serve.requests import as_json

_GPX = 'xmlns="http://www.topografix.com/GPX/1/1" version="1.1" creator="spacevrp"'


def plan_gpx(solution: Solution) -> str:
    """A route of GPX 1.1 for each vehicle, a point for each stop; for longitudes and latitudes."""
    plan = solution.plan
    places = places_of(plan.problem)
    if places is None or not plan.problem.geographic:
        raise UnsupportedError("gpx: expected longitudes and latitudes, received none")
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<gpx {_GPX}>"]
    for route in plan.routes:
        name = "" if route.vehicle is None else route.vehicle.name
        lines.append(f"<rte><name>{escape(name or f'route {route.number}')}</name>")
        lines.append(f"<number>{route.number}</number>")
        for stop in route.stops:
            longitude, latitude = place_of(places, stop.node)
            time = stop.arrival
            dated = f"<time>{write_iso(time)}</time>" if isinstance(time, datetime) else ""
            lines.append(
                f'<rtept lat="{latitude!r}" lon="{longitude!r}">{dated}'
                f"<name>{escape(str(stop.id))}</name><type>{stop.kind}</type></rtept>"
            )
        lines.append("</rte>")
    return "\n".join([*lines, "</gpx>", ""])


def _text_json(document: Any) -> str:
    return as_json(document).decode()


# Name -> (media type, suffix of a download, the text).
FORMATS: dict[str, tuple[str, str, Callable[[Solution], str]]] = {
    "json": ("application/json", "json", lambda plan: _text_json(plan.to_dict())),
    "geojson": ("application/geo+json", "geojson", lambda plan: _text_json(plan.to_geojson())),
    "csv": ("text/csv; charset=utf-8", "csv", lambda plan: plan_csv(plan.to_dict())),
    "sol": (
        "text/plain; charset=utf-8",
        "sol",
        lambda plan: solution_sol(plan._problem, plan),
    ),
    "vroom": ("application/json", "json", lambda plan: _text_json(plan.to_vroom())),
    "html": ("text/html; charset=utf-8", "html", lambda plan: page(plan._problem, plan)),
    "gpx": ("application/gpx+xml", "gpx", plan_gpx),
    "txt": ("text/plain; charset=utf-8", "txt", lambda plan: f"{plan}\n"),
}


def whole(document: Any) -> Any:
    """The same with whole numbers, as VROOM writes them; what is between is rounded."""
    if isinstance(document, dict):
        return {
            key: value if key == "location" else whole(value) for key, value in document.items()
        }
    if isinstance(document, list):
        return [whole(value) for value in document]
    return round(document) if isinstance(document, float) else document
