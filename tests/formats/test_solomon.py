"""Solomon's text layout, Homberger's wider columns included."""

from __future__ import annotations

from pathlib import Path

import pytest

from spacevrp.formats import read, read_solomon, write
from spacevrp.problems.errors import FormatError, UnsupportedError
from spacevrp.problems.problem import Problem

pytestmark = pytest.mark.filterwarnings("error::spacevrp.formats.FormatWarning")

# The depot and the first customers of R101.
R101 = """\
R101

VEHICLE
NUMBER     CAPACITY
  25         200

CUSTOMER
CUST NO.  XCOORD.   YCOORD.    DEMAND   READY TIME  DUE DATE   SERVICE   TIME

    0      35         35          0          0        230          0
    1      41         49         10        161        171         10
    2      35         17          7         50         60         10
    3      55         45         13        116        126         10
"""


def save(folder: Path, text: str, name: str = "r101.txt") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_the_standard_layout(tmp_path: Path) -> None:
    problem = read(save(tmp_path, R101))
    assert isinstance(problem, Problem)
    assert (problem.name, problem.variant_name, problem.depots) == ("R101", "CVRPTW", (0,))
    assert (problem.capacity, problem.max_routes) == (200, 25)
    assert problem.demand.tolist() == [0, 10, 7, 13]
    assert problem.windows.tolist() == [[0, 230], [161, 171], [50, 60], [116, 126]]
    assert problem.service.tolist() == [0, 10, 10, 10]
    # sqrt(6 * 6 + 14 * 14) = 15.2315...: not rounded unless asked for.
    assert problem.distances.between(0, 1) == 232**0.5


def test_the_customary_single_decimal(tmp_path: Path) -> None:
    problem = read_solomon(save(tmp_path, R101), rounding="one-decimal")
    assert problem.distances.between(0, 1) == 15.2
    assert problem.distances.between(0, 2) == 18.0


def test_tabs_and_other_suffixes(tmp_path: Path) -> None:
    text = R101.replace("   ", "\t").replace("\n", "\r\n")
    assert read(save(tmp_path, text, "r101.vrp")) == read(save(tmp_path, R101))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("VEHICLE", "WAGON", "line 3: expected the heading VEHICLE, received WAGON"),
        ("CUSTOMER", "CUSTOMER\nCUSTOMER", "line 8, CUSTOMER: expected every heading once"),
        (
            "25         200",
            "25",
            "VEHICLE: expected one line with number and capacity, received 25",
        ),
        ("25         200", "2.5 200", "expected a whole number of vehicles, received 2.5"),
        (
            "25         200",
            "0 200",
            "max_routes: expected a whole number",
        ),
        ("161        171", "161", "line 11, CUSTOMER: expected 7 numbers, received 6"),
        ("161        171", "161 soon", "line 11, CUSTOMER: expected a number, received soon"),
        ("161        171", "161 nan", "line 11, CUSTOMER: expected a finite number, received nan"),
        ("161        171", "171 161", "windows, node 1: expected a window that closes"),
        ("    2      35", "    7      35", "line 12, CUSTOMER: expected node 2, received 7"),
        ("NUMBER     CAPACITY\n", "", "VEHICLE: expected a line of column titles"),
        (R101[R101.index("    1  ") :], "", "expected a depot and customers, received 1 rows"),
        (R101[R101.index("CUSTOMER") :], "", "with the heading CUSTOMER, received none"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert R101.count(old) == 1
    with pytest.raises(FormatError, match=rf"^{tmp_path}/r101\.txt: .*{words}"):
        read(save(tmp_path, R101.replace(old, new)))


def test_it_is_not_written(tmp_path: Path) -> None:
    problem = read_solomon(save(tmp_path, R101))
    with pytest.raises(UnsupportedError, match=r"instances are written as \.npz, \.json, \.vrp"):
        write(tmp_path / "again.txt", problem)
