"""PyVRP's data and models as problems: PyVRP's own cost of a plan is the referee's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

pyvrp = pytest.importorskip("pyvrp", reason="an extra")

# A corner and three more of a rectangle of 30 by 40.
POINTS = [(0, 0), (30, 0), (30, 40), (0, 40)]


def matrix() -> Any:
    places = np.array(POINTS)
    return np.hypot(*(places[:, None] - places).transpose(2, 0, 1)).astype(np.int64)


def data(**changes: Any) -> Any:
    fields: dict[str, Any] = {
        "locations": [pyvrp.Location(x, y) for x, y in POINTS],
        "clients": [pyvrp.Client(1, [2]), pyvrp.Client(2, [3]), pyvrp.Client(3, [4])],
        "depots": [pyvrp.Depot(0)],
        "vehicle_types": [pyvrp.VehicleType(2, [9])],
        "distance_matrices": [matrix()],
        "duration_matrices": [matrix()],
    }
    return pyvrp.ProblemData(**{**fields, **changes})


def cost(held: Any, routes: list[Any], kinds: list[int] | None = None) -> tuple[bool, float]:
    """What PyVRP says of routes of clients, or of activities."""
    listed = [
        pyvrp.Route(held, route, kind)
        for route, kind in zip(routes, kinds or [0] * len(routes), strict=True)
    ]
    plan = pyvrp.Solution(held, listed)
    price = pyvrp.CostEvaluator([1.0] * held.num_load_dimensions, 1, 1).cost(plan)
    return plan.is_feasible(), price


def test_what_all_vehicles_have_in_common_is_no_fleet() -> None:
    problem = Problem.from_pyvrp(data())
    assert (problem.vehicles, problem.capacity, problem.max_routes) == (None, 9, 2)
    assert problem.demand.tolist() == [0, 2, 3, 4]
    assert problem.places is not None
    assert problem.places.tolist() == [list(map(float, point)) for point in POINTS]
    assert Solution.judged(problem, [[0, 1, 2, 3, 0]]).cost == 140
    assert cost(data(), [[0, 1, 2]]) == (True, 140)


def test_a_model_is_as_good_as_its_data() -> None:
    model = pyvrp.Model()
    places = [model.add_location(x, y, name=f"p{x}-{y}") for x, y in POINTS]
    model.add_depot(places[0], tw_late=500)
    model.add_vehicle_type(2, [9], shift_duration=200, unit_duration_cost=1)
    for place in places[1:]:
        model.add_client(place, delivery=[2], service_duration=5, tw_late=300)
    for number, one in enumerate(places):
        for target, other in enumerate(places):
            if abs(number - target) in (1, 3):  # no road across
                model.add_edge(one, other, distance=matrix()[number, target], duration=50)
    problem = Problem.from_pyvrp(model)
    assert problem.ids == ("p0-0", "p30-0", "p30-40", "p0-40")
    assert problem.distances.between(0, 2) == np.inf
    plan = Solution.judged(problem, [[0, 1, 2, 3, 0]])
    # 140 of distance, and 4 * 50 + 3 * 5 of time, which is too long.
    assert plan.cost == 140 + 215
    assert [one.code for one in plan.violations] == ["duration"]
    assert not cost(model.data(), [[0, 1, 2]])[0]


def test_a_profile_without_roads_bars_its_vehicles() -> None:
    barred = matrix()
    barred[1, :] = barred[:, 1] = 2**44  # the second type may not serve the first client
    barred[1, 1] = 0
    near = pyvrp.VehicleType(2, [9], name="near", max_distance=150)
    held = data(
        vehicle_types=[near, pyvrp.VehicleType(1, [9], profile=1)],
        distance_matrices=[matrix(), barred],
        duration_matrices=[matrix(), matrix()],
    )
    first, second = Problem.from_pyvrp(held).fleet
    assert (first.name, first.count, first.max_length) == ("near", 2, 150)
    assert (first.forbidden, second.forbidden) == (frozenset(), {1})


def test_shipments_groups_and_kinds_of_load() -> None:
    shipment = pyvrp.Shipment(1, 2, amount=[2, 1], prize=50, required=False)
    held = data(
        clients=[pyvrp.Client(3, [4, 0])],
        shipments=[shipment],
        vehicle_types=[pyvrp.VehicleType(2, [5, 1])],
    )
    problem = Problem.from_pyvrp(held)
    assert problem.pairs == ((2, 3),)
    assert problem.loads.tolist() == [[0, 0], [4, 0], [-2, -1], [2, 1]]
    kinds = pyvrp.ActivityType
    activities = [pyvrp.Activity(one, 0) for one in (kinds.CLIENT, kinds.PICKUP, kinds.DELIVERY)]
    assert cost(held, [activities]) == (True, 40 + 50 + 40 + 50)
    plan = Solution.judged(problem, [[0, 1, 2, 3, 0]])
    assert (plan.feasible, plan.cost) == (True, 180)
    left_out = Solution.judged(problem, [[0, 1, 0]])
    assert (left_out.feasible, left_out.cost) == cost(held, [activities[:1]]) == (True, 130)
    group = pyvrp.ClientGroup([0, 1])
    clients = [
        pyvrp.Client(1, [2], required=False, group=0),
        pyvrp.Client(2, [3], required=False, group=0),
    ]
    chosen = Problem.from_pyvrp(data(clients=[*clients, pyvrp.Client(3, [4])], groups=[group]))
    assert Solution.judged(chosen, [[0, 1, 3, 0]]).feasible
    assert [v.code for v in Solution.judged(chosen, [[0, 1, 2, 3, 0]]).violations] == ["group"]


@pytest.mark.parametrize(("changes", "words"), [
    (lambda: {"vehicle_types": [pyvrp.VehicleType(1, [9], initial_load=[3])]},
     "vehicle type 0, initial_load: goods that belong to no client"),
    (lambda: {"depots": [pyvrp.Depot(0, service_duration=4)]},
     "depot 0, service_duration: of a depot where routes start"),
    (lambda: {"distance_matrices": [matrix(), 2 * matrix()], "duration_matrices": [matrix(),
                                                                                   matrix()]},
     "profiles: distances of profile 1 are others than those of the rest"),
])  # fmt: skip
def test_what_cannot_be_said_is_refused_by_name(changes: Any, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        Problem.from_pyvrp(data(**changes()))


def test_anything_else_is_refused() -> None:
    with pytest.raises(ProblemError, match="expected PyVRP's ProblemData or Model"):
        Problem.from_pyvrp({"clients": []})


# ----------------------------------------------------------------------------------------- and back


def random_data(seed: int) -> Any:
    """Small data with whatever PyVRP can say and we can, too."""
    draw = np.random.default_rng(seed)
    size = 8
    places = draw.integers(0, 60, (size, 2))
    between = np.rint(np.hypot(*(places[:, None] - places).transpose(2, 0, 1))).astype(np.int64)
    both = bool(draw.integers(2))
    clients = [
        pyvrp.Client(
            1 + k,
            [int(draw.integers(1, 5))],
            [int(draw.integers(0, 4))] if both else [0],
            service_duration=int(draw.integers(0, 9)),
            tw_early=int(draw.integers(0, 30)),
            tw_late=int(draw.integers(200, 600)),
            release_time=int(draw.integers(0, 40)) if draw.integers(2) else 0,
            prize=0 if k < 2 else int(draw.integers(1, 90)),
            required=k >= 2 and bool(draw.integers(2)),
            group=0 if k < 2 else None,
        )
        for k in range(size - 3)
    ]
    shipments = [
        pyvrp.Shipment(
            6,
            7,
            amount=[int(draw.integers(1, 6))],
            pickup_service_duration=int(draw.integers(0, 9)),
            delivery_tw_late=int(draw.integers(300, 600)),
            prize=int(draw.integers(1, 90)),
            required=bool(draw.integers(2)),
        )
    ]
    kinds = [
        pyvrp.VehicleType(
            int(draw.integers(1, 4)),
            [int(draw.integers(6, 12))],
            fixed_cost=int(draw.integers(0, 30)),
            unit_distance_cost=int(draw.integers(1, 4)),
            max_distance=int(draw.integers(180, 400)),
            unit_duration_cost=int(draw.integers(0, 3)),
            shift_duration=int(draw.integers(150, 300)),
            max_overtime=int(draw.integers(0, 80)),
            unit_overtime_cost=int(draw.integers(0, 5)),
            tw_early=int(draw.integers(0, 10)),
            tw_late=800,
            start_late=int(draw.integers(20, 500)),
            reload_depots=[0] if draw.integers(2) else [],
            max_reloads=int(draw.integers(0, 3)),
        )
        for _ in range(int(draw.integers(1, 3)))
    ]
    return data(
        locations=[pyvrp.Location(*map(int, place)) for place in places],
        clients=clients,
        vehicle_types=kinds,
        groups=[pyvrp.ClientGroup([0, 1], bool(draw.integers(2)))],
        shipments=[] if both else shipments,
        distance_matrices=[between],
        duration_matrices=[between],
    )


def node_of(activity: Any) -> int:
    """A depot, five clients, and the steps of a shipment."""
    if activity.is_depot():
        return 0
    return 1 + int(activity.idx) if activity.is_client() else 6 + activity.is_delivery()


@pytest.mark.parametrize("seed", range(15))
def test_there_and_back_a_plan_costs_the_same(seed: int) -> None:
    """PyVRP's own plans of its data, of what we make of them, and by the referee."""
    from spacevrp.oracles.pyvrp import as_pyvrp

    held = random_data(seed)
    problem = Problem.from_pyvrp(held)
    model = as_pyvrp(problem)
    draw = pyvrp.RandomNumberGenerator(seed)
    price = pyvrp.CostEvaluator([1.0], 1, 1)
    for _ in range(20):
        plan = pyvrp.Solution.make_random(held, draw)
        routes, kinds = [], []
        for route in plan.routes():
            routes.append([node_of(one) for one in route])
            kinds.append(route.vehicle_type())
        ours = Solution.judged(problem, routes, kinds if problem.vehicles else None)
        assert ours.feasible == plan.is_feasible(), (ours.violations, str(plan))
        if not ours.feasible:
            continue
        assert ours.cost == price.cost(plan)
        back = model.as_solution(ours.routes)
        assert back.is_feasible()
        assert model.claim(price.cost(back)) == pytest.approx(ours.cost)
        assert Solution.judged(problem, model.read_routes(back)).cost == pytest.approx(ours.cost)


def test_what_pyvrp_cannot_say_is_refused_by_name() -> None:
    import spacevrp

    problem = Problem.from_pyvrp(data())
    assert spacevrp.to_pyvrp(problem).num_clients == 3
    for changes, words in (
        ({"priority": [0, 1, 2, 3]}, "priority"),
        ({"order": [(1, 2)]}, "order"),
        ({"setup": [0, 1, 1, 1]}, "setup"),
        ({"vehicles": [{"max_stops": 2}]}, "max_stops"),
    ):
        with pytest.raises(UnsupportedError, match=f"pyvrp cannot model {words} exactly"):
            spacevrp.to_pyvrp(problem.replace(**changes))
