"""Calls with a time: times in words, who gets how much, that it is a limit, and the bar over it."""

from __future__ import annotations

import math
import re
import signal
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import spacevrp
from spacevrp import native
from spacevrp.formats import SolvedInstance, write_solution
from spacevrp.generators import generate
from spacevrp.problems.deadline import Deadline, stopping_on_interrupt
from spacevrp.problems.errors import SolutionError, SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import NoPlanError, solver, timebar
from spacevrp.solver.budget import as_seconds
from spacevrp.solver.effort import needs_no_network
from spacevrp.solver.pool import Pool
from spacevrp.solver.rounds import MOST_AUGMENTATIONS, Round, rounds_in_time
from spacevrp.solver.timebar import TimeBar

from .conftest import Clock, FakeEngine, alone

needs_search = pytest.mark.skipif(not native.available(), reason="needs the compiled search")


# ------------------------------------------------------------------------ with the network or not


@pytest.mark.parametrize(
    ("variant", "size", "seconds", "small"),
    [
        ("PDCVRP", 100, 0.1, True),  # the search plans pairs better alone in so short a time
        ("PDCVRP", 100, 1.0, False),
        ("PDCVRP", 100, math.inf, False),
        ("PDCVRP", 140, 0.1, False),
        ("CVRP", 100, 0.1, False),
        ("TSP", 200, 1.0, True),  # one tour
        ("ATSP", 200, math.inf, True),
        ("OP", 200, 1.0, False),
        ("ACVRP", 100, 1.0, False),
        ("ACVRP", 100, 3.0, True),  # so long that no start is better than another
        ("ACVRP", 200, 3.0, False),
        ("ACVRP", 100, math.inf, False),
    ],
)
def test_who_does_without_the_network(variant: str, size: int, seconds: float, small: bool) -> None:
    (problem,) = generate(variant, size, 1)
    assert needs_no_network(problem, seconds) is small


# ------------------------------------------------------------------------------- rounds in time


def rounds(
    clock: Clock, seconds: float, latency: float, rate: float, most: int | None = None
) -> list[Round]:
    """Those of 100 start nodes, of which each takes ``latency + rate x rollouts`` seconds."""
    done = []
    for one in rounds_in_time(Deadline(seconds, clock), few=8, every=100, most=most):
        done.append(one)
        clock.now += latency + rate * one.rollouts
        assert len(done) < 1000
    return done


def test_no_round_is_begun_that_is_not_expected_to_end_in_time(clock: Clock) -> None:
    began = clock.now
    done = rounds(clock, 10.0, latency=0.2, rate=0.001)
    assert clock.now - began <= 10.0
    assert done[0] == Round(1, 8)
    assert all(b.rollouts <= 4 * a.rollouts for a, b in pairwise(done))
    assert sum(one.rollouts for one in done) * 0.001 > 7.0  # most of the time is used


def test_augmentations_come_first_and_then_samples(clock: Clock) -> None:
    done = rounds(clock, 100.0, latency=0.0, rate=0.001)
    greedy = [one for one in done if not one.samples]
    assert sum(one.augmentations for one in greedy) >= MOST_AUGMENTATIONS
    sampled = [one for one in done if one.samples]
    assert done[: done.index(sampled[0])] == greedy[: done.index(sampled[0])]
    assert max(one.samples for one in sampled) == 7


# ------------------------------------------------------------------------------- the whole call


@needs_search
def test_the_search_goes_on_from_the_best_plan(solver_of: Any, fake: FakeEngine) -> None:
    """Each instance has a part of the time; the network serves each customer alone."""
    problems = generate("CVRP", 8, 2)
    told: list[Solution] = []
    fake.latency = 0.01
    outcome = solver_of(fake).run(problems, time=0.4, callback=told.append)
    for problem, plan in zip(problems, outcome.results, strict=True):
        assert plan.feasible
        assert plan.cost < alone(problem).cost
        assert any(one.problem is problem for one in told)
        assert [stage.name for stage in plan.stages] == ["start", "construct", "improve", "judge"]
    # A busy machine may be late, and a note then says so.
    assert all("s were spent" in note for note in outcome.notes)


def test_the_network_alone_uses_the_time(solver_of: Any, fake: FakeEngine, clock: Clock) -> None:
    (problem,) = generate("CVRP", 20, 1)
    began = clock.now
    outcome = solver_of(fake).run(problem, time=Deadline(3.0, clock), search=False)
    assert outcome.results == [alone(problem)]
    assert 2.0 < clock.now - began <= 3.0
    assert outcome.augmentations == sum(call.augmentations for call in fake.calls) > 8
    first = [call.first_augmentation for call in fake.calls]
    assert first == sorted(set(first))  # augmentations of its own in every round
    assert len({call.seed for call in fake.calls}) == len(fake.calls)


def test_the_network_has_a_quarter_of_the_time_where_the_search_follows(
    solver_of, fake, clock, monkeypatch
):
    monkeypatch.setattr(solver, "can_search", lambda problem: True)
    monkeypatch.setattr("spacevrp.solver.improve.Improve._search", lambda *_, **__: None)
    (problem,) = generate("CVRP", 100, 1)
    began = clock.now
    fake.rate = 0.01
    outcome = solver_of(fake).run(problem, time=Deadline(2.0, clock))
    # Eight start nodes take 0.18 s. As many more are expected to fit into the rest of 0.5 s, and
    # fourteen do.
    assert 0.18 <= clock.now - began <= 0.5
    assert [call.starts for call in fake.calls] == [8, 14]
    assert outcome.augmentations == 2


@needs_search
def test_a_time_too_short_for_the_network_still_gives_a_plan(solver_of, fake, clock):
    """The search constructs one at once."""
    fake.latency = 1.0
    outcome = solver_of(fake).run(generate("CVRP", 20, 1), time=0.2)
    assert outcome.results[0].feasible
    assert outcome.notes[0].startswith("begun without the network: the time was too short")


def test_a_partial_plan_says_why(solver_of: Any, fake: FakeEngine, clock: Clock) -> None:
    """The network comes to dead ends only, and the fleet is too small for all customers."""
    fake.stuck = True
    problem = generate("CVRP", 20, 1)[0].replace(max_routes=1, variant=None)
    outcome = solver_of(fake).run(problem, time=Deadline(2.0, clock), search=False)
    assert "the fleet is too small" in outcome.reasons[0]
    assert outcome.solutions == [None]
    assert outcome.results[0].partial
    with pytest.raises(NoPlanError, match="the fleet is too small") as caught:
        solver_of(fake).solve(problem, time=Deadline(1, clock), search=False)
    assert list(caught.value.partial) == [0]


# --------------------------------------------------------------- interrupted, told, and begun from


def test_an_interruption_keeps_the_best_plan(solver_of, fake, clock, monkeypatch):
    """Ctrl-C during the search, before it has found anything."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("spacevrp.solver.improve.Improve.run", interrupted)
    monkeypatch.setattr("spacevrp.solver.improve.Improve.construct", lambda *_: None)
    (problem,) = generate("CVRP", 20, 1)
    for time, of in ((5.0, " of 5 s"), (None, "")):
        outcome = solver_of(fake).run(problem, time=Deadline(time or math.inf, clock))
        assert outcome.results == [alone(problem)]
        (note,) = outcome.notes
        assert note.startswith("interrupted after 0.")
        assert note.endswith(f" s{of}: the best plans so far")


def test_an_interruption_without_a_plan_is_one(solver_of: Any, fake: FakeEngine) -> None:
    class Interrupted(FakeEngine):
        def search(self, *_: Any) -> Any:
            raise KeyboardInterrupt

    problems = generate("CVRP", 20, 1)
    with pytest.raises(KeyboardInterrupt):
        solver_of(Interrupted(fake.clock)).run(problems, time=5.0, search=False)


@pytest.mark.usefixtures("usual_interrupt")
def test_ctrl_c_ends_the_time_once_there_is_a_plan(clock: Clock) -> None:
    """The handler of the signal; a second one interrupts at once."""
    (problem,) = generate("CVRP", 6, 1)
    deadline = Deadline(10.0, clock)
    plans = Pool([problem], deadline)
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


def test_a_callback_may_stop_the_call(solver_of: Any, fake: FakeEngine, clock: Clock) -> None:
    (problem,) = generate("CVRP", 20, 1)

    def stop(plan: Solution) -> None:
        raise StopIteration

    def fail(plan: Solution) -> None:
        raise RuntimeError("the caller's own")

    outcome = solver_of(fake).run(problem, time=Deadline(5.0, clock), search=False, callback=stop)
    assert outcome.results == [alone(problem)]
    assert len(fake.calls) == 1
    with pytest.raises(RuntimeError, match="the caller's own"):
        solver_of(fake).run(problem, time=5.0, callback=fail)


def test_no_plan_is_worse_than_the_start(solver_of: Any, fake: FakeEngine, clock: Clock) -> None:
    """The network serves each customer alone; the start has two in one route."""
    (problem,) = generate("CVRP", 20, 1)
    together = [(0, 1, 2, 0), *((0, node, 0) for node in problem.customers[2:])]
    asked: dict[str, Any] = {"search": False}
    for start in (together, Solution.judged(problem, together)):
        asked["time"] = Deadline(5.0, clock)
        outcome = solver_of(fake).run(problem, start=start, **asked)
        assert outcome.results[0].routes == tuple(together)
    asked["time"] = Deadline(5.0, clock)
    several = solver_of(fake).run([problem, problem], start=[None, together], **asked)
    assert [len(one.routes) for one in several.results] == [20, 19]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([(0, 1, 0)], "^start: expected a feasible plan, received one in which customer 2 is"),
        ([(0, 1, 99, 0)], "^start: .*99"),
        ("soon.json", "^soon.json: "),
        (7, "^start: "),
    ],
)
def test_a_start_that_is_none_is_an_error(solver_of, fake, start, message):
    with pytest.raises(SpacevrpError, match=message):
        solver_of(fake).run(generate("CVRP", 20, 1)[0], time=5.0, start=start)


def test_a_start_in_a_file(solver_of: Any, fake: FakeEngine, tmp_path: Path) -> None:
    (problem,) = generate("CVRP", 20, 1)
    together = [(0, 1, 2, 0), *((0, node, 0) for node in problem.customers[2:])]
    for name in ("plan.json", "plan.sol"):
        write_solution(tmp_path / name, Solution.judged(problem, together), problem=problem)
        for path in (tmp_path / name, str(tmp_path / name)):
            outcome = solver_of(fake).run(problem, start=path, search=False)
            assert outcome.results[0].routes == tuple(together)
    several = [SolvedInstance(()), Solution.judged(problem, together)]
    write_solution(tmp_path / "two.json", several)
    both = solver_of(fake).run([problem] * 2, start=tmp_path / "two.json", search=False)
    assert [len(one.routes) for one in both.results] == [20, 19]
    with pytest.raises(SolutionError, match=r"two\.json: expected a plan for each of 1 instances"):
        solver_of(fake).run(problem, start=tmp_path / "two.json")


def test_a_partial_start_where_customers_may_be_left_out(
    solver_of: Any, fake: FakeEngine, tmp_path: Path
) -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (3, 0), (0, 4)], demand=[0, 9, 2], capacity=4, allow_unservable=True
    )
    outcome = solver_of(fake).run(problem, start=[(0, 2, 0)], network=False, iterations=0)
    assert outcome.results[0].routes == ((0, 2, 0),)
    with pytest.raises(SolutionError, match="expected a feasible plan, received one in which"):
        solver_of(fake).run(problem, start=[(0, 1, 0)])


def test_a_start_for_each_problem(solver_of: Any, fake: FakeEngine) -> None:
    with pytest.raises(SpacevrpError, match=r"^start: expected one plan for each of 2 problems"):
        solver_of(fake).run(generate("CVRP", 20, 2), time=5.0, start=[[]])


@needs_search
def test_a_small_problem_of_which_one_is_left_out_has_no_note(
    solver_of: Any, fake: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search has all the time of a small problem: no time was too short for the network."""
    monkeypatch.setattr(solver, "needs_no_network", lambda problem, seconds: True)
    problem = Problem.from_coordinates(
        [(0, 0), (3, 0), (0, 4)], demand=[0, 9, 2], capacity=4, allow_unservable=True
    )
    outcome = solver_of(fake).run(problem, time=0.2)
    assert outcome.notes == ()
    assert [one.name for one in outcome.results[0].stages] == [
        *("start", "construct", "improve", "judge")
    ]


def test_time_for_reasons_that_are_not_needed_is_searched(
    solver_of: Any, fake: FakeEngine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 10 s, 0.3 s are kept for one customer; the search serves it before they begin."""
    problem = Problem.from_coordinates(
        [(0, 0), (3, 0), (0, 4)], demand=[0, 2, 2], capacity=4, allow_unservable=True
    )
    given: list[float] = []

    def search(stage: Any, numbers: Any, deadline: Deadline) -> None:
        given.append(deadline.seconds)
        stage.pool.offer(0, alone(problem))

    monkeypatch.setattr(solver.Improve, "construct", lambda *arguments: None)
    monkeypatch.setattr(solver.Improve, "run", search)
    asked: dict[str, Any] = {"start": [(0, 2, 0)], "network": False}
    for explain, seconds in ((None, [9.7, 10.0]), (False, [10.0])):
        given.clear()
        solver_of(fake).run(problem, time=Deadline(10.0, clock), explain=explain, **asked)
        assert given == pytest.approx(seconds)


# ------------------------------------------------------------------------------- the public face


def test_what_the_time_was_too_short_for_is_a_warning(solver_of, fake, clock):
    (problem,) = generate("CVRP", 20, 1)
    asked: dict[str, Any] = {"search": False, "partial": True}
    with pytest.warns(RuntimeWarning, match="the time was too short for the network") as caught:
        solver_of(fake).solve(problem, time=Deadline(0.01, clock), **asked)
    assert caught[0].filename == __file__  # where the call is
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solver_of(fake).solve(problem, time=Deadline(3.0, clock), **asked).feasible


@pytest.mark.parametrize("name", ["augmentations", "num_samples", "iterations"])
def test_what_the_time_decides_cannot_be_said(name: str) -> None:
    with pytest.raises(SpacevrpError, match=f"^{name}: expected none with a time"):
        spacevrp.solve(generate("CVRP", 6, 1)[0], time=1, **{name: 3})


def test_a_bad_time_is_found_before_the_weights_are_loaded(monkeypatch):
    monkeypatch.setattr(solver, "Solver", None)
    with pytest.raises(SpacevrpError, match=r"^time: expected a time such as 90s"):
        spacevrp.solve(generate("CVRP", 6, 1)[0], time="5 minutes")


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(5, 5.0), (0.1, 0.1), ("5s", 5.0), ("0.5", 0.5), ("2m", 120.0), ("1h30m", 5400.0)],
)
def test_times_are_numbers_or_words(given: Any, seconds: float) -> None:
    assert as_seconds(given) == seconds


@pytest.mark.parametrize(
    ("given", "received"),
    [
        (0, "0"),
        (-1.0, "-1.0"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (True, "True"),
        (None, "None"),
        ("0s", "'0s'"),
        ("soon", "'soon'"),
        ("5 s", "'5 s'"),
    ],
)
def test_anything_else_is_refused_by_name(given: Any, received: str) -> None:
    with pytest.raises(SpacevrpError, match=r"^time: expected a time ") as caught:
        as_seconds(given)
    assert str(caught.value).endswith(f"received {received}")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timebar, "_DELAY", 0.0)


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.strip() for line in re.split(r"[\r\n]", capsys.readouterr().err) if line.strip()]


def test_it_shows_stage_cost_and_time(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with TimeBar(Deadline(8.0, clock), "always") as bar:
        bar.stage("first plan")
        clock.now += 2.0
        bar.cost(15.5)
        clock.now += 100.0  # late; the bar ends where it ends
        bar.stage("improving")
    lines = shown(capsys)
    assert any(line.startswith("first plan |") and " 0.0 of 8 s" in line for line in lines)
    assert any(
        line.startswith("first plan, best 15.5 |") and " 2.0 of 8 s" in line for line in lines
    )
    assert lines[-1].startswith("improving, best 15.5 |")
    assert " 8.0 of 8 s" in lines[-1]


def test_there_is_none_without_a_terminal(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    for show in (False, True):
        with TimeBar(Deadline(1.0, clock), show) as bar:
            assert not bar.visible
            bar.stage("first plan")
            bar.cost(1.0)
    assert capsys.readouterr().err == ""
