"""What ``solve`` promises: order, independence, reproducibility, refereed costs, any form."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import spacevrp
from spacevrp.generators import generate
from spacevrp.model import SpaceModel
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.solution import Solution
from spacevrp.solver import Solver

# What is looked at here is the search of the model.
pytestmark = pytest.mark.usefixtures("network_alone")

VARIANTS = ("CVRP", "ATSP", "AMDOCVRPBPLTW", "PDTSP", "OP", "SPCTSP", "OPDCVRP", "MDCVRPB")
# With fewer options than customers, small instances are searched as large ones are.
WAYS = {"usual": {"augment": 3}, "large": {"augment": 3, "candidates": 3}}


@pytest.fixture(scope="module")
def mixed() -> list[Problem]:
    """Instances of every variant above in two sizes, and two that have vehicles of two kinds."""
    sizes = (10, 12)
    plain = [problem for name in VARIANTS for size in sizes for problem in generate(name, size, 1)]
    kinds = [{"count": 3, "capacity": 30}, {"capacity": 20, "fixed_cost": 0.5}]
    fleets = [one.replace(variant=None, vehicles=kinds) for one in generate("CVRP", 9, 2)]
    return [fleets[0], *plain, fleets[1]]


@pytest.fixture(scope="module", params=WAYS)
def way(request: pytest.FixtureRequest) -> dict[str, int]:
    return WAYS[request.param]


@pytest.fixture(scope="module")
def mixed_solutions(solver: Solver, mixed: list[Problem], way: dict[str, int]) -> list[Solution]:
    return solver.solve(mixed, **way)


def test_a_mixed_batch_keeps_its_order_and_every_rule(mixed, mixed_solutions):
    assert len(mixed_solutions) == len(mixed)
    for problem, solution in zip(mixed, mixed_solutions, strict=True):
        verdict = judge(problem, solution.routes, solution.vehicles)
        assert verdict.violations == (), problem.name
        assert solution.cost == verdict.cost
        assert solution.feasible
        assert (solution.vehicles is None) == (problem.vehicles is None)


def test_fewer_options_leave_something_out(solver, mixed):
    assert solver.solve(mixed, **WAYS["large"]) != solver.solve(mixed, **WAYS["usual"])


def test_neither_the_others_nor_their_order_matter(solver, mixed, mixed_solutions, way):
    for problem, among_others in zip(mixed, mixed_solutions, strict=True):
        assert solver.solve(problem, **way) == among_others, problem.name
    assert solver.solve(mixed[::-1], **way) == mixed_solutions[::-1]


@pytest.mark.parametrize(
    ("batch_memory", "count"),
    [pytest.param(1, 3, marks=pytest.mark.slow), (400_000, 18)],
)
def test_how_the_work_is_cut_does_not_matter(
    solver, mixed, mixed_solutions, way, batch_memory, count
):
    some = solver.solve(mixed[:count], batch_memory=batch_memory, **way)
    assert some == mixed_solutions[:count]


@pytest.mark.slow
def test_how_many_workers_there_are_does_not_matter(
    solver, mixed, mixed_solutions, way, monkeypatch
):
    monkeypatch.setattr("spacevrp.engines.large.workers_for", lambda device: 3)
    monkeypatch.setattr("spacevrp.engines.large._FEWEST_OF_A_WORKER", 1)
    before = torch.get_num_threads()
    assert solver.solve(mixed[:8], **way) == mixed_solutions[:8]
    assert torch.get_num_threads() == before


def test_one_problem_in_one_solution_out(solver: Solver) -> None:
    problem = generate("CVRP", 10)[0]
    alone = solver.solve(problem)
    assert isinstance(alone, Solution)
    assert solver.solve([problem]) == [alone]
    assert solver.solve(iter([problem])) == [alone]
    assert solver.solve([]) == []


def test_the_function_and_the_class_agree(model: SpaceModel) -> None:
    problem = generate("CVRP", 10)[0]
    assert issubclass(spacevrp.Solver, Solver)  # which takes a time, too
    expected = Solver(model, "cpu").solve(problem, augment=2)
    assert spacevrp.solve(problem, weights=model, device="cpu", augment=2) == expected


def test_durations_of_their_own(solver: Solver) -> None:
    # Near in distance, far in time: customers 1 and 2 cannot share a route.
    distances = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    durations = [[0, 1, 1], [1, 0, 9], [1, 9, 0]]
    windows = [[0, 20], [0, 5], [0, 5]]
    together = Problem.from_matrix(distances, windows=windows)
    apart = Problem.from_matrix(distances, durations=durations, windows=windows)
    plans = solver.solve([apart, together])
    assert sorted(plans[0].routes) == [(0, 1, 0), (0, 2, 0)]
    assert len(plans[1].routes) == 1


@pytest.mark.parametrize("augment", [1, 8, 128])
def test_the_smallest_instances(solver: Solver, augment: int) -> None:
    single = Problem.from_coordinates([(0, 0)], depots=())
    couple = Problem.from_coordinates([(0, 0), (3, 4)], depots=())
    one_customer = Problem.from_coordinates([(3, 4), (0, 0)], demand=[0, 1], capacity=1)
    same_place = Problem.from_coordinates([(1, 1)] * 4, demand=[0, 1, 1, 1], capacity=2)
    plans = solver.solve([single, couple, one_customer, same_place], augment=augment)
    assert plans[0].routes == ((0,),)
    assert (sorted(plans[1].routes[0]), plans[1].cost) == ([0, 1], 10)
    assert (plans[2].routes, plans[2].cost) == (((0, 1, 0),), 10)
    assert (len(plans[3].routes), plans[3].cost) == (2, 0)


def test_an_attempt_tells_what_failed_and_where_the_time_went(solver: Solver) -> None:
    fine = generate("CVRP", 10)[0]
    hopeless = Problem.from_coordinates(
        [(0, 0), (0, 1), (1, 0)], demand=[0, 1, 1], capacity=1, max_routes=1
    )
    attempt = solver.run([fine, hopeless], augment=2)
    assert attempt.solutions == [solver.solve(fine, augment=2), None]
    assert list(attempt.reasons) == [1]
    assert attempt.refused == 0
    seconds = attempt.seconds
    assert min(seconds.preparing, seconds.searching, seconds.judging) > 0
    parts = (seconds.preparing, seconds.searching, seconds.judging, seconds.improving)
    assert seconds.total == pytest.approx(sum(parts))
    assert seconds.searching > seconds.judging


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"augment": 0}, "augmentations: expected a whole number of at least 1, received 0"),
        ({"starts": 0}, "start_nodes: expected a whole number of at least 1, received 0"),
        ({"sample": -1}, "num_samples: expected a whole number of at least 0, received -1"),
        ({"seed": 0.5}, "seed: expected a whole number of at least 0, received 0.5"),
        ({"batch_memory": 0}, "batch_memory: expected a whole number of at least 1, received 0"),
    ],
)
def test_bad_arguments_are_named(solver, arguments, message):
    with pytest.raises(SpacevrpError, match=f"^{message}$"):
        solver.solve(generate("CVRP", 10), **arguments)  # type: ignore[call-overload]


# ------------------------------------------------------------------------- the second attempt


def arcs(size: int, *pairs: tuple[int, int]) -> np.ndarray:
    matrix = np.full((size, size), np.inf)
    for origin, target in pairs:
        matrix[origin, target] = 1
    return matrix


@pytest.mark.parametrize("least", [0, 51], ids=["network first", "search first"])
def test_customers_may_get_home_over_others(solver, monkeypatch, least):
    """The search cannot begin with these; where it comes first, the network follows."""
    monkeypatch.setattr("spacevrp.solver.effort.LEAST_FOR_NETWORK", least)
    ring = Problem.from_matrix(arcs(4, (0, 1), (1, 2), (2, 3), (3, 0)))
    two_rings = Problem.from_matrix(
        arcs(5, (0, 1), (1, 2), (2, 0), (0, 3), (3, 1), (3, 4), (4, 0)), max_routes=2
    )
    far_depot = Problem.from_matrix(
        arcs(5, (0, 2), (2, 0), (1, 3), (3, 4), (4, 1)), depots=(0, 1), demand=[0, 0, 1, 1, 1]
    )
    plans = solver.solve([ring, two_rings, far_depot])
    assert plans[0].routes == ((0, 1, 2, 3, 0),)
    assert sorted(plans[1].routes) == [(0, 1, 2, 0), (0, 3, 4, 0)]
    assert sorted(plans[2].routes) == [(0, 2, 0), (1, 3, 4, 1)]


def test_ways_home_over_others_keep_length_and_time(solver: Solver) -> None:
    # Straight home from customer 1 takes 9; over customer 2 it takes 2.
    matrix = [[0, 1, 9], [9, 0, 1], [1, 9, 0]]
    lengthy = Problem.from_matrix(matrix, max_length=3)
    late = Problem.from_matrix(matrix, windows=[(0, 3), (0, 3), (0, 3)])
    for plan in solver.solve([lengthy, late]):
        assert plan.routes == ((0, 1, 2, 0),)


def test_chance_helps_a_fleet_without_room_to_spare(solver: Solver) -> None:
    # 6 + 4, 5 + 3 + 2 and 10 is the only way.
    places = [(50, 50), (20, 60), (80, 30), (30, 20), (70, 80), (1, 2), (3, 4)]
    problem = Problem.from_coordinates(
        places, demand=[0, 6, 5, 4, 3, 2, 10], capacity=10, max_routes=3
    )
    loads = {frozenset(route[1:-1]) for route in solver.solve(problem).routes}
    assert loads == {frozenset({1, 3}), frozenset({2, 4, 5}), frozenset({6})}


# --------------------------------------------------------------------------- staying at home


def test_nobody_has_to_leave_where_nobody_has_to_be_visited(solver: Solver) -> None:
    places = [(0, 0), (3, 0), (0, 4)]
    cheap = Problem.from_coordinates(places, penalty=[0, 1, 1])
    dear = Problem.from_coordinates(places, penalty=[0, 100, 100])
    out_of_reach = Problem.from_coordinates(places, variant="OP", prize=[0, 1, 1], max_length=1)
    idle, busy, none = solver.solve([cheap, dear, out_of_reach])
    assert (idle.routes, idle.cost, idle.feasible) == ((), 2.0, True)
    assert busy.routes
    assert busy.cost < 200
    assert (none.routes, none.cost, none.feasible) == ((), 0.0, True)


@pytest.fixture(scope="module")
def bundled() -> Solver:
    return Solver(device="cpu")


def scattered(customers: int, **features: object) -> Problem:
    places = np.random.default_rng(4).random((customers + 1, 2))
    return Problem.from_coordinates(places, **features)  # type: ignore[arg-type]


def test_without_any_limit_one_route_is_enough(bundled: Solver) -> None:
    problem = scattered(20)
    solution = bundled.solve(problem)
    (route,) = solution.routes
    assert route[0] == route[-1] == 0
    assert sorted(route[1:-1]) == list(range(1, 21))
    # The same places as a tour without a depot: what is solved is that.
    tour = bundled.solve(Problem(problem.distances))
    assert solution.cost == pytest.approx(tour.cost)


def test_a_capacity_that_cannot_bind_changes_nothing(bundled: Solver) -> None:
    free = scattered(20, max_length=3.0)
    roomy = scattered(20, max_length=3.0, demand=[0.0] + [1.0] * 20, capacity=20.0)
    assert bundled.solve(free).cost == pytest.approx(bundled.solve(roomy).cost)


def test_when_the_day_begins_does_not_matter(bundled: Solver) -> None:
    windows = np.array([[0.0, 4.0]] + [[0.1 * k, 0.1 * k + 1.5] for k in range(12)])
    demand = [0.0] + [1.0] * 12
    plans = [
        bundled.solve(scattered(12, windows=windows + origin, demand=demand, capacity=4.0))
        for origin in (0.0, 1.7e9)  # a Unix timestamp
    ]
    assert plans[1].routes == plans[0].routes
