"""Work is cut to fit, large instances too: estimates cover what is live; too little is survived."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from spacevrp.decode import adjustment, pruned, rollout
from spacevrp.decode.neighbourhood import neighbourhood
from spacevrp.decode.pruned import Pruning, pruned_rollout
from spacevrp.decode.running import Running
from spacevrp.engines import batching, pruning
from spacevrp.engines.grouping import group
from spacevrp.engines.large import product_dtype
from spacevrp.engines.memory import Cut, Footprint, cut, too_large
from spacevrp.engines.pruning import (
    LargeFootprint,
    Search,
    count_matrices,
    cut_large,
    search_of,
    too_large_at_all,
)
from spacevrp.engines.search import choose_starts
from spacevrp.env import Environment, start_nodes
from spacevrp.env.candidates import CandidateEnvironment
from spacevrp.generators import generate
from spacevrp.inference.large import SMALL, is_large
from spacevrp.inference.settings import Settings
from spacevrp.model import ModelConfig, SpaceModel, augmentation_seeds, streaming
from spacevrp.model.blocks import Blocks, encode_in_blocks
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.solver import Solver
from spacevrp.tensors import stack

# What is looked at here is the search of the model.
pytestmark = pytest.mark.usefixtures("network_alone")


@pytest.mark.parametrize(
    "variant", ["CVRPTW", pytest.param("AMDOCVRPBPLTW", marks=pytest.mark.slow)]
)
def test_the_estimate_covers_what_is_live(model, live_bytes, variant):

    augmentations, starts = 6, 20
    batch = stack(generate(variant, 50))
    with torch.no_grad(), live_bytes() as live:
        repeated = batch.repeat_interleave(augmentations)
        seeds = augmentation_seeds(batch, model.config, augmentations, 0)[0]
        environment = Environment(repeated)
        tables = model(repeated, seeds)
        encoded, live.peak = live.peak, live.now
        rollout(environment, tables, start_nodes(environment, starts))
        decoded = live.peak
    footprint = Footprint.of(batch.num_nodes, model.config.width)
    # The weights themselves count once, whatever the block.
    fixed = 4 * 4 * model.num_parameters
    assert encoded <= footprint.block(augmentations, 0) + fixed
    assert decoded <= footprint.block(augmentations, starts) + fixed
    # An estimate far above would waste the device.
    assert decoded >= 0.4 * footprint.block(augmentations, starts)


def test_instances_are_cut_first_then_augmentations_then_starts() -> None:
    footprint = Footprint(resident=100, encoding=50, trajectory=10)
    # An augmentation with 20 starts takes 100 + max(50, 200) = 300 bytes.
    assert footprint.block(1, 20) == 300
    assert footprint.block(2, 1) == 300
    assert cut(footprint, augmentations=4, starts=20, budget=2400) == Cut(2, 4, 20)
    assert cut(footprint, augmentations=4, starts=20, budget=2399) == Cut(1, 4, 20)
    assert cut(footprint, augmentations=4, starts=20, budget=1199) == Cut(1, 3, 20)
    assert cut(footprint, augmentations=4, starts=20, budget=299) == Cut(1, 1, 19)
    assert cut(footprint, augmentations=4, starts=20, budget=115) == Cut(1, 1, 1)
    assert cut(footprint, augmentations=4, starts=20, budget=1) == Cut(1, 1, 1)


def told_size(error: SpacevrpError) -> int:
    """The number of nodes that would fit, as the message says."""
    (size,) = re.findall(r"up to (\d+) nodes would fit", str(error))
    return int(size)


def test_the_size_that_is_told_is_the_last_that_fits() -> None:
    for budget in (10**5, 10**9, 10**12):
        size = told_size(too_large(10**7, 128, CPU, budget))
        assert Footprint.of(size, 128).block(1, 1) <= budget
        assert Footprint.of(size + 1, 128).block(1, 1) > budget


def failing_above(
    limit: int, error: Callable[[], BaseException], seen: list[Cut], place: int = 3
) -> Callable[..., Any]:
    """A search that runs out of memory while a block has more rollouts than the limit.

    ``place`` is that of the cut among the arguments: 3 of blocks, 4 of large instances.
    """
    original = batching.search_block if place == 3 else batching.search_large

    def search(*given: Any) -> Any:
        sizes: Cut = given[place]
        seen.append(sizes)
        if sizes.instances * sizes.augmentations * sizes.starts > limit:
            raise error()
        return original(*given)

    return search


@pytest.mark.parametrize(
    "error",
    [
        lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        lambda: RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
        MemoryError,
    ],
)
def test_running_out_of_memory_means_smaller_blocks(solver, monkeypatch, error):
    problems = generate("CVRP", 10, 3)
    expected = solver.solve(problems, augment=2)
    seen: list[Cut] = []
    monkeypatch.setattr(batching, "search_block", failing_above(15, error, seen))
    assert solver.solve(problems, augment=2) == expected
    assert seen[-1].instances == seen[-1].augmentations == 1
    assert 8 <= seen[-1].starts <= 15
    assert len([sizes for sizes in seen if sizes == seen[-1]]) == 3  # once found, it is kept


def test_one_clear_error_when_nothing_fits(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "search_block", failing_above(0, MemoryError, []))
    expected = (
        r"^out of memory on cpu: one augmentation of an instance with 11 nodes needs about .* GiB"
    )
    with pytest.raises(SpacevrpError, match=expected):
        solver.solve(generate("CVRP", 10))


def test_what_could_never_fit_is_refused_at_once(solver, monkeypatch):
    monkeypatch.setattr(batching, "default_budget", lambda device, on_cpu=0: 1000)
    monkeypatch.setattr(batching, "available", lambda device: 10_000)
    monkeypatch.setattr(batching, "search_block", failing_above(0, AssertionError, []))
    with pytest.raises(SpacevrpError, match="up to 7 nodes would fit"):
        solver.solve(generate("CVRP", 10))


CPU = torch.device("cpu")


def line(customers: int, **features: object) -> Problem:
    return Problem.from_coordinates([(float(x), 0.0) for x in range(customers + 1)], **features)


# ---------------------------------------------------------------------------------- how far


def test_small_instances_are_searched_as_a_whole() -> None:
    assert not is_large(line(SMALL), None)
    assert is_large(line(SMALL + 1), None)
    assert search_of(line(SMALL), Settings(starts=5), CPU) is None
    # Unless the user wants fewer options; as many as there are is all.
    assert is_large(line(10), 9)
    assert not is_large(line(10), 10)
    assert search_of(line(10), Settings(choices=9), CPU) == Search(10, 9)


# ------------------------------------------------------------------------------- how much memory


class EnoughError(Exception):
    """The first steps take as much as the others."""


@pytest.mark.parametrize(
    ("variant", "size", "whole"),
    [
        pytest.param("CVRP", 100, True, marks=pytest.mark.slow),
        ("ACVRPB", 220, False),
        pytest.param("MDOCVRPLTW", 220, False, marks=pytest.mark.slow),
    ],
)
def test_the_estimate_of_large_instances_covers_what_is_live(
    live_bytes, monkeypatch, variant, size, whole
):
    # Small tiles and no constant, so that what grows is what counts.
    monkeypatch.setitem(pruned._MOST_LOOKED_AT, "cpu", 20_000)
    monkeypatch.setitem(pruning._SCRATCH, "cpu", 0)
    monkeypatch.setitem(streaming._ENTRIES, "cpu", 1000)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = SpaceModel(ModelConfig(width=32, layers=2, feedforward=128, rank=2, heads=2))
    (problem,) = generate(variant, size, 1)
    search, augmentations = Search(30, 8), 2
    footprint = LargeFootprint.of(problem.size, 32, search, matrices=count_matrices([problem]))
    calls: list[float] = []

    def report(share: float) -> None:
        calls.append(share)
        if len(calls) > 1 and not whole:
            raise EnoughError

    with torch.no_grad(), live_bytes() as live:
        batch = stack([problem], on_the_fly=True)
        environment = CandidateEnvironment(batch)
        near = neighbourhood(batch, search.listed)
        seeds = augmentation_seeds(batch, model.config, augmentations, 0)
        held, live.peak = live.now, live.now
        tables = encode_in_blocks(model, batch, seeds, blocks=Blocks(50, 50))
        encoded, live.peak = live.peak, live.now
        starts = choose_starts(environment, search.starts).repeat(1, augmentations)
        with contextlib.suppress(EnoughError):
            lists = Pruning(near, search.choices, search.readout)
            pruned_rollout(environment, tables, starts, lists, Running(report=report))
        decoded = live.peak
    fixed = 4 * 4 * model.num_parameters
    assert held <= footprint.instance
    assert encoded <= footprint.block(1, augmentations, 0) + fixed
    assert decoded <= footprint.block(1, augmentations, search.starts) + fixed
    # An estimate far above would waste the device.
    assert encoded >= 0.5 * footprint.block(1, augmentations, 0)
    assert decoded >= 0.5 * footprint.block(1, augmentations, search.starts)


def test_matrices_count_where_coordinates_do_not_tell() -> None:
    planar = line(4)
    by_matrix = Problem.from_matrix(planar.distances.matrix())
    timed = planar.replace(durations=planar.distances.matrix())
    both = by_matrix.replace(durations=planar.distances.matrix())
    assert [count_matrices([p]) for p in (planar, by_matrix, timed, both)] == [0, 1, 1, 2]
    assert count_matrices([planar, both]) == 2


def test_large_instances_are_cut_alike() -> None:
    footprint = LargeFootprint(instance=100, table=20, encoding=50, trajectory=10, scratch=1000)
    # An augmentation with 20 starts takes 20 + max(50, 200) = 220 bytes; two augmentations and the
    # instance 540.
    assert footprint.block(1, 2, 20) == 1540
    assert footprint.block(1, 2, 1) == 1240
    wanted = Cut(3, 2, 20)
    assert cut_large(footprint, wanted, 1000 + 3 * 540, "cpu") == wanted
    assert cut_large(footprint, wanted, 1000 + 3 * 540 - 1, "cpu") == Cut(2, 2, 20)
    assert cut_large(footprint, wanted, 1000 + 539, "cpu") == Cut(1, 1, 20)
    assert cut_large(footprint, wanted, 1000 + 319, "cpu") == Cut(1, 1, 19)
    assert cut_large(footprint, wanted, 1, "cpu") == Cut(1, 1, 1)
    # Enough to keep a CPU busy is enough.
    assert cut_large(footprint, Cut(99, 8, 60), 10**9, "cpu") == Cut(1, 8, 60)
    assert cut_large(footprint, Cut(99, 8, 30), 10**9, "cpu") == Cut(2, 8, 30)


@pytest.mark.parametrize("matrices", [0, 1])
def test_the_large_size_that_is_told_is_the_last_that_fits(monkeypatch, matrices):
    monkeypatch.setattr(pruning, "available", lambda device: 10**10)
    search = Search(1, 32)
    problem = generate("ATSP" if matrices else "TSP", 8, 1)[0]
    size = told_size(too_large_at_all([problem], 128, search, CPU, workers=1))
    assert size > 30_000
    for nodes, fits in ((size, True), (size + 1, False)):
        footprint = LargeFootprint.of(nodes, 128, search, matrices=matrices)
        assert (footprint.block(1, 1, 1) <= 10**10) is fits


# ------------------------------------------------------------------------------- what is refused


def test_what_could_never_fit_is_refused_at_once_in_one_line(solver, monkeypatch):
    monkeypatch.setattr(batching, "default_budget", lambda device, on_cpu=0: 1000)
    monkeypatch.setattr(batching, "available", lambda device: 200_000_000)
    monkeypatch.setattr(pruning, "available", lambda device: 200_000_000)
    monkeypatch.setattr(batching, "search_large", failing_above(0, AssertionError, [], 4))
    with pytest.raises(SpacevrpError) as caught:
        solver.solve(line(60_000), improve=False)
    assert str(caught.value).startswith(
        "out of memory on cpu: one augmentation of an instance with 60001 nodes from one start "
        "needs about "
    )
    assert str(caught.value).endswith(" nodes would fit")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_running_out_of_memory_means_smaller_blocks_of_large_instances(solver, monkeypatch):
    problems = [generate("CVRP", 12, 1)[0], generate("CVRP", 12, 1, seed=5)[0]]
    expected = solver.solve(problems, augment=3, candidates=4)
    seen: list[Cut] = []
    monkeypatch.setattr(batching, "search_large", failing_above(5, MemoryError, seen, 4))
    assert solver.solve(problems, augment=3, candidates=4) == expected
    assert seen[0] == Cut(2, 3, 12)
    assert seen[-1].instances == seen[-1].augmentations == 1
    assert seen[-1].starts <= 5


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
