"""Tables that follow from longitudes, latitudes and a speed, written as these."""

from __future__ import annotations

from typing import Any

import numpy as np

from spacevrp.problems.clock import TIME_UNITS
from spacevrp.problems.constructors import metres_per_unit
from spacevrp.problems.distances import great_circle
from spacevrp.problems.problem import Problem

# Of a speed as it was written; what is beyond comes from dividing by it.
_DIGITS = 12


def lonlat_document(problem: Problem) -> dict[str, Any] | None:
    """``lonlat`` and ``speed_kmh`` of a problem whose tables are exactly what follows from them.

    None for other problems: their tables say more.
    """
    if not problem.geographic or problem.places is None or problem.travel_times:
        return None
    if problem.distances.coordinates is not None:
        return None
    metres = great_circle(problem.places)
    if not np.array_equal(metres, problem.distances.matrix()):
        return None
    document: dict[str, Any] = {"lonlat": problem.places.tolist()}
    if problem.durations.same_as(problem.distances):
        return document
    durations = problem.durations.matrix()
    far = np.unravel_index(np.argmax(metres), metres.shape)
    if not durations[far] > 0:
        return None
    exact = metres[far] / durations[far] * 3.6 / TIME_UNITS[problem.time_unit]
    speed = float(f"{exact:.{_DIGITS}g}")
    if not np.array_equal(metres / metres_per_unit(speed, problem.time_unit), durations):
        return None
    return document | {"speed_kmh": speed}
