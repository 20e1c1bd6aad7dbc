"""Parts of large plans planned again by the network, next to the search for as long.

    python subproblems.py FOLDER AUGMENTATIONS FIRST_SECONDS TOTAL_SECONDS FILE,FILE,...

A plan by the search after FIRST_SECONDS is divided into groups of neighbouring routes with about
100 customers. Each is planned by the network alone, and the new routes replace the old ones where
they cost less. Then the search goes on until TOTAL_SECONDS. One line of CSV for each file.
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from spacevrp import Problem, Solution, SolveParams, Solver, generate, read

GROUP = 100  # customers
COLUMNS = "file,customers,groups,better,network_s,first,then_network,then_search,total_s,both,alone"


def neighbouring(points: np.ndarray, routes: list[tuple[int, ...]]) -> list[list[int]]:
    """Numbers of routes in groups: the farthest one from the depot and those around it first."""
    centre = np.array([points[list(route[1:-1])].mean(axis=0) for route in routes])
    left, groups = set(range(len(routes))), []
    while left:
        seed = max(left, key=lambda one: float(np.linalg.norm(centre[one] - points[0])))
        group, customers = [], 0
        for one in sorted(left, key=lambda one: float(np.linalg.norm(centre[one] - centre[seed]))):
            more = len(routes[one]) - 2
            if customers >= GROUP or (group and customers + more > 1.15 * GROUP):
                break
            group.append(one)
            customers += more
        left -= set(group)
        groups.append(group)
    return groups


def main() -> None:
    folder, augmentations, first_seconds, total, files = sys.argv[1:]
    solver = Solver(None, "cpu", threads=1)
    beam = 0 if augmentations == "1" else None
    network = SolveParams(protocol="network", augmentations=int(augmentations), beam_width=beam)
    solver.solve(generate("CVRP", 100, 1)[0], network)  # loads the weights

    def search(problem: Problem, seconds: float, start: object = None) -> Solution:
        params = SolveParams(network=False, seed=1)
        return solver.solve(problem, params, time=seconds, start=start)

    print(COLUMNS)
    for name in files.split(","):
        problem = read(Path(folder) / f"{name}.vrp")
        text = (Path(folder) / f"{name}.sol").read_text()
        best = float(next(x for x in text.splitlines() if x.lower().startswith("cost")).split()[1])
        lengths = problem.distances.matrix()
        first = search(problem, float(first_seconds))
        began, cost, routes, better = time.perf_counter(), first.cost, [], 0
        groups = neighbouring(np.asarray(problem.distances.coordinates), first.routes)
        for group in groups:
            old = [first.routes[one] for one in group]
            nodes = [0, *(node for route in old for node in route[1:-1])]
            part = Problem.from_matrix(
                lengths[np.ix_(nodes, nodes)],
                depots=[0],
                demand=problem.demand[nodes],
                capacity=problem.capacity,
            )
            plan = solver.solve(part, network)
            saved = sum(lengths[i, j] for r in old for i, j in pairwise(r))
            saved -= plan.cost
            if saved > 0:
                cost, better = cost - saved, better + 1
                routes += [tuple(nodes[node] for node in route) for route in plan.routes]
            else:
                routes += old
        spent = time.perf_counter() - began
        left = float(total) - float(first_seconds) - spent
        gaps = [first.cost, cost, search(problem, float(first_seconds) + spent).cost]
        both = search(problem, left, routes).cost if left > 0 else np.nan
        gaps += [both, search(problem, float(total)).cost]
        shown = [f"{100 * (gap / best - 1):.3f}" for gap in gaps]
        row = [name, len(problem.customers), len(groups), better, f"{spent:.2f}"]
        print(*row, *shown[:3], total, *shown[3:], sep=",", flush=True)


if __name__ == "__main__":
    main()
