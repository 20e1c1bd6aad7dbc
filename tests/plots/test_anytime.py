"""The picture of gaps at equal time."""

from __future__ import annotations

from typing import Any

import pytest

from spacevrp.plots.anytime import plot_anytime
from spacevrp.problems.errors import FormatError

pytest.importorskip("matplotlib", reason="plots are an extra")


def row(problem: str, size: int, solver: str, limit: float, gap: float | None) -> dict[str, Any]:
    return {
        "problem": problem,
        "size": size,
        "solver": solver,
        "limit": limit,
        "seconds": 1.1 * limit,
        "gap": gap,
        "instances": 2,
        "solved": 2 if gap != 7.0 else 1,
    }


def test_a_panel_a_problem_and_size_and_a_line_a_solver() -> None:
    rows = [
        row("CVRP", 500, "pyvrp", 1.0, 2.0),
        row("CVRP", 500, "pyvrp", 0.1, 7.0),  # not all solved
        row("CVRP", 500, "spacevrp + improvement", 1.0, 1.0),
        row("CVRP", 100, "pyvrp", 1.0, 0.0),
        row("ACVRP", 100, "vroom", 1.0, 3.0),
        row("ACVRP", 100, "vroom", 0.1, None),  # nothing to draw
    ]
    figure = plot_anytime(rows)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["CVRP, 100 customers", "CVRP, 500 customers", "ACVRP, 100 customers", ""]
    lines = {line.get_label(): line for line in figure.axes[1].lines}
    assert lines["pyvrp"].get_xdata() == pytest.approx([0.11, 1.1])  # by the limit
    assert lines["pyvrp"].get_ydata() == pytest.approx([7.0, 2.0])
    assert lines["spacevrp + improvement"].get_linewidth() > lines["pyvrp"].get_linewidth()
    assert figure._supxlabel.get_text().startswith("hollow")  # type: ignore[attr-defined]


def test_no_gap_at_all_is_an_error() -> None:
    with pytest.raises(FormatError, match="expected rows with a gap"):
        plot_anytime([row("CVRP", 100, "vroom", 0.1, None)])
