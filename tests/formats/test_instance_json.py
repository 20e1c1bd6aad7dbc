"""JSON instances: every problem comes back equal, and every wrong field is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import save
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import problems, ruled_problems
from related_problems import related, ridden

from spacevrp.cli.main import main
from spacevrp.formats import read, read_json, read_solution, write, write_json, write_solution
from spacevrp.formats.instance_json import instance_document, instance_of
from spacevrp.problems.errors import FormatError, SpacevrpError, UnsupportedError
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.leniency import unservable_allowed
from spacevrp.problems.problem import Problem
from spacevrp.problems.relations import has_jobs_beside_pairs
from spacevrp.problems.solution import Solution
from spacevrp.problems.variants import VARIANTS

pytestmark = pytest.mark.filterwarnings("error::spacevrp.formats.FormatWarning")

DOCUMENT = {
    "format": "spacevrp-instance",
    "version": 1,
    "name": "yard",
    "locations": [[0, 0], [3, 0], [0, 4]],
    "depots": [0],
    "demand": [0, 2, 5],
    "capacity": 7,
    "windows": [[0, None], [1, 20], [2.5, 30]],
    "service": [0, 1, 2],
}


def test_a_plain_document(tmp_path: Path) -> None:
    problem = read(save(tmp_path, DOCUMENT))
    assert problem.name == "yard"
    assert problem.distances.between(1, 2) == 5
    assert problem.windows.tolist() == [[0, np.inf], [1, 20], [2.5, 30]]
    assert (problem.capacity, problem.max_length, problem.max_routes) == (7, np.inf, None)
    assert (problem.load_rule, problem.variant, problem.variant_name) == (
        "separate",
        None,
        "CVRPTW",
    )


def test_the_callers_rounding_and_variant_come_first(tmp_path: Path) -> None:
    held = DOCUMENT | {"locations": [[0, 0], [1, 1], [0, 1]], "max_routes": 4}
    problem = read_json(save(tmp_path, held), rounding="up", variant="OCVRPTW")
    assert problem.distances.between(0, 1) == 2
    assert (problem.variant, problem.open_routes, problem.max_routes) == ("OCVRPTW", True, 4)


def test_a_weight_of_the_cost_alone_is_kept(tmp_path: Path) -> None:
    points = [[0.0, 0.0], [3.0, 4.0]]
    problem = Problem.from_coordinates(points, objective={"weights": {"cost": 0.5}})
    write(problem, tmp_path / "half.json")
    assert read(tmp_path / "half.json").objective.weights == (("cost", 0.5),)


# ------------------------------------------------------------------------- random problems survive


@given(
    problem=problems | ruled_problems | related | ridden,
    name=st.text(max_size=5),
    declare=st.booleans(),
)
@settings(max_examples=80)
def test_every_problem_survives(tmp_path_factory, problem, name, declare):
    # In a declared variant with pairs everybody has a partner.
    if declare and problem.variant_name in VARIANTS and not has_jobs_beside_pairs(problem):
        problem = problem.replace(variant=problem.variant_name)
    elif declare and problem.prize.any():
        problem = problem.replace(revealed_prize=0.3 * problem.prize)
    path = tmp_path_factory.getbasetemp() / "survivor.json"
    write_json(path, problem.replace(name=name))
    with unservable_allowed():
        again = read_json(path)
    assert again == problem
    assert again.name == (name or "survivor")
    json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)  # plain JSON


def test_equal_problems_give_equal_files(tmp_path: Path) -> None:
    problem = read_json(save(tmp_path, DOCUMENT))
    write(problem, tmp_path / "one.json")
    write(read_json(tmp_path / "one.json"), tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


# ------------------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize(("changes", "words"), [
    ({"demands": [1]}, "unknown key 'demands'; the nearest known one is 'demand'"),
    ({"depot": 0}, "unknown key 'depot'; the nearest known one is 'depots'"),
    ({"format": "other"}, "format: expected 'spacevrp-instance', received \"other\""),
    ({"version": 2}, "version: expected 1, received 2"),
    ({"version": True}, "version: expected 1, received true"),
    ({"matrix": [[0]]}, "expected either 'locations' or 'matrix', received locations and mat"),
    ({"coordinates": [[0, 0]]}, "expected either .*, received locations and coordinates"),
    ({"lonlat": [[0, 0]]}, "lonlat: expected nothing beside it, received locations and lonlat"),
    ({"speed_kmh": 30}, "speed_kmh: expected nothing without lonlat"),
    ({"depots": ["hub"]}, "depots: expected whole node numbers, received 'hub'"),
    ({"locations": None}, "locations: expected a list, received null"),
    ({"locations": [[0, 0], [1]]}, r"locations, node 1: expected .* shape, received \[1\]"),
    ({"metric": {"geometry": "flat"}}, "metric: expected one of .*, received 'flat'"),
    ({"metric": {"shape": "flat"}}, "metric, unknown key 'shape'"),
    ({"metric": 5}, "metric: expected geometry and rounding"),
    ({"depots": 0.5}, "depots: expected node numbers, received 0.5"),
    ({"demand": [0, 2]}, r"demand: expected 3 numbers, one a node, received shape \(2,\)"),
    ({"demand": [0, True, 1]}, "demand, node 1: expected a number, received true"),
    ({"demand": [0, 8, 1]}, "demand, node 1: expected at most the capacity 7.0, received 8.0"),
    ({"variant": "VRP"}, "variant 'VRP' is not legal"),
    ({"variant": "CVRP"}, "variant: expected a variant with time_windows, received CVRP"),
    ({"durations": {"locations": [[0, 0]], "kind": 1}}, "durations, unknown key 'kind'"),
    ({"durations": [[0, -1], [1, 0]]}, "durations, node 0: expected distances of at least 0"),
])  # fmt: skip
def test_a_wrong_field_is_named(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(FormatError, match=rf"^{tmp_path}/case\.json: {words}") as caught:
        read(save(tmp_path, DOCUMENT | changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "expected a JSON object, received list"),
        ('{"locations": [[0, 0], [1, NaN]]}', "NaN is no number of JSON; write null for infinity"),
        ('{"capacity": Infinity}', "Infinity is no number of JSON"),
        ('{"locations": [[0, 0], [1, 1e999]]}', "locations, node 1: expected a finite number"),
        ('{"name": "a", "name": "b"}', "the key name stands twice"),
        ('{"name": "a"\n "b": 1}', "line 2: not JSON: Expecting ',' delimiter"),
        ('{"instances": []}', "expected an instance, received a solution"),
        ('{"name": ' + "[" * 100_000, "brackets nested too deeply"),
        ('{"name": ' + "9" * 10_000 + "}", "not read: Exceeds the limit"),
    ],
    ids=lambda text: text[:30],
)
def test_a_wrong_text_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words) as caught:
        read(save(tmp_path, text, "case.json"))
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------- the same dictionary in Python

BOTH = [
    {"coordinates": [[0, 0], [3, 0], [0, 4]]},
    {"coordinates": [[0, 0], [3, 0], [0, 4]], "demand": [0, 1, 1], "capacity": 2},
    {"coordinates": [[0, 0], [3, 0], [0, 4]], "variant": "TSP"},
    {"coordinates": [[0, 0], [3, 0], [0, 4]], "depots": 1, "metric": "manhattan"},
    {"coordinates": [[0, 0], [3, 0], [0, 4]], "depots": ["b"], "ids": ["a", "b", "c"]},
    {"lonlat": [[13, 52], [13.1, 52]], "speed_kmh": 30, "windows": [[0, 9000], [0, 900]]},
    {"lonlat": [[13, 52], [13.1, 52]], "durations": [[0, 60], [70, 0]], "service": [0, 5]},
    {"matrix": [[0, 1], [1, 0]], "demand": [0, 1], "capacity": 2, "depots": [0]},
    {"matrix": [[0, 1], [1, 0]], "windows": [[None, None], [5, 6]], "depots": [0]},
    {"matrix": [[0, 1], [1, 0]], "ids": [5, 6], "depots": [6], "max_routes": 2},
    {"x": [0, 3], "y": [0, 4], "demand": [0, 1], "capacity": [2, None]},
]


@pytest.mark.parametrize("data", BOTH)
def test_a_file_and_python_read_the_same(tmp_path: Path, data: dict[str, Any]) -> None:
    assert read(save(tmp_path, data)) == Problem.from_data(data)


def test_a_file_says_its_depots(tmp_path: Path) -> None:
    """In Python node 0 is the depot; a file with a matrix is a tour unless it names one."""
    data = {"matrix": [[0, 1], [1, 0]], "demand": [0, 1], "capacity": 2}
    assert Problem.from_data(data).depots == (0,)
    with pytest.raises(FormatError, match=r'write "depots": \[0\] for node 0$'):
        read(save(tmp_path, data))
    with pytest.raises(FormatError, match=r"nothing without a depot, received a value$"):
        read(save(tmp_path, {**data, "depots": []}))


def test_what_is_not_rounded(tmp_path: Path) -> None:
    points = {"coordinates": [[0, 0], [1, 2], [2, 0]], "metric": {"rounding": "up"}}
    assert read_json(save(tmp_path, points)).distances.between(0, 1) == 3
    assert read_json(save(tmp_path, points), rounding="down").distances.between(0, 1) == 2
    with pytest.raises(UnsupportedError, match="does not apply to longitudes"):
        read_json(save(tmp_path, {"lonlat": [[0, 0], [1, 1]]}), rounding="up")


@settings(max_examples=30, deadline=None)
@given(st.permutations([0, 1, 2, 3, 4]), st.booleans())
def test_ids_that_are_numbers_survive(tmp_path_factory, ids, named):
    """Depots, pairs and the nodes of vehicles are the same after writing, whatever ids are."""
    if named:
        ids[2] = "hub"  # texts and numbers side by side
    points = [(0, 0), (1, 0), (2, 1), (0, 3), (4, 4)]
    pairs = [(ids[0], ids[1]), (ids[3], ids[4])]
    paired = Problem.from_coordinates(points, ids=ids, depots=[ids[2]], pairs=pairs)
    types = [{"name": "big", "start": ids[2], "pinned": [ids[4]]}, {"start": ids[2], "end": ids[2]}]
    fleet = Problem.from_coordinates(points, ids=ids, depots=ids[2], vehicles=types)
    path = tmp_path_factory.mktemp("ids") / "case.json"
    for problem in (paired, fleet):
        assert problem.depots == (2,)
        write_json(path, problem)
        assert read_json(path) == problem
    assert fleet.fleet[0].pinned == (4,)


# ---------------------------------------------------------------------------------- instance lonlat


VIENNA = [(16.37, 48.2), (16.4, 48.22), (16.35, 48.19), (16.3, 48.25)]
degrees = st.tuples(st.floats(-180, 180), st.floats(-80, 80))


@settings(max_examples=60, deadline=None)
@given(
    points=st.lists(degrees, min_size=2, max_size=8),
    speed=st.one_of(st.none(), st.floats(0.5, 200).map(lambda one: round(one, 3))),
    unit=st.sampled_from(["s", "min", "h"]),
)
def test_what_is_written_in_short_reads_back_as_the_same(
    points: list[tuple[float, float]], speed: float | None, unit: str
) -> None:
    timed = {} if speed is None else {"speed_kmh": speed, "time_unit": unit}
    problem = Problem.from_lonlat(points, demand=[0] + [1] * (len(points) - 1), **timed)
    document = instance_document(problem, tables=False)
    again = instance_of(Path("instance.json"), document)
    assert instance_document(again) == instance_document(problem) | {"name": "instance"}


def test_tables_are_left_out_only_where_they_follow() -> None:
    problem = Problem.from_lonlat(VIENNA, speed_kmh=30, time_unit="min")
    document = instance_document(problem, tables=False)
    assert document["lonlat"] == [list(point) for point in VIENNA]
    assert document["speed_kmh"] == 30
    assert not {"matrix", "durations", "places", "geographic"} & set(document)
    longer = instance_document(problem)
    for key in ("matrix", "durations"):  # a road that is longer, or slower, than as the crow flies
        held = [list(row) for row in longer[key]]
        held[1][2] *= 1.01
        other = instance_of(Path("instance.json"), longer | {key: held})
        document = instance_document(other, tables=False)
        assert document["matrix"] == (held if key == "matrix" else longer["matrix"])
        assert "lonlat" not in document


@pytest.mark.parametrize("tables", [True, False])
def test_a_plane_stays_a_plane(tables: bool) -> None:
    problem = Problem.from_coordinates([(0, 0), (3, 4)])
    assert instance_document(problem, tables=tables)["locations"] == [[0, 0], [3, 4]]


# ------------------------------------------------------------------------------------ vehicles json


PLACES = [(0, 0), (3, 0), (3, 4), (0, 4), (6, 0)]
FLEET = (
    Vehicle("van", 2, (10.0, 3.0), start=0, end=4, fixed_cost=100.0, max_length=30.5),
    Vehicle("bike", capacity=(5.0, float("inf")), start=0, open_route=True, forbidden=(2,)),
    Vehicle(start=4, window=(1.5, float("inf")), allowed=(1, 3), pinned=(3,)),
)


def mixed(**features: Any) -> Problem:
    demand = [[0, 0], [4, 1], [5, 2], [5, 0.5], [0, 0]]
    given = {"demand": demand, "capacity": (9, 9), "depots": [0, 4], "vehicles": FLEET, **features}
    return Problem.from_coordinates(PLACES, **given)


def test_an_instance_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "mixed.json"
    write(mixed(name="mixed"), path)
    again = read(path)
    assert again == mixed()
    assert again.fleet == mixed().fleet
    held = json.loads(path.read_text())["vehicles"]
    assert held[0] == {
        "name": "van",
        "count": 2,
        "capacity": [10, 3],
        "start": 0,
        "end": 4,
        "fixed_cost": 100,
        "max_length": 30.5,
    }
    assert held[1]["capacity"] == [5, None]
    assert held[2]["window"] == [1.5, None]


def test_ids_and_dates_are_read(tmp_path: Path) -> None:
    document = {
        "locations": PLACES,
        "depots": [0],
        "ids": list("abcde"),
        "vehicles": [{"start": "a", "window": ["08:00", "17:00"], "forbidden": ["c"]}, {}],
    }
    problem = read(save(tmp_path, document))
    assert problem.fleet[0].forbidden == {2}
    assert problem.fleet[0].back_by == 9 * 3600


def test_services_are_a_table_whose_keys_are_numbers_of_nodes(tmp_path: Path) -> None:
    document = {"locations": PLACES, "depots": [0], "vehicles": [{"service": {"1": 5, "3": 2}}]}
    assert read(save(tmp_path, document)).fleet[0].service == ((1, 5.0), (3, 2.0))


@pytest.mark.parametrize(("change", "part"), [
    ({"vehicles": {}}, "vehicles: expected a list"),
    ({"vehicles": [3]}, "vehicles, type 0, type: expected a .*table of keys, received 3"),
    ({"vehicles": [{"capacty": 3}]}, "type 0, keys: expected .*'capacity'.* received 'capacty'"),
    ({"vehicles": [{"count": "two"}]}, "type 0, count: expected a whole number"),
    ({"vehicles": [{"pinned": [1.5]}]}, "type 0, pinned: expected numbers or ids of nodes"),
    ({"vehicles": [{"window": [1]}]}, "type 0, window: expected two moments"),
    ({"vehicles": []}, "vehicles: expected at least one type"),
    ({"demand": [[0], [1, 2], [0], [0], [0]]}, "demand, node 1: expected .* regular shape"),
    ({"demand": [[0], 1, [0], [0], [0]]}, "demand, node 1: expected .* regular shape"),
    ({"capacity": [1, 2]}, "capacity: expected a number"),
])  # fmt: skip
def test_mistakes_are_named(tmp_path: Path, change: dict[str, Any], part: str) -> None:
    with pytest.raises(FormatError, match=part):
        read(save(tmp_path, {"locations": PLACES, "depots": [0], **change}))


def test_solutions_name_their_vehicles(tmp_path: Path) -> None:
    problem = mixed()
    solution = Solution.judged(problem, [[0, 1, 2, 4], [4, 3, 4]], ["van", 2])
    assert solution.feasible
    path = tmp_path / "solution.json"
    write_solution(path, solution, problem=problem)
    (again,) = read_solution(path).instances
    assert again.vehicles == (0, 2)
    assert Solution.judged(problem, again.routes) == solution
    solution.save(tmp_path / "rows.csv")
    heading, first, *_ = (tmp_path / "rows.csv").read_text().splitlines()
    assert heading.startswith("route,vehicle,id,node")
    assert first.startswith("1,van,0,0,start")


def test_check_asks_for_the_vehicles_of_the_file(tmp_path, capsys):
    write(mixed(), tmp_path / "mixed.json")
    routes = [[0, 1, 2, 4], [4, 3, 4]]
    for vehicles, code, part in (
        (["van", 2], 0, "feasible"),
        ([1, 2], 1, "whom type 1 \\(bike\\) may not serve"),
        (None, 0, "feasible"),
        ([0, 3], 2, "expected a type from 0 to 2"),
    ):
        entry = {"routes": routes} if vehicles is None else {"routes": routes, "vehicles": vehicles}
        (tmp_path / "s.json").write_text(json.dumps({"instances": [entry]}))
        assert main(["check", str(tmp_path / "mixed.json"), str(tmp_path / "s.json")]) == code
        output = capsys.readouterr()
        assert part.replace("\\", "") in output.out + output.err


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    problem = Problem.from_coordinates(PLACES)
    with pytest.raises(UnsupportedError, match="instances are written as"):
        write(problem, tmp_path / "one.doc")
    with pytest.raises(SpacevrpError, match="path: expected the name of a file"):
        write(tmp_path / "one.json", problem)
    with pytest.raises(SpacevrpError, match="expected problems or a solution, received 'x'"):
        write("x", tmp_path / "one.json")


@pytest.mark.parametrize("suffix", [".npz", ".txt"])
def test_other_files_have_no_place_for_them(tmp_path: Path, suffix: str) -> None:
    plain = Problem.from_coordinates(
        PLACES, demand=[0, 4, 5, 5, 1], capacity=10, vehicles=[{}, {}], load_rule="single"
    )
    with pytest.raises(UnsupportedError, match="vehicles"):
        write(plain, tmp_path / f"batch{suffix}")
    kinds = Problem.from_coordinates(PLACES, demand=[[0, 0]] + [[1, 1]] * 4, capacity=(9, 9))
    with pytest.raises(UnsupportedError, match="kinds of load"):
        write(kinds, tmp_path / f"batch{suffix}")
    with pytest.raises(UnsupportedError, match="as many of a type as are needed"):
        Solution.judged(plain, [[0, 1, 2, 0], [0, 3, 4, 0]]).save(tmp_path / "plan.sol")
