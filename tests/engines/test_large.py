"""Large instances through the solver: legal plans, the same however the work is cut."""

from __future__ import annotations

import pytest
import torch

from spacevrp.decode import adjustment
from spacevrp.engines import large
from spacevrp.engines.grouping import group
from spacevrp.engines.large import is_adjusted, product_dtype
from spacevrp.engines.pruning import Search
from spacevrp.generators import generate
from spacevrp.problems.errors import InfeasibleError, SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.solution import Solution
from spacevrp.solver import Solver

# What is looked at here is the search of the model.
pytestmark = pytest.mark.usefixtures("network_alone")

VARIANTS = ("CVRP", "ATSP", "AMDOCVRPBPLTW", "PDTSP", "OP", "SPCTSP", "OPDCVRP", "MDCVRPB")
FEW = {"augment": 3, "candidates": 3}  # fewer options than customers: the way of large instances


@pytest.fixture(scope="module")
def mixed() -> list[Problem]:
    return [
        problem for name in VARIANTS for size in (10, 12) for problem in generate(name, size, 1)
    ]


@pytest.fixture(scope="module")
def mixed_solutions(solver: Solver, mixed: list[Problem]) -> list[Solution]:
    return solver.solve(mixed, **FEW)


def test_a_mixed_batch_keeps_its_order_and_every_rule(
    solver: Solver, mixed: list[Problem], mixed_solutions: list[Solution]
) -> None:

    for problem, solution in zip(mixed, mixed_solutions, strict=True):
        verdict = judge(problem, solution.routes)
        assert verdict.violations == (), problem.name
        assert solution.cost == verdict.cost
    assert mixed_solutions != solver.solve(mixed, augment=3)  # something was left out


@pytest.mark.slow
def test_an_instance_alone_gets_the_same_plan_as_among_others(
    solver: Solver, mixed: list[Problem], mixed_solutions: list[Solution]
) -> None:
    for problem, among_others in zip(mixed, mixed_solutions, strict=True):
        assert solver.solve(problem, **FEW) == among_others, problem.name


@pytest.mark.slow
@pytest.mark.parametrize(("batch_memory", "count"), [(1, 2), (10**8 + 2**27, 3)])
def test_how_the_work_is_cut_does_not_matter(
    solver: Solver,
    mixed: list[Problem],
    mixed_solutions: list[Solution],
    batch_memory: int,
    count: int,
) -> None:
    some = solver.solve(mixed[:count], batch_memory=batch_memory, **FEW)
    assert some == mixed_solutions[:count]


@pytest.mark.slow
def test_how_many_workers_there_are_does_not_matter(
    solver: Solver,
    mixed: list[Problem],
    mixed_solutions: list[Solution],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large, "workers_for", lambda device: 3)
    monkeypatch.setattr(large, "_FEWEST_OF_A_WORKER", 1)
    before = torch.get_num_threads()
    assert solver.solve(mixed[:8], **FEW) == mixed_solutions[:8]
    assert torch.get_num_threads() == before


@pytest.mark.slow
def test_how_augmentations_are_cut_does_not_matter_where_they_weigh_distances_differently(
    solver: Solver,
    mixed: list[Problem],
    mixed_solutions: list[Solution],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As if the network had been trained with four nodes, everything here were large.
    monkeypatch.setattr(large, "SMALL", 4)
    monkeypatch.setattr(adjustment, "TRAINED_NODES", 4)
    together = solver.solve(mixed[:4], **FEW)
    assert together != mixed_solutions[:4]
    assert solver.solve(mixed[:4], batch_memory=1, **FEW) == together


def test_only_large_instances_are_adjusted() -> None:
    for name, size, adjusted in (
        ("CVRP", 201, True),
        ("CVRP", 200, False),
        ("TSP", 201, True),
        ("OCVRPTW", 201, True),
        ("ACVRP", 201, False),
        ("MDCVRP", 201, False),
    ):
        assert is_adjusted(generate(name, size, 1)[0]) == adjusted, name


def test_with_all_candidates_plans_cost_what_they_cost_otherwise(solver: Solver) -> None:
    # 210 customers are many enough for blocks; all of them are options.
    problems = generate("CVRP", 210, 1)
    wide = solver.solve(problems, augment=1, starts=4, candidates=210)
    near = solver.solve(problems, augment=1, starts=4, candidates=209)
    assert wide[0].feasible
    assert near[0].feasible
    # Of 210 candidates one hardly ever makes a difference.
    assert near[0].cost == pytest.approx(wide[0].cost, rel=0.05)


@pytest.mark.slow
def test_a_note_says_what_was_left_out(solver: Solver) -> None:
    (problem,) = generate("CVRPTW", 220, 1)
    named = problem.replace(name="many")
    attempt = solver.run([named], augment=1, starts=2)
    assert attempt.notes == (
        "'many': at most 2 start nodes an augmentation, 64 nearest customers a move "
        "(see --set start_nodes, candidates)",
    )
    assert attempt.solutions[0] is not None
    assert attempt.solutions[0].feasible
    # Whoever chose both knows; and small instances are searched as a whole.
    assert solver.run([named], augment=1, starts=1, candidates=9).notes == ()
    assert solver.run(generate("CVRP", 10), augment=1).notes == ()


def test_draws_are_reproducible_and_never_worse(solver: Solver) -> None:
    problems = generate("CVRP", 14, 3)
    greedy = solver.solve(problems, augment=1, candidates=4)
    sampled = solver.solve(problems, augment=1, candidates=4, sample=4)
    assert solver.solve(problems, augment=1, candidates=4, sample=4) == sampled
    assert all(b.cost <= a.cost + 1e-6 for a, b in zip(greedy, sampled, strict=True))
    assert sum(s.cost for s in sampled) < sum(s.cost for s in greedy) - 1e-3


def test_chance_helps_a_fleet_without_room_to_spare(solver: Solver) -> None:
    # 6 + 4, 5 + 3 + 2 and 10 is the only way.
    places = [(50, 50), (20, 60), (80, 30), (30, 20), (70, 80), (1, 2), (3, 4)]
    problem = Problem.from_coordinates(
        places, demand=[0, 6, 5, 4, 3, 2, 10], capacity=10, max_routes=3
    )
    loads = {frozenset(route[1:-1]) for route in solver.solve(problem, candidates=4).routes}
    assert loads == {frozenset({1, 3}), frozenset({2, 4, 5}), frozenset({6})}


def test_a_fleet_that_is_too_small_is_named(solver: Solver) -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (0, 1), (1, 0), (1, 1)], demand=[0, 2, 2, 2], capacity=3, max_routes=2
    )
    with pytest.raises(InfeasibleError, match="all 2 routes that are allowed are in use"):
        solver.solve(problem, candidates=2)


def test_large_instances_that_are_searched_alike_are_solved_together() -> None:
    problems = [*generate("CVRP", 300, 2), *generate("TSP", 301, 1), *generate("CVRP", 20, 1)]

    def search_of(problem: Problem) -> Search | None:
        return None if problem.size < 100 else Search(65536 // problem.size, 32)

    assert group(problems, range(4), 8, search_of) == [(8, [3]), (8, [0, 1, 2])]
    other = Problem.from_matrix(problems[0].distances.matrix())
    assert group([problems[0], other], range(2), 8, search_of) == [(8, [0]), (8, [1])]


def test_bfloat16_where_there_are_units_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    assert product_dtype(cpu) == torch.bfloat16
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {})
    assert product_dtype(cpu) == torch.float32
    assert product_dtype(torch.device("cuda")) == torch.bfloat16


def test_a_bad_number_of_candidates_is_named(solver: Solver) -> None:
    expected = "candidates: expected a whole number of at least 1, received 0"
    with pytest.raises(SpacevrpError, match=expected):
        solver.solve(generate("CVRP", 10), candidates=0)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["CVRP", "ATSP", "PDTSP", "CVRPTW", "MDCVRPB"])
def test_a_gpu_is_as_good(solver: Solver, name: str) -> None:
    on_gpu = Solver(solver.model, "cuda")
    problems = generate(name, 250, 2)
    options = {"augment": 2, "starts": 8, "candidates": 32}
    received = [solution.cost for solution in on_gpu.solve(problems, **options)]
    expected = [
        solution.cost for solution in Solver(solver.model, "cpu").solve(problems, **options)
    ]
    assert sum(received) == pytest.approx(sum(expected), rel=0.03)
