"""``spacevrp plot FILE [PLAN]``."""

from __future__ import annotations

from pathlib import Path

import pytest

from spacevrp.cli.main import main
from spacevrp.formats import read
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """An instance and a partial plan of it, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("stops.csv").write_text("id,x,y,demand\nhub,0,0,0\nb,3,0,1\nc,3,4,1\n", encoding="utf-8")
    problem = read("stops.csv")
    assert isinstance(problem, Problem)
    Solution.judged(problem, [[0, 1, 0]]).save("plan.json")
    return "stops.csv", "plan.json"


def test_a_page_by_default(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", *files]) == 0
    assert capsys.readouterr().out == "plan.html\n"
    assert "partial: 1 of 2 stops unserved" in Path("plan.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", [[], ["plan"]])
def test_pictures(files: tuple[str, str], word: list[str]) -> None:
    pytest.importorskip("matplotlib", reason="plots are an extra")
    for kind, name in (("routes", "a.svg"), ("schedule", "a.png"), ("bars", "a.pdf")):
        assert main(["plot", *word, "-o", name, "--kind", kind, *files]) == 0
        assert Path(name).stat().st_size > 1000
    assert main(["plot", *word, files[0], "-o", "nodes.png"]) == 0
