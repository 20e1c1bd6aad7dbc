"""TSPLIB and VRPLIB: hand-checked distances, every layout, every section, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from files import save
from hypothesis import assume, example, given
from hypothesis import strategies as st
from random_problems import build

from spacevrp.formats import FormatWarning, read, read_vrplib, write, write_vrplib
from spacevrp.problems.distances import Metric
from spacevrp.problems.errors import FormatError, UnsupportedError
from spacevrp.problems.leniency import unservable_allowed
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge

pytestmark = pytest.mark.filterwarnings("error::spacevrp.formats.FormatWarning")

# Reinelt's burma14, whose shortest tour of 3323 is proven.
BURMA14 = """\
NAME: burma14
TYPE: TSP
COMMENT: 14 cities in Burma
COMMENT: coordinates in degrees and minutes
DIMENSION: 14
EDGE_WEIGHT_TYPE: GEO
EDGE_WEIGHT_FORMAT: FUNCTION
DISPLAY_DATA_TYPE: COORD_DISPLAY
NODE_COORD_SECTION
   1  16.47       96.10
   2  16.47       94.44
   3  20.09       92.54
   4  22.39       93.37
   5  25.23       97.24
   6  22.00       96.05
   7  20.47       97.02
   8  17.20       96.29
   9  16.30       97.38
  10  14.05       98.12
  11  16.53       97.38
  12  21.52       95.59
  13  19.41       97.13
  14  20.09       94.55
EOF
"""
# Depot 3, then customers at the corners of a 3-4-5 triangle; the numbers of the nodes have gaps.
CVRPTW = """\
NAME : corner
TYPE : CVRPTW
DIMENSION : 4
VEHICLES : 2
CAPACITY : 10
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
10 3 0
20 0 4
30 0 0
40 1 1
DEMAND_SECTION
40 1
30 0
20 2
10 3
TIME_WINDOW_SECTION
10 0 50
20 5 60
30 0 100
40 7.5 70
SERVICE_TIME_SECTION
10 1
20 2
30 0
40 4
DEPOT_SECTION
 30
 -1
EOF
"""


# -------------------------------------------------------------------------------------- distances


def test_burma14_has_the_published_distances_and_optimum(tmp_path: Path) -> None:
    problem = read(save(tmp_path, BURMA14, "burma14.tsp"))
    row = problem.distances.from_node(0)
    published = [0, 153, 510, 706, 966, 581, 455, 70, 160, 372, 157, 567, 342, 398]
    assert row.tolist() == published
    tour = [number - 1 for number in (1, 2, 14, 3, 4, 5, 6, 12, 7, 13, 8, 11, 9, 10)]
    length = sum(
        problem.distances.between(a, b) for a, b in zip(tour, tour[1:] + tour[:1], strict=True)
    )
    assert length == 3323
    assert (problem.variant_name, problem.name, problem.depots) == ("TSP", "burma14", ())


@pytest.mark.parametrize(
    ("weight_type", "expected"),
    [
        # From (6734, 1453) to (2233, 10), two cities of att48: differences 4501 and 1443.
        ("ATT", 1495),  # sqrt(22341250 / 10) = 1494.7, up
        ("EUC_2D", 4727),  # sqrt(22341250) = 4726.65
        ("CEIL_2D", 4727),
        ("FLOOR_2D", 4726),
        ("MAN_2D", 5944),
        ("MAX_2D", 4501),
        ("EXACT_2D", 22341250**0.5),
    ],
)
def test_edge_weight_types(tmp_path: Path, weight_type: str, expected: float) -> None:
    text = (
        f"NAME : two\nTYPE : TSP\nDIMENSION : 2\nEDGE_WEIGHT_TYPE : {weight_type}\n"
        "NODE_COORD_SECTION\n1 6734 1453\n2 2233 10\nEOF\n"
    )
    assert read(save(tmp_path, text)).distances.between(0, 1) == expected


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [("none", 5**0.5), ("nearest", 2), ("up", 3), ("down", 2), ("one-decimal", 2.2)],
)
def test_rounding_can_be_overridden(tmp_path: Path, rounding: str, expected: float) -> None:
    text = (
        "NAME : two\nTYPE : TSP\nDIMENSION : 2\nEDGE_WEIGHT_TYPE : EUC_2D\n"
        "NODE_COORD_SECTION\n1 0 0\n2 1 2\nEOF\n"
    )
    problem = read(save(tmp_path, text), rounding=rounding)
    assert problem.distances.between(0, 1) == expected


# The matrix    0 1 2 3
#               1 0 4 5
#               2 4 0 6
#               3 5 6 0    in every layout that TSPLIB knows.
LAYOUTS = {
    "FULL_MATRIX": "0 1 2 3 1 0 4 5 2 4 0 6 3 5 6 0",
    "LOWER_ROW": "1 2 4 3 5 6",
    "LOWER_DIAG_ROW": "0 1 0 2 4 0 3 5 6 0",
    "UPPER_ROW": "1 2 3 4 5 6",
    "UPPER_DIAG_ROW": "0 1 2 3 0 4 5 0 6 0",
    "LOWER_COL": "1 2 3 4 5 6",
    "LOWER_DIAG_COL": "0 1 2 3 0 4 5 0 6 0",
    "UPPER_COL": "1 2 4 3 5 6",
    "UPPER_DIAG_COL": "0 1 0 2 4 0 3 5 6 0",
}
MATRIX = [[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]]


def explicit(layout: str, numbers: str, size: int = 4, kind: str = "TSP") -> str:
    return (
        f"NAME : m\nTYPE : {kind}\nDIMENSION : {size}\nEDGE_WEIGHT_TYPE : EXPLICIT\n"
        f"EDGE_WEIGHT_FORMAT : {layout}\nEDGE_WEIGHT_SECTION\n{numbers}\nEOF\n"
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("separator", [" ", "\n", "\n\n  "])
def test_every_layout_gives_the_same_matrix(tmp_path: Path, layout: str, separator: str) -> None:
    numbers = LAYOUTS[layout].replace(" ", separator)
    problem = read(save(tmp_path, explicit(layout, numbers)))
    assert problem.distances.matrix().tolist() == MATRIX


def test_a_diagonal_of_large_numbers_is_never_travelled(tmp_path: Path) -> None:
    path = save(tmp_path, explicit("FULL_MATRIX", "9999 1 2\n3 9999 4\n5 6 9999", 3, "ATSP"))
    problem = read(path)
    assert problem.distances.matrix().tolist() == [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    assert problem.variant_name == "ATSP"


def test_an_asymmetric_matrix_of_a_tsp_is_said(tmp_path: Path) -> None:
    path = save(tmp_path, explicit("FULL_MATRIX", "0 1 2\n3 0 4\n5 6 0", 3))
    with pytest.warns(FormatWarning, match="TYPE TSP with an asymmetric matrix"):
        problem = read_vrplib(path)
    assert problem.variant_name == "ATSP"


def test_eilons_rows_are_columns(tmp_path: Path) -> None:
    text = explicit("LOWER_ROW", LAYOUTS["LOWER_COL"])
    path = save(tmp_path, text.replace("TYPE", "COMMENT : (Eilon et al, 247)\nTYPE", 1))
    with pytest.warns(FormatWarning, match="LOWER_ROW in an instance of Eilon read as LOWER_COL"):
        assert read_vrplib(path).distances.matrix().tolist() == MATRIX


def test_rounding_of_a_matrix_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, explicit("LOWER_ROW", "1 2 4 3 5 6"))
    with pytest.raises(UnsupportedError, match="applies to coordinates, and the file holds"):
        read(path, rounding="none")


# --------------------------------------------------------------------------------------- sections


def test_all_sections_by_the_numbers_of_the_file(tmp_path: Path) -> None:
    problem = read(save(tmp_path, CVRPTW))
    assert problem.depots == (2,)
    assert problem.demand.tolist() == [3, 2, 0, 1]
    assert problem.windows.tolist() == [[0, 50], [5, 60], [0, 100], [7.5, 70]]
    assert problem.service.tolist() == [1, 2, 0, 4]
    assert (problem.capacity, problem.max_routes, problem.max_length) == (10, 2, np.inf)
    assert problem.distances.between(0, 1) == 5
    assert problem.distances.coordinates is not None  # and no matrix
    assert problem.variant_name == "CVRPTW"


def test_windows_line_ends_and_a_byte_order_mark_are_text(tmp_path: Path) -> None:
    path = tmp_path / "case.vrp"
    path.write_bytes(b"\xef\xbb\xbf" + CVRPTW.replace("\n", "\r\n").encode())
    assert read(path) == read(save(tmp_path, CVRPTW, "plain.vrp"))


CVRP = (
    "NAME : c\nTYPE : CVRP\nDIMENSION : 4\nCAPACITY : 10\nEDGE_WEIGHT_TYPE : EUC_2D\n"
    "NODE_COORD_SECTION\n1 0 0\n2 3 0\n3 0 4\n4 3 4\n"
    "DEMAND_SECTION\n1 0\n2 1\n3 2\n4 3\nDEPOT_SECTION\n1\n-1\nEOF\n"
)


def with_keys(*lines: str) -> str:
    return CVRP.replace(
        "CAPACITY : 10\n", "".join(f"{line}\n" for line in ("CAPACITY : 10", *lines))
    )


def test_distance_with_service_is_when_the_depot_closes(tmp_path: Path) -> None:
    problem = read(save(tmp_path, with_keys("DISTANCE : 20", "SERVICE_TIME : 2")))
    assert problem.max_length == np.inf
    assert problem.windows[:, 1].tolist() == [20, np.inf, np.inf, np.inf]
    assert problem.service.tolist() == [0, 2, 2, 2]


def test_distance_with_service_is_a_shift_on_open_routes(tmp_path: Path) -> None:
    """To (3, 0) and (3, 4): 3 + 2 + 4 + 2, and no way back."""
    text = with_keys("DISTANCE : 11", "SERVICE_TIME : 2").replace("TYPE : CVRP", "TYPE : OVRP")
    problem = read(save(tmp_path, text))
    assert judge(problem, [[0, 1, 3], [0, 2]]).feasible
    shorter = read(save(tmp_path, text.replace("DISTANCE : 11", "DISTANCE : 10")))
    assert [v.code for v in judge(shorter, [[0, 1, 3], [0, 2]]).violations] == ["window"]


@pytest.mark.parametrize("kind", ["VRPMPD", "VRPB"])
@pytest.mark.parametrize(
    "section", ["3\n4\n-1", "3 4 -1", "1 0\n2 0\n3 2\n4 3"], ids=["list", "line", "amounts"]
)
def test_backhauls(tmp_path: Path, kind: str, section: str) -> None:
    text = CVRP.replace("TYPE : CVRP", f"TYPE : {kind}")
    if " 0\n" in section:
        text = text.replace("3 2\n4 3\nDEPOT", "3 0\n4 0\nDEPOT")
    text = text.replace("DEPOT_SECTION", f"BACKHAUL_SECTION\n{section}\nDEPOT_SECTION")
    problem = read(save(tmp_path, text))
    assert problem.demand.tolist() == [0, 1, -2, -3]
    assert problem.backhaul_last == (kind == "VRPB")
    assert problem.load_rule == "separate"


def test_a_variant_can_be_declared(tmp_path: Path) -> None:
    problem = read(save(tmp_path, with_keys("VEHICLES : 3")), variant="OCVRP")
    assert (problem.open_routes, problem.load_rule, problem.variant) == (True, "single", "OCVRP")
    assert problem.max_routes == 3
    with pytest.raises(FormatError, match=r"case\.vrp: variant: expected a variant with"):
        read(save(tmp_path, CVRP), variant="TSP")
    with pytest.raises(FormatError, match=r"case\.vrp: variant 'CVRQ' is not legal"):
        read(save(tmp_path, CVRP), variant="CVRQ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (with_keys("COLOUR : red"), "line 5: unknown key COLOUR left out"),
        (CVRP.replace("EOF", "COLOUR_SECTION\n1 red\nEOF"), "unknown section COLOUR_SECTION left"),
        (CVRP.replace("EOF\n", ""), "no EOF at the end"),
        (CVRP + "more\nand more\n", "line 20: text after EOF left out"),
    ],
)
def test_what_is_left_out_is_said_once(tmp_path: Path, text: str, words: str) -> None:
    with pytest.warns(FormatWarning, match=words) as caught:
        problem = read(save(tmp_path, text))
    assert len(caught) == 1
    assert problem == read(save(tmp_path, CVRP))


def test_display_data_is_known_and_no_part_of_the_problem(tmp_path: Path) -> None:
    text = CVRP.replace("EOF", "DISPLAY_DATA_SECTION\n1 0 0\n2 9 9\n3 8 8\n4 7 7\nEOF")
    assert read(save(tmp_path, text)) == read(save(tmp_path, CVRP))


# ---------------------------------------------------------------------------------------- writing

# Of what random problems may have, this has a place in the files, but for some pairs of it.
HELD = (
    *("whole", "matrix", "metric", "depots", "open", "backhaul", "backhaul_last", "separate"),
    *("windows", "service", "length", "max_routes", "optional", "release"),
)


@given(
    problem=st.builds(
        lambda some, seed: build({"capacity", *some}, seed),
        st.sets(st.sampled_from(HELD), max_size=7),
        st.integers(0, 10**6),
    )
)
@example(problem=build({"capacity", "metric", "service", "windows"}, 314))
def test_what_the_format_holds_survives(tmp_path_factory, problem):
    """Numbers come back exactly, coordinates or matrix, with depots anywhere."""
    if problem.features.time_windows:
        problem = problem.replace(windows=np.minimum(problem.windows, 90.0))
    path = tmp_path_factory.mktemp("written") / "case.vrp"
    try:
        write_vrplib(path, problem)
    except UnsupportedError:
        assume(False)
    if problem.release is not None:  # what is always there is there when the first depot opens
        first = problem.windows[list(problem.depots), 0].min()
        problem = problem.replace(release=np.maximum(problem.release, first))
    with unservable_allowed():
        again = read_vrplib(path)
    assert again.replace(load_rule=problem.load_rule) == problem


@pytest.mark.parametrize("name", ["case.tsp", "case.atsp"])
def test_tours_survive(tmp_path: Path, name: str) -> None:
    matrix = [[0, 0.1, 2], [0.1, 0, 4], [2 if name == "case.tsp" else 3, 4, 0]]
    problem = Problem.from_matrix(matrix, depots=(), name="tour")
    write(problem, tmp_path / name)
    again = read(tmp_path / name)
    assert again == problem
    assert again.name == "tour"


SQUARE = [[0, 0], [0, 1], [1, 0], [1, 1], [2, 2]]


@pytest.mark.parametrize(("feature", "fields"), [
    ("durations", {"durations": np.ones((5, 5))}),
    ("metric", {"metric": Metric("manhattan", "none")}),
    ("infinite capacity", {"capacity": np.inf, "demand": None}),
    ("pairs without windows", {"demand": [0, -1, 1, -1, 1], "pairs": [(1, 2), (3, 4)]}),
    ("windows that never close", {"windows": [[0, 9]] * 4 + [[0, np.inf]]}),
    ("max_length next to service", {"max_length": 9, "service": [0, 1, 1, 1, 1]}),
    ("prize", {"prize": [0, 1, 1, 1, 1], "penalty": [0, 1, 1, 1, 1]}),
    ("penalty of 0", {"penalty": [0, 1, 1, 0, 1]}),
    ("vehicles of which there are as many as are needed", {"vehicles": [{"fixed_cost": 2}]}),
    ("shifts of vehicles", {"vehicles": [{"count": 2, "window": [0, 9]}], "windows": [[0,
                                                                                       9]] * 5}),
    ("max_duration of some vehicles and not of others", {"vehicles": [{"count": 1,
                                                                       "max_duration": 9},
                                                                      {"count": 1}]}),
])  # fmt: skip
def test_what_the_format_cannot_hold_is_refused_by_name(
    tmp_path: Path, feature: str, fields: dict[str, object]
) -> None:
    fields = {"demand": [0, 1, 1, 1, 1], "capacity": 5, **fields}
    durations = fields.pop("durations", None)
    problem = Problem.from_coordinates(SQUARE, **fields)  # type: ignore[arg-type]
    if durations is not None:
        from spacevrp.problems.distances import Distances

        problem = problem.replace(durations=Distances(matrix=durations))  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=f"cannot hold {feature}; write it as .json"):
        write(problem, tmp_path / "case.vrp")
    assert not (tmp_path / "case.vrp").exists()


def test_missing_arcs_are_refused_by_name(tmp_path: Path) -> None:
    matrix = [[0, 1, None], [1, 0, 1], [1, 1, 0]]
    problem = Problem.from_matrix(matrix, depots=())  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="cannot hold missing arcs"):
        write(problem, tmp_path / "case.atsp")
