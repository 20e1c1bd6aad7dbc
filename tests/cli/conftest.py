"""The command with a small random model: what it proposes is poor, but every rule applies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spacevrp.cli.main import main
from spacevrp.formats import write
from spacevrp.problems.distances import Metric
from spacevrp.problems.problem import Problem

Solve = Callable[..., int]


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch")
    from spacevrp.model import ModelConfig, SpaceModel
    from spacevrp.model.weights import save_weights

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = SpaceModel(ModelConfig(width=16, layers=2, feedforward=32, pivots=4, rank=2))
    return save_weights(tmp_path_factory.mktemp("weights") / "tiny", model, {})


@pytest.fixture
def solve(weights: Path) -> Solve:
    """``spacevrp solve`` on the CPU with these weights; gives the exit code."""

    def run(*arguments: object) -> int:
        return main(["solve", "--device", "cpu", "--weights", str(weights), *map(str, arguments)])

    return run


@pytest.fixture
def instance(tmp_path: Path, four_customers: Callable[..., Problem]) -> Path:
    """The four customers of tests/conftest.py: 0-1-2-0 and 0-3-4-0 cost 12 and 16."""
    path = tmp_path / "four.vrp"
    nearest = Metric(rounding="nearest")
    write(four_customers(name="four", metric=nearest, demand=[0, 6, 4, 3, 7], capacity=10), path)
    return path
