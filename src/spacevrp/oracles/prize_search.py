"""A minimum prize on PyVRP: an approximate search over what a prize is worth.

PyVRP knows no threshold, but customers that may be skipped at a price. With a bonus of w for each
unit of prize it collects more the larger w is; this searches for the smallest w that collects
enough. A plan between two values of w is out of reach, so that even a perfect search may miss the
optimum: the plans are feasible, and some beat those of an exact model that searches less well, but
nothing here is exact.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spacevrp.oracles.base import Plan, SolverOracle, refuse_own_fleet, refuse_unusual
from spacevrp.oracles.pyvrp import scale_for_pyvrp, search
from spacevrp.oracles.pyvrp_model import Model
from spacevrp.oracles.scaling import Routes, WholeProblem
from spacevrp.problems.problem import Problem

_STEPS = 10


class PrizeSearchOracle(SolverOracle):
    """PyVRP with a searched worth of prizes; approximate, and never chosen by itself.

    Each step stops after so many ``iterations``, as :class:`PyVrpOracle` does.
    """

    name: ClassVar[str] = "pyvrp-approximate"
    package: ClassVar[str] = "pyvrp"
    module: ClassVar[str] = "pyvrp"

    def __init__(self, iterations: int | None = None) -> None:
        self._iterations = iterations

    def supports(self, problem: Problem) -> str | None:
        """None where there is a minimum prize and PyVRP can model the rest."""
        if problem.maximise_prize or problem.min_prize <= 0 or not problem.prize.any():
            return "a problem without a minimum prize better than pyvrp does"
        return refuse_own_fleet(problem) or refuse_unusual(problem)

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        whole = scale_for_pyvrp(problem)
        assert whole.prize is not None
        # At first a mean prize is worth a mean arc.
        worth = float(whole.cost.mean()) / max(float(whole.prize.mean()), 1.0)
        too_little, enough = 0.0, np.inf
        best: Plan | None = None
        previous = start
        for step in range(_STEPS):
            bonus = np.rint((0.0 if step == 0 else worth) * whole.prize).astype(np.int64)
            model = Model.build(problem, whole, bonus)
            found = search(model, seconds / _STEPS, self._iterations, seed + step, previous)
            if found is None:
                return best
            previous, cost = found
            plan, collected = _without_bonus(whole, previous, cost, bonus)
            if collected >= whole.min_prize:
                if best is None or plan.claimed < best.claimed:
                    best = plan
                if step == 0:
                    break  # no bonus was needed: the threshold does not bind
                enough = min(enough, worth)
            elif step > 0:
                too_little = max(too_little, worth)
            if step > 0:
                worth = 2 * worth if np.isinf(enough) else (too_little + enough) / 2
        return best


def _without_bonus(
    whole: WholeProblem, routes: Routes, cost: int, bonus: np.ndarray
) -> tuple[Plan, int]:
    """The plan at its true cost, and the prize it collects."""
    assert whole.prize is not None
    visited = {node for route in routes for node in route}
    skipped = [node for node in whole.stops if node not in visited]
    collected = sum(int(whole.prize[node]) for node in whole.stops if node in visited)
    claimed = (cost - int(bonus[skipped].sum())) / whole.cost_scale
    note = "approximate: searched over the worth of a prize"
    return Plan(routes, claimed, whole.claim_error(routes, False), note), collected
