"""Random fleets that several tests draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem


def random_fleet(seed: int) -> Problem | None:
    """A problem with some of all that vehicles can differ in; None where none can serve it."""
    rng = np.random.default_rng(seed)
    size, kinds = int(rng.integers(6, 12)), int(rng.integers(1, 3))
    customers = np.arange(2, size)
    loads = np.zeros((size, kinds))
    loads[2:] = rng.integers(0, 6, (size - 2, kinds))
    features: dict[str, Any] = {"load_rule": str(rng.choice(["single", "separate", "paper"]))}
    kind = rng.random()
    if kind < 0.25 and len(customers) % 2 == 0:
        half = len(customers) // 2
        loads[2 : 2 + half] *= -1
        loads[2 + half :] = -loads[2 : 2 + half]
        features["pairs"] = [(int(n), int(n) + half) for n in customers[:half]]
    elif kind < 0.6:
        loads[rng.choice(customers, 2)] *= -1
        features["backhaul_last"] = bool(rng.random() < 0.5)
    if rng.random() < 0.5:
        opening = rng.uniform(0, 1, size)
        closing = opening + rng.uniform(0.5, 3, size)
        opening[:2], closing[:2] = 0, 6
        features["windows"] = np.stack([opening, closing], axis=1)
        features["service"] = np.where(np.arange(size) < 2, 0, 0.1)
    if rng.random() < 0.4:
        features["penalty"] = np.where(rng.random(size) < 0.5, rng.uniform(0, 1, size), np.inf)
    if rng.random() < 0.3:
        features["max_routes"] = int(rng.integers(2, 5))
    types = []
    for number in range(int(rng.integers(1, 4))):
        one: dict[str, Any] = {
            "capacity": rng.integers(6, 15, kinds).tolist(),
            "start": int(rng.integers(2)),
            "fixed_cost": float(rng.uniform(0, 2)),
            "count": None if rng.random() < 0.5 else int(rng.integers(1, 4)),
        }
        end = rng.random()
        if end < 0.3:
            one["end"] = int(rng.integers(2))
        elif end < 0.5:
            one["open_route"] = True
        if rng.random() < 0.3:
            one["max_length"] = float(rng.uniform(2, 5))
        if rng.random() < 0.3:
            one["window"] = (float(rng.uniform(0, 0.5)), float(rng.uniform(4, 8)))
        if rng.random() < 0.3:
            one["forbidden"] = rng.choice(customers, 1).tolist()
        if number == 0 and "pairs" not in features and rng.random() < 0.5:
            one |= {"pinned": [int(customers[-1])], "count": 1, "forbidden": []}
        types.append(one)
    try:
        return Problem.from_coordinates(
            rng.random((size, 2)), depots=[0, 1], demand=loads, vehicles=types, **features
        )
    except ProblemError:
        return None
