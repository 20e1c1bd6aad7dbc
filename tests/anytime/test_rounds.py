"""Rounds of the model: how large each is, and that the time is kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.anytime.plans import BestPlans
from spacevrp.anytime.rounds import MOST_VIEWS, Options, Round, Rounds, plan_round
from spacevrp.generators import generate
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Attempt, Seconds

from .conftest import Clock, FakeSolver, alone


@pytest.mark.parametrize(
    ("plans", "views", "expected"),
    [
        (8, 100, Round(1, 8)),
        (99, 100, Round(1, 99)),
        (100, 100, Round(1, 100)),
        (450, 100, Round(4, 100)),
        (450, 3, Round(3, 100)),  # no more views than are left
        (450, 0, Round(1, 100, 3)),  # then draws: one greedy plan and three others
        (1600, 0, Round(2, 100, 7)),
        (100, 0, Round(1, 100)),
    ],
)
def test_a_round_of_so_many_plans(plans: int, views: int, expected: Round) -> None:
    assert plan_round(plans, 100, views) == expected


@given(plans=st.integers(1, 10**6), starts=st.integers(1, 1000), views=st.integers(-5, 200))
@settings(deadline=None)
def test_a_round_is_never_larger_than_it_may_be(plans: int, starts: int, views: int) -> None:
    planned = plan_round(plans, starts, views)
    assert 1 <= planned.plans <= plans
    assert planned.starts <= starts
    assert planned.views <= max(views, 1) or planned.draws > 0


def rounds_of(
    problems: list[Problem], seconds: float, solver: FakeSolver, clock: Clock, **options: Any
) -> Rounds:
    deadline = Deadline(seconds, clock)
    plans = BestPlans(problems, deadline)
    return Rounds(solver, problems, deadline, Options(**options), plans)  # type: ignore[arg-type]


def rounds_within(seconds: float, solver: FakeSolver, clock: Clock, **options: Any) -> Rounds:
    rounds = rounds_of(generate("CVRP", 20, 1), seconds, solver, clock, **options)
    rounds.first([0], seconds)
    rounds.go_on([0], seconds)
    return rounds


def test_rounds_grow_and_the_time_is_kept(clock: Clock) -> None:
    solver = FakeSolver(clock, latency=0.1, rate=0.001)
    rounds = rounds_within(10.0, solver, clock)
    assert clock.now <= 110.0
    assert clock.now > 109.0  # and used
    # 8 plans, all of one view, and at most four times as many each time.
    assert rounds.done[:3] == [Round(1, 8), Round(1, 20), Round(4, 20)]
    assert max(done.views for done in rounds.done) <= MOST_VIEWS
    assert any(done.draws for done in rounds.done)
    assert rounds.seconds.searching == len(rounds.done)


@given(
    latency=st.floats(0.001, 3.0),
    rate=st.floats(1e-5, 0.1),
    seconds=st.floats(0.05, 30.0),
)
@settings(deadline=None, max_examples=40)
def test_no_round_is_begun_that_cannot_end_in_time(
    latency: float, rate: float, seconds: float
) -> None:
    """As long as the work takes what it took before."""
    clock = Clock()
    solver = FakeSolver(clock, latency, rate)
    rounds_within(seconds, solver, clock)
    assert clock.now - 100.0 <= seconds + 1e-6


def test_every_round_has_a_seed_of_its_own_and_the_first_the_users(clock: Clock) -> None:
    def seeds(seed: int) -> list[int]:
        solver = FakeSolver(Clock(), latency=0.1, rate=0.001)
        rounds_within(3.0, solver, solver.clock, seed=seed)
        return [call["seed"] for call in solver.calls]

    once, again, other = seeds(5), seeds(5), seeds(6)
    assert once == again
    assert once[0] == 5
    assert len(set(once)) == len(once) > 2
    assert not set(once) & set(other)


def test_further_rounds_have_views_of_their_own(clock: Clock) -> None:
    solver = FakeSolver(clock, latency=0.1, rate=0.001)
    rounds_within(1.0, solver, clock)
    # Whole views are searched as without a time, parts of one from the likeliest starts.
    assert [(call["starts"], call["sample"]) for call in solver.calls[:3]] == [
        (8, 0),
        (None, None),
        (None, None),
    ]
    assert [call["first_view"] for call in solver.calls[:4]] == [0, 1, 2, 6]


def test_where_a_solver_follows_there_are_so_many_views(clock: Clock) -> None:
    """And nothing is planned anew, nor by draws: a fake solver could not."""
    solver = FakeSolver(clock, latency=0.1, rate=0.001)
    rounds = rounds_of(generate("CVRP", 60, 1), 60.0, solver, clock, seed=4)
    rounds.first([0], 60.0)
    rounds.go_on([0], 60.0, 8)
    assert sum(done.views for done in rounds.done) == 8
    assert not any(done.draws for done in rounds.done)
    assert clock.now < 105.0
    assert {(call["improve"], call["replan"]) for call in solver.calls} == {(False, 0)}


def test_the_users_limits_are_passed_on(clock: Clock) -> None:
    solver = FakeSolver(clock, latency=0.1, rate=0.001)
    rounds_within(2.0, solver, clock, starts=3, candidates=7, batch_memory=10**9)
    assert all(call["starts"] <= 3 for call in solver.calls)
    assert {(call["candidates"], call["batch_memory"]) for call in solver.calls} == {(7, 10**9)}


def test_large_instances_begin_with_one_start(clock: Clock) -> None:
    solver = FakeSolver(clock, latency=0.4, rate=0.01)
    rounds = rounds_of(generate("CVRP", 250, 1), 1.0, solver, clock)
    rounds.first([0], 1.0)
    assert rounds.done == [Round(1, 1)]
    assert rounds.notes == []


def test_where_the_network_is_too_slow_it_stops_at_its_share(clock: Clock) -> None:
    solver = FakeSolver(clock, latency=7.0)
    problems = generate("CVRP", 20, 2)
    rounds = rounds_of(problems, 10.0, solver, clock)
    rounds.first([0, 1], 4.0)
    assert clock.now == pytest.approx(104)
    short = "the time was too short for the network's first plan of"
    assert rounds.notes == [f"{short} 2 of 2 instances"]
    # That is no loss where others have made plans.
    for number, problem in enumerate(problems):
        rounds._plans.offer(number, alone(problem))
    rounds.first([1], 5.0)
    assert rounds.notes[1:] == [f"begun without the network: {short} 1 of 2 instances"]


def test_a_large_instance_waits_for_no_layer_that_is_too_slow(clock: Clock) -> None:
    """1,001 nodes need a second at the least, and there are 0.9."""
    solver = FakeSolver(clock, latency=0.0)
    rounds = rounds_of(generate("CVRP", 1000, 1), 1.8, solver, clock)
    rounds.first([0], 0.9)
    assert solver.calls == []
    assert len(rounds.notes) == 1


def test_plans_are_planned_anew_as_long_as_it_helps(clock: Clock) -> None:
    """Each time takes a second and saves 4, 2, 1, 0 and 0 parts in a hundred."""
    (problem,) = generate("CVRP", 60, 1)
    lone = [(0, node, 0) for node in problem.customers]
    gains = iter((4, 2, 1, 0, 0))
    saved: list[int] = []

    class Planner(FakeSolver):
        def plan_anew(self, problems: object, plans: list[Solution], **asked: Any) -> Attempt:
            assert asked["first"] == len(saved)
            saved.append(next(gains))
            clock.now += 1.0
            joined = sum(saved)  # so many customers share the route of the one before them
            routes = [(0, *range(1, joined + 2), 0), *lone[joined + 1 :]]
            return Attempt([Solution.judged(problem, routes)], {}, Seconds())

    solver = Planner(clock, latency=0.5)
    rounds = rounds_of([problem], 60.0, solver, clock)
    rounds.first([0], 60.0)
    rounds.go_on([0], 60.0)
    assert saved == [4, 2, 1, 0, 0]
    best = rounds._plans.complete[0]
    assert best is not None
    assert len(best.routes) == 60 - 7
    assert {call["replan"] for call in solver.calls} == {0}
    assert clock.now <= 160.0 + 1e-6


def test_nothing_is_planned_anew_without_time_for_it(clock: Clock) -> None:
    solver = FakeSolver(clock, latency=1.0)  # which cannot
    rounds = rounds_of(generate("CVRP", 60, 1), 5.0, solver, clock)
    rounds.first([0], 5.0)
    rounds.go_on([0], 5.0)
    assert clock.now <= 105.0
