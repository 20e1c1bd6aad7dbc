"""Random fleets that several tests draw."""

from __future__ import annotations

import numpy as np
from random_problems import build

from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem

# What a problem may have beside vehicles of several sizes at several depots.
_BESIDE = ("kinds", "backhaul", "backhaul_last", "separate", "pairs", "windows", "service")
_BESIDE += ("optional", "max_routes", "counts", "ends", "lengths", "shifts", "skills", "pins")


def random_fleet(seed: int) -> Problem | None:
    """A problem with some of all that vehicles can differ in; None where none can serve it."""
    rng = np.random.default_rng(seed)
    features = {"vehicles", "depots", "capacities", "fixed"}
    features |= {one for one in _BESIDE if rng.random() < 0.5}
    problem = build(features, seed, int(rng.integers(4, 10)))
    try:
        return None if problem.vehicles is None else problem.replace(allow_unservable=False)
    except ProblemError:
        return None
