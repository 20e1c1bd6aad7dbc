"""Every figure on the pages links to its record, and the record holds it (docs/figures.py)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import figure_tables  # noqa: E402
import figures  # noqa: E402

ALLOWED = json.loads((ROOT / "docs" / "figures_allowed.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "page", figures.pages(), ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_figures_are_what_their_records_hold(page: Path) -> None:
    name = page.relative_to(ROOT).as_posix()
    assert figures.faults(page, tuple(ALLOWED.get(name, ()))) == []


@pytest.mark.parametrize("name", ["README.md", "docs/results.md", "records/README.md"])
def test_generated_tables_are_up_to_date(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "<!-- figures:" in text
    made = figure_tables.written(ROOT / name, text)
    assert made == text, "python docs/figures.py writes them again"


def test_what_is_allowed_is_still_there() -> None:
    for name, pieces in ALLOWED.items():
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        for piece in pieces:
            assert piece in text, f"{name}: {piece!r} need not be allowed any more"


# ------------------------------------------------------------------------------- the check itself


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page next to a record with two rows, and a script's lines of nested results."""
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "gaps.csv").write_text(
        "problem,views,gap,seconds\nCVRP,1,2.345,0.0012\nCVRP,8,1.999,0.5\nOP,8,-0.25,3\n"
    )
    (folder / "plans.jsonl").write_text('{"problem": "OP", "first": {"to_best": [0.388, 32]}}\n')
    monkeypatch.setattr(figures, "RECORDS", (folder,))
    return tmp_path / "page.md"


@pytest.mark.parametrize(
    "text",
    [
        "[2.0%](records/gaps.csv#CVRP,8:gap) and [2.3%](records/gaps.csv#CVRP,1)",
        "[2.17%](records/gaps.csv#CVRP:gap.mean) in the mean of 2.345 and 1.999",
        "[OP 0.25% below](records/gaps.csv#OP) it, first [0.39%](records/plans.jsonl#OP)",
        "[1.2 ms](records/gaps.csv#CVRP,1)",
        "A program says `5%`, and 100 customers are no figure.\n\n```\n7% of it\n```",
        "See [gaps](records/gaps.csv).\n\n| | views | gap |\n| - | - | - |\n| CVRP | 8 | 2.00% |",
    ],
)
def test_true_figures_pass(page: Path, text: str) -> None:
    page.write_text(text)
    assert figures.faults(page) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[2.1%](records/gaps.csv#CVRP,8:gap)", "expected 2.1"),  # of no row
        ("[2.3%](records/gaps.csv#CVRP,8:gap)", "expected 2.3"),  # of another row
        ("[0.5%](records/gaps.csv#CVRP,8:gap)", "expected 0.5"),  # of another column
        ("[0.25%](records/gaps.csv#OP:gap) above it", "expected 0.25"),  # of another sign
        ("[2.0%](records/gone.csv)", "not there"),
        ("2.0% above the best known", "expected a link"),
        ("it takes 5 s, 2 GiB or 3 minutes", "expected a link"),
        ("a plan at a cost of 12.5", "expected a link"),
        ("[5%](other.md)", "expected a link"),
        ("Nothing.\n\n| | gap |\n| - | - |\n| CVRP | 2.00% |", "expected links"),
        (
            "[gaps](records/gaps.csv)\n\n| | views | gap |\n| - | - | - |\n| CVRP | 1 | 2.00% |",
            "no 2.00%",
        ),
    ],
)
def test_false_figures_are_found(page: Path, text: str, fault: str) -> None:
    page.write_text(text)
    found = figures.faults(page)
    assert found
    assert fault in found[0]


def test_settings_may_be_allowed(page: Path) -> None:
    page.write_text("It searches for the first 60% of the time.")
    assert figures.faults(page, ("first 60% of the time",)) == []
