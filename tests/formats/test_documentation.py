"""What docs/formats.md shows is what the readers read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spacevrp.formats import instance_json, npz, read, read_solution, vrplib
from spacevrp.formats.edge_weights import LAYOUTS
from spacevrp.problems.distances import ROUNDINGS

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.filterwarnings("error::spacevrp.formats.FormatWarning")


def test_the_examples_are_read(tmp_path: Path) -> None:
    blocks = re.findall(r"```(json|text)\n(.*?)```", PAGE, re.S)
    assert [kind for kind, _ in blocks] == ["json", "text", "json", "text"]
    instance, solomon, solution, sol = (text for _, text in blocks)
    (tmp_path / "a.json").write_text(instance, encoding="utf-8")
    problem = read(tmp_path / "a.json")
    assert problem.name == "bakery"
    (tmp_path / "b.txt").write_text(solomon, encoding="utf-8")
    timed = read(tmp_path / "b.txt")
    assert timed.variant_name == "CVRPTW"
    (tmp_path / "c.json").write_text(solution, encoding="utf-8")
    (tmp_path / "d.sol").write_text(sol, encoding="utf-8")
    ours, theirs = (read_solution(tmp_path / name) for name in ("c.json", "d.sol"))
    assert ours.instances[0].routes == theirs.instances[0].routes


def test_every_key_has_its_line() -> None:
    for key in (*npz._KEYS, *instance_json._KEYS, *ROUNDINGS, *vrplib.TYPES, *vrplib.EDGE_METRICS):
        assert f"`{key}`" in PAGE, key
    for key in (*vrplib._KEYS, *vrplib._SECTIONS, *vrplib._REFUSED_SECTIONS):
        assert f"`{key}`" in PAGE, key
    assert len(LAYOUTS) == 1 + 2 * 2 * 2  # as the line on EDGE_WEIGHT_FORMAT counts them
