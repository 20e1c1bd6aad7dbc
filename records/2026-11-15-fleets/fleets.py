"""Gaps of plans for fleets to PyVRP: python fleets.py SECONDS OUT.json"""

import json
import sys
from pathlib import Path

import numpy as np

import spacevrp
from spacevrp.oracles import make_oracle


def three_types(draw, size, demand):
    """Any number of three types at different fixed costs."""
    return {
        "demand": demand,
        "vehicles": [
            {"capacity": 60, "fixed_cost": 1.2},
            {"capacity": 35, "fixed_cost": 0.6},
            {"capacity": 18, "fixed_cost": 0.35},
        ],
    }


def limited(draw, size, demand):
    """Two types, a quarter more room than is needed."""
    needed = 1.25 * sum(demand)
    large = int(np.ceil(0.6 * needed / 60))
    small = int(np.ceil((needed - 60 * large) / 35))
    return {
        "demand": demand,
        "vehicles": [{"capacity": 60, "count": large}, {"capacity": 35, "count": max(small, 1)}],
    }


def two_loads(draw, size, demand):
    """One type, two kinds of load."""
    other = [0, *draw.integers(1, 10, size).tolist()]
    both = [list(pair) for pair in zip(demand, other, strict=True)]
    return {"demand": both, "capacity": [50, 40]}


def two_depots(draw, size, demand):
    """Three types between two depots."""
    demand = [0, *demand]
    return {
        "demand": demand,
        "depots": [0, 1],
        "vehicles": [
            {"capacity": 50, "fixed_cost": 0.5, "start": 0, "end": 0},
            {"capacity": 30, "fixed_cost": 0.2, "start": 1, "end": 1},
            {"capacity": 50, "fixed_cost": 0.3, "start": 0, "end": 1},
        ],
    }


SETTINGS = {
    "three types, any number": (three_types, 1),
    "two types of limited number": (limited, 1),
    "two kinds of load": (two_loads, 1),
    "two depots, three types": (two_depots, 2),
}

seconds, out = float(sys.argv[1]), sys.argv[2]
solver = spacevrp.Solver(device="cpu")
oracle = make_oracle("pyvrp")
rows = []
for name, (setting, depots) in SETTINGS.items():
    for number in range(9):
        size = (50, 75, 100)[number % 3]
        draw = np.random.default_rng([number, 2026])
        places = draw.random((size + depots, 2))
        demand = [0, *draw.integers(1, 10, size).tolist()]
        problem = spacevrp.Problem.from_coordinates(places, **setting(draw, size, demand))
        row = {"fleet": name, "number": number, "customers": size}
        for key, improve in (("alone", False), ("ours", True)):
            attempt = solver.attempt(problem, improve=improve)
            found = attempt.solutions[0]
            row[key] = None if found is None else found.cost
        row["pyvrp"] = oracle.solve(problem, seconds).solution.cost
        rows.append(row)
        print(row, flush=True)
Path(out).write_text(json.dumps(rows, indent=1), encoding="utf-8")
for name in SETTINGS:
    own = [row for row in rows if row["fleet"] == name]
    for key in ("alone", "ours"):
        gaps = [100 * (row[key] / row["pyvrp"] - 1) for row in own if row[key] is not None]
        print(f"{name}: {key} {np.mean(gaps):.2f}% over {len(gaps)} of {len(own)}")
