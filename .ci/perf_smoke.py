"""Compare fast paths with slow ones within one run: ``make perf-smoke``.

No time is compared with a stored one, so that any machine may run it, busy or not. The ratios asked
for are far below what a quiet machine shows; a fast path that is no longer taken fails.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import torch

import spacevrp
from spacevrp import native
from spacevrp.decode.native_rollout import native_rollout
from spacevrp.decode.rollout import rollout
from spacevrp.env import Environment, start_nodes
from spacevrp.model import augmentation_seeds
from spacevrp.model.weights import load_weights
from spacevrp.search import Stop, improve
from spacevrp.tensors import stack

# The compiled rollout against single steps in PyTorch; some tens where AVX-512 is there.
ROLLOUT = 3.0
# Iterations of the search against sums of a plan's arcs in NumPy, each a second; about 1.
SEARCH = 0.3


def shortest(work: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest call, after a warm-up: other work only ever adds to them."""
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def rollout_ratio() -> float:
    """How many times as fast the compiled rollout is as single steps in PyTorch, one thread."""
    torch.set_num_threads(1)
    batch = stack(spacevrp.generate("CVRP", size=100, count=1, seed=1))
    model, _ = load_weights()
    with torch.no_grad():
        tables = model(batch, augmentation_seeds(batch, model.config, 1, 0)[:, 0])
        environment = Environment(batch)
        starts = start_nodes(environment, 100)
        slow = shortest(lambda: rollout(environment, tables, starts), repeats=3)
        fast = shortest(lambda: native_rollout(environment, tables, starts))
    return slow / fast


def search_ratio() -> float:
    """Iterations a second over NumPy's sums of one plan's arcs a second."""
    (problem,) = spacevrp.generate("CVRP", size=100, count=1, seed=1)
    iterations = 20_000
    found = improve([problem], [None], stop=Stop(iterations=iterations), seed=1)
    routes = found[0].routes
    matrix = problem.distances.matrix()
    plan = np.concatenate([np.array(route) for route in routes])

    def evaluate() -> None:
        for _ in range(1000):
            matrix[plan[:-1], plan[1:]].sum()

    search = shortest(
        lambda: improve([problem], [None], stop=Stop(iterations=iterations), seed=1), repeats=3
    )
    return (iterations / search) / (1000 / shortest(evaluate))


def main() -> int:
    """Print each ratio next to the least that is asked for; 1 where one is below it."""
    if native.network is None or native.core is None:
        print("perf smoke: the compiled modules are not built", file=sys.stderr)
        return 1
    checks = (("rollout", rollout_ratio(), ROLLOUT), ("search", search_ratio(), SEARCH))
    for name, ratio, least in checks:
        print(f"{name:8} {ratio:6.2f}  (at least {least:g})")
    return int(any(ratio < least for _, ratio, least in checks))


if __name__ == "__main__":
    sys.exit(main())
