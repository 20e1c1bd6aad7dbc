"""Tables of numbers: Solomon's, Homberger's wider columns included, Li and Lim's, Cordeau's."""

from __future__ import annotations

from pathlib import Path

import pytest

from spacevrp.formats import FormatWarning, read, read_solomon, write
from spacevrp.problems.errors import FormatError, UnsupportedError
from spacevrp.problems.referee import Verdict, judge

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
    assert (problem.name, problem.variant_name, problem.depots) == ("R101", "CVRPTW", (0,))
    assert (problem.capacity, problem.max_routes) == (200, 25)
    assert problem.demand.tolist() == [0, 10, 7, 13]
    assert problem.windows.tolist() == [[0, 230], [161, 171], [50, 60], [116, 126]]
    assert problem.service.tolist() == [0, 10, 10, 10]
    # sqrt(6 * 6 + 14 * 14) = 15.2315..., cut to one decimal as DIMACS has it.
    assert problem.distances.between(0, 1) == 15.2
    assert read_solomon(tmp_path / "r101.txt", rounding="none").distances.between(0, 1) == 232**0.5


def test_tabs_and_other_suffixes(tmp_path: Path) -> None:
    text = R101.replace("   ", "\t").replace("\n", "\r\n")
    assert read(save(tmp_path, text, "r101.vrp")) == read(save(tmp_path, R101))


@pytest.mark.parametrize(("old", "new", "words"), [
    ("VEHICLE", "WAGON", "line 3: expected the heading VEHICLE, received WAGON"),
    ("CUSTOMER", "CUSTOMER\nCUSTOMER", "line 8, CUSTOMER: expected every heading once"),
    ("25         200", "25", "VEHICLE: expected one line with number and capacity, received 25"),
    ("25         200", "2.5 200", "expected a whole number of vehicles, received 2.5"),
    ("25         200", "0 200", "max_routes: expected a whole number"),
    ("161        171", "161", "line 11, CUSTOMER: expected 7 numbers, received 6"),
    ("161        171", "161 soon", "line 11, CUSTOMER: expected a number, received soon"),
    ("161        171", "161 nan", "line 11, CUSTOMER: expected a finite number, received nan"),
    ("161        171", "171 161", "windows, node 1: expected a window that closes"),
    ("    2      35", "    7      35", "line 12, CUSTOMER: expected node 2, received 7"),
    ("NUMBER     CAPACITY\n", "", "VEHICLE: expected a line of column titles"),
    (R101[R101.index("    1  ") :], "", "expected a depot and customers, received 1 rows"),
    (R101[R101.index("CUSTOMER") :], "", "with the heading CUSTOMER, received none"),
])  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert R101.count(old) == 1
    with pytest.raises(FormatError, match=rf"^{tmp_path}/r101\.txt: .*{words}"):
        read(save(tmp_path, R101.replace(old, new)))


# A pickup at node 1 for node 3, and one at node 4 for node 2.
LILIM = """\
2 10 1
0 0 0 0 0 100 0 0 0
1 3 0 4 5 50 2 0 3
2 3 4 -6 0 60 2 4 0
3 0 4 -4 0 70 2 1 0
4 0 8 6 7.5 80 2 0 2
"""
# Two depots behind three customers, a vehicle each; every third line as Cordeau's p01 has it.
CORDEAU = """\
2 1 3 2
20 8
20 9
1 3 0 1 4 1 2 1 2
2 3 4 1 4 1 2 1 2
3 0 4 1 5 1 2 1 2
4 0 0 0 0 0 0
5 0 8 0 0 0 0
"""


def test_pairs_of_li_and_lim(tmp_path: Path) -> None:
    problem = read(save(tmp_path, LILIM, "lc.txt"))
    assert (problem.pairs, problem.max_routes, problem.capacity) == (((1, 3), (4, 2)), 2, 10)
    assert problem.demand.tolist() == [0, -4, 6, 4, -6]
    assert (problem.windows[4].tolist(), problem.service.tolist()) == ([7.5, 80], [0, 2, 2, 2, 2])
    assert judge(problem, [[0, 1, 3, 0], [0, 4, 2, 0]]) == Verdict(12 + 18)


def test_several_depots_of_cordeau(tmp_path: Path) -> None:
    path = save(tmp_path, CORDEAU, "p01")
    problem = read(path)
    assert (problem.depots, problem.variant_name) == ((3, 4), "MDCVRPTW (2 vehicle types)")
    assert [(one.start, one.count, one.capacity) for one in problem.vehicles or ()] == [
        (3, 1, (8,)),
        (4, 1, (9,)),
    ]
    # Depot 3 to both customers of the first vehicle: 3 + 4 + 5 of driving and 2 of service.
    assert judge(problem, [[3, 0, 1, 3], [4, 2, 4]]) == Verdict(12 + 8)
    late = save(tmp_path, CORDEAU.replace("20 8", "13 8"), "late")
    assert [v.code for v in judge(read(late), [[3, 0, 1, 3], [4, 2, 4]]).violations] == ["window"]  # type: ignore[arg-type]
    windows = CORDEAU.replace("2 1 3 2\n2", "6 1 3 2\n2").replace("1 2\n", "1 2 0 40\n")
    timed = read(save(tmp_path, windows.replace("0 0 0 0\n", "0 0 0 0 0 90\n"), "pr01"))
    assert (timed.fleet[1].max_duration, timed.windows[:, 1].tolist()) == (20, [40] * 3 + [90] * 2)


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (LILIM, "2 10 1", "2 10 3", "line 1: expected a speed of 1, received 3"),
        (LILIM, "2 10 1", "2.5 10 1", "line 1: expected a whole number of vehicles, received 2.5"),
        (LILIM, "2 0 3", "2 0 9", "line 3: expected a delivery from 1 to 4, received 9"),
        (LILIM, "2 0 3", "2 0 2", "line 3: expected node 2 to name 1 as its pickup, received 4"),
        (LILIM, "4 0 8", "5 0 8", "expected node 4, received 5"),
        (LILIM, "7.5 80", "nan 80", "expected a finite number, received nan"),
        (CORDEAU, "2 1 3 2", "1 1 3 2", "PVRP: not modelled here yet: visits on several days"),
        (CORDEAU, "2 1 3 2", "3 1 3 2", "SDVRP: not modelled here yet"),
        (CORDEAU, "2 1 3 2", "9 1 3 2", "line 1: expected a type from 0 to 7, received 9"),
        (CORDEAU, "2 1 3 2", "2 1 4 2", "expected more lines, received the end of the file"),
        (CORDEAU, "2 1 3 2", "2 1 2 2", "line 8: expected 4 nodes, received more of them"),
        (CORDEAU, "2 1 3 2", "0 1 4 2", "line 1: expected numbers of at least 1, and one day"),
        (CORDEAU, "2 1 3 2", "2 999999 3 2", "line 1: expected at most 100000 vehicles"),
        (CORDEAU, "20 9", "0 9", "expected a max_duration for all or none, received some"),
        (CORDEAU, "3 0 4 1 5 1 2", "3 0 4 1 5 2 2", "line 6: expected one visit, received 2"),
        (CORDEAU, "3 0 4 1 5 1 2 1 2", "3 0 4 1", "line 6: expected 7 numbers, received 4"),
    ],
)
def test_what_is_wrong_with_rows_of_numbers_is_named(
    tmp_path: Path, text: str, old: str, new: str, words: str
) -> None:
    assert text.count(old) == 1
    with pytest.raises((FormatError, UnsupportedError), match=rf"^{tmp_path}/case\.txt: .*{words}"):
        read(save(tmp_path, text.replace(old, new), "case.txt"))


@pytest.mark.parametrize("text", [R101, LILIM], ids=["solomon", "lilim"])
@pytest.mark.parametrize("suffix", [".txt", ".vrp", ".json"])
def test_they_survive(tmp_path: Path, text: str, suffix: str) -> None:
    problem = read(save(tmp_path, text, "case.txt"))
    write(problem, tmp_path / f"again{suffix}")
    assert read(tmp_path / f"again{suffix}") == problem


def test_what_they_cannot_hold_is_named(tmp_path: Path) -> None:
    problem = read_solomon(save(tmp_path, R101))
    for fields, words in (
        ({"windows": None}, "Solomon's files cannot hold problems without windows"),
        ({"open_routes": True}, "Solomon's files cannot hold open_routes"),
        ({"penalty": [0, 1, 1, 1]}, "cannot hold penalty"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            write(problem.replace(**fields), tmp_path / "again.txt")
    unrounded = read_solomon(tmp_path / "r101.txt", rounding="none")
    with pytest.warns(FormatWarning, match="rounding 'none' left out: readers take 'one-decimal'"):
        write(unrounded, tmp_path / "again.txt")
