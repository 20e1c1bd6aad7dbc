"""A plan in the formats that there are for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spacevrp.plots.page import page
from spacevrp.problems.plan_documents import plan_csv
from spacevrp.problems.plan_sol import solution_sol
from spacevrp.problems.solution import Solution
from spacevrp.serve.requests import as_json


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
    "gpx": ("application/gpx+xml", "gpx", Solution.to_gpx),
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
