"""Solving within a time: who gets how much of it, and what is said."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import spacevrp
from spacevrp import native
from spacevrp.anytime import solver as face
from spacevrp.anytime import solving
from spacevrp.anytime.engines import CompiledSearch
from spacevrp.anytime.plans import BestPlans
from spacevrp.anytime.solving import NETWORK_SHARE, solve_for
from spacevrp.generators import generate
from spacevrp.oracles import OracleDisagreement
from spacevrp.problems.deadline import Deadline, stopping_on_interrupt
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import NoPlanError, Solver
from spacevrp.solver.effort import VIEWS

from .conftest import Clock, FakeEngine, FakeSolver, alone

needs_search = pytest.mark.skipif(not native.available(), reason="the search was not compiled")


@pytest.fixture
def timed(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Solves with a fake solver, and engines by the number of the problem."""

    def run(problems: Any, seconds: float, engines: dict[int, Any], **more: Any) -> Any:
        solver = more.pop("solver", None) or FakeSolver(clock, latency=0.1, rate=0.001)
        monkeypatch.setattr(
            solving,
            "load_engines",
            lambda several: [engines.get(n, []) for n in range(len(several))],
        )
        return solve_for(problems, seconds, solver=solver, clock=clock, **more)

    return run


def test_the_network_has_a_share_and_the_engine_the_rest(timed: Any, clock: Clock) -> None:
    """From the best plan on."""
    (problem,) = generate("CVRP", 20, 1)
    together = [(0, 1, 2, 0), *((0, node, 0) for node in problem.customers[2:])]
    engine = FakeEngine(together, clock)
    solver = FakeSolver(clock, latency=0.1, rate=0.001)
    attempt = timed(problem, 5.0, {0: [engine]}, solver=solver, seed=3)
    ((seconds, seed, start),) = engine.asked
    assert sum(call["augment"] for call in solver.calls) == VIEWS
    assert seconds >= (1 - NETWORK_SHARE) * 5.0
    assert (seed, start) == (3, alone(problem).routes)
    (improvement,) = attempt.improvements
    assert attempt.solutions == [improvement.solution]
    assert improvement.start.cost == alone(problem).cost
    assert improvement.improved
    assert (attempt.given, attempt.spent, attempt.notes) == (5.0, pytest.approx(5.0), ())


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
    assert solver.calls[0]["problems"] == 4  # in one batch
    assert solver.calls[-1]["problems"] == 1  # the one that no engine improves
    parts = [engine.asked[0][0] for engine in engines]
    assert parts == pytest.approx([parts[0]] * 3)
    assert 7.2 / 4 <= parts[0] < 8.0 / 4 + 0.3
    assert attempt.spent == pytest.approx(8.0)


def test_a_time_too_short_for_the_network_is_told(timed: Any, clock: Clock) -> None:
    """No plan, and no search to make one: the note and the reason say so."""
    (problem,) = generate("CVRP", 20, 1)
    attempt = timed(problem, 0.05, {})
    assert attempt.solutions == [None]
    assert attempt.best[0].is_legal
    assert attempt.notes[0].startswith("the time was too short for the network's first plan")
    assert attempt.spent <= 0.05 + 1e-8


def test_what_has_no_plan_keeps_its_reason(timed: Any, clock: Clock) -> None:
    """An engine serves nobody more. One vehicle carries a part of the goods only."""
    problems = [one.replace(max_routes=1, variant=None) for one in generate("CVRP", 20, 2)]
    engines = [FakeEngine([], clock) for _ in problems]
    solver = FakeSolver(clock, latency=0.1, rate=0.001, unsolvable=[0, 1])
    attempt = timed(problems, 2.0, {n: [one] for n, one in enumerate(engines)}, solver=solver)
    assert list(attempt.reasons) == [0, 1]
    assert "the fleet is too small" in attempt.reasons[0]
    assert attempt.solutions[0] is None
    assert attempt.best[0] is attempt.partial[0]
    assert [len(one.asked) for one in engines] == [1, 1]
    assert attempt.spent <= 2.0 + 1e-9


def test_who_was_left_out_is_served_by_an_engine(timed: Any, clock: Clock) -> None:
    """One vehicle could serve them all on one long tour, which nobody else finds."""
    (problem,) = generate("TSP", 8, 1)
    problem = problem.replace(depots=(0,), max_routes=1, windows=None, variant=None)
    windows = [(0.0, 99.0), *((0.0, 99.0) for _ in problem.customers)]
    problem = problem.replace(demand=[0.0] + [1.0] * 7, capacity=7.0, windows=windows)
    tour = (0, *problem.customers, 0)
    engine = FakeEngine([tour], clock)
    solver = FakeSolver(clock, latency=0.1, rate=0.001, unsolvable=[0])
    attempt = timed(problem, 2.0, {0: [engine]}, solver=solver)
    assert attempt.solutions[0].routes == (tour,)
    assert (attempt.reasons, attempt.partial, attempt.improvements) == ({}, {}, (None,))
    ((_, _, start),) = engine.asked
    assert start == ()


# ------------------------------------------------------------------------------ the compiled search


@needs_search
def test_the_search_goes_on_from_the_best_plan(timed: Any, clock: Clock) -> None:
    """Each instance has a part of the time; the network serves each customer alone."""
    problems = generate("CVRP", 8, 2)
    told: list[Solution] = []
    engines = {number: [CompiledSearch()] for number in range(2)}
    solver = FakeSolver(clock, latency=0.01)
    attempt = timed(problems, 0.2, engines, solver=solver, callback=told.append)
    for problem, plan in zip(problems, attempt.solutions, strict=True):
        assert plan.feasible
        assert plan.cost < alone(problem).cost
        assert any(one.problem is problem for one in told)
    assert [one.engine for one in attempt.improvements] == ["search", "search"]
    assert attempt.notes == ()


@needs_search
def test_a_time_too_short_for_the_network_still_gives_a_plan(timed: Any, clock: Clock) -> None:
    """The search constructs one at once."""
    (problem,) = generate("CVRP", 20, 1)
    attempt = timed(problem, 0.05, {0: [CompiledSearch()]})
    assert attempt.solutions[0].feasible
    assert attempt.notes[0].startswith("begun without the network: the time was too short")


@needs_search
@pytest.mark.parametrize("starts", [None, 2])
def test_large_instances_go_without_the_network(
    timed: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch, starts: int | None
) -> None:
    """Unless something is said of its plans."""
    monkeypatch.setattr(solving, "MOST_FOR_NETWORK", 10)
    solver = FakeSolver(clock, latency=0.1)
    attempt = timed(
        generate("CVRP", 12, 1), 0.3, {0: [CompiledSearch()]}, solver=solver, starts=starts
    )
    assert attempt.solutions[0].feasible
    assert bool(solver.calls) == (starts is not None)
    assert any("12 customers, begun without" in note for note in attempt.notes) == (starts is None)


def test_without_the_compiled_search_a_note_says_so(
    timed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "core", None)
    assert timed(generate("CVRP", 20, 1), 1.0, {}).notes == (native.MISSING,)
    assert timed(generate("CVRP", 20, 1), 1.0, {}, improve=False).notes == ()


# --------------------------------------------------------------- interrupted, told, and begun from


def test_an_interruption_keeps_the_best_plan(timed: Any, clock: Clock) -> None:
    """Ctrl-C while the engine searches, before it has found anything."""
    (problem,) = generate("CVRP", 20, 1)

    class Interrupted(FakeEngine):
        def solve(self, *_: Any, **__: Any) -> Any:
            raise KeyboardInterrupt

    attempt = timed(problem, 5.0, {0: [Interrupted([], clock)]})
    assert attempt.solutions == [alone(problem)]
    (note,) = attempt.notes
    assert note.startswith("interrupted after 0.")
    assert note.endswith("s of 5 s: the best plans so far")


def test_an_interruption_without_a_plan_is_one(timed: Any, clock: Clock) -> None:
    class Interrupted(FakeSolver):
        def attempt(self, problem: Any, **asked: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        timed(generate("CVRP", 20, 1), 5.0, {}, solver=Interrupted(clock))


@pytest.fixture
def usual_interrupt() -> Iterator[None]:
    """Ctrl-C as in a terminal: what starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_interrupt")
def test_ctrl_c_ends_the_time_once_there_is_a_plan(clock: Clock) -> None:
    """The handler of the signal; a second one interrupts at once."""
    (problem,) = generate("CVRP", 6, 1)
    deadline = Deadline(10.0, clock)
    plans = BestPlans([problem], deadline)
    before = signal.getsignal(signal.SIGINT)
    with stopping_on_interrupt(deadline, lambda: plans.any):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)  # there is none yet
        plans.offer(0, alone(problem))
        signal.raise_signal(signal.SIGINT)
        assert (deadline.interrupted, deadline.left) == (True, 0.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_every_new_best_plan_is_told(timed: Any, clock: Clock) -> None:
    (problem,) = generate("CVRP", 20, 1)
    together = [(0, 1, 2, 0), *((0, node, 0) for node in problem.customers[2:])]
    told: list[Solution] = []
    timed(problem, 5.0, {0: [FakeEngine(together, clock)]}, callback=told.append)
    assert [plan.feasible for plan in told] == [True, True]
    assert told[0] == alone(problem)
    assert told[1].cost < told[0].cost


def test_a_callback_may_stop_the_call(timed: Any, clock: Clock) -> None:
    (problem,) = generate("CVRP", 20, 1)
    engine = FakeEngine(alone(problem), clock)

    def stop(plan: Solution) -> None:
        raise StopIteration

    def fail(plan: Solution) -> None:
        raise RuntimeError("the caller's own")

    attempt = timed(problem, 5.0, {0: [engine]}, callback=stop)
    assert attempt.solutions == [alone(problem)]
    assert engine.asked == []
    with pytest.raises(RuntimeError, match="the caller's own"):
        timed(problem, 5.0, {0: [engine]}, callback=fail)


def test_no_plan_is_worse_than_the_start(timed: Any, clock: Clock) -> None:
    """The model and the engine serve each customer alone; the start has two in one route."""
    (problem,) = generate("CVRP", 20, 1)
    together = [(0, 1, 2, 0), *((0, node, 0) for node in problem.customers[2:])]
    engine = FakeEngine(alone(problem), clock)
    for start in (together, Solution.judged(problem, together)):
        attempt = timed(problem, 5.0, {0: [engine]}, start=start)
        assert attempt.solutions[0].routes == tuple(together)
    assert engine.asked[-1][2] == tuple(together)
    several = timed([problem, problem], 5.0, {}, start=[None, together])
    assert [len(one.routes) for one in several.best] == [20, 19]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (
            [(0, 1, 0)],
            "^start: expected a feasible plan, received one in which customer 2 is",
        ),
        ([(0, 1, 99, 0)], "^start: .*99"),
        ("soon", "^start: "),
        (7, "^start: "),
    ],
)
def test_a_start_that_is_none_is_an_error(timed: Any, start: Any, message: str) -> None:
    with pytest.raises(SpacevrpError, match=message):
        timed(generate("CVRP", 20, 1)[0], 5.0, {}, start=start)


def test_a_start_for_each_problem(timed: Any) -> None:
    with pytest.raises(SpacevrpError, match=r"^start: expected one plan for each of 2 problems"):
        timed(generate("CVRP", 20, 2), 5.0, {}, start=[[]])


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
    monkeypatch.setattr(face.Solver, "__init__", lambda *_, threads: None)

    def timed(*args: Any, **more: Any) -> Any:
        return solving.solve_for(*args, **(more | {"solver": solver, "clock": clock}))

    monkeypatch.setattr(face, "solve_for", timed)
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


def test_what_the_time_was_too_short_for_is_a_warning(tiny: FakeSolver) -> None:
    with pytest.warns(RuntimeWarning, match="the time was too short for the network") as caught:
        spacevrp.solve(generate("CVRP", 20, 1)[0], time=0.01, partial=True)
    assert caught[0].filename == __file__  # where the call is


def test_no_plan_is_an_error_with_the_partial_one(tiny: FakeSolver) -> None:
    tiny.unsolvable = [0]
    problem = generate("CVRP", 20, 1)[0].replace(max_routes=1, variant=None)
    with pytest.raises(NoPlanError, match="the fleet is too small") as caught:
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
    monkeypatch.setattr(face, "Solver", None)
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
