"""JSON instances: every problem comes back equal, and every wrong field is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import problems, ruled_problems
from related_problems import related, ridden

from spacevrp.formats import read, read_json, write, write_json
from spacevrp.problems.errors import FormatError, UnsupportedError
from spacevrp.problems.leniency import unservable_allowed
from spacevrp.problems.problem import Problem
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


def save(folder: Path, document: object) -> Path:
    path = folder / "case.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


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


# ------------------------------------------------------------------------- random problems survive


@given(
    problem=problems | ruled_problems | related | ridden,
    name=st.text(max_size=5),
    declare=st.booleans(),
)
@settings(max_examples=80)
def test_every_problem_survives(tmp_path_factory, problem, name, declare):
    if declare and problem.variant_name in VARIANTS:
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
    write(tmp_path / "one.json", problem)
    write(tmp_path / "two.json", read_json(tmp_path / "one.json"))
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
    ({"depots": [3]}, "depots: expected 0 to 2, received 3"),
    ({"demand": [0, 2]}, r"demand: expected 3 numbers, one a node, received shape \(2,\)"),
    ({"demand": [0, True, 1]}, "demand, node 1: expected a number, received true"),
    ({"demand": [0, 8, 1]}, "demand, node 1: expected at most the capacity 7.0, received 8.0"),
    ({"windows": [[0, 1], [2, 1], [0, 1]]}, "windows, node 1: expected a window that closes"),
    ({"max_routes": 1.5}, "max_routes: expected a whole number or None, received 1.5"),
    ({"pairs": [[1, 2, 3]]},
     r"pairs: expected \(pickup, delivery\) node numbers, received \[1, 2, 3\]"),
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
    (tmp_path / "case.json").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=words) as caught:
        read(tmp_path / "case.json")
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
