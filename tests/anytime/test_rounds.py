"""Rounds of the model: how large each is, and that the time is kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.anytime.budget import Budget
from spacevrp.anytime.rounds import MOST_VIEWS, Options, Round, Rounds, plan_round
from spacevrp.generators import generate
from spacevrp.problems.solution import Solution
from spacevrp.solver import Attempt, Seconds
from spacevrp.solver.regions import ROUNDS

from .conftest import Clock, FakeSolver


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


def rounds_within(seconds: float, solver: FakeSolver, clock: Clock, **options: Any) -> Rounds:
    problems = generate("CVRP", 20, 1)
    budget = Budget(seconds, clock)
    rounds = Rounds(solver, problems, budget, Options(**options))  # type: ignore[arg-type]
    rounds.first()
    rounds.go_on([0], seconds)
    return rounds


def test_rounds_grow_and_the_time_is_kept(clock: Clock) -> None:
    solver = FakeSolver(clock, latency=0.1, rate=0.001)
    rounds = rounds_within(10.0, solver, clock)
    assert clock.now <= 110.0
    assert clock.now > 109.0  # and used
    # What a call without a time searches comes at once: 160 plans take at most 20 times as long.
    assert rounds.done[:2] == [Round(1, 8), Round(8, 20)]
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
    first = latency + 8 * rate
    assert clock.now - 100.0 <= max(seconds, first) + 1e-6


def test_every_round_has_a_seed_of_its_own_and_the_first_the_users(clock: Clock) -> None:
    def seeds(seed: int) -> list[int]:
        solver = FakeSolver(Clock(), latency=0.1, rate=0.001)
        rounds_within(3.0, solver, solver.clock, seed=seed)
        return [call["seed"] for call in solver.calls]

    once, again, other = seeds(5), seeds(5), seeds(6)
    assert once == again
    assert once[:2] == [5, 5]  # a few starts of the usual views, and all of them
    assert len(set(once[1:])) == len(once) - 1 > 2
    assert not set(once) & set(other)


def test_rounds_grow_where_the_usual_one_does_not_fit(clock: Clock) -> None:
    solver = FakeSolver(clock, latency=0.1, rate=0.001)
    rounds = rounds_within(1.0, solver, clock)
    # 8, 20 of 32, 80; and when 160 plans take no more than twice as long as those did, all of them.
    assert rounds.done[:4] == [Round(1, 8), Round(1, 20), Round(4, 20), Round(8, 20)]
    assert solver.calls[3]["seed"] == 0
    # Whole views are searched as without a time, parts of one from the likeliest starts.
    assert [(call["starts"], call["sample"]) for call in solver.calls[:4]] == [
        (8, 0),
        (None, None),
        (None, None),
        (None, None),
    ]
    # Others every time, but for the usual ones.
    assert [call["first_view"] for call in solver.calls[:5]] == [0, 1, 2, 0, 14]


def test_the_users_limits_are_passed_on(clock: Clock) -> None:
    solver = FakeSolver(clock, latency=0.1, rate=0.001)
    rounds_within(2.0, solver, clock, starts=3, candidates=7, batch_memory=10**9)
    assert all(call["starts"] <= 3 for call in solver.calls)
    assert {(call["candidates"], call["batch_memory"]) for call in solver.calls} == {(7, 10**9)}


def test_large_instances_begin_with_one_start(clock: Clock) -> None:
    solver = FakeSolver(clock, latency=1.0, rate=0.01)
    problems = generate("CVRP", 250, 1)
    rounds = Rounds(solver, problems, Budget(1.0, clock), Options())  # type: ignore[arg-type]
    rounds.first()
    assert rounds.done == [Round(1, 1)]


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
    rounds = Rounds(solver, [problem], Budget(60.0, clock), Options())  # type: ignore[arg-type]
    rounds.first()
    rounds.go_on([0], 60.0)
    assert saved == [4, 2, 1, 0, 0]
    assert rounds.best[0] is not None
    assert len(rounds.best[0].routes) == 60 - 7
    # The rounds between have none of it but the usual one, which has it as a call without a time.
    assert [call["replan"] for call in solver.calls].count(ROUNDS) == 1
    assert {call["replan"] for call in solver.calls} == {0, ROUNDS}
    assert clock.now <= 160.0 + 1e-6


def test_nothing_is_planned_anew_without_time_for_it(clock: Clock) -> None:
    solver = FakeSolver(clock, latency=1.0)  # which cannot
    problems = generate("CVRP", 60, 1)
    rounds = Rounds(solver, problems, Budget(5.0, clock), Options())  # type: ignore[arg-type]
    rounds.first()
    rounds.go_on([0], 5.0)
    assert clock.now <= 105.0
