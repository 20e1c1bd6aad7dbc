"""What the compiled search makes of days and files with several trips.

``trips.py SECONDS FILE|VARIANT:CUSTOMERS:COUNT ...``: a file of PyVRP's class MTVRPTWR, with four
seeds, or instances of a variant with several depots, whose vehicles carry two fifths of its loads,
start at the first depot and reload at any. One line a plan. Run it with two builds at once, one a
core, and compare line by line.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import spacevrp
from spacevrp.problems.problem import Problem
from spacevrp.search.model import native_model

GENERATOR_SEED = 90210


def problems_of(name: str) -> list[tuple[str, Problem, int]]:
    if Path(name).exists():
        problem = spacevrp.read(name, rounding="one-decimal")
        return [(Path(name).stem, problem, seed) for seed in range(4)]
    variant, size, count = name.split(":")
    drawn = spacevrp.generate(variant, size=int(size), count=int(count), seed=GENERATOR_SEED)
    return [
        (f"{variant} {size}", with_trips(problem), number) for number, problem in enumerate(drawn)
    ]


def with_trips(problem: Problem) -> Problem:
    van = spacevrp.Vehicle(
        start=0,
        end=0,
        capacity=0.4 * problem.capacity,
        reload_depots=problem.depots,
        fixed_cost=problem.distances.extent,
    )
    return problem.replace(capacity=math.inf, vehicles=[van], variant=None)


seconds = float(sys.argv[1])
for name in sys.argv[2:]:
    for label, problem, seed in problems_of(name):
        model = native_model(problem).model
        plans = [model.construct(method) for method in ("savings", "insertion")]
        judged = [model.evaluate(*plan) for plan in plans]
        ranks = [(len(one["unserved"]), one["cost"]) for one in judged]
        start = plans[ranks.index(min(ranks))]
        found = model.search(*start, seed=seed, seconds=seconds)
        row = {"problem": label, "seed": seed, "cost": found.cost, "left_out": len(found.unserved)}
        print(json.dumps(row | {"iterations": found.iterations}), flush=True)
