"""Pictures: what is drawn, read back from the axes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="plots are an extra")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from spacevrp.plots import plot_instance, plot_solution, save_plot
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution


@pytest.fixture
def ax() -> Axes:
    return Figure().add_subplot()


def labels(ax: Axes) -> list[str]:
    return ax.get_legend_handles_labels()[1]


def test_a_solution(four_customers: Callable[..., Problem], ax: Axes) -> None:
    problem = four_customers(demand=[0, 6, 4, 3, 7], capacity=10)
    solution = Solution.judged(problem, [[0, 1, 2, 0], [0, 3, 4, 0]])
    assert plot_solution(problem, solution, ax) is ax
    assert ax.get_title() == "CVRP  ·  cost 28  ·  2 routes"
    # Each route: one line through its customers, two dashed legs; routes differ in colour.
    lines = [line.get_xydata().tolist() for line in ax.get_lines()]
    assert lines[0] == [[3, 0], [3, 4]]
    assert lines[1:3] == [[[0, 0], [3, 0]], [[3, 4], [0, 0]]]
    assert lines[3] == [[0, 4], [0, 8]]
    assert len({line.get_color() for line in ax.get_lines()}) == 2
    customers, depots = ax.collections
    assert labels(ax) == ["customer", "depot"]
    assert depots.get_offsets().tolist() == [[0, 0]]
    # Larger demand, larger mark.
    assert np.argsort(customers.get_sizes()).tolist() == np.argsort([6, 4, 3, 7]).tolist()
    assert ax.get_aspect() == 1.0


def test_a_tour_is_closed_and_has_no_depot(ax: Axes) -> None:
    problem = Problem.from_coordinates([(0, 0), (3, 0), (3, 4)], depots=())
    plot_solution(problem, Solution.judged(problem, [[0, 1, 2]]), ax)
    (line,) = ax.get_lines()
    assert line.get_xydata().tolist() == [[0, 0], [3, 0], [3, 4], [0, 0]]
    assert ax.get_title() == "TSP  ·  cost 12"
    assert ax.get_legend() is None


def test_kinds_of_customers(four_customers: Callable[..., Problem], ax: Axes) -> None:
    problem = four_customers(demand=[0, 6, -4, 3, 7], capacity=10)
    plot_instance(problem, ax)
    assert labels(ax) == ["customer", "backhaul", "depot"]
    assert ax.collections[1].get_offsets().tolist() == [[3, 4]]
    assert ax.get_title() == "CVRPB  ·  4 customers"


def test_skipped_customers_are_hollow(four_customers: Callable[..., Problem], ax: Axes) -> None:
    problem = four_customers(
        prize=[0, 1, 2, 3, 4], maximise_prize=True, max_length=9.0, max_routes=1
    )
    plot_solution(problem, Solution.judged(problem, [[0, 3, 0]]), ax)
    assert labels(ax) == ["customer", "customer, skipped", "depot"]
    assert len(ax.collections[1].get_offsets()) == 3
    assert ax.get_title() == "OP  ·  prize 3  ·  1 route"


def test_pairs(ax: Axes) -> None:
    problem = Problem.from_coordinates([(0, 0), (1, 0), (2, 0)], pairs=[(2, 1)], max_routes=1)
    plot_instance(problem, ax)
    assert labels(ax) == ["delivery", "pickup", "depot"]
    assert ax.collections[1].get_offsets().tolist() == [[2, 0]]


def test_a_matrix_says_that_its_map_is_made_up(ax: Axes) -> None:
    matrix = [[0, 3, 5], [3, 0, 4], [1, 4, 0]]
    problem = Problem.from_matrix(matrix, demand=[0, 1, 1], capacity=2)
    plot_solution(problem, Solution.judged(problem, [[0, 1, 2, 0]]), ax)
    assert "no coordinates: nodes placed by scaling the distances" in ax.get_title()
    assert len(ax.texts) == 3  # an arrowhead on each leg, since direction matters


def test_a_bad_plan_is_marked(four_customers: Callable[..., Problem], ax: Axes) -> None:
    problem = four_customers(demand=[0, 6, 4, 3, 7], capacity=10)
    plot_solution(problem, Solution.judged(problem, [[0, 1, 2, 3, 4, 0]]), ax)
    assert ax.get_title().endswith("NOT FEASIBLE")


def test_a_picture_file(four_customers: Callable[..., Problem], tmp_path: Path) -> None:
    problem = four_customers(demand=[0, 6, 4, 3, 7], capacity=10)
    plain, routes = tmp_path / "plain.png", tmp_path / "routes.png"
    save_plot(plain, problem)
    save_plot(routes, problem, Solution.judged(problem, [[0, 1, 2, 0], [0, 3, 4, 0]]))
    assert plain.read_bytes()[:8] == routes.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert plain.read_bytes() != routes.read_bytes()


def test_without_matplotlib_the_error_says_how_to_get_it(
    four_customers: Callable[..., Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'spacevrp\[plots\]'"):
        plot_instance(four_customers())
