"""``spacevrp plot FILE [PLAN]``."""

from __future__ import annotations

import json
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


def test_what_cannot_be_drawn(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    bad = json.dumps({"variant": None, "instances": [{"routes": [[0, 7, 0]]}]})
    Path("bad.json").write_text(bad, encoding="utf-8")
    for arguments, part in [
        (["plan.json"], "plan.json: expected an instance and then its plan, received a plan alone"),
        ([*files, "-o", "a.gif"], "a.gif: expected a file name that ends in .png"),
        ([*files, "-o", "none/a.html"], "there is no folder none"),
        ([*files, "--index", "1"], "--index: expected 0 to 0, received 1"),
        (["none.csv", "plan.json"], "none.csv"),
        ([files[0], "bad.json"], "bad.json"),
    ]:
        assert main(["plot", *arguments]) == 2, arguments
        assert part in capsys.readouterr().err
    assert not Path("plan.html").exists()
