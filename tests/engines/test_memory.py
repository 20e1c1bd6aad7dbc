"""Work is cut to fit: the estimate covers what is really live, and running out is survived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from spacevrp.decode import rollout
from spacevrp.engines import batching
from spacevrp.engines.memory import Cut, Footprint, cut, largest_size
from spacevrp.env import Environment, start_nodes
from spacevrp.generators import generate
from spacevrp.model import augmentation_seeds
from spacevrp.problems.errors import SpacevrpError
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


def test_the_largest_size_is_the_last_that_fits() -> None:
    for budget in (10**5, 10**9, 10**12):
        size = largest_size(128, budget)
        assert Footprint.of(size, 128).block(1, 1) <= budget
        assert Footprint.of(size + 1, 128).block(1, 1) > budget


def failing_above(
    limit: int, error: Callable[[], BaseException], seen: list[Cut]
) -> Callable[..., Any]:
    """A search that runs out of memory while a block has more rollouts than the limit."""
    original = batching.search_block

    def search(model: Any, problems: Any, settings: Any, sizes: Cut, *rest: Any) -> Any:
        seen.append(sizes)
        if sizes.instances * sizes.augmentations * sizes.starts > limit:
            raise error()
        return original(model, problems, settings, sizes, *rest)

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
    monkeypatch.setattr(batching, "default_budget", lambda device: 1000)
    monkeypatch.setattr(batching, "available", lambda device: 10_000)
    monkeypatch.setattr(batching, "search_block", failing_above(0, AssertionError, []))
    with pytest.raises(SpacevrpError, match="up to 7 nodes would fit"):
        solver.solve(generate("CVRP", 10))
