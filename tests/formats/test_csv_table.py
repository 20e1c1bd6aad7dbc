"""Tables of stops as comma-separated text."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from spacevrp.formats import FormatWarning, read
from spacevrp.problems.errors import FormatError, UnsupportedError

STOPS = """\
id,x,y,demand,open,close,service,capacity
hub,0,0,,08:00,18:00,,10
bakery,3,0,4,08:30,10:00,5,
"dairy, new",3,4,5,,,10,
"""


@pytest.fixture
def write(tmp_path: Path):  # type: ignore[no-untyped-def]
    def to(text: str, name: str = "stops.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return to


def test_a_table(write) -> None:  # type: ignore[no-untyped-def]
    problem = read(write(STOPS))
    assert problem.name == "stops"
    assert problem.ids == ("hub", "bakery", "dairy, new")
    assert problem.demand.tolist() == [0, 4, 5]
    assert problem.windows.tolist() == [[0, 36000], [1800, 7200], [0, math.inf]]
    assert problem.service.tolist() == [0, 5, 10]
    assert problem.capacity == 10
    assert problem.variant_name == "CVRPTW"


@pytest.mark.parametrize(
    "text",
    [
        "x;y;demand;capacity\n0;0;0;5\n3;4;2;\n",
        "x\ty\tdemand\tcapacity\r\n0\t0\t0\t5\r\n\r\n3\t4\t2\t\r\n",
        "\ufeffX, Y ,Demand,CAPACITY\n0,0,0,5\n3,4,2,\n",
    ],
)
def test_delimiters_and_spaces(write, text: str) -> None:  # type: ignore[no-untyped-def]
    problem = read(write(text))
    assert problem.distances.between(0, 1) == 5
    assert problem.capacity == 5


def test_a_unit_of_time(write) -> None:  # type: ignore[no-untyped-def]
    """Five minutes of service at the bakery, and three units of way that take three minutes."""
    minutes = read(write(STOPS), time_unit="min")
    assert minutes.time_unit == "min"
    assert minutes.windows.tolist() == [[0, 600], [30, 120], [0, math.inf]]
    assert minutes.clock.moment(35) == "08:35"
    lines = STOPS.splitlines()
    told = "\n".join([f"{lines[0]},time_unit", f"{lines[1]},min", *(f"{x}," for x in lines[2:])])
    assert read(write(told)) == minutes
    with pytest.raises(FormatError, match="time_unit: expected one of"):
        read(write(STOPS), time_unit="day")


def test_ids_that_are_numbers_and_a_variant(write) -> None:  # type: ignore[no-untyped-def]
    text = "id,x,y,demand,capacity\n100,0,0,0,5\n7,3,4,2,\n"
    problem = read(write(text), variant="OCVRP")
    assert problem.ids == (100, 7)
    assert problem.open_routes


def test_barcodes_and_zeros_in_front_stay_as_they_are(write) -> None:  # type: ignore[no-untyped-def]
    codes = ("00340434161094042557", "00340434161094042564", "340434161094042571", "007")
    rows = "".join(f"{code},{place},0\n" for place, code in enumerate(codes, start=1))
    table = f"name;count;forbidden\n012;1;{codes[0]}\nbike;1;007,{codes[1]}\n"
    vans = write(table, "vans.csv")
    problem = read(write(f"id,x,y\n5,0,0\n{rows}"), vehicles=vans)
    assert problem.ids == (5, *codes)
    assert [vehicle.name for vehicle in problem.vehicles] == ["012", "bike"]
    assert [sorted(vehicle.forbidden) for vehicle in problem.vehicles] == [[1], [2, 4]]


def test_ids_that_look_like_numbers_are_as_they_are_written(write) -> None:  # type: ignore[no-untyped-def]
    codes = ("1E5", "100000", "1.10", "1.1", "+4930", "-5", "5.", "5.0")
    rows = "".join(f"{code},{place},0,,,\n" for place, code in enumerate(codes, start=1))
    text = f"id,x,y,depot,pickup_id,skills\nhub,0,0,1.0,,\n{rows}home,9,9,0.0,1.10,007\n"
    table = "name,start,forbidden,skills\n1.10,hub,1E5 +4930,007\n2e3,,,007\n"
    problem = read(write(text), vehicles=write(table, "vans.csv"))
    assert problem.ids == ("hub", "1E5", 100000, "1.10", "1.1", "+4930", "-5", "5.", "5.0", "home")
    assert problem.pairs == ((3, 9),)
    assert [vehicle.name for vehicle in problem.vehicles] == ["1.10", "2e3"]
    assert sorted(problem.vehicles[0].forbidden) == [1, 5]


def test_whole_numbers_that_a_gap_made_floats_are_the_ids_that_are_meant(write) -> None:  # type: ignore[no-untyped-def]
    """As pandas writes a column with missing values."""
    for one in ("2", "2.0"):
        text = f"id,x,y,demand,pickup_id\n1,0,0,,\n{one},1,1,-1,\n3,2,2,1,2.0\n"
        assert read(write(text)).pairs == ((1, 2),)


GERMAN = "id;x;y;demand;capacity\nLager;0;0;;7,5\n1,5;3,5;0;2,25;\n"


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas(write, delimiter: str) -> None:  # type: ignore[no-untyped-def]
    path = write(GERMAN.replace(";", delimiter))
    with pytest.warns(FormatWarning, match=r"line 2: 7,5 is read as 7\.5, with a decimal comma"):
        problem = read(path)
    assert problem.capacity == 7.5
    assert problem.demand.tolist() == [0, 2.25]
    assert problem.distances.between(0, 1) == 3.5
    assert problem.ids == ("Lager", "1,5")


def test_decimal_commas_next_to_points_are_refused(write) -> None:  # type: ignore[no-untyped-def]
    """1.200 is a thousand and more to those who write 7,5."""
    expected = r"line 3: expected a decimal comma, as 7,5 in line 2, received 1\.200"
    with pytest.raises(FormatError, match=expected):
        read(write(GERMAN.replace("2,25", "1.200")))


def test_customers_whom_no_vehicle_can_serve(write) -> None:  # type: ignore[no-untyped-def]
    path = write("x,y,demand,capacity\n0,0,,5\n3,4,9,\n")
    with pytest.raises(FormatError, match="line 3: demand"):
        read(path)
    assert read(path, allow_unservable=True).demand.tolist() == [0, 9]


OWN = "Nr;Ost;Nord;kg;von;bis\nhub;0;0;;08:00;18:00\n007;3;0;2,5;08:30;10:00\n12;3;4;5;;\n"
NAMED = {"id": "Nr", "x": "Ost", "y": "Nord", "demand": "kg", "open": "von", "close": ["bis"]}


@pytest.mark.filterwarnings("ignore:.*decimal comma")
def test_columns_of_the_users_own_names(write) -> None:  # type: ignore[no-untyped-def]
    """Half past eight is 1,800 s after eight; an id keeps its zeros, whatever its column is."""
    problem = read(write(OWN), columns=NAMED)
    assert problem.ids == ("hub", "007", 12)
    assert problem.demand.tolist() == [0, 2.5, 5]
    assert problem.windows.tolist() == [[0, 36000], [1800, 7200], [0, math.inf]]
    assert problem.distances.between(1, 2) == 4


def test_columns_that_are_none(write) -> None:  # type: ignore[no-untyped-def]
    path = write("x,y,kg\n0,0,\n3,4,5\n")
    with pytest.raises(FormatError, match=r"columns: expected fields such as open, received 'open"):
        read(path, columns={"opening": "kg"})
    expected = r"columns, demand: expected a column 'lb', received 'x', 'y', 'kg'"
    with pytest.raises(FormatError, match=expected):
        read(path, columns={"demand": "lb"})
    left_out = r"stops\.csv: columns left out: 'kg'; to use one: columns=.*--column FIELD=NAME"
    with pytest.warns(FormatWarning, match=left_out):
        read(path)
    other = write('{"coordinates": [[0, 0], [3, 4]]}', "one.json")
    with pytest.raises(UnsupportedError, match="columns apply to tables of stops only"):
        read(other, columns={"demand": "kg"})


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("x\n1\n", "line 1: expected names of columns"),
        ("x,y\n", "expected rows below the names"),
        ("x,,y\n0,0,0\n", "line 1: expected a name for every column"),
        ("x,x\n0,0\n", "line 1: expected each column once"),
        ("x,y\n0,0\n1\n", "line 3: expected 2 cells, received 1"),
        ('x,y\n0,0\n"1,2\n', "line 3: expected every quote closed, and a delimiter after it, rec"),
        ('id,x,y\na,0,0\n\n"b,1,1\nc,2,2\n', "line 4: expected every quote closed"),
        ('id,x,y\n"a\n""b",0,0\n"c ""d\n""e",1,1\n"f,2\n3\n', "line 6: expected every quote"),
        ('id,x,y\n"a,0,0\n"b, c",1,1\n', "line 2: expected every quote closed, and a delimiter"),
        ('id,x,y\n"a" b,0,0\n', "line 2: expected every quote closed, and a delimiter after it"),
        ('id,x,y\n"a,0,0\n' + "b,1,1\n" * 30_000, "line 2: expected every quote closed"),
        ("x,y,demand\n0,0,0\n\n1,1,much\n", "line 4: demand, node 1: expected a number"),
        ("x,y,demand\n0,0,0\n1,1,٣\n", "line 3: demand, node 1: expected a number"),
        ("x;y;capacity\n0;0;\n1;1;1.000,5\n", "line 3: capacity, node 1: expected a number"),
        ("x,y,close\n0,0,\n1,1,0.5\n", "line 3: windows, node 1"),
        ("a,b\n0,0\n", "coordinates, lonlat or a matrix"),
        ("lon,lat\n200,0\n1,1\n", "line 2: lonlat, node 0: expected longitude"),
    ],
)
@pytest.mark.filterwarnings("ignore::spacevrp.formats.FormatWarning")
def test_refused(write, text: str, part: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(FormatError) as caught:
        read(write(text))
    assert part in str(caught.value)
    assert "stops.csv" in str(caught.value)


def test_what_a_table_cannot_say(write) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnsupportedError, match="rounding 'up' does not apply"):
        read(write(STOPS), rounding="up")
    with pytest.raises(FormatError, match="VAROOM"):
        read(write(STOPS), variant="VAROOM")
