"""Solving within a time: who gets how much of it, and what is said."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import spacevrp
from spacevrp.anytime import solving
from spacevrp.anytime.solving import MODEL_SHARE, MODEL_SHARE_ALONE, solve_for
from spacevrp.generators import generate
from spacevrp.oracles import OracleDisagreement
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.solver import NoPlanError, Solver

from .conftest import Clock, FakeEngine, FakeSolver, alone


@pytest.fixture
def timed(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Solves with a fake solver, and engines by the number of the problem."""

    def run(problems: Any, seconds: float, engines: dict[int, Any], **more: Any) -> Any:
        solver = more.pop("solver", None) or FakeSolver(clock, latency=0.1, rate=0.001)
        strong = more.pop("strong", (FakeEngine.name,))
        monkeypatch.setattr(
            solving,
            "load_engines",
            lambda several: [engines.get(n, []) for n in range(len(several))],
        )
        monkeypatch.setattr(solving, "STRONG", strong)
        return solve_for(problems, seconds, solver=solver, clock=clock, **more)

    return run


def test_the_engine_gets_what_the_model_leaves(timed: Any, clock: Clock) -> None:
    (problem,) = generate("CVRP", 20, 1)
    together = [(0, 1, 2, 0), *((0, node, 0) for node in problem.customers[2:])]
    engine = FakeEngine(together, clock)
    attempt = timed(problem, 5.0, {0: [engine]}, seed=3)
    ((seconds, seed, start),) = engine.asked
    spent = sum(0.1 + 0.001 * done.plans for done in attempt.rounds)
    assert spent <= MODEL_SHARE * 5.0
    assert seconds == pytest.approx(5.0 - spent)
    assert (seed, start) == (3, alone(problem).routes)
    (improvement,) = attempt.improvements
    assert attempt.solutions == [improvement.solution]
    assert improvement.start.cost == alone(problem).cost
    assert improvement.improved
    assert (attempt.given, attempt.spent, attempt.notes) == (5.0, pytest.approx(5.0), ())


def test_before_a_weak_engine_the_model_has_more_of_it(timed: Any, clock: Clock) -> None:
    (problem,) = generate("CVRP", 20, 1)
    engine = FakeEngine(alone(problem), clock)
    timed(problem, 10.0, {0: [engine]}, strong=())
    ((seconds, *_),) = engine.asked
    assert (1 - MODEL_SHARE_ALONE) * 10 <= seconds < 6.0


def test_without_an_engine_the_model_has_all_of_it(timed: Any, clock: Clock) -> None:
    attempt = timed(generate("CVRP", 20, 1), 5.0, {})
    assert 4.5 < attempt.spent <= 5.0
    assert attempt.improvements == (None,)
    assert sum(done.views for done in attempt.rounds) >= 8


def test_several_problems_share_the_time(timed: Any, clock: Clock) -> None:
    problems = generate("CVRP", 20, 4)
    engines = [FakeEngine(alone(one), clock) for one in problems[:3]]
    solver = FakeSolver(clock, latency=0.1, rate=0.001)
    attempt = timed(problems, 8.0, {n: [e] for n, e in enumerate(engines)}, solver=solver)
    assert solver.calls[0]["problems"] == 4  # the first plans in one batch
    assert solver.calls[-1]["problems"] == 1  # the one whom nobody improves
    parts = [engine.asked[0][0] for engine in engines]
    # About a quarter of what is left after the tenth for the model.
    assert parts == pytest.approx([parts[0]] * 3)
    assert 7.2 / 4 <= parts[0] < 8.0 / 4 + 0.3
    assert attempt.spent == pytest.approx(8.0)


def test_a_time_too_short_for_a_plan_still_gives_one(timed: Any, clock: Clock) -> None:
    (problem,) = generate("CVRP", 20, 1)
    engine = FakeEngine(alone(problem), clock)
    attempt = timed(problem, 0.05, {0: [engine]})
    assert attempt.solutions[0].feasible
    assert engine.asked == []
    assert attempt.notes == ("the first plan took 0.11 s, more than the 0.05 s given",)
    assert (len(attempt.rounds), attempt.spent) == (1, pytest.approx(0.108))


def test_what_has_no_plan_keeps_its_reason(timed: Any, clock: Clock) -> None:
    """An engine serves nobody more."""
    problems = generate("CVRP", 20, 2)
    engines = [FakeEngine([], clock), FakeEngine(alone(problems[1]), clock)]
    solver = FakeSolver(clock, latency=0.1, rate=0.001, unsolvable=[0])
    attempt = timed(problems, 2.0, {n: [one] for n, one in enumerate(engines)}, solver=solver)
    assert attempt.reasons == {0: "a wall stands there"}
    assert attempt.solutions[0] is None
    assert attempt.best[0] is attempt.partial[0]
    assert [len(one.asked) for one in engines] == [1, 1]
    assert attempt.spent == pytest.approx(2.0)


def test_who_was_left_out_is_served_by_an_engine(timed: Any, clock: Clock) -> None:
    """It starts from the plan that leaves everybody out, and is given all that is left."""
    (problem,) = generate("CVRP", 20, 1)
    engine = FakeEngine([(0, node, 0) for node in problem.customers], clock)
    solver = FakeSolver(clock, latency=0.1, rate=0.001, unsolvable=[0])
    attempt = timed(problem, 2.0, {0: [engine]}, solver=solver)
    assert attempt.solutions == [alone(problem)]
    assert (attempt.reasons, attempt.partial, attempt.improvements) == ({}, {}, (None,))
    ((seconds, _, start),) = engine.asked
    assert start == ()
    assert seconds == pytest.approx(2.0 - sum(0.1 + 0.001 * done.plans for done in attempt.rounds))
    assert all(not call["persist"] for call in solver.calls)


def test_without_an_engine_the_model_persists(timed: Any, clock: Clock) -> None:
    solver = FakeSolver(clock, latency=0.1, rate=0.001, unsolvable=[0])
    attempt = timed(generate("CVRP", 20, 1), 2.0, {}, solver=solver)
    assert attempt.reasons == {0: "a wall stands there"}
    assert all(call["persist"] for call in solver.calls)
    assert attempt.spent > 1.5  # and spends the time


def test_a_disagreement_is_an_error(timed: Any, clock: Clock) -> None:
    (problem,) = generate("CVRP", 20, 1)
    engine = FakeEngine(OracleDisagreement("the referee does not agree"), clock)
    with pytest.raises(OracleDisagreement):
        timed(problem, 5.0, {0: [engine]})


def test_no_problems_are_no_trouble(timed: Any) -> None:
    assert timed([], 1.0, {}).solutions == []


# ------------------------------------------------------------------------------- the public face


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> FakeSolver:
    """The public face with a fake model and a clock that stands still."""
    solver = FakeSolver(clock, latency=0.1, rate=0.001)
    monkeypatch.setattr(solving, "Solver", lambda weights, device, threads: solver)
    monkeypatch.setattr("spacevrp.anytime.solving.clocks.perf_counter", clock)
    inner = solving.solve_for
    monkeypatch.setattr(solving, "solve_for", lambda *a, **k: inner(*a, **k, clock=clock))
    monkeypatch.setattr(solving, "engines_for", lambda problem: [])
    return solver


def test_solve_with_a_time_and_nothing_installed(tiny: FakeSolver) -> None:
    """Views and draws only."""
    (problem,) = generate("CVRP", 20, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert spacevrp.solve(problem, time="3s").feasible
        assert len(spacevrp.solve([problem, problem], time=3)) == 2
    assert sum(call["augment"] for call in tiny.calls) > 8


def test_an_overrun_is_a_warning(tiny: FakeSolver) -> None:
    with pytest.warns(RuntimeWarning, match=r"the first plan took 0\.11 s, more than the 0\.01 s"):
        spacevrp.solve(generate("CVRP", 20, 1)[0], time=0.01)


def test_no_plan_is_an_error_with_the_partial_one(tiny: FakeSolver) -> None:
    tiny.unsolvable = [0]
    (problem,) = generate("CVRP", 20, 1)
    with pytest.raises(NoPlanError, match="a wall stands there") as caught:
        spacevrp.solve(problem, time=1)
    assert list(caught.value.partial) == [0]
    assert not spacevrp.solve(problem, time=1, partial=True).feasible


@pytest.mark.parametrize("name", ["augment", "sample", "replan"])
def test_what_the_time_decides_cannot_be_said(name: str) -> None:
    with pytest.raises(SpacevrpError, match=f"^{name}: expected none with a time"):
        spacevrp.solve(generate("CVRP", 6, 1)[0], time=1, **{name: 3})  # type: ignore[call-overload]


def test_a_bad_time_is_found_before_the_weights_are_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(solving, "Solver", None)
    with pytest.raises(SpacevrpError, match=r"^time: expected a time such as 90s"):
        spacevrp.solve(generate("CVRP", 6, 1)[0], time="5 minutes")


def test_without_a_time_it_is_the_solvers_own(
    monkeypatch: pytest.MonkeyPatch, four_customers: Any
) -> None:
    asked: dict[str, Any] = {}

    def attempt(self: Solver, problem: Problem, **settings: Any) -> Any:
        asked.update(settings)
        raise SpacevrpError("seen")

    monkeypatch.setattr(Solver, "attempt", attempt)
    with pytest.raises(SpacevrpError, match="seen"):
        spacevrp.solve(four_customers(), device="cpu")
    assert (asked["augment"], asked["sample"], asked["starts"]) == (None, None, None)
