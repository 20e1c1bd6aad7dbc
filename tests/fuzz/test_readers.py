"""Hostile files and values through every reader and constructor."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import fuzz_corpus
import pytest
from fuzz_corpus import documents, files
from fuzz_property import COUNTS, check, check_message, close, fuzzed, naive_cost
from hostile_json import damaged_json, damaged_solutions
from hostile_npz import damaged_npz
from hostile_text import damaged_bytes, damaged_text, spoken_csv, spoken_vrplib
from hostile_values import (
    LONLAT,
    MATRIX,
    POINTS,
    any_data,
    features,
    fleets,
    frames,
    mappings,
    tables,
)
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.formats import FormatWarning, read, read_solution
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import as_routes, as_vehicles_of, judge
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


# ------------------------------------------------------------------------------------- constructors


SPEEDS = st.sampled_from((None, 30, 0, -1, "x", float("inf"), float("nan"), 1e-300, 10**5000))
MINIMISED = st.sampled_from((None, None, None, "distances", "durations", "x", 5, []))
# What is handed over, and the keywords beside it.
DOORS: dict[str, tuple[st.SearchStrategy[Any], st.SearchStrategy[dict[str, Any]]]] = {
    "from_coordinates": (tables(POINTS), features()),
    "from_matrix": (tables(MATRIX), features()),
    "from_lonlat": (
        tables(LONLAT),
        st.tuples(SPEEDS, features()).map(lambda drawn: {"speed_kmh": drawn[0], **drawn[1]}),
    ),
    "from_frame": (frames(), st.one_of(st.just({}), features())),
    "from_frame, vehicles": (
        st.just({"x": [0, 3, 0, 3], "y": [0, 0, 4, 4], "demand": [0, 1, 2, 3]}),
        st.fixed_dictionaries({"vehicles": fleets()}),
    ),
    "from_ortools": (mappings("ortools"), st.just({})),
    "from_table": (mappings("table"), st.fixed_dictionaries({"minimise": MINIMISED})),
    "from_vroom": (mappings("vroom"), st.fixed_dictionaries({"speed_kmh": SPEEDS})),
    "from_data": (any_data(), st.just({})),
}


@pytest.mark.parametrize("door", DOORS)
@fuzzed(190)
@given(data=st.data())
def test_hostile_values(solver, watch, door, data):
    watch()
    handed, keywords = (data.draw(strategy) for strategy in DOORS[door])
    make = getattr(Problem, door.partition(",")[0])
    check(door, lambda: make(handed, **keywords), solver)


# ---------------------------------------------------------------------------------------- solutions


_DOOR = "solution files"
# Of the instances, some with one depot, none or several; closed and open.
_INSTANCES = (
    *("cvrp.vrp", "open.vrp", "depots.vrp", "roads.atsp", "solomon.txt", "own-prizes.json"),
    *("mixed.vrp", "prizes.vrp", "lilim.txt"),
)


def judge_hostile(instance: Problem, path: Path) -> str:
    """The outcome in a word; whatever is feasible must cost what it costs."""
    try:
        plans = read_solution(path, instance).instances
    except SpacevrpError as error:
        check_message(error, path)
        return "refused"
    kept = 0
    for plan in plans:
        try:
            verdict = judge(instance, plan.routes)
        except SpacevrpError as error:
            check_message(error)
            return "refused"
        for violation in verdict.violations:
            assert len(violation.message.splitlines()) == 1, violation.message
        if verdict.feasible:
            kept += 1
            served = [route for route in plan.routes if len(route) > 1 or not instance.depots]
            vehicles = as_vehicles_of(instance, as_routes(instance, served), plan.vehicles)
            assert close(verdict.cost, naive_cost(instance, served, vehicles)), plan.routes
            assert math.isfinite(verdict.cost)
    return "judged feasible" if kept else "judged infeasible"


@fuzzed(900)
@given(case=damaged_solutions(), name=st.sampled_from(_INSTANCES))
def test_solutions(tmp_path, watch, case, name):
    watch()
    instance_path, path = tmp_path / name, tmp_path / case[0]
    instance_path.write_bytes(fuzz_corpus.files()[name])
    path.write_bytes(case[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", FormatWarning)
        instance = read(instance_path)
        assert isinstance(instance, Problem)
        COUNTS[_DOOR, judge_hostile(instance, path)] += 1
