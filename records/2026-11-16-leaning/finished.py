"""Plans of one route, 8 views that lean, then finished by the local search: finished.py NAMES."""

import json
import sys
import time

import numpy as np

import spacevrp
from spacevrp.bench import references

COUNT, SIZE, SEED, VIEWS = 32, 100, 1, 8

solver = spacevrp.Solver(device="cpu")
for name in sys.argv[1].split(","):
    problems = spacevrp.generate(name, size=SIZE, count=COUNT, seed=SEED)
    known = {
        "to_oracle": references.paper_kind(name, COUNT, SIZE, SEED),
        "to_best": references.best(name, COUNT, SIZE, SEED),
    }
    row = {"problem": name, "instances": COUNT, "views": VIEWS}
    for step, improve in (("model", False), ("finished", True)):
        began = time.perf_counter()
        plans = solver.solve(problems, augment=VIEWS, improve=improve)
        row[step] = {"seconds": time.perf_counter() - began}
        row[step]["violations"] = sum(len(plan.violations) for plan in plans)
        for kind, entries in known.items():
            gaps = [
                100 * (plan.cost - entry.cost) / abs(entry.cost)
                for plan, entry in zip(plans, entries, strict=True)
                if entry is not None
            ]
            row[step][kind] = [round(float(np.mean(gaps)), 3), len(gaps)]
    print(json.dumps(row), flush=True)
