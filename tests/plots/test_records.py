"""Pictures of tables: what is drawn, read back from the axes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="plots are an extra")

from spacevrp.cli.main import main
from spacevrp.plots.measurements import pairs, plot_frontier, plot_gaps, plot_symmetry
from spacevrp.plots.records import read_gap_rows
from spacevrp.problems.errors import FormatError


def gap(
    problem: str, oracle: float | None, best: float | None, paper: float | None
) -> dict[str, Any]:
    return {
        "problem": problem,
        "kind": "variant",
        "oracle_gap": oracle,
        "best_gap": best,
        "paper_gap": paper,
    }


ROWS = [
    gap("CVRPL", 1.0, 3.0, 0.45),
    gap("MDCVRP", None, 7.0, 16.67),
    gap("CVRPBP", None, None, 13.49),
    gap("ACVRPL", -2.0, 5.0, -1.9),
    gap("AMDCVRP", 4.0, None, 3.0),
]


def measured(
    solver: str, limit: float | None, gap: float | None, seconds: float, solved: int = 10
) -> dict[str, Any]:
    return {
        "problem": "CVRP",
        "size": 100,
        "solver": solver,
        "limit": limit,
        "instances": 10,
        "solved": solved,
        "gap": gap,
        "seconds": seconds,
    }


def write(path: Path, rows: Any) -> Path:
    path.write_text(json.dumps({"rows": rows}))
    return path


# ------------------------------------------------------------------------------------------ gaps


def test_a_bar_a_variant_and_marks_for_the_other_figures() -> None:
    left, right = plot_gaps(ROWS).axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["CVRPL", "MDCVRP", "CVRPBP"]
    assert [bar.get_width() for bar in left.patches] == [1.0, 0.0, 0.0]
    assert [bar.get_width() for bar in right.patches] == [-2.0, 4.0]
    best, papers = left.collections
    assert best.get_offsets().tolist() == [[3.0, 0.0], [7.0, 1.0]]
    assert papers.get_offsets().tolist() == [[0.45, 0.0], [16.67, 1.0], [13.49, 2.0]]
    # Where nothing is known, the picture says so instead of a bar of length 0.
    assert [text.get_text() for text in left.texts] == ["no reference"]
    assert left.get_ylim()[0] > left.get_ylim()[1]  # the first is on top


def test_no_picture_without_gaps() -> None:
    with pytest.raises(FormatError, match="gaps to the best known cost: expected some"):
        plot_gaps([gap("CVRPL", 1.0, None, 1.0)], "best")


# -------------------------------------------------------------------------------------- symmetry


def test_a_dot_a_variant_that_has_both_forms() -> None:
    assert pairs(ROWS, "oracle_gap") == {"CVRPL": (1.0, -2.0)}
    assert pairs(ROWS, "paper_gap") == {"CVRPL": (0.45, -1.9), "MDCVRP": (16.67, 3.0)}
    (axes,) = plot_symmetry(ROWS).axes
    theirs, ours = axes.collections
    assert ours.get_offsets().tolist() == [[1.0, -2.0]]
    assert theirs.get_offsets().tolist() == [[0.45, -1.9]]  # of the same variants only
    assert [text.get_text() for text in axes.texts] == ["CVRPL"]
    assert axes.get_xlim() == axes.get_ylim()
    with pytest.raises(FormatError, match="expected some variant and its asymmetric form"):
        plot_symmetry(ROWS[:3])


# -------------------------------------------------------------------------------------- frontier


def test_a_line_a_solver_from_quick_to_slow() -> None:
    rows = [
        measured("spacevrp", 1.0, 2.0, 0.9),
        measured("spacevrp", 0.1, 3.0, 0.2),
        measured("pyvrp", 0.1, 4.0, 0.11, solved=7),
        measured("pyvrp", 1.0, 1.0, 1.01),
        measured("lkh", 1.0, None, 1.0, solved=0),
    ]
    figure = plot_frontier(rows)
    (axes,) = [axes for axes in figure.axes if axes.axison]
    lines = [line for line in axes.lines if len(line.get_xydata())]
    ours, theirs, hollow = lines
    assert ours.get_xydata().tolist() == [[0.2, 3.0], [0.9, 2.0]]
    assert theirs.get_xydata().tolist() == [[0.11, 4.0], [1.01, 1.0]]
    assert hollow.get_xydata().tolist() == [[0.11, 4.0]]  # seven of ten
    assert len({ours.get_color(), theirs.get_color()}) == 2
    assert len({ours.get_marker(), theirs.get_marker()}) == 2  # colours are not the only cue
    with pytest.raises(FormatError, match="expected rows with a gap, received none"):
        plot_frontier(rows[-1:])


# ---------------------------------------------------------------------------------------- records


def test_averages_are_not_drawn_and_records_may_be_joined(tmp_path: Path) -> None:
    average = {**gap("average", 1.0, 1.0, 1.0), "kind": "average"}
    first = write(tmp_path / "a.json", [*ROWS[:2], average])
    second = write(tmp_path / "b.json", ROWS[2:])
    assert read_gap_rows([first, second]) == ROWS
    with pytest.raises(FormatError, match=r"a.json: expected every variant once, received CVRPL"):
        read_gap_rows([first, first])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "received no JSON"),
        ("[1]", "received a file without rows"),
        ('{"rows": []}', "received a file without rows"),
        ('{"rows": [{"problem": "CVRP"}]}', "row 0: expected the record of .* found no 'kind'"),
        (json.dumps({"rows": [gap("CVPR", 1.0, 1.0, 1.0)]}), "variant 'CVPR' is not legal"),
    ],
)
def test_what_is_not_a_record_is_named(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=part):
        read_gap_rows([path])


@pytest.mark.parametrize("verb", ["gaps", "symmetry", "frontier"])
def test_the_commands(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [measured("spacevrp", 0.1, 3.0, 0.2)] if verb == "frontier" else ROWS
    record, picture = write(tmp_path / "x.json", rows), tmp_path / "x.png"
    assert main(["plot", verb, str(record), "-o", str(picture)]) == 0
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert main(["plot", verb, str(tmp_path / "none.json"), "-o", str(picture)]) == 2
    error = capsys.readouterr().err
    assert "none.json: cannot be read: No such file" in error
    assert error.count("\n") == 1
