"""Tables of stops: data frames, and columns by name."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.problems.sources.frame import COLUMNS, ColumnWarning

pandas = pytest.importorskip("pandas", reason="frames are of pandas")

STOPS = {
    "id": ["a", "hub", "b", "c"],
    "x": [3, 0, 3, 0],
    "y": [0, 0, 4, 4],
    "depot": [None, "yes", None, "no"],
    "demand": [2, None, 5, 1],
}


@pytest.mark.parametrize("make", [pandas.DataFrame, dict])
def test_a_table_and_what_stands_beside_it(make: Any) -> None:
    problem = Problem.from_frame(make(STOPS), capacity=8)
    assert problem.ids == ("a", "hub", "b", "c")
    assert problem.depots == (1,)
    assert problem.demand.tolist() == [2, 0, 5, 1]
    assert problem.distances.between(1, 2) == 5
    assert problem.variant_name == "CVRP"


def test_the_first_row_is_the_depot_where_none_is_marked() -> None:
    table = {key: STOPS[key] for key in ("id", "x", "y")}
    assert Problem.from_frame(table).depots == (0,)
    assert Problem.from_frame(table, depots="hub").depots == (1,)
    assert Problem.from_frame(table, depots=()).variant_name == "TSP"


def test_dates_and_times_of_pandas() -> None:
    day = pandas.Timestamp("2026-03-02")
    frame = pandas.DataFrame(
        {
            "x": [0, 3, 3],
            "y": [0, 0, 4],
            "open": [day + pandas.Timedelta(hours=8), pandas.NaT, day + pandas.Timedelta(hours=9)],
            "close": [day + pandas.Timedelta(hours=18), pandas.NaT, pandas.NaT],
            "service": pandas.to_timedelta([0, 10, 5], unit="min"),
        }
    )
    problem = Problem.from_frame(frame, time_unit="min")
    assert problem.windows.tolist() == [[0, 600], [0, math.inf], [60, math.inf]]
    assert problem.service.tolist() == [0, 10, 5]
    assert problem.clock.moment(3.0) == datetime(2026, 3, 2, 8, 3)
    assert problem.variant_name == "depot+several_routes+time_windows"


def test_numbers_with_gaps_have_no_limit() -> None:
    table = {"x": [0, 1], "y": [0, 0], "open": [None, 5], "close": [9, math.nan]}
    assert Problem.from_frame(table).windows.tolist() == [[0, 9], [5, math.inf]]


def test_names_are_found_whatever_their_case() -> None:
    frame = pandas.DataFrame(
        {"Name": [1, 2], "Longitude": [13.3, 13.4], "LAT": [52.5, 52.6], "Speed kmh": [36, None]}
    )
    problem = Problem.from_frame(frame)
    assert problem.geographic
    assert problem.ids == (1, 2)
    metres = problem.distances.between(0, 1)
    assert problem.durations.between(0, 1) == pytest.approx(metres / 10)


def test_names_of_your_own() -> None:
    frame = pandas.DataFrame({"easting": [0, 3], "northing": [0, 4], "kg": [0, 2], "x": [9, 9]})
    with pytest.warns(ColumnWarning, match="columns left out: 'x'"):
        problem = Problem.from_frame(
            frame, columns={"x": "easting", "y": "northing", "demand": "kg"}, capacity=2
        )
    assert problem.distances.between(0, 1) == 5
    assert problem.demand.tolist() == [0, 2]


def test_one_value_for_all_stands_in_any_row() -> None:
    table = {
        "x": [0, 1, 2],
        "y": [0, 0, 0],
        "demand": [0, 1, 1],
        "capacity": [None, 8, None],
        "vehicles": [2.0, math.nan, 2.0],
        "max_length": [None, None, 40],
    }
    problem = Problem.from_frame(table)
    assert (problem.capacity, problem.max_routes, problem.max_length) == (8, 2, 40)
    assert Problem.from_frame(table, capacity=9).capacity == 9  # what is said beside it counts


def test_deliveries_pickups_and_pairs() -> None:
    table = {"x": [0, 1, 2], "y": [0, 0, 0], "delivery": [0, 3, None], "pickup": [0, 0, 2]}
    assert Problem.from_frame(table, capacity=5).demand.tolist() == [0, 3, -2]
    paired = {
        "id": ["hub", "d1", "p1"],
        "x": [0, 1, 2],
        "y": [0, 0, 0],
        "demand": [0, 4, -4],
        "pickup_id": [None, "p1", None],
    }
    assert Problem.from_frame(paired, capacity=5).pairs == ((2, 1),)


def test_a_matrix_beside_a_table_has_its_own_order() -> None:
    """Labels match the ids, wherever they stand; a gap is a road that is not there."""
    order = ["b", "hub", "a"]
    roads = pandas.DataFrame(
        [[0, 10, 20], [30, 0, 40], [np.nan, 60, 0]], index=order, columns=order
    )
    table = {"id": ["hub", "a", "b"], "x": [0, 1, 2], "y": [0, 0, 0]}
    problem = Problem.from_frame(table, matrix=roads)
    assert problem.distances.matrix().tolist() == [[0, 40, 30], [60, 0, math.inf], [10, 20, 0]]
    assert problem.places is not None
    assert not problem.geographic
    alone = Problem.from_matrix(roads)
    assert alone.ids == ("b", "hub", "a")
    plain = Problem.from_matrix(pandas.DataFrame([[0, 1], [2, 0]]), ids=["u", "v"])
    assert plain.ids == ("u", "v")


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"demand": [1, 2]}, "demand: expected 4 rows, received 2"),
        ({"demand": [0, 0, "heavy", 0]}, "demand, node 2: expected a number, received 'heavy'"),
        ({"demand": 5}, "a column of values"),
        ({"depot": ["maybe"] * 4}, "depot, node 0: expected yes, no, or nothing"),
        ({"y": None}, "y: expected a column of values"),
        ({"is_depot": [1, 0, 0, 0]}, "depot: expected one column"),
        ({"delivery": [1, 0, 1, 1]}, "demand: expected nothing beside 'delivery', rec.* 'demand'"),
        ({"pickup_id": [None, None, None, "z"]}, "pickup_id, node 3: expected an id"),
        ({"capacity": [8, 9, None, None]}, "capacity, node 1: expected one value .* 8 and 9"),
        ({"capacity": [None, None, "lots", 8]}, "capacity, node 2: expected a number, .* 'lots'"),
        ({"vehicles": [None, 1.5, None, None]}, "max_routes, node 1: expected a whole number"),
        ({"id": ["a", "a", "b", "c"]}, "an id of its own"),
        ({"id": [[1], "a", "b", "c"], "pickup_id": [None] * 4}, "a text or a number"),
        ({3: [1, 2, 3, 4]}, "columns with names"),
    ],
)
def test_refused(change: dict[Any, Any], part: str) -> None:
    with pytest.raises(ProblemError, match=part):
        Problem.from_frame({**STOPS, **change})


def test_more_that_is_refused() -> None:
    both = Problem.from_frame({"x": [0, 1], "y": [0, 0], "delivery": [0, 1], "pickup": [0, 2]})
    assert (both.demand.tolist(), both.pickups.ravel().tolist()) == ([0, 1], [0, 2])
    with pytest.raises(ProblemError, match="at least one row"):
        Problem.from_frame(pandas.DataFrame({"x": [], "y": []}))
    with pytest.raises(ProblemError, match="lat: expected a column of its own"):
        Problem.from_frame({"lon": [1, 2]})
    with pytest.raises(ProblemError, match="coordinates, lonlat or a matrix"):
        Problem.from_frame({"demand": [0, 2]})
    with pytest.raises(ProblemError, match="demand: expected a column 'kg'"):
        Problem.from_frame(STOPS, columns={"demand": "kg"})
    with pytest.raises(ProblemError, match="fields such as demand"):
        Problem.from_frame(STOPS, columns={"demands": "demand"})
    labels = pandas.DataFrame([[0, 1], [1, 0]], index=["a", "b"], columns=["a", "c"])
    with pytest.raises(ProblemError, match="columns labelled with the 2 ids"):
        Problem.from_matrix(labels)


def test_priorities_setups_and_releases() -> None:
    table = {
        "x": [0, 1, 2],
        "y": [0, 0, 0],
        "demand": [0, 1, 1],
        "open": ["08:00", None, None],
        "close": ["18:00", None, None],
        "priority": [None, 3.0, None],  # a column with gaps holds floats
        "setup_time": [None, 5, 7],
        "release": [None, None, "09:30"],
    }
    problem = Problem.from_frame(table, time_unit="min")
    assert problem.priority.tolist() == [0, 3, 0]
    assert problem.setup.tolist() == [0, 5, 7]
    assert problem.release.tolist()[2] == 90  # minutes after eight
    with pytest.raises(ProblemError, match="expected a whole number"):
        Problem.from_frame({**table, "priority": [None, 1.5, None]}, time_unit="min")


def test_a_pair_stands_beside_a_stop_with_both_amounts() -> None:
    table = {
        "id": ["hub", "shop", "home", "clinic", "back"],
        "x": [0, 1, 2, 3, 4],
        "y": [0, 0, 0, 0, 0],
        "delivery": [None, 5, None, 2, None],
        "pickup": [None, 1, 2, None, 3],
        "pickup_id": [None, None, None, "home", None],
    }
    problem = Problem.from_frame(table, capacity=9)
    assert problem.pairs == ((2, 3),)
    assert problem.demand.tolist() == [0, 5, -2, 2, -3]
    assert problem.pickups.ravel().tolist() == [0, 1, 0, 0, 0]
    # 5 for the shop, whose 1 stays on board; 2 from home to the clinic; 3 to the hub.
    plan = Solution.judged(problem, [[0, 1, 2, 3, 4, 0]]).plan
    assert [stop.load for stop in plan.routes[0].stops] == [5, 1, 3, 1, 4, 4]


def test_every_column_is_in_the_documentation() -> None:
    from pathlib import Path

    page = Path(__file__).parents[3] / "docs" / "how-to" / "data-frame.md"
    text = page.read_text(encoding="utf-8")
    for names in COLUMNS.values():
        for name in names:
            assert f"`{name}`" in text, name


LOADED = {"x": [0, 3, 0], "y": [0, 4, 4], "kg": [None, 20, 8], "m3": [0, 5, 2]}


def test_several_kinds_of_load() -> None:
    columns = {"demand": ["kg", "m3"]}
    problem = Problem.from_frame(pandas.DataFrame(LOADED), columns=columns, capacity=[30, 9])
    assert problem.loads.tolist() == [[0, 0], [20, 5], [8, 2]]
    assert problem.capacities == (30, 9)
    limited = {**LOADED, "max kg": [30, None, None], "max m3": [None, 9, 9]}
    both = {**columns, "capacity": ["max kg", "max m3"]}
    assert Problem.from_frame(limited, columns=both).capacities == (30, 9)
    # The kind may stand in the name.
    named = {"x": [0, 3, 0], "y": [0, 4, 4], "demand_kg": [0, 20, 8], "Demand m3": [0, 5, 2]}
    named |= {"capacity_m3": [9, None, None], "capacity_kg": [30, None, None]}
    assert Problem.from_frame(named).capacities == (30, 9)
    assert Problem.from_frame(named).loads.tolist() == problem.loads.tolist()
    del named["capacity_m3"]
    assert Problem.from_frame(named).capacities == (30, math.inf)
    own = {**LOADED, "capacity_kg": [30, 30, 30]}
    assert Problem.from_frame(own, columns=columns).capacities == (30, math.inf)
    parted = {"x": [0, 1, 2], "y": [0, 0, 0], "a": [0, 1, 0], "b": [0, 2, 0], "c": [0, 0, 3]}
    taken = {**parted, "d": [0, 0, 4]}
    signed = Problem.from_frame(
        taken, columns={"delivery": ["a", "b"], "pickup": ["c", "d"]}, capacity=[9, 9]
    )
    assert signed.loads.tolist() == [[0, 0], [1, 2], [-3, -4]]


@pytest.mark.parametrize(("table", "columns", "part"), [
    (LOADED, {"demand": ["kg", "lb"]}, "demand: expected a column 'lb', received 'x', 'y'"),
    (LOADED, {"demand": ["kg", 3]}, "columns, demand: expected a column 3, received 'x', 'y'"),
    (LOADED, {"demand": []}, "columns: expected one column for demand"),
    (LOADED, {"service": ["kg", "m3"]}, "columns: expected one column for service"),
    (LOADED, {"demand": ["kg", "m3"], "pickup": "kg"}, "nothing beside 'kg', received 'kg', 'm3'"),
    ({**LOADED, "demand_kg": [0, 5, 3], "demand_m3": [0, 1, 1], "pickup": [0, 1, 0]}, None,
     "demand: expected nothing beside 'pickup', received 'demand_kg', 'demand_m3'"),
    (LOADED, {"delivery": ["kg", "m3"], "pickup": "kg"}, "pickup: expected 2 columns"),
    ({**LOADED, "capacity_kg": [9, 9, 9], "capacity_m4": [9, 9, 9]}, {"demand": ["kg", "m3"]},
     "capacity: expected a column demand_m4 beside it, received 'capacity_m4'"),
    (LOADED | {"lon": [1, 2, 3], "lat": [4, 5, 6]}, {"x": "x", "lat": "lat"}, "received both"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::spacevrp.problems.sources.frame.ColumnWarning")
def test_kinds_of_load_refused(table: Any, columns: Any, part: str) -> None:
    with pytest.raises(ProblemError, match=part):
        Problem.from_frame(table, columns=columns)


def test_a_demand_beside_others_is_the_demand() -> None:
    table = {**STOPS, "demand_last_year": [9, 9, 9, 9], "capacity_last_year": [9, 9, 9, 9]}
    said = "columns left out: 'demand_last_year', 'capacity_last_year'"
    with pytest.warns(ColumnWarning, match=said):
        problem = Problem.from_frame(table, capacity=8)
    assert problem.kinds_of_load == 1


def test_an_index_called_id_has_the_ids() -> None:
    frame = pandas.DataFrame(STOPS).set_index("id")
    assert Problem.from_frame(frame).ids == ("a", "hub", "b", "c")
    kept = pandas.DataFrame(STOPS).set_index("id", drop=False)
    assert Problem.from_frame(kept).ids == ("a", "hub", "b", "c")
    with pytest.raises(ProblemError, match="id: expected one column, received 'id' twice"):
        Problem.from_frame(kept.assign(id=["c", "b", "hub", "a"]))
    with pytest.raises(ProblemError, match="id: expected one column, received 'name' and 'id'"):
        Problem.from_frame(frame.assign(name=list("wxyz")))
    with pytest.warns(ColumnWarning, match="columns left out: 'id'"):
        chosen = Problem.from_frame(frame.assign(name=list("wxyz")), columns={"id": "name"})
    assert chosen.ids == ("w", "x", "y", "z")
    assert Problem.from_frame(frame.rename_axis("shelf")).ids is None


def test_of_degrees_and_a_plane_one_counts() -> None:
    table = {"x": [0, 3], "y": [0, 4], "lon": [13, 13.1], "lat": [52, 52]}
    with pytest.warns(ColumnWarning, match="columns left out: 'x', 'y'"):
        assert Problem.from_frame(table).geographic
    with pytest.warns(ColumnWarning, match="columns left out: 'lon', 'lat'"):
        plane = Problem.from_frame(table, columns={"x": "x"})
    assert plane.distances.between(0, 1) == 5
    del table["lat"]
    with pytest.warns(ColumnWarning, match="columns left out: 'lon'"):
        assert Problem.from_frame(table).distances.between(0, 1) == 5


def test_a_unit_of_time_in_the_table() -> None:
    table = {"lon": [13, 13.1], "lat": [52, 52], "speed_kmh": [60, None], "time_unit": ["min", ""]}
    problem = Problem.from_frame(table)
    assert problem.time_unit == "min"
    kilometres = problem.distances.between(0, 1) / 1000
    assert problem.durations.between(0, 1) == pytest.approx(kilometres)  # a minute each
    assert Problem.from_frame(table, time_unit="h").time_unit == "h"
    with pytest.raises(ProblemError, match="time_unit, node 1: expected one value for all"):
        Problem.from_frame({**table, "time_unit": ["s", "h"]})
