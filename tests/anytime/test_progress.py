"""The bar over the time."""

from __future__ import annotations

import re
from typing import Any

import pytest

from spacevrp.anytime import progress
from spacevrp.anytime.progress import TimeBar
from spacevrp.anytime.solving import solve_for
from spacevrp.generators import generate
from spacevrp.problems.deadline import Deadline

from .conftest import Clock, FakeEngine, FakeSolver


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DELAY", 0.0)


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


def test_nobody_is_bothered_without_a_terminal(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    for show in (False, True):
        with TimeBar(Deadline(1.0, clock), show) as bar:
            assert not bar.visible
            bar.stage("first plan")
            bar.cost(1.0)
    assert capsys.readouterr().err == ""


def test_the_engines_costs_are_shown(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = generate("CVRP", 12, 2)
    engines = [
        FakeEngine([(0, *one.customers[:2], 0), *((0, n, 0) for n in one.customers[2:])], clock)
        for one in problems
    ]
    monkeypatch.setattr(
        "spacevrp.anytime.solving.load_engines", lambda several: [[engine] for engine in engines]
    )
    solver: Any = FakeSolver(clock, latency=0.1, rate=0.001)
    attempt = solve_for(problems, 4.0, solver=solver, progress="always", clock=clock)
    lines = shown(capsys)
    for number, solution in enumerate(attempt.solutions):
        assert solution is not None
        label = f"improving instance {number}, best {solution.cost:.6g} |"
        assert any(line.startswith(label) for line in lines)
