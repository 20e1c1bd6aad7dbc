"""``spacevrp versions``, ``variants``, ``plot`` and ``serve``."""

from __future__ import annotations

import importlib.util
import json
import socket
from importlib.metadata import version
from pathlib import Path

import pytest

import spacevrp
from spacevrp import native
from spacevrp.cli.main import main
from spacevrp.formats import read
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution


def test_every_part_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["versions", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["spacevrp"] == spacevrp.__version__
    assert found["numpy"] == version("numpy")
    assert found["native search"] == ("built" if native.available() else "not built")
    if native.network is not None:
        assert found["instruction set"] in ("avx512", "avx2", "plain")
    assert {"python", "system", "torch", "pyvrp", "ortools", "gpu"} <= set(found)


def test_a_missing_package_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacevrp.cli.versions._PACKAGES", ("no-such-package",))
    assert main(["versions"]) == 0
    assert "no-such-package  not installed" in capsys.readouterr().out


# ----------------------------------------------------------------------------------------- variants


def test_json_lists_110_names_of_which_12_are_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["variants", "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert len({record["name"] for record in records}) == 110
    seen = "ATSP TSP CVRP ACVRP OP PCTSP PDTSP CVRPTW OCVRP CVRPB OCVRPTW ACVRPBTW"
    assert {record["name"] for record in records if record["seen"]} == set(seen.split())


def test_table_has_one_aligned_row_per_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["variants"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "seen", "flags", "attributes"]
    assert len(rows) == 110
    start = header.index("attributes")
    assert all(len(row) == start + 10 and set(row[start:]) <= {"0", "1"} for row in rows)


# --------------------------------------------------------------------------------------------- plot


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


# -------------------------------------------------------------------------------------------- serve


def test_without_the_extra_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("spacevrp.cli.serve.find_spec", lambda name: None)
    assert main(["serve"]) == 2
    assert capsys.readouterr().err == (
        "spacevrp: error: fastapi and uvicorn not installed: pip install 'spacevrp[serve]'\n"
    )


@pytest.mark.skipif(importlib.util.find_spec("fastapi") is None, reason="needs the extra serve")
def test_a_port_that_is_taken_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"spacevrp: error: 127.0.0.1, port {port}: cannot be listened on")
