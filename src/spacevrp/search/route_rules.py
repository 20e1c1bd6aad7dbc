"""Rules of whole routes as the compiled search takes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import Problem


def needs_times(problem: Problem, fleet: Sequence[Terms]) -> bool:
    """Whether a rule asks when things happen, though nothing need ever close."""
    of_nodes = {"closed", "release", "setup", "travel_times"} & set(problem.route_rules)
    return bool(of_nodes) or any(
        math.isfinite(terms.latest_start) or terms.unit_duration_cost > 0 or bool(terms.breaks)
        for terms in fleet
    )


def fastest(fleet: Sequence[Terms]) -> float:
    """The largest speed factor: the search divides all durations by it and slows others down."""
    return max((terms.speed_factor for terms in fleet), default=1.0)


def rule_arguments(problem: Problem, fleet: Sequence[Terms], timed: bool) -> dict[str, Any] | None:
    """The ``Rules`` of the compiled model; None where there are none.

    Where times bind nothing (``timed`` is False) trips are told apart by their lengths alone.
    """
    if not problem.has_route_rules:
        return None
    speed = fastest(fleet)
    rules: dict[str, Any] = {
        "max_stops": [terms.max_stops for terms in fleet],
        "latest_start": [terms.latest_start for terms in fleet],
        "regular": [terms.max_duration for terms in fleet],
        "overtime_cost": [terms.overtime_cost for terms in fleet],
        "duration_cost": [terms.unit_duration_cost for terms in fleet],
        "slowness": [speed / terms.speed_factor for terms in fleet],
        "breaks": [[(one.duration, list(one.windows)) for one in t.breaks] for t in fleet],
        "reload_depots": [list(terms.reload_depots) for terms in fleet],
        "max_reloads": [terms.max_reloads for terms in fleet],
        "on_board": [None if t.on_board is None else list(t.on_board) for t in fleet],
    }
    if timed and any(terms.service or terms.may_reload for terms in fleet):
        rules["service"] = [terms.service_at(problem.service) for terms in fleet]
    if problem.closed:
        rules["closed"] = list(problem.closed)
    if problem.release is not None:
        rules["release"] = problem.release
    if problem.setup is not None:
        rules["setup"] = problem.setup
    if problem.travel_times:
        rules["travel_times"] = [
            (moment, np.ascontiguousarray(matrix / speed))
            for moment, matrix in problem.travel_times
        ]
    return rules
