"""Generated sets: 8 views upright, 8 that lean, planned anew, or finished: generated.py NAMES."""

import json
import sys
import time

import numpy as np

import spacevrp
from spacevrp.bench import references

COUNT, SIZE, SEED, VIEWS, ROUNDS = 32, 100, 1, 8, 16

upright, leaning = spacevrp.Solver(device="cpu", lean=0), spacevrp.Solver(device="cpu")
for name in sys.argv[1].split(","):
    problems = spacevrp.generate(name, size=SIZE, count=COUNT, seed=SEED)
    known = {
        "to_oracle": references.paper_kind(name, COUNT, SIZE, SEED),
        "to_best": references.best(name, COUNT, SIZE, SEED),
    }
    row = {"problem": name, "instances": COUNT, "views": VIEWS, "rounds": ROUNDS}
    plans, violations = None, 0
    for step in ("upright", "leaning", "anew", "finished"):
        began = time.perf_counter()
        if step == "anew":
            plans = leaning.plan_anew(problems, plans, rounds=ROUNDS).best
        else:
            solver = upright if step == "upright" else leaning
            plans = solver.solve(problems, augment=VIEWS, replan=0, improve=step == "finished")
        row[step] = {"seconds": time.perf_counter() - began}
        row[step]["cost"] = float(np.mean([plan.cost for plan in plans]))
        violations += sum(len(plan.violations) for plan in plans)
        for kind, entries in known.items():
            gaps = [
                100 * (plan.cost - entry.cost) / abs(entry.cost)
                for plan, entry in zip(plans, entries, strict=True)
                if entry is not None
            ]
            row[step][kind] = [round(float(np.mean(gaps)), 3), len(gaps)]
    print(json.dumps(row | {"violations": violations}), flush=True)
