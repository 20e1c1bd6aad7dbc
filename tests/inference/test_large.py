"""Large instances without torch: the plans of the torch path, by the same candidate lists."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from spacevrp.arrays import prepare
from spacevrp.arrays.routes import routes_of
from spacevrp.engines import large as engine
from spacevrp.engines.large import Watch, search_large
from spacevrp.engines.memory import Cut
from spacevrp.engines.pruning import search_of
from spacevrp.generators.testsets import generate
from spacevrp.inference import large
from spacevrp.inference.construct import construct
from spacevrp.inference.large import LargeInstance, with_matrices
from spacevrp.inference.network import Network
from spacevrp.inference.settings import Settings
from spacevrp.model import SpaceModel
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge

Of = Callable[[SpaceModel], Network]
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both multiply in float32, also on CPUs where torch's path would take bfloat16 (AMX)."""
    monkeypatch.setattr(engine, "product_dtype", lambda device: torch.float32)


def assert_same_plans(
    model: SpaceModel, network: Network, problem: Problem, settings: Settings
) -> None:
    search = search_of(problem, settings, CPU)
    assert search is not None
    watch = Watch(lambda _: None, lambda _: None)
    cut = Cut(1, settings.augmentations, settings.starts)
    (wanted,) = search_large(model, [problem], settings, search, cut, watch)
    got = construct(network, problem, settings)
    assert [one.hindsight for one in got] == [one.hindsight for one in wanted]
    assert [one.cost for one in got] == pytest.approx([one.cost for one in wanted], rel=1e-5)
    assert got[0].rank == wanted[0].rank
    assert judge(problem, routes_of(problem, got[0].sequence.tolist())).feasible


@pytest.mark.parametrize(
    ("weights", "variant"),
    [
        *(("bundled", name) for name in ("CVRP", "ACVRPTW", "PDCVRP", "MDCVRP", "TSP", "SPCTSP")),
        *(("told_more", name) for name in ("OCVRPBLTW", "ACVRPBPTW", "PDCVRP", "MDCVRPL", "OP")),
    ],
)
def test_the_same_plans(request, network_of: Of, weights: str, variant: str) -> None:
    """Of an instance that is called large by asking for fewer choices than customers."""
    model = request.getfixturevalue(weights)
    (problem,) = generate(variant, 24, 1, 8)
    settings = Settings(augmentations=2, starts=5, samples=None, seed=2, choices=6)
    assert_same_plans(model, network_of(model), problem, settings)


@pytest.mark.slow
def test_beyond_two_hundred_customers(bundled: SpaceModel, network_of: Of) -> None:
    """With adjusted distances and demands that fill half a vehicle."""
    (problem,) = generate("CVRP", 230, 1, 3)
    settings = Settings(augmentations=3, starts=4, samples=None, seed=0)
    assert_same_plans(bundled, network_of(bundled), problem, settings)


def test_what_is_adjusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "SMALL", 4)
    monkeypatch.setattr(large, "TRAINED_NODES", 4)
    points = np.random.default_rng(0).random((8, 2))
    problem = Problem.from_coordinates(
        points, depots=[0], demand=[0, 1, 2, 3, 4, 1, 1, 1], capacity=4
    )
    one = LargeInstance.of(problem)
    assert one.depot_weight == pytest.approx(2 / 3)  # log2 4 over log2 8
    assert one.missing == pytest.approx(2**0.5 * 2 / 3)
    assert one.nearness(1) == 1.0
    assert one.nearness(6) == pytest.approx(one.missing**0.6)
    assert one.bonus.tolist() == [0, 0, 0, 15, 20, 0, 0, 0]


def test_what_is_refused(random_model, network_of, monkeypatch):
    (problem,) = generate("CVRP", 12, 1, 1)
    settings = Settings(choices=4, samples=2)
    with pytest.raises(UnsupportedError, match="expected no samples of an instance with 12"):
        construct(network_of(random_model()), problem, settings)
    monkeypatch.setattr(large, "MOST_NODES", 12)
    with pytest.raises(UnsupportedError, match=r"expected at most 12 nodes .* received 13"):
        LargeInstance.of(problem)
    instance = prepare(problem)
    assert with_matrices(instance).distance is instance.distance
