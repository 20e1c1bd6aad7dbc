"""Large instances through the solver: legal plans, the same however the work is cut."""

from __future__ import annotations

import pytest
import torch

from spacevrp.decode import adjustment
from spacevrp.engines.grouping import group
from spacevrp.engines.large import product_dtype
from spacevrp.engines.pruning import Search
from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.solver import Solver

# What is looked at here is the search of the model.
pytestmark = pytest.mark.usefixtures("network_alone")


@pytest.mark.slow
def test_how_augmentations_are_cut_does_not_matter_where_they_weigh_distances_differently(
    solver, monkeypatch
):
    # As if the network had been trained with four nodes, everything here were large.
    problems = [one for name in ("CVRP", "ATSP") for one in generate(name, 10, 2)]
    few = {"augment": 3, "candidates": 3}
    usual = solver.solve(problems, **few)
    monkeypatch.setattr("spacevrp.inference.large.SMALL", 4)
    monkeypatch.setattr(adjustment, "TRAINED_NODES", 4)
    together = solver.solve(problems, **few)
    assert together != usual
    assert solver.solve(problems, batch_memory=1, **few) == together


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
