"""OR-Tools' routing library: has a model for every variant, and searches less well than others."""

from __future__ import annotations

import time
from typing import ClassVar

from spacevrp.oracles.base import (
    Plan,
    SolverOracle,
    fleet_bound,
    is_exhausted,
    may_skip,
    most_routes,
    refuse_own_fleet,
)
from spacevrp.oracles.ortools_model import LEAST_SECONDS, Model
from spacevrp.oracles.scaling import Routes, WholeProblem, scale_problem
from spacevrp.problems.problem import Problem

# Digits of one unit of the instance where data are not whole at fewer.
_DIGITS = 6
# Of the time; the rest is for guided local search.
_RUIN_SHARE = 0.6


class OrToolsOracle(SolverOracle):
    """OR-Tools' routing library with guided local search. It is deterministic: no seed matters.

    Each search stops after so many ``solutions`` even if there is time left; None for no such
    limit.
    """

    name: ClassVar[str] = "ortools"
    package: ClassVar[str] = "ortools"
    module: ClassVar[str] = "ortools"

    def __init__(self, solutions: int | None = None) -> None:
        self._solutions = solutions

    def supports(self, problem: Problem) -> str | None:
        """None but for vehicles that differ (stochastic prizes: see ``problems.recourse``)."""
        return refuse_own_fleet(problem)

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        end = time.perf_counter() + seconds
        whole = scale_problem(problem, digits=_DIGITS)
        given = start is not None
        model = self._model(problem, whole, seconds, start)
        while True:
            plan = model.search(max(end - time.perf_counter(), LEAST_SECONDS), start)
            most = most_routes(problem, whole)
            if model.fleet == most or (
                plan is not None and not is_exhausted(whole, plan.routes, model.fleet)
            ):
                return plan
            # Rare: the first plan left vehicles over, a better one does not.
            late = time.perf_counter() >= end
            if late and (given or plan is None):
                return plan  # there may be none for want of time; and a plan tells its fleet
            if late:
                end = time.perf_counter() + seconds
            start = start if plan is None else plan.routes
            model = self._build(problem, whole, min(2 * model.fleet, most))

    def _build(self, problem: Problem, whole: WholeProblem, fleet: int) -> Model:
        return Model(problem, whole, fleet, self._solutions)

    def _model(
        self, problem: Problem, whole: WholeProblem, seconds: float, start: Routes | None
    ) -> Model:
        """A model with enough vehicles for the given plan, or else for the first there is."""
        fleet, most = fleet_bound(problem, whole), most_routes(problem, whole)
        while True:
            model = self._build(problem, whole, fleet)
            if fleet == most:
                return model
            first = model.find_first(seconds) if start is None else start
            # Better plans may have more routes: some vehicles are to be left over.
            if first is not None and not is_exhausted(whole, first, fleet, spare=fleet // 4):
                return model
            if first is None and model.was_hurried:
                return model  # more vehicles take more time still
            fleet = min(2 * fleet, most)


class OrToolsIlsOracle(OrToolsOracle):
    """OR-Tools' routing library, ruin and recreate before guided local search.

    For problems in which all are served. A given plan goes straight to guided local search.
    """

    name: ClassVar[str] = "ortools-ils"

    def supports(self, problem: Problem) -> str | None:
        """None, or that customers may be left out, which ruin and recreate does not consider."""
        if may_skip(problem) or problem.maximise_prize:
            return "customers that may be skipped"
        return super().supports(problem)

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        end = time.perf_counter() + seconds
        whole = scale_problem(problem, digits=_DIGITS)
        if start is None and len(whole.stops) > 1:  # with one there is nothing to put elsewhere
            model = self._model(problem, whole, seconds, start)
            start = model.ruin_and_recreate(_RUIN_SHARE * seconds)
        left = max(end - time.perf_counter(), LEAST_SECONDS)
        return super()._search(problem, left, seed, start)
