"""Hostile files through ``spacevrp.read``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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
Watch = Callable[[], None]


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


@fuzzed(1300)
@given(case=mostly(damaged_text((".vrp", ".tsp", ".atsp")), spoken_vrplib()))
def test_vrplib(tmp_path: Path, solver: Solver, watch: Watch, case: Case) -> None:
    watch()
    read_hostile("VRPLIB and TSPLIB files", case, tmp_path, solver)


@fuzzed(600)
@given(case=damaged_text((".txt",)))
def test_rows_of_numbers(tmp_path: Path, solver: Solver, watch: Watch, case: Case) -> None:
    watch()
    read_hostile("Solomon, Li-Lim and Cordeau files", case, tmp_path, solver)


@fuzzed(1000)
@given(case=mostly(damaged_text((".csv",)), spoken_csv()))
def test_csv(tmp_path: Path, solver: Solver, watch: Watch, case: Case) -> None:
    watch()
    read_hostile("CSV files", case, tmp_path, solver)


@fuzzed(1300)
@given(case=damaged_json(_OWN))
def test_own_json(tmp_path: Path, solver: Solver, watch: Watch, case: Case) -> None:
    watch()
    read_hostile("our JSON files", case, tmp_path, solver)


@fuzzed(1300)
@given(case=damaged_json(_FOREIGN))
def test_foreign_json(tmp_path: Path, solver: Solver, watch: Watch, case: Case) -> None:
    watch()
    door = case[0].partition("-")[0].removesuffix(".json")
    read_hostile(f"{door} JSON files", case, tmp_path, solver)


@fuzzed(1000)
@given(case=damaged_npz())
def test_npz(tmp_path: Path, solver: Solver, watch: Watch, case: Case) -> None:
    watch()
    read_hostile(".npz files", case, tmp_path, solver)


@fuzzed(400)
@given(case=damaged_bytes())
def test_bytes(tmp_path: Path, solver: Solver, watch: Watch, case: Case) -> None:
    watch()
    read_hostile("files of any bytes", case, tmp_path, solver)
