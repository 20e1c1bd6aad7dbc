"""Costs of problems with optional customers by the search alone: ``penalties.py SEED OUT.csv``.

Each customer has a penalty of 0.1 to 0.8 times the median distance between two customers.
"""

import csv
import sys
import time
from pathlib import Path

import numpy as np

from spacevrp import generate
from spacevrp.search import Stop, improve

CASES = (("CVRP", 100), ("CVRPB", 100), ("MDCVRP", 100), ("PDCVRP", 100), ("ACVRP", 100))
CASES += (("CVRPTW", 100), ("OCVRPTW", 100), ("CVRP", 300), ("ACVRP", 300), ("CVRPTW", 300))
EACH = 0.01  # seconds a customer

seed, out = int(sys.argv[1]), Path(sys.argv[2])
rng = np.random.default_rng(seed)
with out.open("w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(("problem", "size", "instance", "seed", "cost", "served", "seconds"))
    for name, size in CASES:
        for number, bare in enumerate(generate(name, size, 6, seed=seed)):
            distances = bare.distances.matrix()
            median = np.median(distances[np.ix_(bare.customers, bare.customers)])
            penalty = np.zeros(bare.size)
            penalty[list(bare.customers)] = rng.uniform(0.1, 0.8, len(bare.customers)) * median
            problem = bare.replace(penalty=penalty, variant=None)
            began = time.perf_counter()
            (plan,) = improve([problem], [None], stop=Stop(seconds=EACH * size), seed=0)
            seconds = time.perf_counter() - began
            served = sum(node in bare.customers for route in plan.routes for node in route)
            rows.writerow((name, size, number, 0, f"{plan.cost:.6f}", served, f"{seconds:.2f}"))
            file.flush()
