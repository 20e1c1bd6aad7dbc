"""``spacevrp bench serve``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spacevrp.cli.main import main


@pytest.mark.slow
def test_a_row_is_measured_and_recorded(tmp_path: Path) -> None:
    pytest.importorskip("starlette", reason="needs the extra serve")
    command = ["bench", "serve", "--sizes", "4", "--clients", "2", "--seconds", "1s"]
    command += ["--servers", "spacevrp", "--memory-rows", "1", "-o", str(tmp_path)]
    assert main(command) == 0
    rows = json.loads((tmp_path / "serve.json").read_text())["rows"]
    assert [(row["part"], row["clients"]) for row in rows] == [("load", 2), ("memory", 8)]
    for row in rows:
        assert row["requests"] > 0
        assert row["refused"] == 0
        assert 0 < row["p50"] <= row["p99"]
        assert row["memory"] > 0
