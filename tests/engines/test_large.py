"""Large instances through the solver: legal plans, the same however the work is cut."""

from __future__ import annotations

import pytest
import torch

from spacevrp.decode import adjustment
from spacevrp.engines import large
from spacevrp.engines.grouping import group
from spacevrp.engines.large import product_dtype
from spacevrp.engines.pruning import Search
from spacevrp.generators import generate
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


def test_a_mixed_batch_keeps_its_order_and_every_rule(solver, mixed, mixed_solutions):

    for problem, solution in zip(mixed, mixed_solutions, strict=True):
        verdict = judge(problem, solution.routes)
        assert verdict.violations == (), problem.name
        assert solution.cost == verdict.cost
    assert mixed_solutions != solver.solve(mixed, augment=3)  # something was left out


@pytest.mark.slow
@pytest.mark.parametrize(("batch_memory", "count"), [(1, 2), (10**8 + 2**27, 3)])
def test_how_the_work_is_cut_does_not_matter(solver, mixed, mixed_solutions, batch_memory, count):
    some = solver.solve(mixed[:count], batch_memory=batch_memory, **FEW)
    assert some == mixed_solutions[:count]


@pytest.mark.slow
def test_how_many_workers_there_are_does_not_matter(solver, mixed, mixed_solutions, monkeypatch):
    monkeypatch.setattr(large, "workers_for", lambda device: 3)
    monkeypatch.setattr(large, "_FEWEST_OF_A_WORKER", 1)
    before = torch.get_num_threads()
    assert solver.solve(mixed[:8], **FEW) == mixed_solutions[:8]
    assert torch.get_num_threads() == before


@pytest.mark.slow
def test_how_augmentations_are_cut_does_not_matter_where_they_weigh_distances_differently(
    solver, mixed, mixed_solutions, monkeypatch
):
    # As if the network had been trained with four nodes, everything here were large.
    monkeypatch.setattr("spacevrp.inference.large.SMALL", 4)
    monkeypatch.setattr(adjustment, "TRAINED_NODES", 4)
    together = solver.solve(mixed[:4], **FEW)
    assert together != mixed_solutions[:4]
    assert solver.solve(mixed[:4], batch_memory=1, **FEW) == together


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
