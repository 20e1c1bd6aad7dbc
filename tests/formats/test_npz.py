"""The batch: all 110 variants survive, depots come first, and bad arrays are named."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacevrp.formats import FormatWarning, archive, load_arrays, read, read_npz, write, write_npz
from spacevrp.generators import generate_arrays
from spacevrp.problems.distances import Metric
from spacevrp.problems.errors import FormatError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS, Variant

pytestmark = pytest.mark.filterwarnings("error::spacevrp.formats.FormatWarning")

CUSTOMERS = 6


def small_arrays(name: str) -> dict[str, Any]:
    """A batch of a variant as a file holds it."""
    return generate_arrays(name, CUSTOMERS, 2)


def save(folder: Path, arrays: dict[str, Any], name: str = "batch.npz") -> Path:
    np.savez_compressed(folder / name, **arrays)
    return folder / name


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=lambda variant: variant.name)
def test_every_variant_survives(tmp_path: Path, variant: Variant) -> None:
    arrays = small_arrays(variant.name)
    problems = read_npz(save(tmp_path, arrays))
    assert len(problems) == 2
    for problem in problems:
        assert problem.variant == variant.name
        assert problem.depots == tuple(range(arrays["num_depots"]))
        assert problem.load_rule == "single"
        assert problem.open_routes == variant.features.open_routes
        assert problem.backhaul_last == variant.features.backhaul_last
        assert problem.maximise_prize == variant.features.orienteering
        assert (problem.max_routes == 1) != variant.features.several_routes
    again = tmp_path / "again.npz"
    write_npz(again, problems)
    assert read_npz(again) == problems
    written = load_arrays(again)
    assert written.keys() == arrays.keys()
    for key, held in arrays.items():
        assert np.array_equal(written[key], held), key


def test_the_numbers_land_where_they_belong(tmp_path: Path) -> None:
    coords = [[[0, 0], [3, 4], [6, 8]]]
    arrays = {"variant": "CVRPLTW", "num_depots": 1, "coords": coords, "demand": [[0, 2, 5]]}
    arrays |= {"capacity": [7], "max_length": [20], "service": [[0, 1, 2]]}
    arrays |= {"tw": [[[0, 40], [1, 15], [2, 30]]], "ref_best": [20.0], "ref_notes": ["x"]}
    (problem,) = read_npz(save(tmp_path, arrays))
    assert problem.distances.between(0, 1) == 5
    assert problem.demand.tolist() == [0, 2, 5]
    assert (problem.capacity, problem.max_length, problem.name) == (7, 20, "batch[0]")
    assert problem.windows.tolist() == [[0, 40], [1, 15], [2, 30]]
    assert problem.service.tolist() == [0, 1, 2]


def test_scalars_may_stand_for_the_whole_batch(tmp_path: Path) -> None:
    arrays = small_arrays("CVRPL") | {"capacity": 20, "max_length": np.float32(3.5)}
    held = load_arrays(save(tmp_path, arrays))
    assert held["capacity"].tolist() == [20, 20]
    assert held["max_length"].tolist() == [3.5, 3.5]


def test_any_memory_order_and_number_type(tmp_path: Path) -> None:
    arrays = small_arrays("CVRP")
    odd = arrays | {
        "coords": np.asfortranarray(arrays["coords"].astype(">f8")),
        "demand": arrays["demand"].astype(np.int16),
    }
    assert read_npz(save(tmp_path, odd)) == read_npz(save(tmp_path, arrays, "plain.npz"))


def test_unknown_keys_are_said_by_name(tmp_path: Path) -> None:
    arrays = small_arrays("CVRP")
    with pytest.warns(FormatWarning, match="unknown key demands left out"):
        problems = read_npz(save(tmp_path, arrays | {"demands": np.ones(3)}))
    assert problems == read_npz(save(tmp_path, arrays))


def test_a_batch_can_be_read_as_another_variant(tmp_path: Path) -> None:
    path = save(tmp_path, small_arrays("CVRP"))
    problems = read(path, variant="OCVRP", rounding="up")
    assert {(p.variant, p.open_routes, p.distances.metric.rounding) for p in problems} == {
        ("OCVRP", True, "up")
    }


def test_depots_go_first_and_customers_keep_their_order(tmp_path: Path) -> None:
    points = [[1.0, 0], [2, 0], [3, 0], [4, 0], [5, 0]]
    demand = [1.0, 0, 3, 0, 5]
    problem = Problem.from_coordinates(
        points, depots=(3, 1), demand=demand, capacity=9, windows=[[x, 50 + x] for x in range(5)]
    )
    write(problem, tmp_path / "batch.npz")
    (again,) = read_npz(tmp_path / "batch.npz")
    assert again.depots == (0, 1)
    assert again.distances.coordinates[:, 0].tolist() == [4, 2, 1, 3, 5]
    assert again.demand.tolist() == [0, 0, 1, 3, 5]
    assert again.windows[:, 0].tolist() == [3, 1, 0, 2, 4]
    assert again.variant == "MDCVRPTW"


def test_the_depots_penalty_is_written_as_nothing(tmp_path: Path) -> None:
    problem = Problem.from_coordinates(
        [[0, 0], [1, 0], [0, 1]],
        prize=[0, 1, 1],
        penalty=[np.inf, 0.5, np.inf],
        min_prize=1,
        max_routes=1,
    )
    write(problem, tmp_path / "batch.npz")
    assert load_arrays(tmp_path / "batch.npz")["penalty"].tolist() == [[0, 0.5, np.inf]]


def test_the_same_instances_give_the_same_bytes(tmp_path: Path) -> None:
    problems = read_npz(save(tmp_path, small_arrays("CVRPTW")))
    write(problems, tmp_path / "one.npz")
    write(read_npz(tmp_path / "one.npz"), tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.npz") as held:
        assert {info.date_time for info in held.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    with np.load(tmp_path / "one.npz", allow_pickle=False) as held:  # NumPy reads it as well
        assert str(held["variant"]) == "CVRPTW"


# ------------------------------------------------------------------------------ what goes wrong

BASE = small_arrays("CVRP")
NAN = BASE["demand"].copy()
NAN[1, 3] = np.nan
# fmt: off
BAD_ARRAYS: list[tuple[str, str, dict[str, Any]]] = [
    ("CVRP", "key variant: variant 'CVRQ' is not legal", {"variant": "CVRQ"}),
    ("CVRP", "key variant: expected one string", {"variant": 3}),
    ("CVRP", "key variant: expected a name", {"variant": None}),
    ("CVRP", "key num_depots: expected a whole number, received no such key", {"num_depots": None}),
    ("CVRP", "key num_depots: expected one whole number", {"num_depots": 1.0}),
    ("CVRP", "key num_depots: expected at least 1, received 0", {"num_depots": 0}),
    ("TSP", "key num_depots: expected 0 where the variant has no depot", {"num_depots": 1}),
    ("CVRP", "instance 0: variant: expected a variant with multi_depot",
     {"num_depots": 2, "demand": np.zeros((2, 7))}),
    ("CVRP", "expected either key coords or key matrix, received both",
     {"matrix": np.ones((2, 7, 7))}),
    ("CVRP", "expected either key coords or key matrix, received neither", {"coords": None}),
    ("CVRP", r"key coords: expected shape \(B, N, 2\), received \(7, 2\)",
     {"coords": np.ones((7, 2))}),
    ("CVRP", r"key coords: expected shape \(2, 7, 2\), received shape \(2, 7, 3\)",
     {"coords": np.ones((2, 7, 3))}),
    ("ATSP", r"key matrix: expected shape \(2, 6, 6\)", {"matrix": np.ones((2, 6, 5))}),
    ("CVRP", r"key coords: expected shape \(B, N, 2\)", {"coords": np.ones((0, 7, 2))}),
    ("CVRP", "key demand: expected an array, as CVRP needs it", {"demand": None}),
    ("CVRPTW", "key tw: expected an array, as CVRPTW needs it", {"tw": None}),
    ("PCTSP", "key min_prize: expected an array", {"min_prize": None}),
    ("CVRP", r"key demand: expected shape \(2, 7\), received shape \(2, 6\)",
     {"demand": np.ones((2, 6))}),
    ("CVRP", r"key capacity: expected shape \(2,\), received shape \(3,\)",
     {"capacity": np.ones(3)}),
    ("CVRP", "key demand: expected numbers, received values of type <U1",
     {"demand": np.full((2, 7), "x")}),
    ("CVRP", "key demand: expected numbers, received values of type complex",
     {"demand": np.ones((2, 7), complex)}),
    ("CVRP", "key demand: an array of objects", {"demand": np.full((2, 7), None)}),
    ("CVRP", "instance 1: key demand, node 3: expected a finite number, received nan",
     {"demand": NAN}),
    ("CVRP", "instance 0: key coords, node 0: expected a finite",
     {"coords": np.full((2, 7, 2), np.inf)}),
    ("CVRP", "instance 0: demand, node 1: expected at most the capacity",
     {"capacity": np.full(2, 0.5)}),
    ("ATSP", "instance 0: matrix, node 0: expected distances of at least 0",
     {"matrix": -np.ones((2, 6, 6))}),
    ("PDTSP", "expected as many pickups as deliveries, received 5", {"coords": np.ones((2, 6, 2))}),
    ("CVRP", "instance 0: variant: expected a variant with length_limit",
     {"max_length": [9.0, 9.0]}),
]
# fmt: on


@pytest.mark.parametrize(("variant", "words", "changes"), BAD_ARRAYS, ids=lambda x: str(x)[:40])
def test_bad_arrays_are_named(tmp_path, variant, words, changes):
    arrays = {
        key: value for key, value in (small_arrays(variant) | changes).items() if value is not None
    }
    with pytest.raises(FormatError, match=rf"^{tmp_path}/batch\.npz: {words}") as caught:
        read(save(tmp_path, arrays))
    assert "\n" not in str(caught.value)


def test_a_shape_beyond_the_data_allocates_nothing(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6, 2)}
    )
    with zipfile.ZipFile(tmp_path / "batch.npz", "w") as held:
        for key in ("variant", "num_depots", "coords"):
            data = io.BytesIO()
            np.save(data, np.array("TSP" if key == "variant" else 0))
            held.writestr(f"{key}.npy", header.getvalue() if key == "coords" else data.getvalue())
    with pytest.raises(FormatError, match="key coords: 0 bytes of data, expected 16000000000000"):
        read(tmp_path / "batch.npz")


def test_an_archive_that_unpacks_beyond_reason_is_refused(tmp_path, monkeypatch):
    path = save(tmp_path, {"variant": "TSP", "num_depots": 0, "coords": np.zeros((1, 10**5, 2))})
    monkeypatch.setattr(archive, "_SMALL_BYTES", 10**6)
    with pytest.raises(FormatError, match=r"expected at most .* times the archive, received 16"):
        read(path)
    monkeypatch.setattr(archive, "_SMALL_BYTES", 10**9)
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 10**6)
    with pytest.raises(FormatError, match="expected at most 1000000 bytes"):
        read(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_key_twice_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, BASE)
    with zipfile.ZipFile(path, "a") as held:
        held.writestr("demand.npy", b"")
    with pytest.raises(FormatError, match="expected every key once, received a key twice"):
        read(path)


SQUARE = [[0.0, 0], [0, 1], [1, 0], [1, 1], [2, 2]]


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("none of the named variants", {"demand": [0, 1, 1, 1, 1], "capacity": 9, "max_routes": 1}),
        ("hold its metric", {"metric": Metric("manhattan")}),
        ("hold its load_rule", {"demand": [0, 1, 1, -1, 1], "capacity": 9}),
        ("hold its max_routes", {"max_routes": 3}),
        ("hold its pairs", {"pairs": [(1, 2), (3, 4)], "demand": [0, -1, 1, -1, 1]}),
    ],
)
def test_what_a_batch_cannot_hold_is_refused(tmp_path, words, fields):
    base: dict[str, Any] = {"demand": [0, 1, 1, 1, 1], "capacity": 9}
    with pytest.raises(UnsupportedError, match=words):
        write(Problem.from_coordinates(SQUARE, **(base | fields)), tmp_path / "batch.npz")


def test_a_batch_holds_one_kind(tmp_path: Path) -> None:
    one = Problem.from_coordinates(SQUARE, depots=())
    with pytest.raises(UnsupportedError, match=r"received \('TSP', 4, 0.* and \('TSP', 5, 0"):
        write([one, Problem.from_coordinates(SQUARE[:4], depots=())], tmp_path / "batch.npz")
    with pytest.raises(UnsupportedError, match="at least one instance"):
        write([], tmp_path / "batch.npz")
