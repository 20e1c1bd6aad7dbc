"""``spacevrp bench train-step`` at a size a CPU can do in seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spacevrp.bench.train_step import PARTS
from spacevrp.cli.main import main

SMALL = ["--size", "4", "--layers", "1", "--repeats", "1", "--device", "cpu"]


@pytest.mark.slow
def test_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "record.json"
    words = ["bench", "train-step", *SMALL, "--batch", "12", "--batch", "24", "-o", str(record)]
    assert main(words) == 0
    found = json.loads(record.read_text())
    assert [row["batch"] for row in found["rows"]] == [12, 24]
    for row in found["rows"]:
        assert tuple(row["breakdown"]) == PARTS
        assert all(value > 0 for value in row["breakdown"].values())
        assert row["instances_per_second"] == pytest.approx(
            1000 * row["batch"] / row["step_ms"],
            rel=1e-2,
            abs=0.06,  # rounded to a tenth
        )
    slow = found["eager_autograd"]
    assert slow["batch"] == 12
    assert slow["ratio"] == pytest.approx(slow["step_ms"] / found["rows"][0]["step_ms"], abs=0.01)
    assert "autograd through the rollout, batch 12" in capsys.readouterr().out
