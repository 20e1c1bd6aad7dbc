"""A problem in the terms of OR-Tools' routing library, the searches on it, and the way back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from spacevrp.oracles.base import Plan, assign_vehicles, refuse_neutral_stops
from spacevrp.oracles.scaling import Routes, WholeProblem, write_route
from spacevrp.problems.problem import Problem

# First plans to search from. Where customers may be skipped a single one often leads nowhere, so
# the time is shared among several.
_STARTS = ("PATH_CHEAPEST_ARC", "PARALLEL_CHEAPEST_INSERTION")
_STARTS_OF_PAIRS = ("PARALLEL_CHEAPEST_INSERTION", "PATH_CHEAPEST_ARC")
_STARTS_WITH_SKIPS = (
    "PARALLEL_CHEAPEST_INSERTION",
    "PATH_CHEAPEST_ARC",
    "LOCAL_CHEAPEST_COST_INSERTION",
)
# A search without any time finds nothing.
LEAST_SECONDS = 0.05
# Of the time, for a first plan from each strategy; most take some hundredths of a second.
_FIRST_PLAN_SHARE = 0.05
# The status of a search that ended for want of time, not of vehicles.
_TIMED_OUT = 4
# Ruin and recreate: customers taken out at a time, and the longest piece of a route among them.
_RUIN_CUSTOMERS = 10
_RUIN_PIECE = 10


@dataclass
class Best:
    """The best plan over several searches."""

    objective: int
    routes: Routes


class Model:
    """The problem in OR-Tools' terms, and the way back."""

    def __init__(
        self, problem: Problem, whole: WholeProblem, fleet: int, solutions: int | None
    ) -> None:
        from ortools.constraint_solver import pywrapcp

        self.problem, self.whole, self.fleet = problem, whole, fleet
        self.solutions = solutions
        self.depot_of_vehicle = [depot for depot in whole.starts for _ in range(fleet)]
        # Open routes end at a place that is next to everywhere.
        self.places = whole.size + problem.open_routes
        ends = self.depot_of_vehicle
        if problem.open_routes:
            ends = [whole.size] * len(self.depot_of_vehicle)
        self.manager = pywrapcp.RoutingIndexManager(
            self.places, len(self.depot_of_vehicle), self.depot_of_vehicle, ends
        )
        self.routing = pywrapcp.RoutingModel(self.manager)
        self.solver = self.routing.solver()
        self.index = {node: self.manager.NodeToIndex(node) for node in whole.stops}
        self.prize_weight = 1
        self.closed = False
        self.strategy: str | None = None  # that led to a plan before
        self.was_hurried = False  # no first plan, but perhaps for want of time only
        self._add_costs()
        self._add_times()
        self._add_load()
        self._add_backhauls()
        self._add_pairs()
        self._add_prizes()
        self._ban_arcs()

    @property
    def vehicles(self) -> range:
        """Numbers of the vehicles."""
        return range(len(self.depot_of_vehicle))

    # ------------------------------------------------------------------------------------ building

    def _matrix(self, matrix: np.ndarray) -> int:
        wide = np.zeros((self.places, self.places), dtype=np.int64)
        wide[: self.whole.size, : self.whole.size] = matrix
        evaluator: int = self.routing.RegisterTransitMatrix(wide.tolist())
        return evaluator

    def _vector(self, values: np.ndarray) -> int:
        wide = np.zeros(self.places, dtype=np.int64)
        wide[: self.whole.size] = values
        evaluator: int = self.routing.RegisterUnaryTransitVector(wide.tolist())
        return evaluator

    def _add_costs(self) -> None:
        """What travelling and skipping cost, and the limits of length and of routes."""
        problem, whole = self.problem, self.whole
        cost, price = whole.cost, whole.penalty
        if problem.maximise_prize and whole.prize is not None:
            # No travelling outweighs any prize; among equal prizes the shorter plan leaves room.
            longest = int(cost.max()) * (len(whole.stops) + 1)
            self.prize_weight = longest + 1
            price = whole.prize * self.prize_weight
        self.routing.SetArcCostEvaluatorOfAllVehicles(self._matrix(cost))
        for node, index in self.index.items():
            if not whole.compulsory[node]:
                self.routing.AddDisjunction([index], int(price[node]))
        if whole.length is not None and whole.max_length is not None:
            lengths = self._matrix(whole.length)
            self.routing.AddDimension(lengths, 0, whole.max_length, True, "length")
        limit = problem.max_routes
        if limit is not None and limit < len(self.vehicles):
            self.routing.SetMaximumNumberOfActiveVehicles(limit)

    def _add_times(self) -> None:
        times = self.whole.times
        if times is None:
            return
        evaluator = self._matrix(times.duration + times.service[:, None])
        self.routing.AddDimension(evaluator, times.horizon, times.horizon, False, "time")
        clock = self.routing.GetDimensionOrDie("time")
        for node, index in self.index.items():
            clock.CumulVar(index).SetRange(int(times.opening[node]), int(times.closing[node]))
        for vehicle, depot in enumerate(self.depot_of_vehicle):
            clock.CumulVar(self.routing.Start(vehicle)).SetMin(int(times.opening[depot]))
            if not self.problem.open_routes:
                clock.CumulVar(self.routing.End(vehicle)).SetMax(int(times.closing[depot]))

    def _add_load(self) -> None:
        whole, routing = self.whole, self.routing
        if whole.demand is None or whole.capacity is None:
            return
        # On leaving a node the load has changed by what it handed over.
        evaluator = self._vector(-whole.demand)
        starts_empty = bool(self.problem.pairs)
        # With a free start this is one commodity: some starting load keeps it between 0 and C.
        routing.AddDimension(evaluator, 0, whole.capacity, starts_empty, "load")
        load = routing.GetDimensionOrDie("load")
        if starts_empty or self.problem.load_rule != "separate":
            return
        # What is delivered was loaded at the depot: the starting load covers all deliveries.
        routing.AddDimension(
            self._vector(whole.demand.clip(0)), 0, int(whole.demand.clip(0).sum()), True, "brought"
        )
        brought = routing.GetDimensionOrDie("brought")
        for vehicle in self.vehicles:
            self.solver.Add(
                load.CumulVar(routing.Start(vehicle)) >= brought.CumulVar(routing.End(vehicle))
            )

    def _add_backhauls(self) -> None:
        """Where forbidden arcs are not enough, a phase that never goes back."""
        if refuse_neutral_stops(self.problem) is None:
            return
        self.routing.AddConstantDimensionWithSlack(0, 1, 1, True, "phase")
        phase = self.routing.GetDimensionOrDie("phase")
        for node, index in self.index.items():
            if self.problem.demand[node] > 0:
                phase.CumulVar(index).SetMax(0)
            elif self.problem.demand[node] < 0:
                phase.CumulVar(index).SetMin(1)

    def _add_pairs(self) -> None:
        if not self.problem.pairs:
            return
        self.routing.AddConstantDimension(1, self.places + 1, True, "position")
        position = self.routing.GetDimensionOrDie("position")
        for pickup, delivery in self.problem.pairs:
            first, second = self.index[pickup], self.index[delivery]
            self.routing.AddPickupAndDelivery(first, second)
            self.solver.Add(self.routing.VehicleVar(first) == self.routing.VehicleVar(second))
            self.solver.Add(self.routing.ActiveVar(first) == self.routing.ActiveVar(second))
            self.solver.Add(position.CumulVar(first) <= position.CumulVar(second))

    def _add_prizes(self) -> None:
        whole = self.whole
        if whole.prize is None or whole.min_prize <= 0:
            return
        total = int(whole.prize.sum())
        self.routing.AddDimension(self._vector(whole.prize), 0, total, True, "prize")
        prize = self.routing.GetDimensionOrDie("prize")
        ends = [prize.CumulVar(self.routing.End(vehicle)) for vehicle in self.vehicles]
        if len(ends) == 1:
            ends[0].SetMin(whole.min_prize)
        else:
            self.solver.Add(self.solver.Sum(ends) >= whole.min_prize)

    def _ban_arcs(self) -> None:
        banned = self.whole.banned
        if not banned.any():
            return
        for origin, index in self.index.items():
            following = self._banned_stops(origin)
            if not self.problem.open_routes:
                following += [
                    self.routing.End(vehicle)
                    for vehicle, depot in enumerate(self.depot_of_vehicle)
                    if banned[origin, depot]
                ]
            if following:
                self.routing.NextVar(index).RemoveValues(following)
        for vehicle, depot in enumerate(self.depot_of_vehicle):
            if following := self._banned_stops(depot):
                self.routing.NextVar(self.routing.Start(vehicle)).RemoveValues(following)

    def _banned_stops(self, origin: int) -> list[int]:
        targets = np.flatnonzero(self.whole.banned[origin]).tolist()
        return [self.index[target] for target in targets if target in self.index]

    # ----------------------------------------------------------------------------------- searching

    def search(self, seconds: float, start: Routes | None) -> Plan | None:
        """The best plan over the first plans tried."""
        end = time.perf_counter() + seconds
        best = None if start is None else self._improve(start, seconds)
        optional = not self.whole.compulsory[list(self.whole.stops)].all()
        if optional and best is None:
            best = self._search_in_turns(end)
        elif best is None:
            strategy = self._strategy(seconds)
            best = self._solve(strategy, max(end - time.perf_counter(), LEAST_SECONDS))
        if best is None:
            return None
        maximises = self.problem.maximise_prize
        claimed = self.whole.claim(best.objective, self.prize_weight, maximises)
        return Plan(best.routes, claimed, self.whole.claim_error(best.routes, maximises))

    def find_first(self, seconds: float) -> Routes | None:
        """The first plan that some strategy finds soon, without any search from there."""
        self.closed = True
        for strategy in _STARTS_OF_PAIRS if self.problem.pairs else _STARTS:
            parameters = self._parameters(strategy, max(_FIRST_PLAN_SHARE * seconds, LEAST_SECONDS))
            parameters.solution_limit = 1
            found = self._read(self.routing.SolveWithParameters(parameters))
            if found is not None:
                self.strategy = strategy
                return found.routes
            self.was_hurried = self.was_hurried or self.routing.status() == _TIMED_OUT
        return None

    def _strategy(self, seconds: float) -> str:
        """The first that leads to a plan; of those that do not do so soon, the first of all."""
        if self.strategy is None:
            self.find_first(seconds)
        return self.strategy or (_STARTS_OF_PAIRS if self.problem.pairs else _STARTS)[0]

    def ruin_and_recreate(self, seconds: float) -> Routes | None:
        """Iterated local search: neighbouring pieces of routes are taken out and put in again.

        Worse plans are accepted by simulated annealing, at temperatures taken from the data.
        """
        from ortools.constraint_solver import routing_enums_pb2

        parameters = self._parameters(self._strategy(seconds), seconds)
        parameters.use_iterated_local_search = True
        # Of the search before the first ruin, which must come to an end by itself.
        parameters.local_search_metaheuristic = (
            routing_enums_pb2.LocalSearchMetaheuristic.GREEDY_DESCENT
        )
        iterated = parameters.iterated_local_search_parameters
        iterated.improve_perturbed_solution = False
        ruin = iterated.ruin_recreate_parameters.ruin_strategies.add().sisr
        ruin.avg_num_removed_visits = _RUIN_CUSTOMERS
        ruin.max_removed_sequence_size = _RUIN_PIECE
        ruin.bypass_factor = 0.5
        annealing = iterated.reference_solution_acceptance_strategy.simulated_annealing
        annealing.automatic_temperatures = True
        found = self._read(self.routing.SolveWithIteratedLocalSearch(parameters))
        return None if found is None else found.routes

    def _search_in_turns(self, end: float) -> Best | None:
        """Each first plan gets its share of the time; what some leave over goes to the best."""
        best: Best | None = None
        for turn, strategy in enumerate(_STARTS_WITH_SKIPS):
            share = (end - time.perf_counter()) / (len(_STARTS_WITH_SKIPS) - turn)
            found = self._solve(strategy, max(share, LEAST_SECONDS))
            if found is not None and (best is None or found.objective < best.objective):
                best = found
        left = end - time.perf_counter()
        if best is not None and left > LEAST_SECONDS and self.solutions is None:
            better = self._improve(best.routes, left)
            if better is not None and better.objective < best.objective:
                best = better
        return best

    def _parameters(self, strategy: str, seconds: float) -> Any:
        from ortools.constraint_solver import pywrapcp, routing_enums_pb2

        parameters = pywrapcp.DefaultRoutingSearchParameters()
        parameters.first_solution_strategy = getattr(
            routing_enums_pb2.FirstSolutionStrategy, strategy
        )
        parameters.local_search_metaheuristic = (
            routing_enums_pb2.LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
        )
        if self.solutions is not None:
            parameters.solution_limit = self.solutions
        parameters.time_limit.seconds = int(seconds)
        parameters.time_limit.nanos = int((seconds % 1) * 1e9)
        return parameters

    def _solve(self, strategy: str, seconds: float) -> Best | None:
        self.closed = True
        return self._read(self.routing.SolveWithParameters(self._parameters(strategy, seconds)))

    def _improve(self, start: Routes, seconds: float) -> Best | None:
        """Search from a given plan; None where rounding or the fleet rules it out."""
        stops_of = assign_vehicles(self.whole, start, self.fleet)
        if stops_of is None:
            return None
        routes = [[self.index[node] for node in stops_of.get(one, ())] for one in self.vehicles]
        parameters = self._parameters(_STARTS[0], seconds)
        if not self.closed:  # a model can be closed only once, and searching closes it
            self.routing.CloseModelWithParameters(parameters)
            self.closed = True
        initial = self.routing.ReadAssignmentFromRoutes(routes, True)
        if initial is None:
            return None
        return self._read(self.routing.SolveFromAssignmentWithParameters(initial, parameters))

    def _read(self, assignment: Any) -> Best | None:
        if assignment is None:
            return None

        def after(index: int) -> int:
            return int(assignment.Value(self.routing.NextVar(index)))

        routes = []
        for vehicle, depot in enumerate(self.depot_of_vehicle):
            stops, index = [], after(self.routing.Start(vehicle))
            while not self.routing.IsEnd(index):
                stops.append(self.manager.IndexToNode(index))
                index = after(index)
            if stops:
                routes.append(write_route(self.problem, depot, stops))
        return Best(int(assignment.ObjectiveValue()), tuple(routes))
