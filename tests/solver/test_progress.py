"""The bar over the time."""

from __future__ import annotations

import re

import pytest

from spacevrp.problems.deadline import Deadline
from spacevrp.solver import timebar
from spacevrp.solver.timebar import TimeBar

from .conftest import Clock


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
