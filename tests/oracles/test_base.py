"""What all oracles share: the referee has the last word, and refusals name solver and feature."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest

from spacevrp.generators import generate
from spacevrp.oracles import (
    ORACLES,
    MissingSolverError,
    OracleDisagreement,
    SolverOracle,
    choose_oracle,
    make_oracle,
    ortools,
    strongest,
)
from spacevrp.oracles.base import Plan
from spacevrp.oracles.ortools import OrToolsOracle
from spacevrp.oracles.ortools_model import Model
from spacevrp.oracles.pyvrp import PrizeSearchOracle, PyVrpOracle
from spacevrp.oracles.scaling import Routes, WholeProblem
from spacevrp.oracles.vroom import VroomOracle
from spacevrp.problems.errors import InfeasibleError, SolutionError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS

# All four customers in turn: 3 + 4 + 3 + 4 + 8 = 22 (see tests/conftest.py).
AROUND = (0, 1, 2, 3, 4, 0)


class Parrot(SolverOracle):
    """Says what it is told to say."""

    name: ClassVar[str] = "parrot"
    package: ClassVar[str] = "numpy"
    module: ClassVar[str] = "numpy"

    def __init__(self, plan: Plan | None) -> None:
        self._plan_told = plan

    def supports(self, problem: Problem) -> str | None:
        return "time windows" if problem.features.time_windows else None

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        return self._plan_told


def test_the_cost_is_the_referees(four_customers: Callable[..., Problem]) -> None:
    result = Parrot(Plan((AROUND,), 22.001, 0.002)).solve(four_customers(), 1.0)
    assert result.solution.cost == 22
    assert result.claimed == 22.001
    assert (result.solver, result.version) == ("parrot", np.__version__)


@pytest.mark.parametrize(("plan", "features", "error", "message"), [
    (Plan((AROUND,), 22.003, 0.002), {}, OracleDisagreement,
     r"parrot claims a cost of 22.003 .* counts 22;"),
    (Plan((AROUND,), 22.0, 0.0), {"demand": [0, 2, 2, 2, 2], "capacity": 7}, OracleDisagreement,
     r"parrot .* the referee does not: route 1 leaves"),
    (None, {}, InfeasibleError, "parrot found no plan"),
    (None, {"windows": [(0, 99)] * 5}, UnsupportedError, "cannot model time windows exactly"),
], ids=["another cost", "a violation", "no plan", "a feature it does not know"])  # fmt: skip
def test_what_is_refused(four_customers, plan, features, error, message):
    with pytest.raises(error, match=message):
        Parrot(plan).solve(four_customers(**features), 1.0)


def test_rules_of_routes_are_refused_by_name(four_customers: Callable[..., Problem]) -> None:
    for rule in ({"setup": [0, 1, 1, 1, 1]}, {"vehicles": [{"max_stops": 2}]}):
        with pytest.raises(UnsupportedError, match=r"cannot model (setup|max_stops) exactly"):
            Parrot(None).solve(four_customers(**rule), 1.0)


def test_a_better_start_is_kept(four_customers: Callable[..., Problem]) -> None:
    detour = (0, 4, 2, 1, 3, 0)  # 8 + 5 + 4 + 5 + 4 = 26
    result = Parrot(Plan((detour,), 26.0, 0.0)).solve(four_customers(), 1.0, start=[AROUND])
    assert result.solution.cost == 22
    assert "given plan" in result.note


def test_a_start_must_be_feasible(four_customers: Callable[..., Problem]) -> None:
    with pytest.raises(SolutionError, match="customer 4 is never visited"):
        Parrot(None).solve(four_customers(), 1.0, start=[(0, 1, 2, 3, 0)])


@pytest.mark.slow
@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("variant", ["ATSP", "AMDOCVRPBPLTW", "PDCVRP", "OP", "CVRPL"])
def test_a_warm_start_is_never_made_worse(name, variant, make_tiny_oracle):
    oracle = make_tiny_oracle(name)
    (problem,) = generate(variant, 8, 1, seed=4)
    if oracle.supports(problem) is not None:
        return
    cold = oracle.solve(problem, 60.0)
    warm = oracle.solve(problem, 60.0, start=cold.solution.routes)
    assert warm.solution.cost <= cold.solution.cost


@pytest.mark.parametrize("variant", ["CVRP", "OPDCVRP", "MDCVRPLTW"])
def test_solvers_search_from_the_given_plan(variant, make_tiny_oracle):
    """With next to no search of their own, they still end where the given plan was, or better."""
    (problem,) = generate(variant, 30, 1, seed=4)
    good = make_tiny_oracle("pyvrp").solve(problem, 60.0).solution
    for oracle in (PyVrpOracle(iterations=0), OrToolsOracle(solutions=2), VroomOracle(0)):
        make_tiny_oracle(oracle.name)
        result = oracle.solve(problem, 60.0, start=good.routes)
        assert result.solution.cost <= good.cost + 1e-9
        assert result.claimed == pytest.approx(good.cost, rel=1e-2)
        assert result.note == ""  # it did not need to be replaced by the given plan


@pytest.mark.parametrize("name", ORACLES)
def test_a_single_node(name: str, make_tiny_oracle: Callable[[str], SolverOracle]) -> None:
    result = make_tiny_oracle(name).solve(Problem.from_matrix([[0]], depots=()), 1.0)
    assert result.solution.routes == ((0,),)
    assert result.solution.cost == 0


@pytest.mark.parametrize("name", ["pyvrp", "ortools", "vroom"])
def test_what_cannot_be_done_has_no_plan(name, four_customers, make_tiny_oracle):
    problem = four_customers(demand=[0, 5, 5, 5, 5], capacity=5, max_routes=3)
    with pytest.raises(InfeasibleError, match=f"{name} found no plan"):
        make_tiny_oracle(name).solve(problem, 2.0)


# ----------------------------------------------------------------------------------------- choice


def test_every_variant_has_its_oracle() -> None:
    for variant in VARIANTS.values():
        features = variant.features
        (problem,) = generate(variant.name, 6, 1)
        if not features.depot:
            expected = "lkh"
        elif features.prize_collecting:
            expected = "ortools"
        elif features.backhaul and not features.backhaul_last:
            expected = "ortools-ils"
        else:
            expected = "pyvrp"
        assert strongest(problem) == expected, variant.name


def test_a_missing_choice_names_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """LKH has an extra of its own, so that it is often absent where the others are there."""
    monkeypatch.setattr(ORACLES["lkh"], "module", "no_such_module")
    (problem,) = generate("TSP", 6, 1)
    told = r"lkh is not installed: pip install spacevrp\[lkh\], or name another: .*vroom$"
    with pytest.raises(MissingSolverError, match=told):
        choose_oracle(problem)


# ------------------------------------------------------------------------------- stochastic prizes


def stochastic(revealed: list[float]) -> Problem:
    return Problem.from_coordinates(
        [(0, 0), (1, 0), (2, 0), (5, 0)],
        prize=[0, 1, 1, 1],
        revealed_prize=revealed,
        penalty=[0, 1, 1, 1],
        min_prize=1.5,
        max_routes=1,
    )


def test_a_plan_with_expected_prizes_says_so(make_tiny_oracle):
    result = make_tiny_oracle("ortools").solve(stochastic([0, 1, 0.1, 2]), 60.0)
    # Node 3 comes right after node 2, which yields too little, in either direction.
    assert result.solution.routes in (((0, 1, 2, 3, 0),), ((0, 2, 3, 1, 0),))
    assert result.solution.cost == 10
    assert result.claimed == 5  # there and back 4, and the penalty of node 3
    assert "planned with expected prizes at 5; 1 more visited" in result.note


# ----------------------------------------------------------------- from a given plan within a time


def test_vehicles_that_differ_are_for_pyvrp_alone(four_customers: Callable[..., Problem]) -> None:
    vehicles = [{"name": "van", "capacity": 4}, {"name": "lorry", "capacity": 9}]
    problem = four_customers(demand=[0, 2, 2, 2, 2], vehicles=vehicles)
    assert problem.has_own_fleet
    for name in set(ORACLES) - {"pyvrp"}:
        assert make_oracle(name).supports(problem) == "vehicles that differ"
    assert make_oracle("pyvrp").supports(problem) is None
    assert strongest(problem) == "pyvrp"
    pinned = four_customers(demand=[0, 2, 2, 2, 2], vehicles=[{"pinned": [2]}, *vehicles])
    reason = "customers who are pinned to a vehicle (node 2)"
    assert make_oracle("pyvrp").supports(pinned) == reason
    with pytest.raises(UnsupportedError, match="no solver can model vehicles that differ exactly"):
        strongest(pinned)
    two = four_customers(demand=[0, 2, 2, 2, 2], vehicles=[{"capacity": 4}, {}], max_routes=2)
    reason = "a limit of 2 routes for 2 types of vehicles together"
    assert make_oracle("pyvrp").supports(two) == reason
    several = four_customers(demand=[[0, 0]] + [[2, 1]] * 4, capacity=[9, 9])
    assert make_oracle("ortools").supports(several) == "several kinds of load"


@pytest.fixture
def ortools_now(make_tiny_oracle, monkeypatch) -> list[float]:
    """What OR-Tools' adaptor takes for the time; its models begin with three vehicles."""
    make_tiny_oracle("ortools")
    now = [0.0]
    monkeypatch.setattr(ortools.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(ortools, "fleet_bound", lambda problem, whole: 3)
    return now


def test_from_a_given_plan_on_ortools_keeps_the_time(ortools_now, monkeypatch):
    """Where the fleet of the model turns out to bind, the time does not begin again."""
    (problem,) = generate("CVRP", 20, 1, seed=4)
    asked: list[float] = []

    def search(self: Model, seconds: float, start: Routes | None) -> Plan | None:
        asked.append(seconds)
        ortools_now[0] += 4.0
        return None if start is None else Plan(start, 0.0, 0.0)

    monkeypatch.setattr(Model, "search", search)
    monkeypatch.setattr(ortools, "is_exhausted", lambda *_, **__: True)
    monkeypatch.setattr(OrToolsOracle, "_model", lambda self, p, w, s, start: self._build(p, w, 3))
    start = tuple((0, node, 0) for node in problem.customers)
    oracle = OrToolsOracle()
    oracle._search(problem, 10.0, 0, start)
    assert asked == [10.0, 6.0, 2.0]  # 3, 6 and 12 vehicles; 4 s each


@pytest.mark.parametrize(("hurried", "fleets"), [(True, [3]), (False, [3, 6, 12, 20])])
def test_ortools_adds_vehicles_for_want_of_vehicles_not_of_time(
    hurried, fleets, ortools_now, monkeypatch
):
    (problem,) = generate("CVRP", 20, 1, seed=4)
    built: list[int] = []
    build = OrToolsOracle._build

    def find_first(self: Model, seconds: float) -> None:
        self.was_hurried = hurried

    def search(self: Model, seconds: float, start: Routes | None) -> None:
        ortools_now[0] += 10.0

    def count(self: OrToolsOracle, problem: Problem, whole: WholeProblem, fleet: int) -> object:
        built.append(fleet)
        return build(self, problem, whole, fleet)

    monkeypatch.setattr(Model, "find_first", find_first)
    monkeypatch.setattr(Model, "search", search)
    monkeypatch.setattr(OrToolsOracle, "_build", count)
    assert OrToolsOracle()._search(problem, 10.0, 0, None) is None
    assert built == fleets
    assert ortools_now == [10.0]  # and no second time for it


def test_pyvrp_refuses_a_delivery_that_closes_before_its_pickup_opens(four_customers):
    windows = [(0, 99), (50, 60), (0, 99), (0, 49), (0, 99)]
    load = [0, -1, -1, 1, 1]
    problem = four_customers(demand=load, capacity=2, pairs=[(1, 3), (2, 4)], windows=windows)
    reason = "a delivery that closes before its pickup opens (node 3)"
    assert make_oracle("pyvrp").supports(problem) == reason


@pytest.mark.parametrize("name", ORACLES)
def test_relations_are_refused_by_name(name: str) -> None:
    points = [(0, 0), (1, 0), (2, 0), (3, 0)]
    related = Problem.from_coordinates(points, groups=[(1, 2)])
    mixed = Problem.from_coordinates(points, pairs=[(1, 2)])
    ordered = Problem.from_coordinates(points, order=[(1, 2)])
    known = ((related, "groups"), (mixed, "customers beside pairs"))
    for problem, what in ((ordered, "order"), *(known if name != "pyvrp" else ())):
        with pytest.raises(UnsupportedError, match=f"cannot model {what} exactly"):
            make_oracle(name).check(problem)


# ------------------------------------------------------------------------------------- prize search


@pytest.mark.parametrize("variant", ["PCTSP", "APCTSP"])
def test_feasible_and_sometimes_optimal(variant, optimum, make_tiny_oracle):
    make_tiny_oracle("pyvrp")
    oracle = PrizeSearchOracle(iterations=200)
    gaps = []
    for problem in generate(variant, 5, 4, seed=11):
        result = oracle.solve(problem, 60.0)
        assert result.solution.feasible
        assert "approximate" in result.note
        best = optimum(problem)
        gaps.append(result.solution.cost / best - 1)
    # With five customers the optimum is often between two values of the worth, out of reach.
    assert min(gaps) == pytest.approx(0.0, abs=1e-9)


def test_a_threshold_that_does_not_bind(make_tiny_oracle: Callable[[str], SolverOracle]) -> None:
    make_tiny_oracle("pyvrp")
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (9, 0), (0, 2)],
        prize=[0, 1, 1, 1],
        penalty=[0, 5, 5, 5],
        min_prize=1.5,
        max_routes=1,
    )
    result = PrizeSearchOracle(iterations=100).solve(problem, 60.0)
    # 1 + sqrt(5) + 2 around the near ones, and the penalty of the far one.
    assert result.solution.cost == pytest.approx(1 + 5**0.5 + 2 + 5)
