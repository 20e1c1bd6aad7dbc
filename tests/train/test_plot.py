"""What the curves of a run show."""

from __future__ import annotations

from pathlib import Path

import pytest

from spacevrp.plots.measurements import plot_training, read_log

HEADER = "step,gradient_norm,rate_factor,cost/TSP,cost/CVRP,best/TSP,best/CVRP\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows = ["10,2,0.5,8,nan,7.5,nan", "20,1,1,7,16,6.5,15", "30,1,0.2,6,15,5.5,14", "40,1,0.1,5,"]
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "\n".join(rows), encoding="utf-8")
    return path


def test_a_row_cut_short_is_left_out(log: Path) -> None:
    columns = read_log(log.parent)
    assert columns["best/TSP"] == read_log(log)["best/TSP"] == [7.5, 6.5, 5.5]
    assert columns["step"] == [10, 20, 30]
    assert columns["cost/TSP"] == [8, 7, 6]


def test_one_picture_a_problem_and_two_more(log: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots are an extra")
    axes = [a for a in plot_training(read_log(log)).axes if a.axison]
    titles = [a.get_title() for a in axes]
    assert titles == ["TSP: cost", "CVRP: cost", "gradient norm", "factor of the rates"]
    mean, best = axes[0].lines
    assert list(mean.get_xdata()) == [10, 20, 30]
    assert list(mean.get_ydata()) == [8, 7, 6]
    assert list(best.get_ydata()) == [7.5, 6.5, 5.5]
    assert list(axes[1].lines[0].get_xdata()) == [20, 30]  # not drawn in the first steps
    assert list(axes[3].lines[0].get_ydata()) == [0.5, 1, 0.2]
