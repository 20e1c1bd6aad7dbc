"""Maps: what is drawn, read back from the axes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="plots are an extra")

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from spacevrp.plots import plot_instance, plot_solution, style
from spacevrp.plots.labels import Annotations
from spacevrp.plots.maps import map_size
from spacevrp.plots.page import page_data
from spacevrp.plots.pictures import draw
from spacevrp.plots.style import new_figure
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

PLACES = [(13.37, 52.5), (13.4, 52.51), (13.45, 52.52)]


@pytest.fixture
def ax() -> Axes:
    return Figure(figsize=(9, 6)).add_subplot()


def kinds(ax: Axes) -> dict[str, np.ndarray]:
    """Label of each kind of mark -> where its marks are."""
    return {str(one.get_label()): one.get_offsets() for one in ax.collections}


def annotations(ax: Axes) -> Annotations:
    """What is written on the map, once it is drawn."""
    ax.figure.draw_without_rendering()
    (found,) = (child for child in ax.get_children() if isinstance(child, Annotations))
    return found


def written(ax: Axes) -> list[str]:
    return [text for text, _ in annotations(ax).boxes]


def warning(ax: Axes) -> str:
    return "\n".join(text.get_text() for text in ax.texts)


def route_lines(ax: Axes) -> list[Any]:
    """The lines that stand in the legend: one for each route."""
    return [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]


def test_a_solution(four_customers: Callable[..., Problem], ax: Axes) -> None:
    problem = four_customers(demand=[0, 6, 4, 3, 7], capacity=10)
    solution = Solution.judged(problem, [[0, 1, 2, 0], [0, 3, 4, 0]])
    assert plot_solution(problem, solution, ax) is ax
    assert ax.get_title() == "CVRP  ·  4 stops  ·  2 routes  ·  cost 28"
    # Each route: one line through its customers, two thin legs; routes differ in colour.
    lines = [line.get_xydata().tolist() for line in ax.get_lines()]
    assert lines[0] == [[3, 0], [3, 4]]
    assert lines[1:3] == [[[0, 0], [3, 0]], [[3, 4], [0, 0]]]
    assert lines[3] == [[0, 4], [0, 8]]
    assert len({line.get_color() for line in ax.get_lines()}) == 2
    assert [line.get_label() for line in route_lines(ax)] == [
        "1: 2 stops, load 10/10, cost 12",
        "2: 2 stops, load 10/10, cost 16",
    ]
    customers, depots = ax.collections
    assert list(kinds(ax)) == ["stop", "depot"]
    assert depots.get_offsets().tolist() == [[0, 0]]
    # Larger demand, larger mark; stops have the colours of their routes.
    assert np.argsort(customers.get_sizes()).tolist() == np.argsort([6, 4, 3, 7]).tolist()
    faces = customers.get_facecolor()
    assert (faces[0] == faces[1]).all()
    assert (faces[1] != faces[2]).any()
    assert ax.get_aspect() == 1.0
    assert warning(ax) == ""
    assert {"1", "2"} <= set(written(ax))


def test_skipped_customers_are_hollow(four_customers: Callable[..., Problem], ax: Axes) -> None:
    problem = four_customers(
        prize=[0, 1, 2, 3, 4], maximise_prize=True, max_length=9.0, max_routes=1
    )
    plot_solution(problem, Solution.judged(problem, [[0, 3, 0]]), ax)
    assert list(kinds(ax)) == ["stop", "stop, skipped (3)", "depot"]
    assert (ax.collections[1].get_facecolor() == 1).all()
    assert ax.get_title() == "OP  ·  4 stops  ·  1 route  ·  prize 3"
    assert warning(ax) == ""


def test_unserved_stops_are_as_visible_as_others(four_customers, ax):
    problem = four_customers(demand=[0, 6, 4, 3, 7], capacity=10)
    plot_solution(problem, Solution.judged(problem, [[0, 1, 2, 0]]), ax)
    assert warning(ax) == "partial: 2 of 4 stops unserved"
    assert kinds(ax)["unserved (2)"].tolist() == [[0, 4], [0, 8]]
    served, unserved, _ = ax.collections
    assert unserved.get_sizes().min() > served.get_sizes().min()
    assert (unserved.get_facecolor()[0] != served.get_facecolor()[0]).any()
    legends = [legend for legend in ax.get_children() if type(legend).__name__ == "Legend"]
    assert "unserved (2)" in [text.get_text() for one in legends for text in one.get_texts()]
    assert {"3", "4"} <= set(written(ax))


def test_a_matrix_has_no_map(ax: Axes) -> None:
    problem = Problem.from_matrix([[0, 3, 5], [3, 0, 4], [1, 4, 0]], demand=[0, 1, 1], capacity=2)
    with pytest.raises(UnsupportedError, match="a map needs coordinates"):
        plot_solution(problem, Solution.judged(problem, [[0, 1, 2, 0]]), ax)


def test_a_map_in_degrees(ax: Axes) -> None:
    problem = Problem.from_lonlat(PLACES, ids=["hub", "$x$ bakery", "dairy"], speed_kmh=30)
    plot_solution(problem, Solution.judged(problem, [[0, 1, 2, 0]]), ax)
    route = ax.get_lines()[0].get_xydata().tolist()
    assert route == [[13.4, 52.51], [13.45, 52.52]]
    # A degree of longitude at 52.5 degrees is 0.61 of one of latitude.
    assert ax.get_aspect() == pytest.approx(1 / 0.6087, rel=1e-3)
    assert "1 km" in warning(ax)
    assert set(written(ax)) == {"hub", "$x$ bakery", "dairy"}
    assert ax.xaxis.get_major_formatter()(13.4, 0) == "13.4°E"
    assert ax.yaxis.get_major_formatter()(-52.5, 0) == "52.5°S"


def test_a_route_across_the_antimeridian_takes_the_short_way(ax: Axes) -> None:
    problem = Problem.from_lonlat([(179, -17), (-179, -17), (179.5, -18)], speed_kmh=30)
    solution = Solution.judged(problem, [[0, 1, 2, 0]])
    plot_solution(problem, solution, ax)
    assert ax.get_lines()[0].get_xydata().tolist() == [[181, -17], [179.5, -18]]
    assert [ax.xaxis.get_major_formatter()(at, 0) for at in (179, 180, 181)] == [
        *("179°E", "180°E", "179°W")
    ]
    assert "50 km" in warning(ax)  # a quarter of 2 degrees of 106 km; not of 358
    assert [node["x"] for node in page_data(problem, solution)["nodes"]] == [179, 181, 179.5]
    # A gap elsewhere is no narrower: nothing is moved.
    wide = Problem.from_lonlat([(-120, 10), (0, 10), (120, 10)], speed_kmh=30)
    assert [node["x"] for node in page_data(wide)["nodes"]] == [-120, 0, 120]


def test_nothing_covers_the_scale() -> None:
    """Names below the lowest stops would lie on it."""
    places = [(13.4, 52.5), (13.3, 52.4), (13.305, 52.4), (13.31, 52.4), (13.315, 52.4)]
    places += [(13.32, 52.4), (13.325, 52.4), (13.4, 52.401)]
    ids = ["hub", *(f"stop {number}" for number in range(7))]
    problem = Problem.from_lonlat(places, ids=ids, speed_kmh=30)
    axes = new_figure(3.0, 3.0).add_subplot()
    plot_solution(problem, Solution.judged(problem, [[0, *range(1, 8), 0]]), axes)
    names = annotations(axes)
    (words,) = (text for text in axes.texts if text.get_text() == "1 km")
    scale = words.get_window_extent()
    assert len(names.boxes) >= 3
    assert not [name for name, box in names.boxes if scale.overlaps(Bbox.from_extents(box))]
    spots = axes.transData.transform(places)
    radius = max(names.radii) * axes.figure.dpi / 72
    assert spots[:, 1].min() - radius > scale.y1


@pytest.mark.parametrize("kind", ["routes", "schedule", "bars"])
def test_names_are_no_formulas(kind: str) -> None:
    ids = ["$hub$", "$a_1$ & $b^2$", "<b>c</b>"]
    vans = [{"name": "$v_1$ for $z$", "capacity": 9}]
    load: dict[str, Any] = {"demand": [0, 1, 1], "vehicles": vans}
    problem = Problem.from_lonlat(PLACES, ids=ids, speed_kmh=30, **load)
    axes = draw(
        problem, Solution.judged(problem, [[0, 1, 2, 0]]), kind, new_figure(9, 6).add_subplot()
    )
    axes.figure.draw_without_rendering()
    texts = [text for text in axes.findobj(Text) if "$" in text.get_text()]
    assert len(texts) > (kind == "schedule")  # also of its rows
    assert not any(text.get_parse_math() for text in texts)


def test_letters_that_the_usual_font_lacks(ax: Axes, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that a font of matplotlib's has, then two that none is said to have."""
    problem = Problem.from_lonlat(PLACES, ids=["hub", "\u1d84", "東京 3"], speed_kmh=30)
    solution = Solution.judged(problem, [[0, 1, 2, 0]])
    monkeypatch.setattr(
        style, "_other_font", lambda letter: "STIXGeneral" if letter == "\u1d84" else None
    )
    with pytest.warns(UserWarning, match="no installed font has some letters") as told:
        plot_solution(problem, solution, ax)
    assert len({str(one.message) for one in told}) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of boxes
        assert set(written(ax)) == {"hub", "\u1d84", "\\u6771\\u4eac 3"}
    monkeypatch.undo()
    font = style._other_font("\u1d84")
    assert font is not None
    assert ord("\u1d84") in style._letters(findfont(font))


def wedges(customers: int, each: int) -> tuple[Problem, Solution]:
    """Customers at random, taken by angle around a depot in the middle."""
    places = np.random.default_rng(customers).uniform(size=(customers + 1, 2))
    places[0] = 0.5
    away = places[1:] - places[0]
    order = 1 + np.argsort(np.arctan2(away[:, 1], away[:, 0]))
    problem = Problem.from_coordinates(places, demand=[0] + [1] * customers, capacity=each)
    routes = [[0, *order[i : i + each].tolist(), 0] for i in range(0, customers, each)]
    return problem, Solution.judged(problem, routes)


@pytest.mark.parametrize(
    ("customers", "each", "fewest"),
    [(5, 5, 5), (200, 4, 60), pytest.param(1000, 50, 250, marks=pytest.mark.slow)],
)
def test_no_text_covers_another(customers: int, each: int, fewest: int) -> None:
    problem, solution = wedges(customers, each)
    axes = new_figure(*map_size(problem, solution)).add_subplot()
    plot_solution(problem, solution, axes)
    drawn = annotations(axes)
    assert len(route_lines(axes)) == len(solution.routes)
    boxes = np.array([box for _, box in drawn.boxes])
    low, high = boxes[:, :2], boxes[:, 2:]
    overlap = ((low[:, None] < high[None]) & (high[:, None] > low[None])).all(axis=-1)
    assert overlap.sum() == len(boxes)  # each with itself
    frame = axes.get_window_extent()
    assert frame.x0 <= low[:, 0].min()
    assert high[:, 0].max() <= frame.x1
    assert fewest <= len(boxes) <= customers + len(solution.routes)
    # Every route that is long enough to see shows its direction, though not on every arc.
    arcs = sum(len(route) - 1 for route in solution.routes)
    assert 0.9 * len(solution.routes) <= drawn.heads <= (arcs if customers < 10 else 0.7 * arcs)


def test_heads_point_in_the_direction_of_travel() -> None:
    from spacevrp.plots.labels import _heads

    ((tip, way),) = _heads(np.array([[0.0, 0.0], [90.0, 0.0]]), 1.0)
    assert way.tolist() == [1, 0]
    assert 45 < tip[0] < 55


def test_without_matplotlib_the_error_says_how_to_get_it(four_customers, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'spacevrp\[plots\]'"):
        plot_instance(four_customers())
