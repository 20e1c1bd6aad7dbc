"""Schedules, loads and maps in degrees: what is drawn, read back from the axes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="plots are an extra")
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from spacevrp.plots.charts import plot_load
from spacevrp.plots.pictures import draw, save_picture
from spacevrp.plots.schedule import plot_schedule, time_ticks
from spacevrp.problems.clock import Clock
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.fleet import Break
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Result

Build = Callable[..., Problem]


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


def bars(ax: Axes) -> set[tuple[float, float, float]]:
    """Row, left side and width of every bar."""
    return {
        (round(bar.get_y() + bar.get_height() / 2), bar.get_x(), bar.get_width())
        for bar in ax.patches
    }


def rows(ax: Axes) -> dict[str, float]:
    """Name on the left -> its row."""
    return {
        label.get_text(): row
        for label, row in zip(ax.get_yticklabels(), ax.get_yticks(), strict=True)
    }


def test_a_schedule(timed: Solution, ax: Axes) -> None:
    assert plot_schedule(timed, ax) is ax
    assert rows(ax) == {"1": 1, "2": 2, "3": 4, "4": 6}  # a heading above each vehicle's
    drawn = bars(ax)
    assert (1, 10.0, 10.0) in drawn  # the window of customer 1, from 10 to 20
    assert (1, 3.0, 7.0) in drawn  # the wait in front of it
    assert (1, 10.0, 2.0) in drawn  # its service
    assert (2, 16.0, 1.0) in drawn  # customer 2 is served late
    crosses = [line for line in ax.get_lines() if line.get_marker() == "x"]
    assert [line.get_xydata().tolist() for line in crosses] == [[[16, 2]]]
    ends = [line for line in ax.get_lines() if line.get_marker() == "s"]
    assert [line.get_xdata()[0] for line in ends] == [22, 9]  # back at the depot
    assert ax.get_title() == "schedule  ·  CVRPTW  ·  4 stops  ·  2 routes  ·  cost 20"
    texts = [text.get_text() for text in ax.texts]
    assert "route 1: 2 stops, load 10/10, cost 12" in texts
    assert "unserved (1)" in texts
    assert any(text.startswith("1 of 4 stops unserved\nbreaks a rule: ") for text in texts)
    assert [line.get_ydata()[0] for line in ax.get_lines() if line.get_marker() == "X"] == [6]


def test_breaks_reloads_overtime_and_several_windows(ax: Axes) -> None:
    """Leaving at 0: break from 30 to 45 on the way to 4, back at 95; regular time ends at 80.

    The second van serves 1 and 2 from 5 on, reloads from 40 to 45, and waits at 3 for 100.
    """
    line = [(0, 0), (10, 0), (20, 0), (30, 0), (40, 0)]
    rest = {"max_duration": 80, "max_overtime": 20, "breaks": [Break(15, (30, 35), name="lunch")]}
    problem = Problem.from_coordinates(line, vehicles=[{"latest_start": 10, **rest}])
    plot_schedule(Solution.judged(problem, [[0, 1, 2, 3, 4, 0]]), ax)
    drawn = {(bar.get_x(), bar.get_width()) for bar in ax.patches}
    assert {(30.0, 15.0), (80.0, 15.0)} <= drawn
    assert "lunch" in [text.get_text() for text in ax.texts]

    ax = Figure().add_subplot()
    trips = Problem.from_coordinates(
        line,
        demand=[0, 1, 1, 1, 1],
        service=[5, 0, 0, 0, 0],
        windows=[(0, 500), (0, 20), (0, 500), [(0, 20), (100, 120)], (0, 500)],
        vehicles=[{"capacity": 2, "reload_depots": [0], "latest_start": 0}],
    )
    solution = Solution.judged(trips, [[0, 1, 2, 0, 3, 4, 0]])
    assert solution.feasible
    plot_schedule(solution, ax)
    assert list(rows(ax)) == ["1", "2", "reload: 0", "3", "4"]
    (reload,) = [mark for mark in ax.get_lines() if mark.get_marker() == "D"]
    assert reload.get_xydata().tolist() == [[45.0, 3.0]]
    drawn = bars(ax)
    assert {(4, 0.0, 20.0), (4, 100.0, 20.0)} <= drawn  # both windows of customer 3
    assert (4, 75.0, 25.0) in drawn  # the wait for the second
    places = Figure().add_subplot()
    draw(trips, solution, ax=places)
    thin = [mark for mark in places.get_lines() if mark.get_linewidth() < 1]
    assert len(thin) == 4  # to and from the depot on both trips: none joins customers 2 and 3


def test_a_large_schedule_has_a_lane_for_each_vehicle(ax: Axes) -> None:
    points = [(0, 0), *((1 + i % 5, i % 7) for i in range(120))]
    windows = [(0, 500), *((i % 6, 400) for i in range(120))]
    problem = Problem.from_coordinates(points, windows=windows, service=[0] + [1] * 120)
    routes = [[0, *range(1 + 10 * i, 11 + 10 * i), 0] for i in range(11)]
    solution = Solution.judged(problem, routes)
    plot_schedule(solution, ax)
    names = list(rows(ax))
    assert len(names) == 12
    assert names[-1] == "unserved (10)"
    service = [bar for bar in ax.patches if round(bar.get_width(), 6) == 1]
    assert len(service) == 110
    assert sum(line.get_marker() == "X" for line in ax.get_lines()) == 10
    assert "partial: 10 of 120 stops unserved" in [text.get_text() for text in ax.texts]


def test_routes_as_bars_need_no_coordinates(ax: Axes) -> None:
    matrix = [[0, 3, 5, 1], [3, 0, 4, 1], [1, 4, 0, 1], [1, 1, 1, 0]]
    problem = Problem.from_matrix(matrix, demand=[0, 1, 1, 1], capacity=2)
    draw(problem, Solution.judged(problem, [[0, 1, 2, 0]]), "routes", ax)
    (bar,) = ax.patches
    assert bar.get_width() == 3 + 4 + 1
    cuts = [line.get_xdata()[0] for line in ax.get_lines()]
    assert cuts == [3, 7, 8]
    assert ax.get_title().startswith("no coordinates: routes as bars  ·  ")
    assert list(rows(ax)) == ["1: 2 stops, load 2/2, cost 8", "unserved (1)"]
    assert {"1", "2", "3"} <= {text.get_text() for text in ax.texts}


@pytest.mark.parametrize(
    ("clock", "low", "high", "expected"),
    [
        (None, 0.0, 7.0, ["0", "1", "2", "3", "4", "5", "6", "7"]),
        (None, 0.0, 0.0, ["0"]),
        (Clock(1000.0, form="number"), 5.0, 30.0, ["1005", "1010", "1015", "1020", "1025", "1030"]),
        (Clock(8 * 3600.0, "min", "time of day"), 0.0, 60.0,
         ["08:00", "08:10", "08:20", "08:30", "08:40", "08:50", "09:00"]),
    ],
)  # fmt: skip
def test_round_ticks(clock: Clock | None, low: float, high: float, expected: list[str]) -> None:
    assert [text for _, text in time_ticks(clock, low, high)] == expected


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
    assert "capacity" in [text.get_text() for text in ax.texts]


@pytest.mark.parametrize(
    ("kind", "suffix", "start"),
    [
        ("routes", ".png", b"\x89PNG"),
        ("schedule", ".svg", b"<?xml"),
        ("load", ".pdf", b"%PDF"),
        ("bars", ".html", b"<!DOCTYPE html>"),
    ],
)
def test_pictures(timed: Solution, tmp_path: Path, kind: str, suffix: str, start: bytes) -> None:
    assert timed.problem is not None
    path = tmp_path / f"{kind}{suffix}"
    save_picture(path, timed.problem, timed, kind)
    assert path.read_bytes().startswith(start)


def test_pictures_that_cannot_be(four_customers: Build, tmp_path: Path) -> None:
    problem = four_customers()
    for path, solution, kind, part in [
        ("a.gif", None, "routes", "ends in .png, .svg, .pdf, .html"),
        ("a.png", None, "portrait", "expected one of"),
        ("a.png", None, "load", "no plan of which to draw the load"),
    ]:
        with pytest.raises(UnsupportedError, match=part.replace(".", r"\.")):
            save_picture(tmp_path / path, problem, solution, kind)


def test_a_result_draws_itself(timed: Solution, tmp_path: Path, ax: Axes) -> None:
    result = Result.of(timed)
    assert result.plot(ax=ax, kind="load") is ax
    assert result.plot(tmp_path / "plan.html") is None
    assert result.plot(tmp_path / "plan.svg", kind="schedule") is None
    assert {path.name for path in tmp_path.iterdir()} == {"plan.html", "plan.svg"}
    with pytest.raises(UnsupportedError, match="a path or axes"):
        result.plot(tmp_path / "plan.png", ax=ax)
    with pytest.raises(UnsupportedError, match=r"/plan\.doc: expected a file name that ends in"):
        result.plot(tmp_path / "plan.doc")


def test_titles_stay_within_the_picture() -> None:
    """The labels of bars push their axes to the right, and the title with them."""
    line = [(place, 0) for place in range(4)]
    problem = Problem.from_coordinates(
        line, demand=[[0, 0], [1, 2], [1, 2], [1, 2]], capacity=[9, 9], penalty=[0, 9, 9, 9]
    ).replace(name="deliveries of tuesday")
    solution = Solution.judged(problem, [[0, 1, 2, 3, 0]])
    figure = Figure(figsize=(9.0, 2.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = draw(problem, solution, "bars", figure.add_subplot())
    figure.canvas.draw()
    extent = axes.title.get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.width


def test_loads_of_several_kinds_say_which_is_drawn(timed: Solution, ax: Axes) -> None:
    problem = Problem.from_coordinates([(0, 0), (1, 0)], demand=[[0, 0], [1, 2]], capacity=[9, 9])
    plot_load(Solution.judged(problem, [[0, 1, 0]]), ax)
    assert ax.get_ylabel() == "on board, first of 2 kinds of load"
    assert plot_load(timed, Figure().add_subplot()).get_ylabel() == "on board"
