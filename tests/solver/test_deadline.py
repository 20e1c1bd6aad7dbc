"""Every stage stops at its deadline. The clock moves with the work, not with the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spacevrp.engines import batching
from spacevrp.engines.base import Account
from spacevrp.engines.progress import Progress
from spacevrp.generators import generate
from spacevrp.inference.settings import Settings
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Solver
from spacevrp.solver.partial import legal_part
from spacevrp.solver.reasons import tell

# Seconds of a look at the clock, and of one call of the referee.
LOOK, JUDGED = 1e-5, 1e-3
# By how much a stage may be late: the calls of the referee between two looks.
LATE = 0.05


class Clock:
    """Moves with every look, and with every call of the referee."""

    def __init__(self) -> None:
        self.now, self.looks = 0.0, 0

    def __call__(self) -> float:
        self.looks += 1
        self.now += LOOK
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The referee takes its time wherever routes are judged many times over."""
    clock = Clock()
    for module, name in (
        ("spacevrp.problems.explanation.insertions", "judge"),
        ("spacevrp.problems.solution", "judge"),
    ):

        def slow(*args: Any, real: Any, **more: Any) -> Any:
            clock.now += JUDGED
            return real(*args, **more)

        real = __import__(module, fromlist=[name])
        monkeypatch.setattr(real, name, _with(slow, getattr(real, name)))
    return clock


def _with(slow: Callable[..., Any], real: Any) -> Callable[..., Any]:
    return lambda *args, **more: slow(*args, real=real, **more)


def crowded(pairs: int = 8) -> Problem:
    """More pickups with deliveries than two vehicles can serve in their windows."""
    random = np.random.default_rng(3)
    opening = np.concatenate([[0.0], random.uniform(0, 50, 2 * pairs)])
    opening[pairs + 1 :] = opening[1 : pairs + 1] + 10
    windows = np.stack([opening, opening + 40], axis=1)
    windows[0] = 0, 120
    load = np.concatenate([[0.0], -np.ones(pairs), np.ones(pairs)])
    return Problem.from_coordinates(
        random.uniform(0, 30, (2 * pairs + 1, 2)),
        demand=load,
        capacity=3,
        pairs=[(node, node + pairs) for node in range(1, pairs + 1)],
        windows=windows,
        max_routes=2,
    )


def test_what_is_legal_is_looked_for_until_then(clock: Clock) -> None:
    """One long route of which the referee refuses most."""
    problem = crowded()
    route = (0, *(node for pair in problem.pairs for node in pair), 0)
    whole = legal_part(problem, [route])
    assert whole.partial
    assert whole.routes
    clock.now = 0.0
    found = legal_part(problem, [route], Deadline(2 * JUDGED, clock))
    assert found.is_legal
    assert clock.now <= 2 * JUDGED + LATE


def test_reasons_are_found_until_then(clock: Clock) -> None:
    """Those that are not, are named as such."""
    problem = crowded()
    plan = Solution.judged(problem, ())
    told = tell(plan, deadline=Deadline(0.0, clock))
    assert told == "16 of 16 customers left out: the time was up before the reasons were found"
    clock.now = 0.0
    explained = plan.explain_until(Deadline(5 * JUDGED, clock)).unserved
    assert clock.now <= 5 * JUDGED + LATE
    codes = [one.code for one in explained]
    assert len(codes) == 16
    assert codes[-1] == "unexplained"
    assert plan.unserved == explained  # kept


def test_reasons_that_take_little_time_come_first(clock: Clock) -> None:
    """To judge the 15 routes and two ways a customer takes 23 calls of the referee; a single way
    in is found by 45 more, one for each place in the routes."""
    problem = Problem.from_coordinates(
        [(0, 0), *((node, 1) for node in range(30)), *((0, node) for node in range(2, 6))],
        demand=[0, *[2] * 30, *[9] * 4],
        capacity=4,
        allow_unservable=True,
    )
    plan = Solution.judged(problem, [(0, node, node + 1, 0) for node in range(1, 30, 2)])
    clock.now = 0.0
    explained = plan.explain_until(Deadline(40 * JUDGED, clock)).unserved
    assert [one.node for one in explained] == [31, 32, 33, 34]
    assert {one.code for one in explained} == {"capacity"}
    assert all(
        one.message.endswith("alone: it demands 9, a vehicle carries 4") for one in explained
    )
    assert [one.relaxation for one in explained] == [None] * 4
    told = tell(plan, deadline=Deadline(0.0, clock), known=explained)
    assert told.startswith("4 of 34 customers left out: customer 31 cannot be served alone: it dem")
    whole = Solution.judged(problem, plan.routes).unserved
    assert [(one.code, one.message) for one in whole] == [
        (one.code, one.message) for one in explained
    ]
    assert all(one.relaxation for one in whole)


# ------------------------------------------------------------------------------------ the network


def test_rollouts_stop_in_the_middle(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model has no plan yet, and every problem has one all the same."""
    # Compiled ones look at the clock after some time, not after some moves.
    monkeypatch.setattr("spacevrp.engines.rollouts.supports_native", lambda _: False)
    problems = generate("CVRP", 12, 3)
    clock = Clock()
    outcome = solver.run(problems, time=Deadline(10 * LOOK, clock), search=False)
    assert [plan is None for plan in outcome.solutions] == [True] * 3
    assert all(plan.is_legal for plan in outcome.results)
    assert clock.looks < 60


@pytest.mark.parametrize("variant", ["CVRP", "MDCVRP", "TSP", "OP", "PDCVRP"])
def test_a_call_stops_wherever_it_is(variant: str, solver: Solver) -> None:
    """After any number of looks, plans are legal, and few more looks are taken."""
    (problem,) = generate(variant, 12, 1)
    for looks in (1, 40, 120):
        clock = Clock()
        outcome = solver.run(problem, time=Deadline(looks * LOOK, clock), search=False)
        (best,) = outcome.results
        assert best.is_legal
        assert clock.looks <= looks + 60


def test_the_augmentations_in_time_count(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    """One augmentation at a time; the time is up during the second."""
    (problem,) = generate("CVRP", 12, 1)
    real = batching.search_block

    def one_by_one(model: Any, problems: Any, settings: Any, sizes: Any, *more: Any) -> Any:
        return real(model, problems, settings, replace(sizes, augmentations=1), *more)

    def plans(augmentations: int, deadline: Deadline) -> list[list[int]]:
        settings = Settings(augmentations=augmentations, deadline=deadline)
        with Progress(1, False) as progress:
            (found,) = solver.engine.search([problem], settings, progress, Account())
        return [one.sequence.tolist() for one in found]

    monkeypatch.setattr(batching, "search_block", one_by_one)
    clock = Clock()
    first = plans(1, Deadline(1e9, clock))
    cut = plans(8, Deadline((clock.looks + 3) * LOOK, Clock()))
    assert cut[0] == first[0]


def test_fleets_and_large_instances_stop_too(solver: Solver) -> None:
    (problem,) = generate("CVRP", 12, 1)
    fleet = problem.replace(
        variant=None, vehicles=[{"capacity": 30, "fixed_cost": 1}, {"capacity": 20}]
    )
    for one, more in ((fleet, {}), (problem, {"candidates": 4})):
        clock = Clock()
        outcome = solver.run(one, time=Deadline(10 * LOOK, clock), search=False, **more)
        assert outcome.results[0].is_legal
        assert clock.looks < 60


def test_a_deadline_of_the_callers_ends_a_call_without_a_time(solver: Solver) -> None:
    """As another thread would, here as soon as the search begins: without one it ends by itself."""
    (problem,) = generate("CVRP", 8, 1, seed=4)
    deadline, stages = Deadline(), []

    def entered(stage: str) -> None:
        stages.append(stage)
        if stage == "improve":
            deadline.interrupt()

    outcome = solver.run(problem, time=deadline, progress=entered, augmentations=1)
    assert stages == ["start", "construct", "improve"]
    assert outcome.results[0].feasible  # what the network made
    assert any("interrupted" in note for note in outcome.notes)
