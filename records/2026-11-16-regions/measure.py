"""Gaps on the public sets, first plans and planned anew: measure.py FOLDER NAMES [ROUNDS]."""

import json
import sys
import time
from pathlib import Path

import numpy as np

import spacevrp

REFERENCE = {"CVRP": "ref_hgs", "OCVRP": "ref_lkh", "CVRPL": "ref_lkh"}
VIEWS = 8
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 8

solver = spacevrp.Solver(device="cpu")
for path in sorted(Path(sys.argv[1]).glob("*.npz")):
    with np.load(path) as file:
        name = str(file["variant"])
        reference = np.array(file[REFERENCE.get(name, "ref_or_tools_400s")], dtype=float)
    if name not in sys.argv[2].split(","):
        continue
    problems = spacevrp.read(path)
    row = {"problem": name, "instances": len(problems), "views": VIEWS, "rounds": ROUNDS}
    began = time.perf_counter()
    first = solver.solve(problems, augment=VIEWS, replan=0)
    middle = time.perf_counter()
    anew = solver.plan_anew(problems, first, rounds=ROUNDS).best
    seconds = {"first": middle - began, "anew": time.perf_counter() - middle}
    for key, plans in (("first", first), ("anew", anew)):
        cost = np.array([plan.cost for plan in plans])
        gap = 100 * ((cost - reference) / reference).mean()
        row[key] = {"cost": cost.mean(), "gap": gap, "seconds": seconds[key]}
        row[key]["violations"] = sum(len(plan.violations) for plan in plans)
    print(json.dumps(row), flush=True)
