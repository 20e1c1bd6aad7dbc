"""Every example runs as it stands, and what it prints is a plan."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
# Examples that need more than the package itself.
NEEDS = {"03_pandas_dates": "pandas"}


def test_there_are_ten_of_them_and_each_says_what_it_shows() -> None:
    assert len(EXAMPLES) >= 10
    for path in EXAMPLES:
        assert path.read_text(encoding="utf-8").startswith('"""'), path.name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    names = runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.strip()
    solution = names["solution"]
    assert solution.feasible
    problem = solution.problem
    if path.stem != "12_a_week_at_once":
        assert problem == names["problem"]
    if "cost " in printed:
        # Every customer is told by the name that the example gave it.
        for node in problem.customers:
            told = str(node if problem.ids is None else problem.ids[node])
            assert told in printed
