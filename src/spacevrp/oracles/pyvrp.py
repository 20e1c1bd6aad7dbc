"""PyVRP: the strongest search for all but mixed loads of one commodity and prize thresholds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from spacevrp.oracles.base import (
    Plan,
    SolverOracle,
    most_routes,
    refuse_mixed_loads,
    refuse_neutral_stops,
    refuse_own_fleet,
    refuse_shared_fleet,
    route_parts,
)
from spacevrp.oracles.scaling import Routes, WholeProblem, scale_problem, write_route
from spacevrp.problems.problem import Problem

# Digits of one unit of the instance where data are not whole at fewer.
_DIGITS = 4
# PyVRP's own bound on matrix entries, less a margin for sums.
_LARGEST = 2**43
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

    Parameters
    ----------
    iterations
        Stop after so many iterations even if there is time left; None for no such limit.
    """

    name: ClassVar[str] = "pyvrp"
    package: ClassVar[str] = "pyvrp"
    module: ClassVar[str] = "pyvrp"

    def __init__(self, iterations: int | None = None) -> None:
        self._iterations = iterations

    def supports(self, problem: Problem) -> str | None:
        """None, or the feature that PyVRP cannot model exactly."""
        if problem.min_prize > 0 and not problem.maximise_prize and problem.prize.any():
            return "a minimum prize"
        return (
            refuse_own_fleet(problem)
            or refuse_mixed_loads(problem)
            or refuse_neutral_stops(problem)
            or refuse_shared_fleet(problem)
        )

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        end = time.perf_counter() + seconds
        whole = scale_for_pyvrp(problem)
        model = Model.build(problem, whole)
        left = max(end - time.perf_counter(), 0.0)
        found = search(model, left, self._iterations, seed, start, self.watch)
        if found is None:
            return None
        routes, cost = found
        return Plan(routes, model.claim(cost), whole.claim_error(routes, problem.maximise_prize))


def scale_for_pyvrp(problem: Problem) -> WholeProblem:
    """The whole-number twin at the scale that suits PyVRP."""
    return scale_problem(problem, digits=_DIGITS, largest=_LARGEST // 4, one_length=True)


@dataclass(frozen=True)
class Model:
    """The problem in PyVRP's terms, and the way back."""

    problem: Problem
    whole: WholeProblem
    data: Any
    node_of_client: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    prize_weight: int  # what one whole unit of a maximised prize is worth in whole costs
    load_factor: int  # loads are this many times larger in the model
    mean_gain: float  # mean cost of an arc plus mean prize: what breaking a rule may be worth

    @classmethod
    def build(cls, problem: Problem, whole: WholeProblem, bonus: np.ndarray | None = None) -> Model:
        """The model; a bonus (N,) is added to what skipping a customer costs."""
        import pyvrp

        weight, unit_distance_cost = _prize_weight(problem, whole)
        prizes = whole.penalty if bonus is None else whole.penalty + bonus
        if problem.maximise_prize and whole.prize is not None:
            prizes = whole.prize * weight
        nodes = [node for node in whole.stops if not problem.pairs]
        times = whole.times

        def visit(node: int, prefix: str = "") -> dict[str, Any]:
            if times is None:
                return {}
            return {
                f"{prefix}tw_early": int(times.opening[node]),
                f"{prefix}tw_late": int(times.closing[node]),
                f"{prefix}service_duration": int(times.service[node]),
            }

        loads = whole.demand is not None
        factor = _load_factor(whole)
        demand = np.zeros(whole.size, dtype=np.int64)
        if whole.demand is not None:
            demand = whole.demand * factor
        clients = [
            pyvrp.Client(
                location=node,
                delivery=[max(int(demand[node]), 0)] if loads else [],
                pickup=[max(-int(demand[node]), 0)] if loads else [],
                prize=int(prizes[node]),
                required=bool(whole.compulsory[node]),
                **visit(node),
            )
            for node in nodes
        ]
        shipments = [
            pyvrp.Shipment(
                pickup_location=pickup,
                delivery_location=delivery,
                amount=[int(demand[delivery])] if loads else [],
                prize=int(prizes[pickup] + prizes[delivery]),
                required=bool(whole.compulsory[pickup] or whole.compulsory[delivery]),
                **visit(pickup, "pickup_"),
                **visit(delivery, "delivery_"),
            )
            for pickup, delivery in problem.pairs
        ]
        depots = [pyvrp.Depot(location=node, **_depot_hours(whole, node)) for node in whole.starts]
        if problem.open_routes:  # all routes end at a place that is next to everywhere
            depots.append(pyvrp.Depot(location=whole.size))
        limit: dict[str, Any] = (
            {} if whole.max_length is None else {"max_distance": whole.max_length}
        )
        vehicles = [
            pyvrp.VehicleType(
                num_available=most_routes(problem, whole),
                capacity=[int(whole.capacity) * factor] if whole.capacity is not None else [],
                start_depot=depot,
                end_depot=len(whole.starts) if problem.open_routes else depot,
                unit_distance_cost=unit_distance_cost,
                **limit,
            )
            for depot in range(len(whole.starts))
        ]
        prohibitive = _prohibitive(whole, prizes)
        distance = np.where(whole.banned, prohibitive, whole.cost)
        duration = np.zeros_like(whole.cost) if times is None else times.duration
        places = whole.size + problem.open_routes
        data = pyvrp.ProblemData(
            locations=[pyvrp.Location(0, 0) for _ in range(places)],
            clients=clients,
            depots=depots,
            vehicle_types=vehicles,
            distance_matrices=[_with_end(distance, places)],
            duration_matrices=[_with_end(duration, places)],
            shipments=shipments,
        )
        allowed = whole.cost[~whole.banned]
        gain = float(allowed.mean()) * unit_distance_cost + float(prizes.mean())
        return cls(
            problem, whole, data, tuple(nodes), problem.pairs, weight, factor, max(gain, 1.0)
        )

    def claim(self, cost: int) -> float:
        """The solver's cost in the user's units."""
        whole = self.whole
        if not self.problem.maximise_prize:
            return cost / whole.cost_scale
        assert whole.prize is not None
        # Prizes weigh more than all travelling together.
        skipped = cost // self.prize_weight
        return -(int(whole.prize[list(whole.stops)].sum()) - skipped) / whole.prize_scale

    def read_routes(self, solution: Any) -> Routes:
        """The routes in the user's numbering."""
        routes = []
        for route in solution.routes():
            stops = [node for node in map(self._node, route) if node is not None]
            if stops:
                depot = self.whole.starts[route.start_depot()]
                routes.append(write_route(self.problem, depot, stops))
        return tuple(routes)

    def _node(self, activity: Any) -> int | None:
        if activity.is_client():
            return self.node_of_client[activity.idx]
        if activity.is_pickup():
            return self.pairs[activity.idx][0]
        if activity.is_delivery():
            return self.pairs[activity.idx][1]
        return None

    def as_solution(self, routes: Routes) -> Any:
        """A plan of ours as one of PyVRP's."""
        from pyvrp import Activity, ActivityType, Route, Solution

        activity = {
            node: Activity(ActivityType.CLIENT, client)
            for client, node in enumerate(self.node_of_client)
        }
        for number, (pickup, delivery) in enumerate(self.pairs):
            activity[pickup] = Activity(ActivityType.PICKUP, number)
            activity[delivery] = Activity(ActivityType.DELIVERY, number)
        return Solution(
            self.data,
            [
                Route(self.data, [activity[node] for node in stops], self.whole.starts.index(depot))
                for depot, stops in route_parts(self.whole, routes)
            ],
        )

    def uses_banned_arc(self, routes: Routes) -> bool:
        """Whether PyVRP had to take an arc it was asked to avoid at all costs."""
        legs = [leg for route in routes for leg in pairwise(route)]
        if not self.problem.depots:  # the tour closes itself
            legs += [(route[-1], route[0]) for route in routes]
        return any(self.whole.banned[origin, target] for origin, target in legs)


def search(
    model: Model,
    seconds: float,
    iterations: int | None,
    seed: int,
    start: Routes | None,
    watch: Callable[[float], None] | None = None,
) -> tuple[Routes, int] | None:
    """The best routes found and PyVRP's own cost of them; None where it found no plan."""
    stop = _Stop(time.perf_counter() + seconds, iterations, model, watch)
    initial = None if start is None else model.as_solution(start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what becomes of its penalties is no news to a user
        hurried = seconds < _short_seconds(model.problem) * len(model.whole.stops)
        result = _run(model, stop, seed, initial, hurried)
    if not result.is_feasible():
        return None
    routes = model.read_routes(result.best)
    return None if model.uses_banned_arc(routes) else (routes, int(result.cost()))


class _Stop:
    """PyVRP asks this before each iteration; the time runs from the call on, not from there."""

    def __init__(
        self,
        end: float,
        iterations: int | None,
        model: Model,
        watch: Callable[[float], None] | None,
    ) -> None:
        self._end, self._left = end, iterations
        self._model, self._watch, self._best = model, watch, _LARGEST_COST

    def __call__(self, best_cost: int) -> bool:
        if self._watch is not None and best_cost < self._best:  # beyond all where infeasible
            self._best = best_cost
            self._watch(self._model.claim(best_cost))
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
    if model.problem.distances.is_symmetric and not model.pairs:
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
    if initial is None or _is_much_better(own, initial, manager.cost_evaluator()):
        initial = own
    memory = pyvrp.IteratedLocalSearchParams()
    if hurried:
        memory = pyvrp.IteratedLocalSearchParams(history_length=_SHORT_HISTORY)
    algorithm = pyvrp.IteratedLocalSearch(data, manager, local_search, initial, memory)
    return algorithm.run(stop, collect_stats=False, display=False)


def _is_much_better(own: Any, given: Any, evaluator: Any) -> bool:
    """Whether PyVRP's own first plan promises more than the given one."""
    if not own.is_feasible():
        return False
    return bool(evaluator.cost(own) < (1.0 - _MUCH_BETTER) * evaluator.cost(given))


def _short_seconds(problem: Problem) -> float:
    if problem.max_routes != 1 and problem.distances.is_symmetric:
        return _SHORT_SECONDS_OF_ROUTES
    return _SHORT_SECONDS


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
    if whole.demand is not None:
        load = np.abs(whole.demand) * model.load_factor
        amounts["load"] = (float(load.mean()), float(load.sum()))
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
    loads = [start["load"]] if "load" in start else []
    return (loads, start.get("time", low), start.get("length", low)), params


def _load_factor(whole: WholeProblem) -> int:
    """Brings loads to the size of costs; full vehicles stay full under any factor."""
    if whole.demand is None:
        return 1
    mean = float(np.abs(whole.demand).mean())
    return max(1, round(float(whole.cost.mean()) / max(mean, 1.0)))


def _prize_weight(problem: Problem, whole: WholeProblem) -> tuple[int, int]:
    """Worth of a prize and of travelling, such that no travelling outweighs any prize."""
    if not problem.maximise_prize or whole.prize is None:
        return 1, 1
    # Validation sees to a limit where prize is maximised; one that cannot bind is not scaled.
    longest = int(whole.cost.max()) * (len(whole.stops) + 1)
    weight = min(longest, (whole.max_length or longest) * most_routes(problem, whole)) + 1
    if int(whole.prize.sum()) * weight < _LARGEST:
        return weight, 1
    return 1, 0  # the shorter of two equal plans is then no better


def _prohibitive(whole: WholeProblem, prizes: np.ndarray) -> int:
    everything = int(whole.cost.max(axis=1).sum()) + int(prizes.sum()) + 1
    return min(max(everything, (whole.max_length or 0) + 1), _LARGEST)


def _depot_hours(whole: WholeProblem, node: int) -> dict[str, Any]:
    if whole.times is None:
        return {}
    return {
        "tw_early": int(whole.times.opening[node]),
        "tw_late": int(whole.times.closing[node]),
    }


def _with_end(matrix: np.ndarray, places: int) -> Any:
    """The matrix with room for a place at the end that is next to everywhere."""
    wide = np.zeros((places, places), dtype=np.int64)
    wide[: len(matrix), : len(matrix)] = matrix
    np.fill_diagonal(wide, 0)
    return wide
