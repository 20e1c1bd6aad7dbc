"""Schedules, loads and maps in degrees: what is drawn, read back from the axes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="plots are an extra")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from spacevrp.plots.geographic import plot_geographic
from spacevrp.plots.pictures import save_picture
from spacevrp.plots.schedule import plot_load, plot_schedule, schedule_size
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

Build = Callable[..., Problem]
PLACES = [(13.37, 52.5), (13.4, 52.51), (13.45, 52.52)]


@pytest.fixture
def ax() -> Axes:
    return Figure().add_subplot()


@pytest.fixture
def timed(four_customers: Build) -> Solution:
    """0 -> 1 (waits from 3 to 10, serves 2) -> 2 (late: 16 after 15) -> 0; then 0 -> 3 -> 0."""
    problem = four_customers(
        demand=[0, 6, 4, 3, 7],
        capacity=10,
        windows=[(0, 40), (10, 20), (0, 15), (0, 30), (0, 30)],
        service=[0, 2, 1, 1, 1],
    )
    return Solution.judged(problem, [[0, 1, 2, 0], [0, 3, 0]])


def test_a_schedule(timed: Solution, ax: Axes) -> None:
    assert plot_schedule(timed, ax) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2", "3"]
    bars = {
        (round(bar.get_y() + bar.get_height() / 2), bar.get_x(), bar.get_width())
        for bar in ax.patches
    }
    assert (0, 10.0, 10.0) in bars  # the window of customer 1, from 10 to 20
    assert (0, 3.0, 7.0) in bars  # the wait in front of it
    assert (0, 10.0, 2.0) in bars  # its service
    assert (1, 16.0, 1.0) in bars  # customer 2 is served late
    crosses = [line for line in ax.get_lines() if line.get_marker() == "x"]
    assert [line.get_xydata().tolist() for line in crosses] == [[[16, 1]]]
    ends = [line for line in ax.get_lines() if line.get_marker() == "s"]
    assert [line.get_xdata()[0] for line in ends] == [22, 9]  # back at the depot
    assert ax.get_title() == "schedule  ·  CVRPTW  ·  2 routes"


def test_a_schedule_in_dates(ax: Axes) -> None:
    eight = datetime(2026, 3, 2, 8)
    problem = Problem.from_coordinates(
        [(0, 0), (30, 0)], windows=[(eight, None), (None, None)], time_unit="min"
    )
    plot_schedule(Solution.judged(problem, [[0, 1, 0]]), ax)
    write = ax.xaxis.get_major_formatter()
    assert write(45.0, 0) == "08:45"
    assert ax.get_xlabel() == "2026-03-02"


def test_a_schedule_over_a_missing_road() -> None:
    problem = Problem.from_matrix([[0, 1, None], [1, 0, 1], [1, 1, 0]], windows=[(0, 9)] * 3)
    with pytest.raises(UnsupportedError, match="an arc that does not exist"):
        plot_schedule(Solution.judged(problem, [[0, 2, 1, 0]]), Figure().add_subplot())


def test_loads(timed: Solution, ax: Axes) -> None:
    plot_load(timed, ax)
    first, second, capacity = ax.get_lines()
    assert first.get_ydata().tolist() == [10, 4, 0, 0]
    assert second.get_ydata().tolist() == [3, 0, 0]
    assert set(capacity.get_ydata()) == {10}
    assert [text.get_text() for text in ax.texts] == ["capacity"]


def test_a_map_in_degrees(ax: Axes) -> None:
    problem = Problem.from_lonlat(PLACES, ids=["hub", "bakery", "dairy"], speed_kmh=30)
    plot_geographic(problem, Solution.judged(problem, [[0, 1, 2, 0]]), ax)
    route = ax.get_lines()[0].get_xydata().tolist()
    assert route == [[13.4, 52.51], [13.45, 52.52]]
    # A degree of longitude at 52.5 degrees is 0.61 of one of latitude.
    assert ax.get_aspect() == pytest.approx(1 / 0.6087, rel=1e-3)
    written = [text.get_text() for text in ax.texts]
    assert {"hub", "bakery", "dairy", "1 km"} <= set(written)
    assert ax.xaxis.get_major_formatter()(13.4, 0) == "13.4°E"
    assert ax.yaxis.get_major_formatter()(-52.5, 0) == "52.5°S"


def test_a_map_needs_degrees(four_customers: Build, ax: Axes) -> None:
    with pytest.raises(UnsupportedError, match="a map needs longitudes and latitudes"):
        plot_geographic(four_customers(), None, ax)


@pytest.mark.parametrize("kind", ["routes", "schedule", "load"])
@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_pictures(timed: Solution, tmp_path: Path, kind: str, suffix: str, start: bytes) -> None:
    assert timed.problem is not None
    path = tmp_path / f"{kind}{suffix}"
    save_picture(path, timed.problem, timed, kind)
    assert path.read_bytes().startswith(start)


def test_a_geographic_picture(tmp_path: Path) -> None:
    problem = Problem.from_lonlat(PLACES)
    save_picture(tmp_path / "plain.svg", problem)
    save_picture(tmp_path / "map.png", problem, Solution.judged(problem, [[0, 1, 2, 0]]))
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_pictures_that_cannot_be(four_customers: Build, tmp_path: Path) -> None:
    problem = four_customers()
    for path, solution, kind, part in [
        ("a.pdf", None, "routes", "written as .png or .svg"),
        ("a.png", None, "portrait", "expected one of"),
        ("a.png", None, "load", "no plan of which to draw the load"),
    ]:
        with pytest.raises(UnsupportedError, match=part.replace(".", r"\.")):
            save_picture(tmp_path / path, problem, solution, kind)


def test_tall_plans_get_tall_charts() -> None:
    points = [(i, i % 7) for i in range(101)]
    problem = Problem.from_coordinates(points)
    long = Solution.judged(problem, [[0, *range(1, 101), 0]])
    assert schedule_size(long)[1] > 20
