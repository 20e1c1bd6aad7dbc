"""VRPLIB in PyVRP's dialect: every section, by hand-computed plans, and its .sol files."""

from __future__ import annotations

from pathlib import Path

import pytest
from files import save

from spacevrp.cli.main import main
from spacevrp.formats import read, read_solution, write, write_solution
from spacevrp.problems.errors import FormatError
from spacevrp.problems.referee import judge

pytestmark = pytest.mark.filterwarnings("error::spacevrp.formats.FormatWarning")

# The depot in a corner of a rectangle of 3 by 4, and one customer at (1, 1), 1.41421... away.
POINTS = "NODE_COORD_SECTION\n1 0 0\n2 3 0\n3 3 4\n4 0 4\n5 1 1\n"
DEMAND = "DEMAND_SECTION\n1 0\n2 1\n3 2\n4 3\n5 1\n"
WINDOWS = "TIME_WINDOW_SECTION\n1 0 99\n2 0 99\n3 20 99\n4 0 99\n5 0 99\n"


def instance(kind: str, *keys: str, sections: str = DEMAND, points: str = POINTS) -> str:
    head = [f"TYPE: {kind}", "DIMENSION: 5", "EDGE_WEIGHT_TYPE: EUC_2D", *keys]
    return "\n".join(["NAME: case", *head]) + "\n" + points + sections + "EOF\n"


def rows(name: str, *values: object) -> str:
    lines = "".join(f"{number} {value}\n" for number, value in enumerate(values, start=1))
    return f"{name}_SECTION\n{lines}"


# Vehicle 1 carries 4 at 2 a unit and 10 for leaving, vehicles 2 and 3 carry 3 at 1 a unit.
MIXED = instance(
    "HFVRP",
    "VEHICLES: 3",
    sections=DEMAND
    + rows("CAPACITY", 4, 3, 3)
    + rows("VEHICLES_FIXED_COST", 10, 0, 0)
    + rows("VEHICLES_UNIT_DISTANCE_COST", 2, 1, 1)
    + "DEPOT_SECTION\n1\n",
)
# Nodes 1 and 2 are depots, (0, 0) and (3, 0), with a vehicle each; customer 3 opens at 20.
DEPOTS = instance(
    "MDVRPTW",
    "VEHICLES: 2",
    "CAPACITY: 9",
    "VEHICLES_MAX_DURATION: 13",
    sections=DEMAND.replace("2 1\n3", "2 0\n3")
    + WINDOWS
    + rows("SERVICE_TIME", 0, 0, 2, 2, 2)
    + rows("VEHICLES_DEPOT", 1, 2)
    + "DEPOT_SECTION\n1\n2\n",
)
SITES = instance(
    "SDVRPTW",
    "VEHICLES: 2",
    "SERVICE_TIME: 1",
    sections=DEMAND
    + WINDOWS
    + rows("CAPACITY", 5, 5)
    + rows("VEHICLES_ALLOWED_CLIENTS", "2 3", "3 4 5"),
)
PRIZES = instance(
    "PCVRPTW",
    "VEHICLES: 1",
    "CAPACITY: 9",
    sections=DEMAND + WINDOWS + rows("PRIZE", 0, 0, 7, 8, 0),
)
BACKHAULS = instance(
    "VRPB",
    "CAPACITY: 6",
    sections=DEMAND.replace("3 2\n4 3", "3 0\n4 0")
    + rows("BACKHAUL", 0, 0, 2, 2, 0)
    + "DEPOT_SECTION\n1\n",
)
# One of customers 1 and 2 is served.
CHOICE = instance(
    "GVRP",
    "CAPACITY: 9",
    sections=DEMAND + "MUTUALLY_EXCLUSIVE_GROUP_SECTION\n1 2 3\n2 4\n3 5\nDEPOT_SECTION\n1\n",
)
# The goods of customer 4 are there from 8 on; each of the two vehicles may reload once.
TRIPS = instance(
    "MTVRPTWR",
    "VEHICLES: 2",
    "CAPACITY: 4",
    "VEHICLES_MAX_RELOADS: 1",
    sections=DEMAND
    + WINDOWS
    + rows("RELEASE_TIME", 0, 0, 0, 0, 8)
    + rows("VEHICLES_RELOAD_DEPOT", 1, 1)
    + "DEPOT_SECTION\n1\n",
)
# Customer 2 receives 2 and hands over 3.
BOTH_WAYS = instance(
    "VRPSPD",
    "CAPACITY: 7",
    sections=DEMAND + rows("BACKHAUL", 0, 0, 3, 0, 0) + "DEPOT_SECTION\n1\n",
)
TOUR = instance("TSP", "VEHICLES: 1", sections="")


@pytest.mark.parametrize(("text", "sol", "cost", "rounding", "broken"), [
    # 10 + 2 * (3 + 4 + 5) by vehicle 1, 2 * 1.414 by vehicle 2 and 2 * 4 by vehicle 3.
    (MIXED, "1: 1 2\nRoute #2: 4\nRoute #3: 3", 44.828, "three-decimals", []),
    (MIXED, "1: 1 2 4\nRoute #3: 3", 42.04, "three-decimals", []),
    (MIXED, "1:\nRoute #2: 1 2\nRoute #3: 3 4", 20.576, "three-decimals", ["capacity"]),
    # Vehicle 2 leaves at 16 for customer 2, who opens at 20: 4 + 2 + 4, within 13. Vehicle 1
    # takes 4 + 2 + 3.162 + 2 + 1.414.
    (DEPOTS, "1: 3 4\nRoute #2: 2", 16.576, "three-decimals", []),
    (DEPOTS, "1: 3\nRoute #2: 2 4", 17.842, "three-decimals", ["duration"]),
    (DEPOTS, "1: 4\nRoute #2: 2 3", 14.828, "three-decimals", ["duration"]),
    (SITES, "1: 1 2\nRoute #2: 3 4", 20.576, "three-decimals", []),
    (SITES, "1: 1 4\nRoute #2: 2 3", 18.65, "three-decimals", ["vehicle"]),
    # Customers 2 and 3 are left out at 7 and 8.
    (PRIZES, "1: 1 4", 21.6, "one-decimal", []),
    (PRIZES, "1: 1 2 3", 14, "one-decimal", ["visit"]),
    (BACKHAULS, "1: 4 1 2 3", 14, "nearest", []),
    (BACKHAULS, "1: 1 2 3 4", 14, "nearest", ["precedence"]),
    (CHOICE, "1: 1 3 4", 3 + 5 + 3 + 1, "nearest", []),
    (CHOICE, "1: 1 2 3 4", 14, "nearest", ["group"]),
    (CHOICE, "1: 3 4", 4 + 3 + 1, "nearest", ["group"]),
    # 3 and 2 fit together, 4 together with 1: two trips, the second leaves at 10 or later.
    (TRIPS, "1: 1 4 0 2\nRoute #2: 3", 3 + 2.2 + 1.4 + 10 + 8, "one-decimal", []),
    (TRIPS, "1: 1 4 0 2 3", 3 + 2.2 + 1.4 + 12, "one-decimal", ["capacity"]),
    (TRIPS, "1: 1 0 2 0 3\nRoute #2: 4", 6 + 10 + 8 + 2.8, "one-decimal", ["reload"]),
    # 7 leave, 7 come back at most: 5 on board after customer 1, 5 - 2 + 3 after customer 2.
    (BOTH_WAYS, "1: 1 2 3 4", 14, "nearest", []),
    (BOTH_WAYS.replace("CAPACITY: 7", "CAPACITY: 6.5"), "1: 1 2 3 4", 14, "nearest", ["capacity"]),
    (TOUR, "1: 1 2 3 4", 14, "nearest", []),
    (TOUR, "1: 1 2 3", 14, "nearest", ["visit"]),
])  # fmt: skip
def test_plans_cost_what_they_should(
    tmp_path: Path, text: str, sol: str, cost: float, rounding: str, broken: list[str]
) -> None:
    problem = read(save(tmp_path, text))
    assert problem.distances.metric.rounding == rounding
    path = save(tmp_path, f"Route #{sol}\nCost: {cost}\nComment: by hand\n", "case.sol")
    (plan,) = read_solution(path, problem).instances
    verdict = judge(problem, plan.routes)
    assert verdict.cost == pytest.approx(cost, abs=1e-9)
    assert [violation.code for violation in verdict.violations] == broken
    # Written and read again, instance and plan are what they were.
    write(problem, tmp_path / "again.vrp")
    again = read(tmp_path / "again.vrp")
    assert again == problem
    write_solution(tmp_path / "again.sol", plan, problem=problem)
    assert read_solution(tmp_path / "again.sol", problem).instances[0].routes == plan.routes


def test_types_are_the_vehicles_with_the_same_terms(tmp_path: Path) -> None:
    problem = read(save(tmp_path, MIXED))
    assert [(one.name, one.count, one.capacity) for one in problem.vehicles or ()] == [
        ("1", 1, (4,)),
        ("2-3", 2, (3,)),
    ]
    assert problem.vehicle_ids == {"1": (1,), "2-3": (2, 3)}


def test_a_key_is_for_all_vehicles(tmp_path: Path) -> None:
    """Without windows a limit on the duration is when the depot closes."""
    text = instance("HFVRP", "VEHICLES: 2", "CAPACITY: 9", "VEHICLES_MAX_DURATION: 12")
    problem = read(save(tmp_path, text))
    assert (problem.vehicles, problem.max_routes, problem.capacity) == (None, 2, 9)
    assert problem.windows[0].tolist() == [0, 12]
    text = instance("HFVRP", "VEHICLES: 2", "CAPACITY: 9", "VEHICLES_MAX_DISTANCE: 12")
    assert read(save(tmp_path, text)).max_length == 12
    text = instance("HFVRP", "VEHICLES: 2", "CAPACITY: 9", "VEHICLES_UNIT_DISTANCE_COST: 3")
    (only,) = read(save(tmp_path, text)).fleet
    assert (only.unit_distance_cost, only.count, only.capacities) == (3, 2, (9,))


def test_several_kinds_of_load(tmp_path: Path) -> None:
    sections = rows("DEMAND", "0 0", "1 2", "1 2", "1 2", "1 2") + rows("CAPACITY", "2 9", "9 4")
    problem = read(save(tmp_path, instance("HFVRP", "VEHICLES: 2", sections=sections)))
    assert problem.loads[1].tolist() == [1, 2]
    assert [one.capacities for one in problem.fleet] == [(2, 9), (9, 4)]


@pytest.mark.parametrize(("text", "old", "new", "words"), [
    (MIXED, "VEHICLES: 3", "VEHICLES: 4", "expected 4 rows .VEHICLES., received 3"),
    (MIXED, "VEHICLES: 3", "VEHICLES: 0", "VEHICLES: expected their number next to CAPACITY_"),
    (MIXED, "VEHICLES: 3\n", "", "VEHICLES: expected a number, as HFVRP needs it"),
    (MIXED, "2 3\n3 3\nV", "2 3\n2 3\nV", "expected every vehicle once, received 2 again"),
    (MIXED, "1 10\n", "7 10\n", "expected a vehicle of 1 to 3, received 7"),
    (MIXED, "1 10\n", "1 -10\n", r"fixed_cost: expected a finite number of at least 0"),
    (MIXED, "1 4\n", "1 -4\n", r"capacity: expected more than 0"),
    (MIXED, "VEHICLES: 3", "VEHICLES: 3\nCAPACITY: 9", "no section next to the key CAPACITY"),
    (DEPOTS, "2 2\nDEPOT", "2 9\nDEPOT", "DEPOT_SECTION: expected a node of 1 to 5"),
    (DEPOTS, "2 2\nDEPOT", "2 3\nDEPOT", "start: expected one of the depots"),
    (SITES, "1 2 3\n", "1 2 x\n", "ALLOWED_CLIENTS_SECTION: expected a number, received x"),
    (SITES, "1 2 3\n", "1 2 1\n", "allowed: expected customers, received node 0"),
    (PRIZES, "3 7\n", "3 -7\n", "penalty, node 2"),
    (CHOICE, "1 2 3\n", "1 2 7\n", "GROUP_SECTION: expected a node of 1 to 5, received 7"),
    (CHOICE, "2 4\n3", "2 4 3\n3", "groups"),
    (CHOICE, "1 2 3\n", "1 2 1\n", "groups"),
    (TRIPS, "RELOADS: 1", "RELOADS: 1.5", "max_reloads: expected a whole number"),
    (TRIPS, "2 1\nDEPOT", "2 3\nDEPOT", "reload_depots: expected"),
    (TOUR, "VEHICLES: 1", "VEHICLES: 2", "expected no vehicles in TYPE TSP"),
])  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, text: str, old: str, new: str, words: str) -> None:
    assert text.count(old) == 1
    with pytest.raises(FormatError, match=words):
        read(save(tmp_path, text.replace(old, new)))


@pytest.mark.parametrize(("kind", "apart"), [("EUC_3D", 4), ("MAN_3D", 6), ("MAX_3D", 3)])
def test_points_in_space(tmp_path: Path, kind: str, apart: int) -> None:
    points = (
        POINTS.replace("\n", " 0\n").replace("SECTION 0", "SECTION").replace("5 1 1 0", "5 1 2 3")
    )
    text = instance("TSP", sections="", points=points).replace("EUC_2D", kind)
    problem = read(save(tmp_path, text))
    assert problem.distances.between(0, 4) == apart  # from (0, 0, 0) to (1, 2, 3): 3.74, 6, 3
    assert problem.distances.between(1, 2) == 4
    for far in ("1e308", "-1e308"):
        with pytest.raises(
            FormatError, match=f"SECTION: expected numbers below .*, received {far[:2]}"
        ):
            read(save(tmp_path, text.replace("5 1 2 3", f"5 1 2 {far}")))


def test_the_unit_of_a_stated_cost_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path, MIXED)
    for cost, code, words in (
        ("42.04", 0, "cost 42.04\nfeasible, rounding three-decimals"),
        ("42040", 0, "cost 42.04 (stated as 42040, in units of 0.001)\nfeasible, rounding"),
        ("0.4204", 0, "cost 42.04 (stated as 0.4204, in units of 100)\nfeasible, rounding"),
        ("420.4", 1, "cost 42.04\nthe solution claims 420.4, costs 42.04\nfeasible, but not"),
    ):
        sol = save(tmp_path, f"Route #1: 1 2 4\nRoute #3: 3\nCost {cost}\n", "case.sol")
        assert main(["check", str(path), str(sol)]) == code
        assert capsys.readouterr().out.startswith(words)


def test_convert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = save(tmp_path, MIXED), tmp_path / "out.json"
    assert main(["convert", str(path), str(out)]) == 0
    assert capsys.readouterr().out == (
        f"{out}: CVRP (2 vehicle types), 5 nodes, rounding three-decimals\n"
    )
    assert read(out) == read(path)
    assert main(["convert", str(out), str(tmp_path / "back.vrp"), "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    for target, words in (
        ("out.txt", "Solomon's files cannot hold vehicles; write it as .json"),
        ("out.doc", "instances are written as"),
        ("out.sol", "expected the name of an instance, received a solution"),
        ("no/out.vrp", "cannot be written: there is no folder"),
    ):
        assert main(["convert", str(path), str(tmp_path / target)]) == 2
        assert words in capsys.readouterr().err


# From node 1 to node 4; node 3 comes before node 2.
SOP = """\
NAME: order
TYPE: SOP
DIMENSION: 4
EDGE_WEIGHT_TYPE: EXPLICIT
EDGE_WEIGHT_FORMAT: FULL_MATRIX
EDGE_WEIGHT_SECTION
4
0 1 5 99
-1 0 -1 2
-1 7 0 4
-1 -1 -1 0
EOF
"""


def test_sequential_ordering_and_tours(tmp_path: Path) -> None:
    problem = read(save(tmp_path, SOP, "order.sop"))
    assert set(problem.order) == {(2, 1), (1, 3), (2, 3)}
    tour = save(
        tmp_path, "TYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n1\n3\n2\n4\n-1\nEOF\n", "t.tour"
    )
    (plan,) = read_solution(tour, problem).instances
    verdict = judge(problem, plan.routes)
    assert (verdict.cost, verdict.violations) == (5 + 7 + 2, ())
    wrong = judge(problem, [(0, 1, 2, 3)])
    assert {one.code for one in wrong.violations} == {"order", "arc"}
    plain = read(save(tmp_path, TOUR))
    text = "TYPE : TOUR\nDIMENSION : 5\nTOUR_SECTION\n2 3 4 1 5\n-1\nEOF\n"
    (round_trip,) = read_solution(save(tmp_path, text, "u.tour"), plain).instances
    assert judge(plain, round_trip.routes).cost == 4 + 3 + 4 + 1 + 2
    with pytest.raises(FormatError, match="TOUR_SECTION: expected nodes 1 to 4, received 5"):
        read_solution(tmp_path / "u.tour", problem)
    with pytest.raises(FormatError, match="FULL_MATRIX, as in all of TYPE SOP"):
        read(save(tmp_path, SOP.replace("FULL_MATRIX", "UPPER_ROW"), "bad.sop"))
