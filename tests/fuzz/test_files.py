"""Hostile files through ``spacevrp.read``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fuzz_corpus import documents, files
from fuzz_property import check, fuzzed
from hostile_json import damaged_json
from hostile_npz import damaged_npz
from hostile_text import damaged_bytes, damaged_text, spoken_csv, spoken_vrplib
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.formats import read
from spacevrp.solver import Solver

_OWN = tuple(name for name in documents() if name.startswith("own"))
_FOREIGN = tuple(name for name in documents() if not name.startswith("own"))
Case = tuple[str, bytes]


def mostly(usual: st.SearchStrategy[Case], other: st.SearchStrategy[Case]) -> Any:
    """Five times out of six the first: nearly all of the second is refused early."""
    return st.integers(0, 5).flatmap(lambda turn: usual if turn else other)


def read_hostile(door: str, case: Case, folder: Path, solver: Solver) -> str:
    """Put the file there, read and solve it."""
    name, content = case
    path = folder / name
    path.write_bytes(content)
    return check(door, lambda: read(path), solver, path)


def test_every_file_of_the_corpus_is_solved(tmp_path: Path, solver: Solver) -> None:
    """Otherwise damage to it would test nothing."""
    for name, content in files().items():
        if not name.startswith(("plan", "priced")):
            assert read_hostile("corpus", (name, content), tmp_path, solver) == "solved", name


CASES: dict[str, st.SearchStrategy[Case]] = {
    "VRPLIB and TSPLIB files": mostly(damaged_text((".vrp", ".tsp", ".atsp")), spoken_vrplib()),
    "Solomon, Li-Lim and Cordeau files": damaged_text((".txt",)),
    "CSV files": mostly(damaged_text((".csv",)), spoken_csv()),
    "our JSON files": damaged_json(_OWN),
    "foreign JSON files": damaged_json(_FOREIGN),
    ".npz files": damaged_npz(),
    "files of any bytes": damaged_bytes(),
}


@pytest.mark.parametrize("door", CASES)
@fuzzed(1000)
@given(data=st.data())
def test_hostile_files(tmp_path, solver, watch, door, data):
    watch()
    read_hostile(door, data.draw(CASES[door]), tmp_path, solver)
