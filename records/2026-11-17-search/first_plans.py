"""Gaps of the search alone after 0.01, 0.1, 1 and 5 s: first_plans.py FOLDER INSTANCES_OF_5_S OUT.

FOLDER has CVRP.npz (the public set) and first_plans.json, customers only: {"routes": [...]}.
"""

import csv
import json
import multiprocessing
import sys
from pathlib import Path

import numpy as np

from spacevrp.formats.npz import read_npz
from spacevrp.problems.solution import Solution
from spacevrp.search.model import native_model

FOLDER = Path(sys.argv[1])
PROBLEMS = read_npz(FOLDER / "CVRP.npz")
FIRST = json.loads((FOLDER / "first_plans.json").read_text())["routes"]
BEST = np.load(FOLDER / "CVRP.npz")["ref_hgs"]


def one(job):
    """The gap of one instance after so many seconds from a start."""
    number, seconds, start = job
    problem = PROBLEMS[number]
    model = native_model(problem)
    if start == "network":
        begin = model.start_of(Solution.judged(problem, FIRST[number]))
    else:
        begin = model.model.construct("savings", 0)
    run = model.model.search(*begin, seed=number, seconds=seconds)
    plan = model.solution(run.routes, run.types)
    assert plan.feasible
    return start, seconds, number, plan.cost / BEST[number] - 1, run.iterations


if __name__ == "__main__":
    counts = ((0.01, 100), (0.1, 100), (1.0, 100), (5.0, int(sys.argv[2])))
    jobs = [
        (number, seconds, start)
        for seconds, count in counts
        for start in ("network", "savings")
        for number in range(count)
    ]
    with multiprocessing.Pool(12) as pool:
        rows = pool.map(one, jobs, chunksize=1)
    with Path(sys.argv[3]).open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["start", "seconds", "instance", "gap", "iterations"])
        writer.writerows(rows)
