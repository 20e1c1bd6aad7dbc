"""The data of OR-Tools' routing guides, and the objectives that they print.

Source: https://developers.google.com/optimization/routing, samples under the Apache License 2.0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_TABLES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
PAIRS = [[1, 6], [2, 10], [4, 3], [5, 9], [7, 8], [15, 11], [13, 12], [16, 14]]
WINDOWS = [
    *((0, 5), (7, 12), (10, 15), (16, 18), (10, 13), (0, 5), (5, 10), (0, 4), (5, 10), (0, 3)),
    *((10, 16), (10, 15), (0, 5), (5, 10), (7, 8), (10, 15), (11, 15)),
]
FOUR: dict[str, Any] = {"distance_matrix": _TABLES["distances"], "num_vehicles": 4, "depot": 0}
TIMED: dict[str, Any] = {
    **{"time_matrix": _TABLES["times"], "time_windows": WINDOWS, "num_vehicles": 4, "depot": 0}
}
LOADS = [0, 1, 1, 2, 4, 2, 4, 8, 8, 1, 2, 1, 2, 4, 4, 8, 8]
HEAVIER = [0, 1, 1, 3, 6, 3, 6, 8, 8, 1, 2, 1, 2, 6, 6, 8, 8]
# 100 for each metre of the longest route.
SPAN = {"cost": 1, "makespan": 100}

# Name -> its data, what its code adds in our words, and the objective that it prints, with what
# dropped visits cost.
GUIDES: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "cities": ({"distance_matrix": _TABLES["cities"], "num_vehicles": 1, "depot": 0}, {}, 7293),
    "vehicles": (FOUR, {"max_length": 3000, "objective": SPAN}, 177500),
    "starts and ends": (
        {**FOUR, "depot": None, "starts": [1, 2, 15, 16], "ends": [0, 0, 0, 0]},
        {"max_length": 2000, "objective": SPAN},
        115794,
    ),
    "capacities": ({**FOUR, "demands": LOADS, "vehicle_capacities": [15] * 4}, {}, 6208),
    "penalties": (
        {**FOUR, "demands": HEAVIER, "vehicle_capacities": [15] * 4},
        {"penalty": [0.0] + [1000.0] * 16},
        7936,
    ),
    "pickups and deliveries": (
        {**FOUR, "pickups_deliveries": PAIRS},
        {"max_length": 3000, "objective": SPAN},
        226116,
    ),
    "windows": (TIMED, {}, 71),
}
