"""``spacevrp.write``: instances and solutions, by the suffix."""

from __future__ import annotations

from pathlib import Path

import pytest

import spacevrp
from spacevrp.problems.errors import SpacevrpError, UnsupportedError
from spacevrp.problems.problem import Problem


@pytest.fixture
def problem() -> Problem:
    return Problem.from_coordinates([(0, 0), (3, 0), (0, 4)], name="one")


def test_what_cannot_be_written_is_named(problem: Problem, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="instances are written as"):
        spacevrp.write(problem, tmp_path / "one.doc")
    with pytest.raises(SpacevrpError, match="path: expected the name of a file"):
        spacevrp.write(tmp_path / "one.json", problem)  # type: ignore[arg-type]
    with pytest.raises(SpacevrpError, match="expected problems or a solution, received 'x'"):
        spacevrp.write("x", tmp_path / "one.json")  # type: ignore[arg-type]
