"""LKH through elkai: the strongest search for one tour with no rule but to visit every node.

LKH is free for academic and non-commercial use only; it comes with the package ``elkai``, the extra
``lkh``.
"""

from __future__ import annotations

import math
import time
from typing import ClassVar

import numpy as np

from spacevrp.oracles.base import Plan, SolverOracle, may_skip
from spacevrp.oracles.scaling import (
    Routes,
    has_binding_windows,
    scale_problem,
    write_route,
)
from spacevrp.problems.problem import Problem

_DIGITS = 6
# LKH multiplies lengths by 100 and ends the process where they pass half of what 32 bits hold.
_LARGEST = 10**7
_SMALLEST_SIZE = 3
_LEAST_SECONDS = 0.05


class LkhOracle(SolverOracle):
    """LKH: tours without a depot, and single routes without further rules.

    There are at most ``runs`` independent runs; those after the first only while there is time.
    """

    name: ClassVar[str] = "lkh"
    package: ClassVar[str] = "elkai"
    module: ClassVar[str] = "elkai"
    extra: ClassVar[str] = "lkh"

    def __init__(self, runs: int = 10) -> None:
        self._runs = runs

    def supports(self, problem: Problem) -> str | None:
        """None, or the feature that a plain tour cannot hold."""
        reasons = {
            "vehicles that differ": problem.has_own_fleet,
            "several depots": len(problem.depots) > 1,
            "several routes": bool(problem.depots) and problem.max_routes != 1,
            "pickups and deliveries in pairs": bool(problem.pairs),
            "a prize to be maximised": problem.maximise_prize,
            "customers that may be skipped": may_skip(problem),
            "a limited load": math.isfinite(problem.capacity) and bool(problem.demand.any()),
            "backhauls last": problem.backhaul_last and bool(problem.demand.any()),
            "time windows": has_binding_windows(problem),
            "a limit on the length of a route": math.isfinite(problem.max_length),
            "missing arcs": problem.distances.has_missing_arcs
            or problem.durations.has_missing_arcs,
        }
        return next((reason for reason, present in reasons.items() if present), None)

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        whole = scale_problem(problem, digits=_DIGITS, largest=_LARGEST)
        cost = whole.cost.copy()
        if problem.open_routes:
            cost[:, whole.starts[0]] = 0  # the way back costs nothing
        tour = list(range(whole.size))
        if whole.size >= _SMALLEST_SIZE:
            tour = _find_tour(cost, self._runs, seconds, seed)
        turn = tour.index(whole.starts[0])
        stops = [*tour[turn + 1 :], *tour[:turn]]
        routes = (write_route(problem, whole.starts[0], stops),)
        claimed = _length(cost, [whole.starts[0], *stops]) / whole.cost_scale
        return Plan(routes, claimed, whole.claim_error(routes, False))


def _find_tour(cost: np.ndarray, runs: int, seconds: float, seed: int) -> list[int]:
    """LKH's best tour through a matrix."""
    rows = "\n".join(" ".join(map(str, row)) for row in cost.tolist())
    kind = "TSP" if np.array_equal(cost, cost.T) else "ATSP"
    problem = (
        f"TYPE : {kind}\nDIMENSION : {len(cost)}\nEDGE_WEIGHT_TYPE : EXPLICIT\n"
        f"EDGE_WEIGHT_FORMAT : FULL_MATRIX\nEDGE_WEIGHT_SECTION\n{rows}\n"
    )
    end = time.perf_counter() + seconds
    best: list[int] = []
    for run in range(runs):
        left = end - time.perf_counter()
        if best and left <= 0:
            break
        tour = _run(problem, max(left, _LEAST_SECONDS), seed * runs + run + 1)
        if not best or _length(cost, tour) < _length(cost, best):
            best = tour
    return best


def _run(problem: str, seconds: float, seed: int) -> list[int]:
    """One run of LKH, from elkai's entry that takes parameters.

    Its documented functions know neither a time limit nor a seed.
    """
    from elkai import _elkai

    parameters = f"RUNS = 1\nSEED = {seed}\nTIME_LIMIT = {seconds:.3f}\nPROBLEM_FILE = :stdin:\n"
    return [int(node) - 1 for node in _elkai.solve_problem(parameters, problem)]


def _length(cost: np.ndarray, tour: list[int]) -> int:
    return int(cost[tour, np.roll(tour, -1)].sum())
