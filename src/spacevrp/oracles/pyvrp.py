"""PyVRP: the strongest search for all but mixed loads of one commodity and prize thresholds."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar

import numpy as np

from spacevrp.oracles.base import Plan, SolverOracle, refuse_own_fleet, refuse_pins, refuse_unusual
from spacevrp.oracles.fleet import refuse_time_costs, refuse_units
from spacevrp.oracles.pyvrp_model import LARGEST, Model
from spacevrp.oracles.scaling import TIMED_RULES, Routes, WholeProblem, scale_problem
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.relations import present_relations

# Rules of routes (see Problem.route_rules) and relations of customers that it models.
_KNOWN = TIMED_RULES | {"reload_depots", "groups", "pickup"}
# Digits of one unit of the instance where data are not whole at fewer.
_DIGITS = 4
# Penalties may move so far from where they start.
_PENALTY_RANGE = 100.0
# Costs with penalties must stay below this: beyond, sums wrap around and its search never ends.
_LARGEST_COST = 2.0**60
# Breaking a rule by a mean amount costs this many mean arcs at first.
_FIRST_PENALTY = 10.0
# With less time than this for each customer, a shorter memory of what to accept pays; with several
# routes and ways that are as long both ways, up to the second.
_SHORT_SECONDS = 0.1
_SHORT_SECONDS_OF_ROUTES = 0.2
_SHORT_HISTORY = 50
# Fewer neighbours than PyVRP's own 50 pay where near is near both ways and visits are single.
_FEW_NEIGHBOURS = 20
# Its own first plan takes some hundredths of a second. Where that is better than a given plan by
# this share, searching on from the given one ends worse (pairs: up to 20% worse at 10 s).
_MUCH_BETTER = 0.05
# Plans between two updates of the penalties: PyVRP's own 500 leave short runs without any.
_PLANS_BETWEEN_UPDATES = 50


class PyVrpOracle(SolverOracle):
    """PyVRP.

    It stops after so many ``iterations`` even if there is time left; None for no such limit.
    """

    name: ClassVar[str] = "pyvrp"
    package: ClassVar[str] = "pyvrp"
    module: ClassVar[str] = "pyvrp"

    def __init__(self, iterations: int | None = None) -> None:
        self._iterations = iterations

    def refuses(self, problem: Problem) -> str | None:
        """None, or what PyVRP cannot model exactly, rules and relations included."""
        for name in (*problem.route_rules, *present_relations(problem)):
            if name not in _KNOWN:
                return name
        return self.supports(problem)

    def supports(self, problem: Problem) -> str | None:
        """None, or the feature that PyVRP cannot model exactly."""
        if problem.min_prize > 0 and not problem.maximise_prize and problem.prize.any():
            return "a minimum prize"
        if problem.maximise_prize and problem.has_own_fleet:
            return "vehicles that differ, or several kinds of load, where prize is maximised"
        for pickup, delivery in problem.pairs:
            if problem.windows[delivery, 1] < problem.windows[pickup, 0]:
                return f"a delivery that closes before its pickup opens (node {delivery})"
        if any(terms.unit_distance_cost == 0 for terms in problem.fleet):
            return "a unit_distance_cost of 0"  # what must not be travelled is made dear
        return refuse_pins(problem) or refuse_unusual(problem) or refuse_units(problem)

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        end = time.perf_counter() + seconds
        model = _build(problem)
        left = max(end - time.perf_counter(), 0.0)
        found = search(model, left, self._iterations, seed, start)
        if found is None:
            return None
        routes, cost = found
        return Plan(routes, model.claim(cost), model.claim_error(routes))


def scale_for_pyvrp(problem: Problem) -> WholeProblem:
    """The whole-number twin at the scale that suits PyVRP."""
    return scale_problem(problem, digits=_DIGITS, largest=LARGEST // 4, one_length=True)


def as_pyvrp(problem: Problem) -> Model:
    """The problem in PyVRP's terms, for its own settings, and the way back.

    Raises
    ------
    UnsupportedError
        Names what PyVRP cannot model exactly.
    """
    oracle = PyVrpOracle()
    oracle.require()
    oracle.check(problem)
    return _build(problem, level=False)


def _build(problem: Problem, *, level: bool = True) -> Model:
    whole = scale_for_pyvrp(problem)
    reason = refuse_time_costs(problem, whole)
    if reason is not None:
        raise UnsupportedError(f"pyvrp cannot model {reason} exactly")
    return Model.build(problem, whole, level=level)


def to_pyvrp(problem: Problem) -> Any:
    """PyVRP's ``ProblemData`` of a problem.

    Data that are whole numbers stay what they are; others are scaled, and what no vehicle may do
    is very dear. Time 0 is the earliest opening of any node.

    Raises
    ------
    UnsupportedError
        Names what PyVRP cannot model exactly.
    """
    return as_pyvrp(problem).data


def search(
    model: Model, seconds: float, iterations: int | None, seed: int, start: Routes | None
) -> tuple[Routes, int] | None:
    """The best routes found and PyVRP's own cost of them; None where it found no plan."""
    stop = _Stop(time.perf_counter() + seconds, iterations)
    initial = None if start is None else model.as_solution(start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what becomes of its penalties is no news to a user
        several = model.problem.max_routes != 1 and model.problem.distances.is_symmetric
        short = _SHORT_SECONDS_OF_ROUTES if several else _SHORT_SECONDS
        hurried = seconds < short * len(model.whole.stops)
        result = _run(model, stop, seed, initial, hurried)
    if not result.is_feasible():
        return None
    routes = model.read_routes(result.best)
    return None if model.uses_banned_arc(routes) else (routes, int(result.cost()))


class _Stop:
    """PyVRP asks this before each iteration; the time runs from the call on, not from there."""

    def __init__(self, end: float, iterations: int | None) -> None:
        self._end, self._left = end, iterations

    def __call__(self, best_cost: int) -> bool:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                return True
        return time.perf_counter() >= self._end


def _run(model: Model, stop: Any, seed: int, initial: Any, hurried: bool) -> Any:
    """What ``pyvrp.solve`` does, but for the penalties, which start from the data.

    Its own start at a fixed value whatever the scale of the data, and need thousands of iterations
    to get where they should be.
    """
    import pyvrp
    from pyvrp import search as parts

    data = model.data
    rng = pyvrp.RandomNumberGenerator(seed=seed)
    near = parts.NeighbourhoodParams()
    if model.problem.distances.is_symmetric and not model.problem.pairs:
        near = parts.NeighbourhoodParams(num_neighbours=_FEW_NEIGHBOURS)
    local_search = parts.LocalSearch(
        data, rng, parts.compute_neighbours(data, near), parts.PerturbationManager()
    )
    for operator in parts.OPERATORS:
        if operator.supports(data):
            local_search.add_operator(operator(data))
    penalties, params = _penalties(model)
    manager = pyvrp.PenaltyManager(penalties, params)
    random = pyvrp.Solution.make_random(data, rng)
    own = local_search(random, manager.max_cost_evaluator(), exhaustive=True)
    cost = manager.cost_evaluator().cost
    if initial is None or (own.is_feasible() and cost(own) < (1.0 - _MUCH_BETTER) * cost(initial)):
        initial = own
    memory = pyvrp.IteratedLocalSearchParams()
    if hurried:
        memory = pyvrp.IteratedLocalSearchParams(history_length=_SHORT_HISTORY)
    algorithm = pyvrp.IteratedLocalSearch(data, manager, local_search, initial, memory)
    return algorithm.run(stop, collect_stats=False, display=False)


def _penalties(model: Model) -> tuple[tuple[list[float], float, float], Any]:
    """Penalties that weigh a mean excess like some mean arcs, and bounds around them.

    The bounds are the same for loads, times and lengths, which is why loads are blown up to the
    size of costs in the model.
    """
    from pyvrp import PenaltyParams

    whole = model.whole
    price = _FIRST_PENALTY * model.mean_gain
    # What breaks a rule: its mean amount, and the most there can be of it in a plan.
    amounts: dict[str, tuple[float, float]] = {}
    kinds = list(zip(model.fleet.loads, model.load_factors, strict=True))
    for kind, (load, factor) in enumerate(kinds):
        blown_up = np.abs(load) * factor
        amounts[f"load {kind}"] = (float(blown_up.mean()), float(blown_up.sum()))
    if whole.times is not None:
        longest = float(whole.times.horizon) * len(whole.stops)
        amounts["time"] = (float(whole.times.duration.mean()), longest)
    if whole.length is not None:
        longest = float(model.data.distance_matrix(0).max(axis=1).sum())
        amounts["length"] = (float(whole.length.mean()), longest)
    start = {kind: price / max(mean, 1.0) for kind, (mean, _) in amounts.items()}
    low, high = min(start.values(), default=1.0), max(start.values(), default=1.0)
    worst = max((most for _, most in amounts.values()), default=1.0)
    top = min(high * _PENALTY_RANGE, _LARGEST_COST / worst)
    params = PenaltyParams(
        solutions_between_updates=_PLANS_BETWEEN_UPDATES,
        min_penalty=min(low / _PENALTY_RANGE, top),
        max_penalty=top,
    )
    loads = [start[f"load {kind}"] for kind in range(len(kinds))]
    return (loads, start.get("time", low), start.get("length", low)), params


_STEPS = 10


class PrizeSearchOracle(SolverOracle):
    """A minimum prize on PyVRP; approximate, and never chosen by itself.

    PyVRP knows no threshold, but customers that may be skipped at a price. With a bonus of w for
    each unit of prize it collects more the larger w is; this searches for the smallest w that
    collects enough. A plan between two values of w is out of reach, so that even a perfect search
    may miss the optimum. Each step stops after so many ``iterations``.
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
