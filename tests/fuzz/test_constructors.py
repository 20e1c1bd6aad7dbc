"""Hostile values through every constructor of a problem."""

from __future__ import annotations

from typing import Any

import pytest
from fuzz_property import check, fuzzed
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

from spacevrp.problems.problem import Problem

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
