"""Whatever a file holds: a problem, or one FormatError on one line. Never anything else."""

from __future__ import annotations

import re
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from files import save

from spacevrp.formats import FormatWarning, files, read, read_solution, write
from spacevrp.problems.errors import FormatError
from spacevrp.problems.problem import Problem

CVRP = """\
NAME : c
TYPE : CVRP
DIMENSION : 4
CAPACITY : 10
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 3 0
3 0 4
4 3 4
DEMAND_SECTION
1 0
2 1
3 2
4 3
DEPOT_SECTION
 1
 -1
EOF
"""
MATRIX = """\
NAME : m
TYPE : TSP
DIMENSION : 3
EDGE_WEIGHT_TYPE : EXPLICIT
EDGE_WEIGHT_FORMAT : LOWER_ROW
EDGE_WEIGHT_SECTION
1 2 3
EOF
"""
TIMED = CVRP.replace("TYPE : CVRP", "TYPE : CVRPTW").replace(
    "DEPOT_S", "TIME_WINDOW_SECTION\n1 0 9\n2 0 9\n3 0 9\n4 0 11\nDEPOT_S"
)
BACKHAULS = CVRP.replace("DEPOT_SECTION", "BACKHAUL_SECTION\n{}\nDEPOT_SECTION")


# Base text, what is replaced in it, by what, and what the error says.
# fmt: off
CASES: list[tuple[str, str, str, str]] = [
    (CVRP, "TYPE : CVRP\n", "", "TYPE: expected one of .* received NONE"),
    (CVRP, "TYPE : CVRP", "TYPE : HCP", "TYPE: expected one of TSP.* received HCP"),
    (CVRP, "DIMENSION : 4\n", "", "DIMENSION: expected a number of nodes, received none"),
    (CVRP, "DIMENSION : 4", "DIMENSION : four",
     "line 3, DIMENSION: expected a number, received four"),
    (CVRP, "DIMENSION : 4", "DIMENSION : 4.5", "line 3, DIMENSION: expected a whole number"),
    (CVRP, "DIMENSION : 4", "DIMENSION : -4", "DIMENSION: expected a number of nodes, received -4"),
    (CVRP, "DIMENSION : 4", "DIMENSION : 1000000000",
     r"line 6, NODE_COORD_SECTION: expected 1000000000 rows \(DIMENSION\), received 4"),
    (CVRP, "DIMENSION : 4", "DIMENSION : 3",
     "line 10, NODE_COORD_SECTION: expected 3 rows, received more"),
    (CVRP, "CAPACITY : 10\n", "", "CAPACITY: expected a number, as CVRP needs it, received none"),
    (CVRP, "CAPACITY : 10", "CAPACITY : ten", "line 4, CAPACITY: expected a number, received ten"),
    (CVRP, "CAPACITY : 10", "CAPACITY : nan",
     "line 4, CAPACITY: expected a finite number, received nan"),
    (CVRP, "CAPACITY : 10", "CAPACITY : 2",
     r"demand, node 3: expected at most the capacity 2.0, received 3.0 \(number 4 in the file\)"),
    (CVRP, "CAPACITY : 10", "CAPACITY : 10\nCAPACITY : 9",
     "line 5, CAPACITY: expected every key once"),
    (CVRP, "CAPACITY : 10", "CAPACITY : 10\nDISTANCE : 5",
     "max_length, node 1: expected at least 6"),
    (CVRP, "CAPACITY : 10", "CAPACITY : 10\nVEHICLES : 0", "max_routes: expected a whole number"),
    (CVRP, "EUC_2D", "XRAY1", "EDGE_WEIGHT_TYPE: expected EXPLICIT or one of .* received XRAY1"),
    (CVRP, "EDGE_WEIGHT_TYPE : EUC_2D\n", "",
     "EDGE_WEIGHT_TYPE: expected EXPLICIT or .* received NONE"),
    (CVRP, "EUC_2D", "EXPLICIT", "EDGE_WEIGHT_FORMAT: expected one of .* received NONE"),
    (CVRP, "EUC_2D", "EXPLICIT\nEDGE_WEIGHT_FORMAT : FUNCTION",
     "EDGE_WEIGHT_FORMAT: expected .* FUNCTION"),
    (CVRP, "EUC_2D", "EXPLICIT\nEDGE_WEIGHT_FORMAT : UPPER_ROW",
     "EDGE_WEIGHT_SECTION: expected a matrix"),
    (CVRP, "NAME : c", "hello", "line 1: expected KEY : value or a section, received hello"),
    (CVRP, "2 3 0", "2 3", "line 8, NODE_COORD_SECTION: expected 3 numbers, received 2: 2 3"),
    (CVRP, "2 3 0", "2 3 x", "line 8, NODE_COORD_SECTION: expected a number, received x"),
    (CVRP, "2 3 0", "2 3 inf",
     "line 8, NODE_COORD_SECTION: expected a finite number, received inf"),
    (CVRP, "2 3 0", "1 3 0",
     "line 8, NODE_COORD_SECTION: expected a whole number that no other node has"),
    (CVRP, "2 3 0", "2.5 3 0",
     "line 8, NODE_COORD_SECTION: expected a whole number that no other node has"),
    (CVRP, "2 3 0\n", "", r"line 6, NODE_COORD_SECTION: expected 4 rows \(DIMENSION\), received 3"),
    (CVRP, "DEMAND_SECTION\n1 0\n2 1\n3 2\n4 3\n", "",
     "DEMAND_SECTION: expected the section, as CVRP"),
    (CVRP, "3 2\n", "",
     r"line 11, DEMAND_SECTION: expected 4 rows \(DIMENSION\), received 3, none for node 3"),
    (CVRP, "3 2\n", "2 2\n", "line 14, DEMAND_SECTION: expected every node once, received 2 again"),
    (CVRP, "3 2\n", "9 2\n", "line 14, DEMAND_SECTION: expected a node of 1 to 4, received 9"),
    (CVRP, "\n1 0\n", "\n1 5\n",
     r"demand, node 0: expected 0 at a depot, received 5.0 \(number 1 in"),
    (CVRP, " 1\n -1\n", " -1\n", "DEPOT_SECTION: expected at least one depot, received none"),
    (CVRP, " -1\n", " -1\n 2\n", "line 19, DEPOT_SECTION: expected nothing after -1, received 2"),
    (CVRP, " 1\n -1", " 7\n -1", "DEPOT_SECTION: expected a node of 1 to 4, received 7"),
    (CVRP, " 1\n -1", " 1\n 1\n -1", r"depots.*: expected each depot once"),
    (CVRP, " 1\n -1", " 1\n 1.5\n -1",
     "line 18, DEPOT_SECTION: expected a whole number, received 1.5"),
    (CVRP, "DEPOT_SECTION", "DEMAND_SECTION\nDEPOT_SECTION",
     "line 16, DEMAND_SECTION: expected every section once, received it again after line 11"),
    (CVRP, "DEPOT_SECTION", "PICKUP_AND_DELIVERY_SECTION\nDEPOT_SECTION",
     "PICKUP_AND_DELIVERY_SECTION: expected 4 rows"),
    (CVRP, "DEPOT_SECTION", "EDGE_WEIGHT_SECTION\n1 2\nDEPOT_SECTION",
     "expected no matrix next to EUC_2D"),
    (CVRP, "TYPE : CVRP", "TYPE : TSP",
     "CAPACITY: expected no vehicles in TYPE TSP, received CAPACITY"),
    (CVRP, "TYPE : CVRP", "TYPE : VRPTW",
     "TIME_WINDOW_SECTION: expected the section, as VRPTW needs it"),
    (CVRP, "CAPACITY : 10", "CAPACITY : 10\nSERVICE_TIME : -1",
     "service, node 1: expected a duration"),
    (TIMED, "CAPACITY : 10", "CAPACITY : 10\nSERVICE_TIME : 1\nSERVICE_TIME_SECTION\n1 0\n",
     "no section next to the key"),
    (TIMED, "4 0 11", "4 12 11", "windows, node 3: expected a window that closes after it opens"),
    (TIMED, "4 0 11", "4 0", "line 20, TIME_WINDOW_SECTION: expected 3 numbers, received 2: 4 0"),
    (TIMED, "3 0 9", "3 0 3", "windows, node 2: expected a window still open at 4"),
    (BACKHAULS, "{}", "9 -1", "BACKHAUL_SECTION: expected a node of 1 to 4, received 9"),
    (BACKHAULS, "{}", "1 0\n2 0\n3 -2\n4 0",
     "BACKHAUL_SECTION, node 3: expected an amount of at least 0, received -2"),
    (MATRIX, "1 2 3\n", "1 2\n", "line 6, EDGE_WEIGHT_SECTION: expected 3 numbers, received 2"),
    (MATRIX, "1 2 3\n", "1 2 3 4\n",
     "line 6, EDGE_WEIGHT_SECTION: expected 3 numbers, received more"),
    (MATRIX, "1 2 3\n", "1\n2 x\n", "line 8, EDGE_WEIGHT_SECTION: expected a number, received x"),
    (MATRIX, "1 2 3\n", "1\n2 inf\n",
     "line 8, EDGE_WEIGHT_SECTION: expected a finite number, received inf"),
    (MATRIX, "1 2 3\n", "1\n2 3_0\n",
     "line 8, EDGE_WEIGHT_SECTION: expected a number, received 3_0"),
    (MATRIX, "1 2 3\n", "1\n2 -3\n", "matrix, node 1: expected distances of at least 0"),
    (MATRIX, "DIMENSION : 3", "DIMENSION : 1000000000",
     "expected 499999999500000000 numbers, received 3"),
    (MATRIX, "DIMENSION : 3", "DIMENSION : 3\nCAPACITY : 3",
     "CAPACITY: expected no vehicles in TYPE TSP"),
]
# fmt: on


def refuse(path: Path) -> str:
    """The one line with which a file is refused; what it warns of before does not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        with pytest.raises(FormatError) as caught:
            read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("text", "old", "new", "words"), CASES, ids=[f"{i}-{c[3][:40]}" for i, c in enumerate(CASES)]
)
def test_one_wrong_thing_is_named(tmp_path, text, old, new, words):
    assert old in text
    message = refuse(save(tmp_path, text.replace(old, new, 1)))
    assert re.search(words, message), message


# -------------------------------------------------------------------------------- whole files

NOISE = np.random.default_rng(1).bytes(files.HEAD_BYTES)
LETTERS = bytes(np.random.default_rng(2).integers(32, 127, files.HEAD_BYTES, dtype=np.uint8))
SUFFIXES = (".vrp", ".tsp", ".atsp", ".txt", ".json", ".npz", ".sol", ".dat", "")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n \n",
        NOISE,
        LETTERS,
        b"PK\x03\x04" + NOISE,
        b"{" + LETTERS,
        b"\xff\xfe",
        b"-1",
        b"EOF",
    ],
    ids=["empty", "blank", "noise", "letters", "zip", "brace", "not-utf8", "number", "eof"],
)
def test_no_file_of_any_name_is_more_than_refused(tmp_path, suffix, content):
    path = tmp_path / f"case{suffix}"
    path.write_bytes(content)
    refuse(path)
    with pytest.raises(FormatError):
        read_solution(path)


@pytest.mark.parametrize("suffix", [".vrp", ".json", ".npz", ".sol", ""])
@pytest.mark.parametrize("block", [NOISE, LETTERS], ids=["bytes", "letters"])
def test_a_large_file_of_noise_is_refused_by_its_first_bytes(tmp_path, suffix, block):
    """200 MB of which only the beginning exists on disk; the rest reads as zeros."""
    path = tmp_path / f"case{suffix}"
    with path.open("wb") as stream:
        stream.write(block + b"\n")
        stream.truncate(200 * 10**6)
    if suffix == ".json" and block is LETTERS:
        refuse(path)  # JSON is parsed whole, so that the error can name the line
        return
    tracemalloc.start()
    try:
        refuse(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * 10**6


def test_text_beyond_all_measure_is_refused_by_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_TEXT_BYTES", 100)
    assert "expected at most 100 bytes of text, received 174" in refuse(save(tmp_path, CVRP))


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "expected a regular file, received a directory" in refuse(tmp_path)
    assert "cannot be read: No such file or directory" in refuse(tmp_path / "none.vrp")
    assert "cannot be read" in refuse(tmp_path / ("x" * 5000))
    refuse(Path("nul\0byte.vrp"))
    if Path("/dev/zero").exists():
        assert "expected a regular file" in refuse(Path("/dev/zero"))


def test_latin_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "case.vrp"
    path.write_bytes(CVRP.replace("NAME : c", "NAME : Zürich").encode("latin-1"))
    assert "expected UTF-8 text, received byte 0xfc" in refuse(path)


# ------------------------------------------------------------- truncated and damaged real files


def samples(folder: Path) -> dict[str, bytes]:
    """One valid file of each format, from the writers where there are any."""
    problem = Problem.from_coordinates(
        [[0, 0], [3, 0.5], [0, 4], [3, 4]],
        demand=[0, 1, 2, 3],
        capacity=10,
        windows=[[0, 90], [0, 50], [1, 60], [2, 70]],
        service=[0, 1, 1, 1],
    )
    for name in ("case.json", "case.vrp", "case.npz"):
        write(problem, folder / name)
    write(Problem.from_matrix([[0, 1, 2], [3, 0, 4], [5, 6, 0]], depots=()), folder / "case.atsp")
    names = ("case.json", "case.vrp", "case.npz", "case.atsp")
    return {name: (folder / name).read_bytes() for name in names}


@pytest.mark.parametrize("name", ["case.json", "case.vrp", "case.npz", "case.atsp"])
def test_truncations_are_noticed(tmp_path: Path, name: str) -> None:
    content = samples(tmp_path)[name]
    whole = read(tmp_path / name)
    path = tmp_path / f"cut-{name}"
    for length in range(0, len(content), 7 if name == "case.npz" else 3):
        path.write_bytes(content[:length])
        with warnings.catch_warnings():
            warnings.simplefilter("error", FormatWarning)
            try:
                problem = read(path)
            except (FormatError, FormatWarning):
                continue
        assert problem == whole, length
        assert not content[length:].strip(), length  # nothing but a line end is missing
