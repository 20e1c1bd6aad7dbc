"""``spacevrp demo``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from spacevrp.cli.demo import INSTANCE
from spacevrp.cli.main import main
from spacevrp.formats import read_json
from spacevrp.inference import weights
from spacevrp.problems.referee import judge


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_routes_cost_and_picture(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="plots are an extra")
    assert main(["demo"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("CVRP: 50 customers, capacity 40\n")
    routes = [
        [int(node) for node in line.split(":")[1].split()]
        for line in output.splitlines()
        if line.startswith("  route")
    ]
    verdict = judge(read_json(INSTANCE), routes)
    assert verdict.violations == ()
    told = re.search(r"cost ([\d.]+), (\d+) routes, [\d.]+ s on the CPU", output)
    assert float(told[1]) == pytest.approx(verdict.cost, abs=1e-4)
    assert int(told[2]) == len(routes)
    assert Path("demo.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_without_matplotlib_it_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo"]) == 0
    output = capsys.readouterr().out
    assert "pip install 'spacevrp[plots]'" in output
    assert not Path("demo.png").exists()


def test_without_weights_it_is_one_line(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(weights, "BUNDLED", tmp_path)
    assert main(["demo"]) == 2
    assert capsys.readouterr().err == (
        f"spacevrp: error: weights '{weights.DEFAULT_WEIGHTS}': no bundled weights (the package "
        f"has none of its own yet), no file {weights.DEFAULT_WEIGHTS}.safetensors\n"
    )
