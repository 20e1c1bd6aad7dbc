"""The compiled referee says what the plain one says, of any plan."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hostile import NUMBERS, WHOLES, damaged, hostile_plan
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import at_its_limits, campaign, compare, some_plans
from random_problems import FEATURES, build, problems

from spacevrp import native
from spacevrp.generators import generate
from spacevrp.problems import judging
from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.errors import SolutionError
from spacevrp.problems.judging import FEW, compiled_costs, judge_all, sheet_arguments
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.problems.variants import VARIANTS

pytestmark = pytest.mark.skipif(
    native.judge is None or native.core is None, reason="needs the compiled modules"
)
Build = Callable[..., Problem]


def cost_of(problem: Problem, plan: Any) -> float:
    (cost,) = compiled_costs([problem], [plan])
    return cost


# ------------------------------------------------------------------------------------- by hand


def test_a_plan_costs_the_length_of_its_legs(four_customers: Build) -> None:
    problem = four_customers(demand=[0, 1, 1, 1, 1], capacity=2)
    assert cost_of(problem, [[0, 1, 2, 0], [0, 3, 4, 0]]) == 12 + 16
    assert cost_of(problem, [[0, 1, 2, 0], [0, 3, 4, 0], [], [0], [0, 0]]) == 28
    assert math.isnan(cost_of(problem, [[0, 1, 2, 3, 0], [0, 4, 0]]))  # too much load
    assert math.isnan(cost_of(problem, [[0, 1, 2, 0], [0, 3, 0]]))  # customer 4 is left out
    assert math.isnan(cost_of(problem, [[0, 1, 2, 0], [0, 3, 4, 1, 0]]))  # customer 1 again


def test_fleets_with_pins_and_fixed_costs(four_customers: Build) -> None:
    vehicles = [{"count": 1, "fixed_cost": 100.0, "pinned": [3]}, {"forbidden": [4]}]
    problem = four_customers(vehicles=vehicles)
    routes = [[0, 3, 4, 0], [0, 1, 2, 0]]
    assert cost_of(problem, FleetRoutes(routes, [0, 1])) == 128
    assert math.isnan(cost_of(problem, FleetRoutes(routes, [1, 0])))
    assert math.isnan(cost_of(problem, routes))  # to choose vehicles is left to the plain referee
    assert judge_all([problem], [routes], few=0)[0] == Solution.judged(problem, routes)


# ------------------------------------------------------------------------- every kind of problem


@pytest.mark.parametrize("name", VARIANTS)
def test_plans_of_every_variant(name: str) -> None:
    (problem,) = generate(name, 8, 1, seed=3)
    rng = np.random.default_rng(5)
    plans = some_plans(problem, rng, 40)
    assert compare(problem, plans)["feasible"] > 0
    compare(at_its_limits(problem, plans[0], rng), plans[:10])


@settings(max_examples=100)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_plans_of_random_problems(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    plans = some_plans(problem, rng, 20)
    compare(problem, plans)
    compare(at_its_limits(problem, plans[0], rng), plans[:5])


@pytest.mark.slow
def test_plans_of_many_random_problems() -> None:
    told = campaign(30_000, seed=7)
    assert min(told["feasible"], told["not feasible"], told["at a limit"]) > 3_000


# ------------------------------------------------------------------------------ hostile plans


HOSTILE: list[Any] = [
    *(None, 3, "ab", [3], ["ab"], [[0, 5, 0]], [[0, -1, 0]], [[0, 1.0, 0]], [[0, True, 0]]),
    *([[0, "1", 0]], [[0, None, 0]], [[0, 2**70, 0]], [[0, -(2**70), 0]], {0: 1}, [{0, 1}]),
    *([[0, 1, 0], None], [[[0, 1, 0]]], b"01", [b"01"], np.zeros((2, 2)), [np.zeros(3)]),
    *([np.array([0, 1, 0])], [[0, np.int64(1), 0]], [(0, 1, 0)], ((0, 1, 2, 3, 4, 0),), [[]]),
    *([], [[1, 2, 3, 4]], [[0]], [[0, 0, 0]], [[0, 1, 2, 3, 4, 0, 1]], [range(5)], [iter([0, 1])]),
]


ODD: list[Any] = [*WHOLES, *NUMBERS, None, [], [7], [math.nan], (1,), (1, 2)]


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or the words of its refusal."""
    try:
        return call()
    except SolutionError as error:
        return str(error)


@pytest.mark.parametrize("plan", HOSTILE, ids=lambda plan: type(plan).__name__)
def test_hostile_plans_get_the_word_of_the_plain_referee(four_customers: Build, plan: Any) -> None:
    problem = four_customers(penalty=[0, 1, 1, 1, 1])
    kept = plan
    if isinstance(plan, list) and plan and hasattr(plan[0], "__next__"):
        plan, kept = [iter([0, 1])], [iter([0, 1])]  # each can be read once
    expected = outcome(lambda: Solution.judged(problem, kept))
    assert outcome(lambda: judge_all([problem], [plan], few=0)[0]) == expected


@pytest.mark.parametrize(
    "types", [[0], [0, 9], [0, -1], [0, 2**70], [True, 0], [0.0, 0], ["one", "two"], [None, 0]]
)
def test_hostile_types_of_vehicles(four_customers: Build, types: Any) -> None:
    problem = four_customers(vehicles=[{"name": "one"}, {"name": "two"}])
    plan = FleetRoutes([[0, 1, 2, 0], [0, 3, 4, 0]], types)
    expected = outcome(lambda: Solution.judged(problem, plan))
    assert outcome(lambda: judge_all([problem], [plan], few=0)[0]) == expected
    alike = four_customers()
    expected = outcome(lambda: Solution.judged(alike, plan))
    assert outcome(lambda: judge_all([alike], [plan], few=0)[0]) == expected


def test_the_module_refuses_what_is_no_problem(four_customers: Build) -> None:
    real = native.judge
    assert real is not None
    caught = sheet_arguments(four_customers(demand=[0, 1, 1, 1, 1], capacity=2))
    assert caught is not None
    assert isinstance(real.Sheet(**caught), real.Sheet)
    (terms,) = caught["types"]
    for name, value, words in (
        ("loads", np.zeros(5), r"loads: expected shape \(N, D\), received \(5\)"),
        ("loads", np.zeros((5, 0)), r"loads: expected shape \(N, D\), received \(5, 0\)"),
        ("windows", np.zeros((4, 2)), r"windows: expected shape \(5, 2\), received \(4, 2\)"),
        ("service", np.zeros(6), r"service: expected shape \(5\), received \(6\)"),
        ("distances", np.zeros((5, 5)), r"distances: expected shape \(5, 2\), received \(5, 5\)"),
        ("metric", None, r"distances: expected shape \(5, 5\), received \(5, 2\)"),
        ("metric", ("geo", "none"), "geometry: expected one of euclidean, .*, received geo"),
        ("metric", ("att", "odd"), "rounding: expected one of none, .*, received odd"),
        ("load_rule", "paper", "load_rule: expected one of single, .*, received paper"),
        ("depots", [5], "depots: expected a node from 0 to 4, received 5"),
        ("depots", [-1], "depots: expected a node from 0 to 4, received -1"),
        ("pairs", [(1, 2**40)], "pairs: expected a node from 0 to 4, received"),
        ("types", [], "types: expected at least one"),
        ("types", [terms, terms], "types: expected at least one, and one of alike vehicles"),
        ("types", [(7, *terms[1:])], "start: expected a node from -1 to 4, received 7"),
        ("types", [(*terms[:2], (), *terms[3:])], "capacity: expected 1 numbers and as many"),
        ("types", [(*terms[:9], [9], ())], "forbidden: expected a node from 0 to 4, received 9"),
        ("types", [(*terms[:9], [], [-3])], "pinned: expected a node from 0 to 4, received -3"),
    ):
        with pytest.raises(ValueError, match=words):
            real.Sheet(**caught | {name: value})
    with pytest.raises(ValueError, match="plans: expected 1, one for each sheet"):
        real.judge([real.Sheet(**caught)], [], [])
    for wrong in ([None], [3], ["sheet"]):
        with pytest.raises((RuntimeError, TypeError)):
            real.judge(wrong, [[]], [None])


@pytest.mark.filterwarnings("ignore")  # complex numbers become real ones
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_hostile_arguments_never_end_the_process(first: int) -> None:
    """An error, or costs: the plans have nodes beyond the last, and the problems any fault."""
    real = native.judge
    assert real is not None
    ends = set()
    for seed in range(first, first + 100):
        rng = np.random.default_rng(seed)
        problem = build(rng.choice(FEATURES, 6, replace=False).tolist(), seed, 5)
        arguments = sheet_arguments(problem)
        if arguments is None:
            continue
        routes, types = hostile_plan({"opening": problem.windows[:, 0]}, rng)
        if rng.random() < 0.3:  # a vehicle that is none
            terms = list(arguments["types"][0])
            terms[int(rng.integers(len(terms)))] = ODD[int(rng.integers(len(ODD)))]
            arguments["types"][0] = tuple(terms)
        try:
            sheet = real.Sheet(**damaged(arguments, rng))
            (cost,) = real.judge([sheet], [routes], [types if rng.random() < 0.5 else None])
            assert isinstance(cost, float)
            ends.add("judged")
        except (ValueError, TypeError):
            ends.add("refused")
    assert ends == {"judged", "refused"}


# -------------------------------------------------------------------------------- which judges


def test_few_plans_are_judged_by_the_definition(
    four_customers: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = four_customers()
    asked: list[int] = []
    real = judging.compiled_costs

    def count(problems: Any, plans: Any) -> list[float]:
        asked.append(len(plans))
        return real(problems, plans)

    monkeypatch.setattr(judging, "compiled_costs", count)
    for number in (0, 1, FEW, FEW + 1):
        plans = [[[0, 1, 2, 3, 4, 0]]] * number
        assert judge_all([problem] * number, plans) == [
            Solution.judged(problem, plan) for plan in plans
        ]
    assert asked == [FEW + 1]


def test_without_the_module_the_plain_referee_judges(
    four_customers: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging.native, "judge", None)
    problem = four_customers()
    plans = [[[0, 1, 2, 3, 4, 0]], [[0, 1, 0]]]
    expected = [Solution.judged(problem, plan) for plan in plans]
    assert judge_all([problem] * 2, plans, few=0) == expected


def test_a_plan_that_breaks_a_rule_is_explained(four_customers: Build) -> None:
    problem = four_customers(demand=[0, 1, 1, 1, 1], capacity=2)
    (refused,) = judge_all([problem], [[[0, 1, 2, 3, 4, 0]]], few=0)
    assert [violation.code for violation in refused.violations] == ["capacity"]
    with pytest.raises(SolutionError, match="expected one for each of 1 problems, received 0"):
        judge_all([problem], [])
