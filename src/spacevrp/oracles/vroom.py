"""VROOM: a fast search for problems in which every customer is served, and for orienteering."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import numpy as np

from spacevrp.oracles.base import (
    Plan,
    SolverOracle,
    assign_vehicles,
    fleet_bound,
    is_exhausted,
    may_skip,
    most_routes,
    refuse_own_fleet,
    refuse_unusual,
)
from spacevrp.oracles.scaling import Routes, WholeProblem, scale_problem, write_route
from spacevrp.problems.problem import Problem

# Digits of one unit of the instance where data are not whole at fewer.
_DIGITS = 6
# Matrices hold unsigned numbers of 32 bits.
_LARGEST = 2**32 - 2
_HIGHEST_PRIORITY = 100
_THOROUGH = 5


class VroomOracle(SolverOracle):
    """VROOM, with an ``exploration`` from 0 (quick) to 5 (thorough).

    It stops by itself, often long before the time is up.
    """

    name: ClassVar[str] = "vroom"
    package: ClassVar[str] = "pyvroom"
    module: ClassVar[str] = "vroom"

    def __init__(self, exploration: int = _THOROUGH) -> None:
        self._exploration = exploration

    def supports(self, problem: Problem) -> str | None:
        """None, or the feature that VROOM cannot model exactly."""
        if problem.maximise_prize:
            reason = _refuse_prizes(problem)
            if reason:
                return reason
        elif problem.min_prize > 0 and problem.prize.any():
            return "a minimum prize"
        elif may_skip(problem):
            return "customers that may be skipped at a penalty"
        return refuse_own_fleet(problem) or refuse_unusual(problem)

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        whole = scale_problem(problem, digits=_DIGITS, largest=_LARGEST)
        fleet, most = fleet_bound(problem, whole), most_routes(problem, whole)
        while True:
            plan = self._search_fleet(problem, whole, fleet, seconds, start)
            if fleet == most or (plan is not None and not is_exhausted(whole, plan.routes, fleet)):
                return plan
            fleet = min(2 * fleet, most)
            start = start if plan is None else plan.routes

    def _search_fleet(
        self,
        problem: Problem,
        whole: WholeProblem,
        fleet: int,
        seconds: float,
        start: Routes | None,
    ) -> Plan | None:
        model = _build(problem, whole, fleet, start)
        found = model.solve(
            exploration_level=self._exploration, nb_threads=1, timeout=timedelta(seconds=seconds)
        )
        stops_of: dict[int, list[int]] = {}
        table = found.routes
        for vehicle, kind, node in zip(
            table["vehicle_id"], table["type"], table["id"], strict=True
        ):
            if kind in ("job", "pickup", "delivery"):
                stops_of.setdefault(int(vehicle), []).append(int(node))
        visited = {node for stops in stops_of.values() for node in stops}
        if any(node not in visited for node in whole.stops if whole.compulsory[node]):
            return None
        routes = tuple(
            write_route(problem, whole.starts[vehicle // fleet], stops)
            for vehicle, stops in sorted(stops_of.items())
        )
        claimed = found.summary.cost / whole.cost_scale
        if problem.maximise_prize:
            claimed = -found.summary.priority / whole.prize_scale
        return Plan(routes, claimed, whole.claim_error(routes, problem.maximise_prize))


def _refuse_prizes(problem: Problem) -> str | None:
    """Priorities are whole numbers up to 100, so prizes must be such numbers at some scale."""
    customers = list(problem.customers)
    if np.isinf(problem.penalty[customers]).any():
        return "compulsory customers where prize is maximised"
    for scale in (1.0, 10.0, 100.0):
        scaled = problem.prize[customers] * scale
        if np.abs(scaled - np.rint(scaled)).max() <= 1e-9 and scaled.max() <= _HIGHEST_PRIORITY:
            return None
    return "prizes that are not whole numbers, tenths or hundredths up to 100 of them"


def _build(problem: Problem, whole: WholeProblem, fleet: int, start: Routes | None) -> Any:
    import vroom

    model = vroom.Input()
    times, demand = whole.times, whole.demand
    model.set_costs_matrix("car", whole.cost)
    model.set_durations_matrix(
        "car", np.zeros_like(whole.cost) if times is None else times.duration
    )
    # An arc that is longer than any route may be cannot be taken.
    limit = 1 if whole.max_length is None else whole.max_length
    lengths = np.zeros_like(whole.cost) if whole.length is None else whole.length
    model.set_distances_matrix("car", np.where(whole.banned, limit + 1, lengths))

    def visit(node: int) -> dict[str, Any]:
        if times is None:
            return {}
        window = (int(times.opening[node]), int(times.closing[node]))
        return {"default_service": int(times.service[node]), "time_windows": [window]}

    if problem.pairs:
        for pickup, delivery in problem.pairs:
            model.add_shipment(
                vroom.ShipmentStep(pickup, location=pickup, **visit(pickup)),
                vroom.ShipmentStep(delivery, location=delivery, **visit(delivery)),
                amount=vroom.Amount([] if demand is None else [int(demand[delivery])]),
                priority=_priority(problem, whole, pickup, delivery),
            )
    else:
        for node in whole.stops:
            loads: dict[str, list[int]] = {}
            if demand is not None:
                loads = {
                    "delivery": [max(int(demand[node]), 0)],
                    "pickup": [max(-int(demand[node]), 0)],
                }
            model.add_job(
                vroom.Job(
                    node,
                    location=node,
                    priority=_priority(problem, whole, node),
                    **loads,
                    **visit(node),
                )
            )
    steps = _steps(problem, whole, fleet, start)
    for vehicle in range(fleet * len(whole.starts)):
        depot = whole.starts[vehicle // fleet]
        hours = None
        if times is not None:
            closing = times.horizon if problem.open_routes else int(times.closing[depot])
            hours = vroom.TimeWindow(int(times.opening[depot]), closing)
        model.add_vehicle(
            vroom.Vehicle(
                vehicle,
                start=depot,
                end=None if problem.open_routes else depot,
                capacity=[] if whole.capacity is None else [int(whole.capacity)],
                time_window=hours,
                max_distance=limit,
                steps=steps.get(vehicle, ()),
            )
        )
    return model


def _priority(problem: Problem, whole: WholeProblem, *nodes: int) -> int:
    if not problem.maximise_prize or whole.prize is None:
        return 0
    return sum(int(whole.prize[node]) for node in nodes)


def _steps(
    problem: Problem, whole: WholeProblem, fleet: int, start: Routes | None
) -> dict[int, list[Any]]:
    """A given plan as steps of the vehicles; none where a depot has too few vehicles for it."""
    import vroom

    kind = {node: "single" for node in whole.stops}
    for pickup, delivery in problem.pairs:
        kind[pickup], kind[delivery] = "pickup", "delivery"
    stops_of = assign_vehicles(whole, start or (), fleet) or {}
    return {
        vehicle: [vroom.VehicleStep(kind[node], node) for node in stops]
        for vehicle, stops in stops_of.items()
    }
