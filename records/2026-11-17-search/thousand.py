"""1,000 CVRP100 on a GPU with 16 cores: network, search, referee. thousand.py CVRP.npz."""

import sys
import time

import numpy as np

from spacevrp.formats.npz import read_npz
from spacevrp.search import Stop, improve
from spacevrp.solver.solver import Solver

problems = read_npz(sys.argv[1])[:200]
best = np.tile(np.load(sys.argv[1])["ref_hgs"][:200], 5)
many = problems * 5
solver = Solver(device="cuda", threads=1)
solver.attempt(problems, augment=8, improve=False, replan=0)
for views in (1, 8):
    solver.attempt(many[:400], augment=views, improve=False, replan=0)
    began = time.perf_counter()
    attempt = solver.attempt(many, augment=views, improve=False, replan=0)
    first = time.perf_counter() - began
    cost = np.array([plan.cost for plan in attempt.solutions])
    print("network", views, f"{first:.2f}s gap {100 * (cost / best - 1).mean():.3f}")
    for iterations in (500, 1000, 2000, 4000):
        began = time.perf_counter()
        plans = improve(many, attempt.solutions, stop=Stop(iterations=iterations), threads=16)
        then = time.perf_counter() - began
        cost = np.array([plan.cost for plan in plans])
        gap = 100 * (cost / best - 1).mean()
        legal = sum(plan.feasible for plan in plans)
        print("  search", iterations, f"{then:.2f}s total {first + then:.2f}s gap {gap:.3f}", legal)
