"""Seconds for 1,000 instances: rows by hand, records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spacevrp.bench import thousand
from spacevrp.bench.solving import Outcome
from spacevrp.cli.main import main


def test_seconds_are_scaled_to_a_thousand() -> None:
    found = Outcome((1.0,) * 8, 1.0, 2.0, 1.0, violations=0)
    row = thousand.row_of("CVRP", 100, 8, found)
    assert (row.instances, row.seconds_thousand) == (8, 500.0)
    assert row.paper_seconds == 7
    assert row.faster == pytest.approx(7 / 500)
    other = thousand.row_of("CVRP", 50, 8, found)
    assert (other.paper_seconds, other.faster) == (None, None)


def test_the_part_of_bench_speed(
    tiny_weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", "speed", "--part", "thousand", "--count", "2", "--size", "6"]
    command += ["--problems", "CVRP,ATSP", "--augment-asymmetric", "3", "--device", "cpu"]
    assert main([*command, "--weights", str(tiny_weights), "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("0 violations")
    rows = json.loads((tmp_path / "thousand.json").read_text())["rows"]
    assert [(row["problem"], row["views"]) for row in rows] == [("CVRP", 8), ("ATSP", 3)]
    for row in rows:
        total = row["seconds_host"] + row["seconds_model"] + row["seconds_referee"]
        assert row["seconds_thousand"] == pytest.approx(500 * total)
