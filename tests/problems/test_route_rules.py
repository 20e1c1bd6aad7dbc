"""Rules of routes on four customers: kept, kept only just, broken, and what is no rule at all."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacevrp import Break, Problem, Solution, Vehicle, judge, read, write
from spacevrp.formats.solutions import read_solution
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.judging import sheet_arguments

# The depot at 0 and customers 10, 20, 30 and 40 away from it, all on one line.
LINE = [(0, 0), (10, 0), (20, 0), (30, 0), (40, 0)]
ALL = [(0, 1, 2, 3, 4, 0)]  # 80 long
TWO_TRIPS = [(0, 1, 2, 0, 3, 4, 0)]  # 40 and 80 long
FAR = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))) * 10


def line(*vehicles: Any, **features: Any) -> Problem:
    given = {"demand": [0, 1, 1, 1, 1], "allow_unservable": True, **features}
    return Problem.from_coordinates(LINE, vehicles=list(vehicles) or None, **given)


def findings(problem: Problem, routes: Any) -> list[str]:
    return [f"{v.code}: {v.message}" for v in judge(problem, routes).violations]


def windows(**of: Any) -> list[Any]:
    """Always open but for the nodes named, such as `n2=(0, 7)`."""
    return [of.get(f"n{node}", (0, np.inf)) for node in range(5)]


def case(name: str, problem: Problem, routes: Any, *found: str, cost: float | None = None) -> Any:
    return pytest.param(problem, routes, list(found), cost, id=name)


# fmt: off
WORKING_TIME = [
    case("as many stops as may be", line(Vehicle(max_stops=4)), ALL, cost=80),
    case("a stop too many", line(Vehicle(max_stops=3)), ALL,
         "stops: route 1 has 4 stops, type 0 may have 3"),
    case("leaves just in time", line(Vehicle(latest_start=5), windows=windows(n0=(5, 99))), ALL),
    case("its goods come too late", line(Vehicle(latest_start=5), release=[None, 6, 0, 0, 0]), ALL,
         "start: route 1 leaves not before 6, type 0 must leave by 5"),
    # It might leave at 30 and not wait at customer 1, who opens at 40: 80 in all, not 90.
    case("no waiting at the start", line(Vehicle(max_duration=80, unit_duration_cost=1),
         windows=windows(n1=(40, 99))), ALL, cost=160),
    case("but it has to leave", line(
         Vehicle(max_duration=80, unit_duration_cost=1, latest_start=20),
         windows=windows(n1=(40, 99))), ALL, "duration: route 1 takes 90, type 0 may take 80",
         cost=170),
    # 80 of time at 0.5, and 20 beyond 60 at 3.
    case("overtime", line(Vehicle(max_duration=60, max_overtime=20, overtime_cost=3,
         unit_duration_cost=0.5)), ALL, cost=80 + 40 + 60),
    case("too much overtime", line(Vehicle(max_duration=60, max_overtime=15)), ALL,
         "duration: route 1 takes 80, type 0 may take 75, 15 of it overtime"),
    case("fast", line(Vehicle(speed_factor=2), windows=windows(n4=(0, 20))), ALL),
    case("slow", line(Vehicle(speed_factor=0.5), windows=windows(n4=(0, 40))), ALL,
         "window: route 1 arrives at customer 4 at 80, window closes at 40"),
    case("its own service", line(Vehicle(service={1: 5}), service=[0, 1, 1, 1, 1],
         windows=windows(n0=(0, 88))), ALL),
    case("which takes longer", line(Vehicle(service={1: 6}), service=[0, 1, 1, 1, 1],
         windows=windows(n0=(0, 88))), ALL,
         "window: route 1 returns to depot 0 at 89, the depot closes at 88"),
]
LUNCH = Break(15, (30, 35), name="lunch")
BREAKS = [
    # Leaving at 0 it would begin at 30, or the vehicle leaves at 45; the first ends at 95.
    case("on the way", line(Vehicle(breaks=[LUNCH], window=(0, 95))), ALL),
    case("the shift is too short for it", line(Vehicle(breaks=[LUNCH], window=(0, 94))), ALL,
         "break: route 1 leaves type 0 no time for break 1 (lunch)"),
    case("or for anything", line(Vehicle(breaks=[LUNCH], window=(0, 79))), ALL,
         "window: route 1 is over at 95, the shift of type 0 ends at 79"),
    case("before leaving, as it lengthens no route", line(Vehicle(breaks=[LUNCH], max_duration=80,
         window=(40, 125))), ALL),
    case("afterwards", line(Vehicle(breaks=[LUNCH], max_duration=20)), [(0, 1, 0)],
         *(f"visit: customer {node} is never visited" for node in (2, 3, 4))),
    # Service at 1 begins by 15 and lasts for 40: neither before nor afterwards, nor in between.
    case("no time for it", line(Vehicle(breaks=[Break(1, (20, 30))], latest_start=5),
         service=[0, 40, 0, 0, 0], windows=windows(n1=(0, 15))), ALL,
         "break: route 1 leaves type 0 no time for break 1"),
    case("nor for the second", line(Vehicle(breaks=[LUNCH, Break(1, (20, 44))], latest_start=5)),
         ALL, "break: route 1 leaves type 0 no time for all of break 1 (lunch), break 2"),
    case("in its other window", line(Vehicle(breaks=[Break(1, windows=[(20, 30), (50, 51)])],
         latest_start=5), service=[0, 40, 0, 0, 0], windows=windows(n1=(0, 15))), ALL),
    # Driving from 10 to 20 it would begin at 12; customer 2 is reached at 25, not at 20.
    case("driving is interrupted", line(Vehicle(breaks=[Break(5, (12, 13))], latest_start=0),
         windows=windows(n2=(0, 25))), ALL),
    case("and it costs its time", line(Vehicle(breaks=[Break(5, (12, 13))], latest_start=0),
         windows=windows(n2=(0, 24))), ALL, "break: route 1 leaves type 0 no time for break 1"),
]
VAN = {"capacity": 2, "reload_depots": [0]}
TRIPS = [
    case("two trips", line(Vehicle(**VAN)), TWO_TRIPS, cost=120),
    case("one is too much", line(Vehicle(**VAN)), ALL,
         "capacity: route 1 leaves with a load of 4, capacity is 2"),
    case("the second is too much", line(Vehicle(**VAN)), [(0, 1, 0, 2, 3, 4, 0)],
         "capacity: route 1 leaves with a load of 3 after reload 1, capacity is 2"),
    case("no reload depot", line(Vehicle(capacity=4)), TWO_TRIPS,
         "depot: route 1 visits depot 0 on the way, at position 4"),
    case("too many reloads", line(Vehicle(**VAN, max_reloads=1)), [(0, 1, 0, 2, 0, 3, 4, 0)],
         "reload: route 1 reloads 2 times, type 0 may do so once"),
    case("as many as may be", line(Vehicle(**VAN, max_reloads=2)), [(0, 1, 0, 2, 0, 3, 4, 0)]),
    case("the limit is of the whole route", line(Vehicle(**VAN, max_length=119)), TWO_TRIPS,
         "length: route 1 is 120 long, limit is 119"),
    # 40, 7 for the reload, 80.
    case("a reload takes its time", line(Vehicle(**VAN, max_duration=127), service=[7, 0, 0, 0, 0]),
         TWO_TRIPS),
    case("which counts", line(Vehicle(**VAN, max_duration=126), service=[7, 0, 0, 0, 0]), TWO_TRIPS,
         "duration: route 1 takes 127, type 0 may take 126"),
    case("the depot is closed", line(Vehicle(**VAN), windows=windows(n0=(0, 39))), TWO_TRIPS,
         "window: route 1 reloads at depot 0 at 40, the depot closes at 39",
         "window: route 1 returns to depot 0 at 120, the depot closes at 39"),
    case("what is released later", line(Vehicle(**VAN, max_duration=130),
         release=[None, 0, 0, 50, 50]), TWO_TRIPS),
    case("leaves late instead", line(Vehicle(**VAN, max_duration=120),
         release=[None, 0, 0, 190, 50]), TWO_TRIPS),
    case("a pair is not split", line(Vehicle(capacity=2, reload_depots=[0]), pairs=[(1, 3), (2, 4)],
         demand=[0, -1, -1, 1, 1]), TWO_TRIPS,
         "pair: route 1 reloads between customer 1 and its delivery, customer 3",
         "pair: route 1 reloads between customer 2 and its delivery, customer 4"),
    case("backhauls last on every trip", line(Vehicle(**VAN), backhaul_last=True,
         demand=[0, 1, -1, 1, -1]), TWO_TRIPS),
]
BOARD = {"on_board": [1, 2], "capacity": 4}
GOODS = [
    case("what is on board", line(Vehicle(**BOARD), Vehicle()), [(0, 1, 2, 0), (0, 3, 4, 0)]),
    case("another vehicle's", line(Vehicle(**BOARD), Vehicle()), [(0, 1, 0), (0, 2, 3, 4, 0)],
         "goods: route 2 visits customer 2, whose goods are on board of type 0"),
    case("not on board", line(Vehicle(**BOARD), Vehicle()), [(0, 1, 2, 3, 0), (0, 4, 0)],
         "goods: route 1 delivers to customer 3, whose goods are not on board of type 0, "
         "without a reload before"),
    case("fetched first", line(Vehicle(**BOARD, reload_depots=[0])), TWO_TRIPS),
    case("too late", line(Vehicle(**BOARD, reload_depots=[0])), [(0, 1, 0, 2, 3, 4, 0)],
         "goods: route 1 delivers to customer 2 after a reload, but the goods are on board of "
         "type 0 from the start"),
    # On board 2, and after customer 3 three more: what is not delivered takes room.
    case("what stays takes room", line(Vehicle(on_board=[1, 2], capacity=4), Vehicle(),
         demand=[0, 1, 1, -3, 1], penalty=[np.inf, np.inf, 5, np.inf, np.inf]),
         [(0, 1, 3, 0), (0, 4, 0)], cost=60 + 80 + 5),
    case("too much of it", line(Vehicle(on_board=[1, 2], capacity=3), Vehicle(),
         demand=[0, 1, 1, -3, 1], penalty=[np.inf, np.inf, 5, np.inf, np.inf]),
         [(0, 1, 3, 0), (0, 4, 0)],
         "capacity: route 1 has a load of 4 after customer 3, capacity is 3"),
]
HURRY = [(0, FAR), (20, 2 * FAR)]
TIMES = [
    case("in the second window", line(windows=windows(n0=(0, 120), n1=[(0, 5), (50, 60)])), ALL),
    case("not between", line(windows=windows(n0=(0, 119), n1=[(0, 5), (50, 60)])), ALL,
         "window: route 1 returns to depot 0 at 120, the depot closes at 119"),
    case("when the first closes", line(windows=windows(n0=(0, 80), n1=[(0, 10), (50, 60)])), ALL),
    case("released", line(windows=windows(n0=(0, 87)), release=[None, 3, 7, None, None]), ALL),
    case("too late", line(windows=windows(n0=(0, 86)), release=[None, 3, 7, None, None]), ALL,
         "window: route 1 returns to depot 0 at 87, the depot closes at 86"),
    case("setup", line(windows=windows(n0=(0, 81)), setup=[0, 1, 0, 0, 0]), ALL),
    case("too long", line(windows=windows(n0=(0, 80)), setup=[0, 1, 0, 0, 0]), ALL,
         "window: route 1 returns to depot 0 at 81, the depot closes at 80"),
    # Leaving 0 at 0 for 10, 1 at 10 for 15; then each 10 take 20, until 80 for the way home.
    case("rush hour", line(windows=windows(n0=(0, 145)), travel_times=HURRY), ALL),
    case("longer than that", line(windows=windows(n0=(0, 144)), travel_times=HURRY), ALL,
         "window: route 1 returns to depot 0 at 145, the depot closes at 144"),
]
# fmt: on


@pytest.mark.parametrize(
    ("problem", "routes", "found", "cost"), [*WORKING_TIME, *BREAKS, *TRIPS, *GOODS, *TIMES]
)
def test_a_rule(problem: Problem, routes: Any, found: list[str], cost: float | None) -> None:
    vehicles = None if problem.vehicles is None else list(range(len(routes)))
    if problem.vehicles is not None and len(problem.vehicles) == 1:
        vehicles = [0] * len(routes)
    verdict = judge(problem, routes, vehicles)
    assert [f"{v.code}: {v.message}" for v in verdict.violations] == found
    if cost is not None:
        assert verdict.cost == pytest.approx(cost)


def test_setup_is_not_needed_twice_at_one_place() -> None:
    apart = Problem.from_coordinates(
        [(0, 0), (10, 0), (10, 0)],
        setup=[0, 4, 4],
        vehicles=[Vehicle(max_duration=24, max_stops=2)],
    )
    assert judge(apart, [(0, 1, 2, 0)]).feasible
    assert findings(apart.replace(setup=[0, 4, 5]), [(0, 2, 1, 0)]) == [
        "duration: route 1 takes 25, type 0 may take 24"
    ]


# ------------------------------------------------------------------------------------------ plans


def test_the_plan_of_a_route_with_a_break_and_a_reload(tmp_path: Path) -> None:
    day = [("08:00", "18:00")] * 5
    van = Vehicle(
        name="van",
        capacity=2,
        reload_depots=["depot"],
        breaks=[Break(timedelta(minutes=30), ("09:00", "09:30"), name="coffee")],
        unit_duration_cost=0.1,
    )
    problem = Problem.from_coordinates(
        LINE,
        ids=["depot", "a", "b", "c", "d"],
        demand=[0, 1, 1, 1, 1],
        windows=day,
        service=[10, 5, 5, 5, 5],
        time_unit="min",
        vehicles=[van],
    )
    solution = Solution.judged(problem, TWO_TRIPS)
    # 08:00 to 08:50 the first trip, 10 for the reload; the break on the way to c; 120 + 50 + 10.
    assert solution.feasible
    assert solution.cost == pytest.approx(120 + 0.1 * 180)
    (route,) = solution.plan.routes
    kinds = ["start", "delivery", "delivery", "reload", "delivery", "delivery", "end"]
    assert [stop.kind for stop in route.stops] == kinds
    told = ["08:00", "08:10", "08:25", "08:50", "10:00", "10:15", "11:00"]
    assert [stop.arrival for stop in route.stops] == told
    assert [stop.load for stop in route.stops] == [2, 1, 0, 2, 1, 0, 0]
    assert [stop.pause for stop in route.stops] == [0, 0, 0, 0, 30, 0, 0]
    assert route.duration == pytest.approx(180)
    assert len(route.visits) == 4
    assert "break 1 (coffee) 09:00:00 to 09:30:00" in str(solution)
    document = solution.to_dict()["routes"][0]
    assert document["breaks"][0]["begin"] == "09:00"
    assert document["time_cost"] == pytest.approx(18)
    for name in ("plan.json", "plan.csv", "plan.sol"):
        solution.save(tmp_path / name)
        assert read_solution(tmp_path / name, problem).instances[0].routes == tuple(TWO_TRIPS)
    assert "Route #1: 1 2 0 3 4" in (tmp_path / "plan.sol").read_text()
    with pytest.raises(UnsupportedError, match="VROOM: expected routes of one trip"):
        solution.to_vroom()


def test_who_is_left_out_is_told_the_rule() -> None:
    problem = line(Vehicle(count=1, max_stops=3))
    (left,) = Solution.judged(problem, [(0, 1, 2, 3, 0)], [0]).unserved
    assert (left.code, left.node) == ("fleet", 4)
    assert "the route has 4 stops, type 0 may have 3" in left.message
    late = line(Vehicle(count=1, latest_start=5), release=[None, 0, 0, 0, 9])
    (left,) = Solution.judged(late, [(0, 1, 2, 3, 0)], [0]).unserved
    assert "such a route leaves not before 9, type 0 must leave by 5" in left.message
    reloading = line(Vehicle(count=1, capacity=3, reload_depots=[0]))
    (left,) = Solution.judged(reloading, [(0, 1, 2, 3, 0)], [0]).unserved
    assert left.code == "none"  # after a reload it fits


# ----------------------------------------------------------------------------------------- fields


def everything() -> Problem:
    return Problem.from_coordinates(
        LINE,
        ids=["depot", "a", "b", "c", "d"],
        time_unit="min",
        demand=[0, 1, 1, 1, 1],
        windows=[("08:00", "20:00"), [("08:00", "09:00"), ("12:00", None)], *[("08:00", None)] * 3],
        release=[None, "08:10", None, None, None],
        setup=[0, timedelta(minutes=5), 0, 0, 0],
        travel_times=[("08:00", FAR), ("10:00", 2 * FAR)],
        vehicles=[
            Vehicle(
                name="van",
                max_stops=4,
                latest_start="12:00",
                max_duration=600,
                max_overtime=timedelta(hours=1),
                overtime_cost=2,
                unit_duration_cost=0.5,
                speed_factor=1.25,
                service={"a": 3, "depot": timedelta(minutes=10)},
                breaks=[
                    Break(30, windows=[("12:00", "13:00"), ("11:00", "11:10")]),
                    {"duration": 5},
                ],
                reload_depots=["depot"],
                max_reloads=3,
            ),
            {"name": "on the road", "on_board": ["b"], "capacity": 3},
        ],
    )


def test_moments_and_nodes_are_numbers_within_a_problem() -> None:
    problem = everything()
    van, other = problem.fleet
    assert problem.closed == ((1, 60.0, 240.0),)
    assert problem.windows[1].tolist() == [0, np.inf]
    assert problem.release is not None
    assert problem.release.tolist()[:2] == [-np.inf, 10]
    assert van.latest_start == 240
    assert van.max_overtime == 60
    assert van.service == ((0, 10.0), (1, 3.0))
    assert van.reload_depots == (0,)
    assert van.breaks[0].windows == ((180.0, 190.0), (240.0, 300.0))
    assert van.breaks[1].windows == ((-np.inf, np.inf),)
    assert 2 in van.forbidden
    assert other.forbidden == {1, 3, 4}
    assert other.count == 1
    assert (problem.durations.matrix() == FAR).all()
    assert problem.route_rules[:4] == ("closed", "release", "setup", "travel_times")
    assert "several windows" in problem.variant_name
    assert "breaks" in problem.variant_name


def test_reading_what_was_written(tmp_path: Path) -> None:
    problem = everything()
    write(problem, tmp_path / "one.json")
    again = read(tmp_path / "one.json")
    assert again == problem
    assert again.fleet == problem.fleet
    assert problem.replace(name="other") == problem
    assert problem.replace(setup=None) != problem
    assert not problem.replace(windows=None, travel_times=(), release=None).closed
    text = (
        (tmp_path / "one.json")
        .read_text()
        .replace('"breaks": [{"dur', '"breaks": [{"kind": 1, "dur')
    )
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(Exception, match="vehicles, type 0, breaks, break 1, unknown key 'kind'"):
        read(tmp_path / "odd.json")


def test_neutral_values_are_no_rules() -> None:
    same = line(Vehicle(max_overtime=0, speed_factor=1, breaks=[], service={}), setup=[0] * 5)
    assert not same.has_route_rules
    assert same == line(Vehicle())
    assert not line(release=[None] * 5).has_route_rules


DATE = datetime(2026, 3, 2, 8)


@pytest.mark.parametrize(
    ("vehicle", "message"),
    [
        ({"max_stops": 0}, "max_stops: expected a whole number of at least 1, or None"),
        ({"max_stops": 2.5}, "max_stops: expected a whole number, or None, received 2.5"),
        ({"latest_start": "noon"}, "latest_start: expected a number, a date"),
        ({"latest_start": -1}, "latest_start: expected not before 0, when it may leave"),
        ({"max_overtime": 5}, "max_overtime: expected 0 without max_duration, received 5.0"),
        ({"max_overtime": -1}, "max_overtime: expected a finite number of at least 0"),
        ({"unit_duration_cost": np.nan}, "unit_duration_cost: expected a number below"),
        ({"speed_factor": 0}, "speed_factor: expected a finite number above 0"),
        ({"service": {9: 1}}, "service: expected nodes from 0 to 4, received 9"),
        ({"service": {1: -1}}, "service, node 1: expected a duration of at least 0"),
        ({"service": 3}, "service: expected a table node -> duration, received 3"),
        ({"breaks": 3}, "breaks: expected a list of breaks, received 3"),
        ({"breaks": [{}]}, "break 1, duration: expected a duration of at least 0, received none"),
        ({"breaks": [{"duration": 1, "at": 3}]}, "break 1, keys: expected known ones"),
        ({"breaks": [Break(-1)]}, "break 1, duration: expected a duration of at least 0"),
        ({"breaks": [Break(1, (3, 2))]}, "break 1, window: expected an end after the beginning"),
        ({"breaks": [Break(1, (1, 2, 3))]}, "break 1, window: expected two moments"),
        ({"breaks": [Break(1, 5)]}, "break 1, window: expected two moments, received 5"),
        ({"breaks": [Break(1, (1, 2), [(1, 2)])]}, "break 1, window: expected either a window or"),
        ({"reload_depots": [1]}, "reload_depots: expected depots, of"),
        ({"max_reloads": 1}, "max_reloads: expected None without reload_depots"),
        ({"on_board": [0]}, "on_board: expected customers with a delivery"),
        ({"on_board": [1, 1]}, "on_board: expected each customer once"),
        ({"on_board": [1], "count": 2}, "count: expected 1 where goods are on board"),
        ({"on_board": [1, 2], "capacity": 1}, "on_board: expected at most the capacity 1"),
    ],
)
def test_a_type_that_contradicts_itself(vehicle: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        line({"name": "van", **vehicle})
    assert str(caught.value).startswith(f"vehicles, type 0 (van), {message}")


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"windows": windows(n1=[(5, 9), (8, 10)])}, "windows, node 1: expected windows in order"),
        ({"windows": windows(n1=[(5, 4)])}, "windows, node 1: expected windows that close after"),
        ({"windows": windows(n0=[(1, 2), (3, 4)])}, "windows, node 0: expected one window at a"),
        ({"windows": windows(n1=[(5, "x"), (8, 9)])}, "windows, node 1: expected a number"),
        ({"closed": [(1, 5, 4)]}, "closed, node 1: expected a gap that ends after it begins"),
        ({"closed": [(0, 5, 9)]}, "closed, node 0: expected customers, received a depot"),
        ({"release": [1, 2]}, "release: expected 5 moments, one a node, received 2 of them"),
        ({"release": [9, 1, 1, 1, 1]}, "release, node 0: expected None at a depot"),
        ({"release": [None, np.nan, 1, 1, 1]}, "release, node 1: expected a number below"),
        ({"release": [None, DATE, 3, 4, 5]}, "release, node 2: expected a date with a time"),
        ({"demand": [0, -1, 1, 1, 1], "release": [0, 1, 1, 1, 1]},
         "release, node 1: expected None where nothing comes from a depot"),
        ({"release": [0, [1, 2], 3, 4, 5]}, "release: expected 5 moments, one a node"),
        ({"windows": windows(n1=[(5, 6), (8,)])}, "windows, node 1: expected"),
        ({"windows": np.array(None)}, "windows: expected"),
        ({"travel_times": np.zeros((2, 5, 5))}, "travel_times: expected (moment, durations"),
        ({"setup": [1, 0, 0, 0, 0]}, "setup, node 0: expected 0 at a depot"),
        ({"setup": [0, -1, 0, 0, 0]}, "setup, node 1: expected a duration of at least 0"),
        ({"travel_times": 5}, "travel_times: expected (moment, durations (N, N))"),
        ({"travel_times": [5]}, "travel_times: expected (moment, durations (N, N))"),
        ({"travel_times": [(0, FAR[:2])]}, "travel_times: expected matrices (5, 5)"),
        ({"travel_times": [(5, FAR), (5, FAR)]}, "travel_times: expected moments in order"),
        ({"travel_times": [(0, FAR), (5, 0 * FAR)]},
         "travel_times: expected durations that fall no faster than time passes, so that who "
         "leaves later arrives later, received from 10 to 0 between 0 and 5, from node 0 to"),
        ({"travel_times": [(0, FAR)], "durations": FAR + 1}, "durations: expected none beside"),
        ({"travel_times": [(0, FAR), (9, FAR)], "variant": "CVRP", "capacity": 9},
         "travel_times: expected nothing beside a declared variant"),
    ],
)  # fmt: skip
def test_a_problem_that_contradicts_itself(features: dict[str, Any], message: str) -> None:
    if "variant" in features:
        features = {**features, "load_rule": None}
    with pytest.raises(ProblemError) as caught:
        line(**features)
    assert str(caught.value).startswith(message)


def test_who_is_slow_must_not_be_overtaken_either() -> None:
    times = [(0, 2 * FAR), (80, FAR)]
    assert line(travel_times=times).has_route_rules
    assert line({"speed_factor": 0.5}, travel_times=times).has_route_rules
    with pytest.raises(ProblemError, match="fall no faster than time passes"):
        line({"speed_factor": 0.25}, travel_times=times)


def test_no_opening_is_early_enough_for_the_latest_start() -> None:
    hours = [(None, None), *[("10:00", "12:00")] * 4]
    problem = line(Vehicle(latest_start="08:00"), windows=hours, time_unit="min")
    assert judge(problem, ALL, [0]).feasible


# --------------------------------------------------------------------------- who must not lose one


def test_who_does_not_know_the_rules_does_not_take_the_problem(tmp_path: Path) -> None:
    from spacevrp.arrays.fleet import fleet_view
    from spacevrp.arrays.rows import uniform_view
    from spacevrp.problems.canonical import canonical

    problem = line(setup=[0, 1, 1, 1, 0], depots=[0, 4], demand=[0, 1, 1, 1, 0])
    assert sheet_arguments(problem) is None
    assert canonical(problem) is problem
    for view in (uniform_view, fleet_view):
        with pytest.raises(UnsupportedError, match="a batch has no place for setup"):
            view(problem)
    with pytest.raises(UnsupportedError, match="cannot hold setup"):
        write(line(setup=[0, 1, 1, 1, 1], capacity=4), tmp_path / "one.vrp")
