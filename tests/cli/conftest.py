"""The command with a small random model: what it proposes is poor, but every rule applies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spacevrp.cli.main import main

Solve = Callable[..., int]
# Five nodes whose legs are whole numbers: 0-1 3, 1-2 4, 2-0 5, 0-3 4, 3-4 4, 4-0 8.
VRPLIB = """NAME : four
TYPE : CVRP
DIMENSION : 5
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 10
NODE_COORD_SECTION
1 0 0
2 3 0
3 3 4
4 0 4
5 0 8
DEMAND_SECTION
1 0
2 6
3 4
4 3
5 7
DEPOT_SECTION
1
-1
EOF
"""


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
def instance(tmp_path: Path) -> Path:
    path = tmp_path / "four.vrp"
    path.write_text(VRPLIB)
    return path
