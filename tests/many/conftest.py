"""A folder of small instances."""

from __future__ import annotations

from pathlib import Path

import pytest

import spacevrp


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Nine files and a batch of three, twelve instances in the order of their names."""
    path = tmp_path / "instances"
    (path / "more").mkdir(parents=True)
    for number, problem in enumerate(spacevrp.generate("CVRP", 8, 9)):
        spacevrp.write(problem, path / f"{number}.{'vrp' if number % 2 else 'json'}")
    spacevrp.write(spacevrp.generate("OCVRPTW", 8, 3), path / "more" / "batch.npz")
    (path / "README.md").write_text("no instance")
    return path
