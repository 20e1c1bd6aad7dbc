"""Hostile values for the constructors: everything Python hands over where a table should be."""

from __future__ import annotations

import copy
import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from fuzz_corpus import documents
from hostile_json import damaged_trees
from hostile_words import PLAIN_NUMBERS, VALUES, WORDS
from hypothesis import strategies as st

from spacevrp.problems.sources.vehicles import VEHICLE_COLUMNS

POINTS = [[0, 0], [3, 0], [0, 4], [3, 4]]
LONLAT = [[10.1, 54.3], [10.2, 54.3], [10.2, 54.2], [10.0, 54.1]]
MATRIX = [[0, 5, 7, 4], [6, 0, 3, 6], [7, 3, 0, 2], [4, 6, 2, 0]]


class Awkward:
    """Shows itself on several lines, with a control character."""

    def __repr__(self) -> str:
        return "an awkward\nthing\x07"


# One entry, of any type.
ENTRIES: tuple[Any, ...] = (
    *(value for value in VALUES if not (isinstance(value, str) and value.startswith("«"))),
    *(float("nan"), float("inf"), -float("inf"), 10**400, 10**5000, -(10**5000), 1 + 2j, b"1"),
    *(Decimal("1.5"), Decimal("NaN"), Fraction(1, 3), object(), Awkward(), int, len),
    *(np.float32(1.5), np.int8(3), np.bool_(True), np.datetime64("NaT"), np.timedelta64(5, "s")),
    *(np.datetime64("2026-03-02T08:30"), np.str_("x"), np.float64("nan"), np.longdouble("1e4000")),
    *(dt.datetime(2026, 3, 2, 8), dt.time(8, 30), dt.timedelta(minutes=5), dt.date(2026, 3, 2)),
    *(dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=14))), dt.datetime.max),
    *(pd.NaT, pd.NA, pd.Timestamp("2026-03-02T08:30", tz="UTC"), pd.Timedelta("5min")),
    *(range(3), {1, 2}, frozenset(), iter([1]), memoryview(b"abc"), slice(0, 1), ...),
    *(np.arange(3), np.zeros((2, 0)), np.array(5), np.array(["a", "b"]), np.array([None, 1])),
)
# Whole fields, of any shape and type.
FIELDS: tuple[Any, ...] = (
    *ENTRIES,
    *(np.arange(4), np.arange(4.0) * 1e99, np.full(4, np.nan), np.full((4, 2), np.inf)),
    *(np.zeros((4, 4)), np.zeros((4, 4), dtype=np.float16), np.array(MATRIX, dtype="S2")),
    *(np.array(MATRIX, dtype=object), np.array(MATRIX) * 1j, np.ma.masked_equal(MATRIX, 3)),
    *(np.array([(1, 2.0)] * 4, dtype=[("a", int), ("b", float)]), np.zeros((0, 2)), np.zeros(())),
    *(np.array(["2026-03-02T08:00"] * 4, dtype="M8[s]"), np.array([5, 6, 7, 8], dtype="m8[m]")),
    *(pd.Series([0, 1, 2, 3]), pd.DataFrame(MATRIX), pd.DataFrame(POINTS, columns=["x", "y"])),
    *(pd.Series([0, None, 2, 3], dtype="Int64"), pd.DataFrame(MATRIX, index=list("abca"))),
    *(pd.Series(["a", "b", "c", "d"], dtype="category"), pd.DataFrame(), pd.Series(dtype=float)),
    *(
        [0, 1, 2, 3],
        [0, 1, 2, "3"],
        [0, None, 2, 3],
        [[0, 9]] * 4,
        [(0, 9), (0, 9)],
        [["0", "9"]] * 4,
    ),
    *([("08:00", "09:00")] * 4, [(None, None)] * 4, [(dt.time(8), dt.time(9))] * 4, "abcd", "0123"),
    *([(dt.datetime(2026, 3, 2, 8), None)] * 4, [dt.timedelta(minutes=5)] * 4, [True] * 4),
    *([[1, 2], [3, 0]], [(1, 2)], [("a", "b")], {"a": 1}, {0: 0, 1: 1}, [[[1]]] * 4, [1e99] * 4),
)
_FEATURES = (
    *("durations", "depots", "demand", "capacity", "load_rule", "windows", "service", "max_length"),
    *("open_routes", "backhaul_last", "prize", "penalty", "min_prize", "revealed_prize", "pairs"),
    *("maximise_prize", "max_routes", "variant", "name", "ids", "places", "geographic", "clock"),
    "time_unit",
)
_number = st.sampled_from(PLAIN_NUMBERS)
# What usually fits four nodes, so that not everything is refused.
_FITTING: dict[str, st.SearchStrategy[Any]] = {
    "demand": st.tuples(st.just(0), _number, _number, _number).map(list),
    "capacity": _number,
    "service": st.tuples(st.just(0), _number, _number, _number),
    "windows": st.lists(st.tuples(_number, _number).map(sorted), min_size=4, max_size=4),
    "max_length": _number,
    "prize": st.lists(_number, min_size=4, max_size=4),
    "penalty": st.lists(st.sampled_from((*PLAIN_NUMBERS, float("inf"))), min_size=4, max_size=4),
    "min_prize": _number,
    "max_routes": st.integers(0, 4),
    "depots": st.lists(st.integers(0, 3), max_size=3),
    "open_routes": st.booleans(),
    "maximise_prize": st.booleans(),
    "load_rule": st.sampled_from(("single", "separate", "paper")),
    "variant": st.sampled_from(("CVRP", "TSP", "OP", "OCVRPTW", "PCTSP", "AMDOCVRPBPLTW", "ACVRP")),
    "ids": st.lists(st.sampled_from(ENTRIES), min_size=4, max_size=4),
}


@st.composite
def features(draw: st.DrawFn) -> dict[str, Any]:
    """Keywords of a problem: some fit four nodes, some are anything."""
    given = {}
    for name in draw(st.lists(st.sampled_from(sorted(_FITTING)), max_size=4, unique=True)):
        given[name] = draw(_FITTING[name])
    if draw(st.booleans()):
        name = draw(st.sampled_from(_FEATURES))
        given[name] = draw(st.sampled_from(FIELDS))
    return given


@st.composite
def tables(draw: st.DrawFn, whole: list[list[Any]], *, symmetric: bool = False) -> Any:
    """A table of numbers as it should be, with an entry replaced, or anything at all."""
    rows = copy.deepcopy(whole)
    kind = draw(st.integers(0, 9))
    if kind < 5:
        place, turn = draw(st.integers(0, 3)), draw(st.integers(0, len(rows[0]) - 1))
        rows[place][turn] = draw(_number)
    elif kind == 5:
        rows[draw(st.integers(0, 3))][0] = draw(st.sampled_from(ENTRIES))
    elif kind == 6:
        del rows[draw(st.integers(0, 3))]
    elif kind == 7:
        return np.array(rows, dtype=draw(st.sampled_from(("f2", "f4", "i1", "i8", "O", "g"))))
    elif kind == 8:
        return draw(st.sampled_from(FIELDS))
    return rows


@st.composite
def frames(draw: st.DrawFn) -> Any:
    """A table of stops: a data frame or columns by name, with cells of any kind."""
    columns: dict[str, list[Any]] = {"x": [0, 3, 0, 3], "y": [0, 0, 4, 4]}
    if draw(st.booleans()):
        columns = {"lon": [row[0] for row in LONLAT], "lat": [row[1] for row in LONLAT]}
    for name in draw(st.lists(st.sampled_from(WORDS[:25]), max_size=5, unique=True)):
        usual = draw(st.booleans())
        cells = _number if usual else st.sampled_from(ENTRIES)
        columns[name] = draw(st.lists(cells, min_size=4, max_size=4))
    kind = draw(st.integers(0, 7))
    if kind == 0:
        columns[draw(st.sampled_from(WORDS[:25]))] = draw(st.sampled_from(FIELDS))
        return columns
    if kind == 1:
        return draw(st.sampled_from(FIELDS))
    if kind < 5:
        return columns
    try:
        frame = pd.DataFrame(columns)
    except Exception:  # what pandas itself refuses cannot reach us
        return columns
    if kind == 5:
        frame.columns = [draw(st.sampled_from((*WORDS[:25], 3, "a\nb"))) for _ in frame.columns]
    return frame


_DOCUMENTS = {
    "ortools": ("ortools", "ortools-pairs"),
    "table": ("osrm", "ors", "valhalla", "google"),
    "vroom": ("vroom", "vroom-shipments", "vroom-fleet", "vroom-day"),
}


@st.composite
def fleets(draw: st.DrawFn) -> Any:
    """A table of vehicles with cells of any kind; some of them fit."""
    count = draw(st.integers(0, 3))
    columns: dict[str, list[Any]] = {}
    names = [name for several in VEHICLE_COLUMNS.values() for name in several]
    for name in draw(st.lists(st.sampled_from((*names, "capacity_kg", "Driver")), max_size=6)):
        cells = st.sampled_from(ENTRIES) if draw(st.integers(0, 3)) == 0 else _number | st.none()
        columns[name] = [draw(cells) for _ in range(count)]
    return columns if draw(st.integers(0, 9)) else draw(st.sampled_from(FIELDS))


@st.composite
def mappings(draw: st.DrawFn, kind: str) -> Any:
    """A document of another program with values that JSON cannot hold, or anything at all."""
    if draw(st.integers(0, 15)) == 0:
        return draw(st.sampled_from(FIELDS))
    _, document = draw(damaged_trees(_DOCUMENTS[kind]))
    if draw(st.integers(0, 2)) == 0 and document:
        key = draw(st.sampled_from(sorted(document)))
        document[key] = draw(st.sampled_from((*FIELDS, np.array(MATRIX), np.array([0, 3, 4, 5]))))
    return document


def any_data() -> st.SearchStrategy[Any]:
    """What ``Problem.from_data`` may be handed."""
    own = st.tuples(
        st.sampled_from(("coordinates", "lonlat", "matrix")), tables(MATRIX), features()
    ).map(lambda parts: {parts[0]: parts[1], **parts[2]})
    keyed = st.dictionaries(
        st.sampled_from(ENTRIES[:60]).filter(_is_key), st.integers(), max_size=3
    )
    whole = [one for name, one in documents().items() if not name.startswith(("own", "python"))]
    return st.one_of(
        own, frames(), *map(mappings, _DOCUMENTS), keyed, st.sampled_from((*whole, *FIELDS))
    )


def _is_key(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
