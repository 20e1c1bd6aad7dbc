"""Improvement: never worse than the start, and the referee has the last word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from spacevrp import improve, native
from spacevrp.anytime.engines import CompiledSearch, engines_for
from spacevrp.generators import generate
from spacevrp.oracles import ORACLES, OracleDisagreement
from spacevrp.oracles.pyvrp import PyVrpOracle
from spacevrp.problems.errors import InfeasibleError, SolutionError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

from .conftest import FakeEngine, alone

needs_search = pytest.mark.skipif(not native.available(), reason="the search was not compiled")
# All four customers in turn: 3 + 4 + 3 + 4 + 8 = 22 (see tests/conftest.py), and with a detour:
# 8 + 5 + 4 + 5 + 4 = 26.
AROUND, DETOUR = (0, 1, 2, 3, 4, 0), (0, 4, 2, 1, 3, 0)


def test_a_better_plan_is_taken_with_who_found_it(four_customers: Callable[..., Problem]) -> None:
    engine, seen = FakeEngine([AROUND]), list[float]()
    start = Solution.judged(four_customers(), [DETOUR])
    found = improve(four_customers(), start, 2.0, seed=7, engines=[engine], watch=seen.append)
    assert found.solution.routes == (AROUND,)
    assert (found.start.cost, found.solution.cost, found.improved) == (26, 22, True)
    assert (found.engine, found.version, found.note) == ("engine", "1.0", "")
    ((seconds, seed, given),) = engine.asked
    assert 0 < seconds <= 2.0
    assert (seed, given) == (7, (DETOUR,))
    assert seen == [22]
    assert engine.watch is None  # nobody listens any more


def test_a_worse_plan_is_not(four_customers: Callable[..., Problem]) -> None:
    found = improve(four_customers(), [AROUND], 2.0, engines=[FakeEngine([DETOUR])])
    assert found.solution.routes == (AROUND,)
    assert (found.improved, found.engine) == (False, "engine")


def test_a_plan_that_breaks_a_rule_is_an_error(four_customers: Callable[..., Problem]) -> None:
    problem = four_customers(demand=[0, 2, 2, 2, 2], capacity=7)
    engine = FakeEngine([AROUND])  # a load of 8
    with pytest.raises(OracleDisagreement, match="engine hands over a plan that breaks a rule"):
        improve(problem, alone(problem), 1.0, engines=[engine])


def test_another_cost_than_the_referees_is_an_error(
    four_customers: Callable[..., Problem],
) -> None:
    cheap = replace(Solution.judged(four_customers(), [AROUND]), cost=21.9)
    with pytest.raises(OracleDisagreement, match=r"at 21\.9, the referee counts 22$"):
        improve(four_customers(), [DETOUR], 1.0, engines=[FakeEngine(cheap)])


@pytest.mark.parametrize("error", [InfeasibleError("none in time"), UnsupportedError("too long")])
def test_who_finds_nothing_leaves_it_to_the_next(
    four_customers: Callable[..., Problem], error: Exception
) -> None:
    engines = [FakeEngine(error), FakeEngine([AROUND])]
    found = improve(four_customers(), [DETOUR], 1.0, engines=engines)
    assert (found.solution.cost, found.note) == (22, str(error))
    assert improve(four_customers(), [DETOUR], 1.0, engines=engines[:1]).solution.cost == 26


def test_the_start_must_be_feasible(four_customers: Callable[..., Problem]) -> None:
    with pytest.raises(SolutionError, match="to start from is not feasible: customer 4 is never"):
        improve(four_customers(), [(0, 1, 2, 3, 0)], 1.0, engines=[])


def test_without_an_engine_the_start_comes_back(
    four_customers: Callable[..., Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacevrp.anytime.improving.engines_for", lambda problem: [])
    found = improve(four_customers(), [DETOUR], 1.0)
    assert (found.solution.cost, found.engine) == (26, "")
    assert found.note.startswith(native.MISSING)
    assert "no installed solver models" in found.note


@needs_search
def test_the_compiled_search_goes_on(four_customers: Callable[..., Problem]) -> None:
    seen: list[float] = []
    found = improve(four_customers(), [DETOUR], 0.2, watch=seen.append)
    # 0, 1, 2, 4, 3 and back: 3 + 4 + 5 + 4 + 4.
    assert (found.solution.cost, found.engine, found.note) == (20, "search", "")
    assert seen[-1] == 20
    own = CompiledSearch().solve(four_customers(), 0.1)  # from nothing
    assert (own.solution.cost, own.claimed) == (20, 20)


@pytest.mark.parametrize("name", ["PCTSP", "SPCTSP"])
def test_what_the_search_refuses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (problem,) = generate(name, 6, 1)
    monkeypatch.setattr(native, "core", None)
    with pytest.raises(UnsupportedError):
        CompiledSearch().solve(problem, 1.0)


# ------------------------------------------------------------------------------------ real engines


@pytest.mark.skipif(not PyVrpOracle.is_installed(), reason="oracles are an extra")
@pytest.mark.parametrize("variant", ["TSP", "CVRP", "ACVRP", "PDCVRP", "OP", "MDOCVRPLTW"])
def test_pyvrp_improves_or_equals(variant: str) -> None:
    (problem,) = generate(variant, 10, 1, seed=3)
    start = _some_plan(problem)
    seen: list[float] = []
    engine = PyVrpOracle(iterations=50)
    found = improve(problem, start, 60.0, engines=[engine], watch=seen.append)
    assert found.engine == "pyvrp"
    assert found.solution.feasible
    assert found.solution.cost <= start.cost
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == pytest.approx(found.solution.cost, rel=1e-3)


def _some_plan(problem: Problem) -> Solution:
    """A plan that nobody would call good."""
    if not problem.depots:
        return Solution.judged(problem, [tuple(range(problem.size))])
    depot = problem.depots[0]
    stops: list[tuple[int, ...]] = list(problem.pairs) or [(n,) for n in problem.customers]
    if problem.maximise_prize:
        stops = stops[:1]
    end = () if problem.open_routes else (depot,)
    return Solution.judged(problem, [(depot, *some, *end) for some in stops])


@pytest.mark.skipif(
    not (ORACLES["pyvrp"].is_installed() and ORACLES["ortools"].is_installed()),
    reason="oracles are an extra",
)
@pytest.mark.parametrize("compiled", [False, True])
def test_who_improves_what(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "core", object() if compiled else None)
    names = {
        variant: [one.name for one in engines_for(generate(variant, 6, 1)[0])]
        for variant in ("TSP", "CVRP", "CVRPB", "PCTSP", "SPCTSP")
    }
    searched = {name: ["search"] for name in names}
    assert names == {
        "TSP": ["pyvrp", "ortools"],
        "CVRP": ["pyvrp", "ortools"],
        "CVRPB": ["ortools"],  # one commodity
        "PCTSP": ["ortools"],  # a minimum prize
        "SPCTSP": [],  # the prizes are not known beforehand
        **(searched if compiled else {}),
    }
