"""The search behind ``solve``: who gets it, from where, for how long, and what it promises."""

from __future__ import annotations

from typing import Any

import pytest

import spacevrp
from spacevrp import native
from spacevrp.generators import generate
from spacevrp.model import SpaceModel
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.solution import Solution
from spacevrp.search import Improved
from spacevrp.solver import Solver
from spacevrp.solver import improve as stage
from spacevrp.solver.effort import can_search

needs_search = pytest.mark.skipif(not native.available(), reason="the search was not compiled")
# On a line from the depot at 0.
LINE = [(0, 0), (1, 0), (2, 0), (10, 0)]


# ------------------------------------------------------------------------------- what is asked for


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the search is asked for; it returns the plans as they are."""
    calls: list[dict[str, Any]] = []

    def note(problems: Any, plans: Any, **more: Any) -> Improved:
        calls.append({"problems": problems, "plans": plans, **more})
        pairs = zip(problems, plans, strict=True)
        return Improved(
            several[0] if several else Solution.judged(one, ()) for one, several in pairs
        )

    monkeypatch.setattr(stage, "improve", note)
    monkeypatch.setattr(native, "core", object())
    return calls


def test_all_plans_are_searched_those_of_one_size_together(solver, asked, model):
    problems = [*generate("CVRP", 20, 2), *generate("TSP", 24, 1), *generate("MDCVRP", 20, 1)]
    solver.run(problems, augment=1, seed=5)
    assert [call["problems"] for call in asked] == [[*problems[:2], problems[3]], [problems[2]]]
    assert {call["seed"] for call in asked} == {5}
    assert {call["threads"] for call in asked} == {1}
    assert all(plan.feasible for call in asked for plans in call["plans"] for plan in plans)
    Solver(model, "cpu", threads=2).run(problems[0], augment=1)
    assert asked[-1]["threads"] == 2


def test_time_for_reasons_is_left_where_they_are_wanted(solver, asked):
    problem = Problem.from_coordinates(LINE, demand=[0, 1, 1, 1], capacity=1, max_routes=1)
    for explain in (None, False):
        solver.run(problem, time=60, explain=explain, network=False)
    wanted, unwanted = (call["deadline"].seconds for call in (asked[1], asked[3]))
    assert wanted == pytest.approx(60 - 0.3)  # the first reasons take that
    assert unwanted == 60


def test_a_long_search_begins_with_several_plans(solver, asked):
    (problem,) = generate("CVRP", 60, 1)
    solver.run(problem, iterations=100)
    solver.run(problem, iterations=60_000)
    short, long = (call["plans"][0] for call in asked)
    assert len(short) == 1
    assert len(long) == 8
    costs = [plan.cost for plan in long]
    assert costs == sorted(set(costs))
    assert long == solver.first_plans(problem)
    assert solver.first_plans(problem, 8)[0].cost <= long[0].cost


@pytest.mark.parametrize("by", [-0.1, 0.1])
def test_where_visits_reveal_prizes_expectations_are_compared(solver, monkeypatch, by):
    """No search begins with a plan that has reacted to the real prizes."""
    monkeypatch.setattr(native, "core", object())
    (problem,) = generate("SPCTSP", 10, 1)
    assert can_search(problem)
    alone = solver.run(problem, augment=1, improve=False)
    (plan,) = alone.solutions
    assert plan is not None
    known = plan.cost if plan.expected is None else plan.expected
    everybody = Solution.judged(problem, [(*range(problem.size), 0)])

    def note(problems: Any, plans: Any, **more: Any) -> Improved:
        assert plans == [None]
        found = Improved([everybody])
        found.expected = {0: known + by}
        return found

    monkeypatch.setattr(stage, "improve", note)
    attempt = solver.run(problem, augment=1)
    assert attempt.solutions == [everybody if by < 0 else plan]
    assert attempt.results[0].expected == pytest.approx(known + min(by, 0.0))


def test_where_rules_limit_the_visits_as_well_nothing_is_searched(solver, asked):
    problem = generate("SPCTSP", 10, 1)[0].replace(max_length=9.0, variant=None)
    assert not can_search(problem)
    plan = solver.solve(problem, augment=1)
    assert asked == []
    assert plan == solver.solve(problem, augment=1, improve=False)


def test_large_and_small_instances_are_begun_without_the_network(solver, asked, monkeypatch):
    monkeypatch.setattr("spacevrp.solver.effort.MOST_FOR_NETWORK", 11)
    small, large = *generate("CVRP", 11, 1), *generate("CVRP", 12, 1)
    attempt = solver.run([small, large.replace(name="town")])
    assert [plan is None for call in asked for plan in call["plans"]] == [False, True]
    (note,) = attempt.notes
    assert note.startswith("'town': 12 customers, begun without the network, which does not pay")
    # The same where distances are asymmetric.
    asked.clear()
    (note,) = solver.run(generate("ACVRP", 12, 1)).notes
    assert "12 customers, begun without the network, which does not pay beyond 11" in note
    assert [plan is None for call in asked for plan in call["plans"]] == [True]
    # What is said of the network's plans asks for them.
    for more in ({"augment": 1}, {"starts": 1}, {"network": True}, {"improve": False}):
        asked.clear()
        assert solver.run(large, **more).notes == ()
        assert all(plan is not None for call in asked for plan in call["plans"])
    # Nor does it pay for small ones, which no note says.
    monkeypatch.setattr("spacevrp.solver.effort.LEAST_FOR_NETWORK", 12)
    monkeypatch.setattr("spacevrp.solver.effort.MOST_FOR_NETWORK", 12)
    for more, without in (({}, [True, False]), ({"augment": 1}, [False, False])):
        asked.clear()
        assert solver.run([small, large], **more).notes == ()
        assert [plan is None for call in asked for plan in call["plans"]] == without


def test_without_the_compiled_module_the_networks_plans_come_with_a_note(
    solver, model, monkeypatch
):
    monkeypatch.setattr(native, "core", None)
    problems = generate("CVRP", 10, 2)
    attempt = solver.run(problems)
    assert attempt.notes == (native.MISSING,)
    assert "\n" not in native.MISSING
    alone = solver.run(problems, improve=False)
    assert attempt.solutions == alone.solutions
    assert alone.notes == ()
    with pytest.warns(RuntimeWarning, match="compiled search") as caught:
        assert spacevrp.solve(problems, weights=model, device="cpu") == alone.solutions
    assert [str(one.message) for one in caught] == [native.MISSING]
    assert caught[0].filename == __file__  # where the call is


# ------------------------------------------------------------------------------- what comes of it


@needs_search
@pytest.mark.parametrize("name", ["CVRPTW", "AMDOCVRPBPLTW", "PDCVRP", "OP", "PCTSP", "ATSP"])
def test_plans_become_no_worse_and_the_same_anywhere(solver, model, name):
    problems = generate(name, 12, 3)
    first = solver.solve(problems, augment=1, improve=False)
    found = solver.solve(problems, augment=1)
    assert all(judge(p, s.routes).feasible for p, s in zip(problems, found, strict=True))
    assert all(b.cost <= a.cost for a, b in zip(first, found, strict=True))
    assert sum(plan.cost for plan in found) < sum(plan.cost for plan in first)
    assert found == Solver(model, "cpu", threads=3).solve(problems, augment=1)
    assert found[::-1] == [solver.solve(problem, augment=1) for problem in problems[::-1]]


@needs_search
def test_no_plan_is_worse_than_the_start(model: SpaceModel) -> None:
    solver = spacevrp.Solver(model, "cpu")
    (problem,) = generate("CVRP", 12, 1)
    good = solver.solve(problem)
    told: list[Solution] = []
    again = solver.solve(problem, start=good, seed=9, callback=told.append)
    assert again.cost <= good.cost
    assert told[0] == good
    assert told[-1] == again


@needs_search
@pytest.mark.parametrize(
    ("terms", "cost"),
    [
        ({"unit_distance_cost": 3}, 60.0),  # out to 10 and back
        ({"max_duration": 20}, 20.0),
        ({"max_duration": 20, "fixed_cost": 5}, 25.0),
        ({"unit_duration_cost": 0.5}, 30.0),
    ],
)
def test_what_the_network_does_not_know_is_planned_without_it(
    solver: Solver, monkeypatch: pytest.MonkeyPatch, terms: dict[str, Any], cost: float
) -> None:
    monkeypatch.setattr("spacevrp.solver.effort.LEAST_FOR_NETWORK", 0)
    problem = Problem.from_coordinates(LINE, vehicles=[terms])
    for options in ({}, {"network": True}):
        attempt = solver.run([problem], **options)
        assert attempt.solutions[0].cost == pytest.approx(cost)
        (note,) = attempt.notes
        assert note.endswith(
            f"without the network, which does not know {next(iter(terms))} of vehicles"
        )
        assert not attempt.augmentations
    with pytest.raises(UnsupportedError, match="expected the search, as the network does not know"):
        solver.solve(problem, protocol="network")


@needs_search
def test_an_overloaded_day_leaves_out_the_fewest(solver: Solver) -> None:
    """From 0 to 10 there is time for the four at 1 to 4, or for the one at 5 with the others.

    A visit takes 1: four at 1 to 4 take 8 + 4 = 12, three take 6 + 3 = 9.
    """
    places = [(0.0, 0.0), (1, 0), (2, 0), (3, 0), (4, 0)]
    problem = Problem.from_coordinates(
        places, windows=[(0, 10)] * 5, service=[0, 1, 1, 1, 1], max_routes=1
    )
    plan = solver.solve(problem, augment=1, partial=True)
    assert [one.node for one in plan.unserved] == [4]
    assert plan.cost == 6


@needs_search
def test_visits_are_weighed_against_penalties(solver: Solver) -> None:
    """Without the customer at 10 the route is 4 long instead of 20."""
    dear, cheap = (Problem.from_coordinates(LINE, penalty=[0, 9, 9, p]) for p in (15.9, 16.1))
    assert solver.solve(dear, augment=1).plan.skipped == (3,)
    assert solver.solve(cheap, augment=1).plan.skipped == ()
    fleet = dear.replace(vehicles=[{"capacity": 9, "fixed_cost": 0.5}], demand=[0, 1, 1, 1])
    assert solver.solve(fleet, augment=1).cost == pytest.approx(4 + 15.9 + 0.5)
    # A required prize of two customers, whatever they cost.
    prizes = dear.replace(penalty=[0, 0.1, 0.1, 0.1], prize=[0, 1, 1, 1], min_prize=2.0)
    assert solver.solve(prizes, augment=1).plan.skipped == (3,)


@needs_search
@pytest.mark.parametrize("name", ["PCTSP", "ASPCTSP"])
def test_high_penalties_are_not_paid(solver: Solver, name: str) -> None:
    """The required prize is half of all: who looks at nothing else goes home then."""
    problems = [one.replace(penalty=1000 * one.penalty) for one in generate(name, 20, 3)]
    for solution in solver.solve(problems, augment=2):
        assert solution.plan.skipped == ()
        assert solution.feasible


@needs_search
def test_relations_go_without_the_network(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note says so; and without the search there is no way to plan."""
    monkeypatch.setattr("spacevrp.solver.effort.LEAST_FOR_NETWORK", 0)
    fields: dict[str, Any] = {"groups": [(1, 2)], "objective": ("vehicles", "cost")}
    problem = Problem.from_coordinates(LINE, **fields)
    attempt = solver.run([problem])
    assert attempt.results[0].objective == (1.0, attempt.results[0].cost)
    assert [note.split(": ")[-1] for note in attempt.notes] == [
        "begun without the network, which does not know groups"
    ]
    with pytest.raises(UnsupportedError, match="groups: expected the search"):
        solver.solve(problem, protocol="network")
