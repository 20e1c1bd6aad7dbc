"""What the compiled search makes of some problems.

``neighbours.py CLASS:SIZE:ITERATIONS:COUNT ...``: a class is a variant, or a kind of the days of
``spacevrp bench suite days`` after ``day-``. One line a class: the cost of each plan, with the
customers left out.
Run it with two builds and compare line by line.
"""

from __future__ import annotations

import json
import sys

import spacevrp
from spacevrp import native
from spacevrp.bench.suite_days import build_day
from spacevrp.problems.problem import Problem
from spacevrp.search.model import native_model

GENERATOR_SEED, DAYS_SEED = 90210, 7


def problems_of(name: str, size: int, count: int) -> list[Problem]:
    if not name.startswith("day-"):
        return list(spacevrp.generate(name, size=size, count=count, seed=GENERATOR_SEED))
    kind = name.removeprefix("day-")
    return [build_day(kind, size, number, DAYS_SEED).problem for number in range(count)]


for spec in sys.argv[1:]:
    name, *numbers = spec.split(":")
    size, iterations, count = map(int, numbers)
    models = [native_model(problem).model for problem in problems_of(name, size, count)]
    starts = []
    for model in models:
        plans = [model.construct(method) for method in ("savings", "insertion")]
        judged = [model.evaluate(*plan) for plan in plans]
        ranks = [(len(one["unserved"]), one["cost"]) for one in judged]
        starts.append(plans[ranks.index(min(ranks))])
    found = native.core.search_many(models, starts, seeds=[0] * len(models), iterations=iterations)
    rows = [(round(one.cost, 9), len(one.unserved)) for one in found]
    print(json.dumps({"class": spec, "costs_and_unserved": rows}), flush=True)
