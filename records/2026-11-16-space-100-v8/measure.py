"""First plans, planned anew, and rebuilt or finished: measure.py (FOLDER|generated) NAMES.

FOLDER holds the public sets, of which the first 100 instances each are taken; of generated
problems there are 32 each.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

import spacevrp
from spacevrp.bench import references
from spacevrp.solver.polish import finisher_of

REFERENCE = {"CVRP": "ref_hgs", "OCVRP": "ref_lkh", "CVRPL": "ref_lkh"}
VIEWS, ROUNDS, COUNT, SIZE, SEED = 8, 16, 32, 100, 1
PUBLIC = 100
solver = spacevrp.Solver(device="cpu")


def public(folder, names):
    """The public sets with their references."""
    for path in sorted(Path(folder).glob("*.npz")):
        with np.load(path) as file:
            name = str(file["variant"])
            if name not in names:
                continue
            kind = REFERENCE.get(name, "ref_or_tools_400s")
            costs = [float(one) for one in file[kind][:PUBLIC]]
            yield name, spacevrp.read(path)[:PUBLIC], {kind: costs}


def generated(names):
    """Generated sets with the costs of the paper's kind of oracle and the best known ones."""
    for name in names:
        known = {
            "to_oracle": references.paper_kind(name, COUNT, SIZE, SEED),
            "to_best": references.best(name, COUNT, SIZE, SEED),
        }
        costs = {kind: [e and e.cost for e in entries] for kind, entries in known.items()}
        yield name, spacevrp.generate(name, size=SIZE, count=COUNT, seed=SEED), costs


names = sys.argv[2].split(",")
sets = generated(names) if sys.argv[1] == "generated" else public(sys.argv[1], names)
for name, problems, known in sets:
    row = {"problem": name, "instances": len(problems), "views": VIEWS, "rounds": ROUNDS}
    plans, violations = None, 0
    for step in ("first", "anew", "finished"):
        began = time.perf_counter()
        if step == "first":
            plans = solver.solve(problems, augment=VIEWS, replan=0, improve=False)
        elif step == "anew":
            plans = solver.plan_anew(problems, plans, rounds=ROUNDS).best
        else:
            ways = [finisher_of(problem) for problem in problems]
            plans = [way(plan) if way else plan for way, plan in zip(ways, plans, strict=True)]
        row[step] = {"seconds": time.perf_counter() - began}
        row[step]["cost"] = float(np.mean([plan.cost for plan in plans]))
        violations += sum(len(plan.violations) for plan in plans)
        for kind, costs in known.items():
            gaps = [
                100 * (plan.cost - cost) / abs(cost)
                for plan, cost in zip(plans, costs, strict=True)
                if cost is not None
            ]
            row[step][kind] = [round(float(np.mean(gaps)), 3), len(gaps)]
    print(json.dumps(row | {"violations": violations}), flush=True)
