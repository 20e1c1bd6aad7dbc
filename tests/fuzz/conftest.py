"""A small random model for the fuzz tests, the bounds of a campaign, and what it counts."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.solver import Solver

# The tests of this folder share modules beside them, which pytest's importlib mode does not find.
sys.path.insert(0, str(Path(__file__).parent))

from fuzz_property import CAMPAIGN, COUNTS, TOTAL

# Beyond what the process has mapped when the campaign begins: torch alone maps gigabytes.
_MORE_BYTES = 2 * 2**30
_MOST_SECONDS = 20


class HangError(BaseException):
    """An input took far too long; no ``except Exception`` may swallow it."""


def _give_up(*_: Any) -> None:
    raise HangError(f"an input took more than {_MOST_SECONDS} seconds")


@pytest.fixture(scope="session")
def solver() -> Solver:
    """What it proposes is poor, but every rule applies to it all the same."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = ModelConfig(width=16, layers=2, feedforward=32, pivots=4, rank=2, heads=2)
        return Solver(SpaceModel(config), "cpu")


@pytest.fixture(scope="session", autouse=True)
def campaign(solver: Solver) -> Iterator[None]:
    """Bound the memory, and count outcomes into SPACEVRP_FUZZ_RECORD."""
    if not CAMPAIGN:
        yield
        return
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped + _MORE_BYTES, before[1]))
    signal.signal(signal.SIGALRM, _give_up)
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
    record = os.environ.get("SPACEVRP_FUZZ_RECORD")
    if record:
        counted: dict[str, dict[str, int]] = {}
        for (door, outcome), number in sorted(COUNTS.items()):
            counted.setdefault(door, {})[outcome] = number
        document = {"asked": TOTAL, "inputs": sum(COUNTS.values()), "doors": counted}
        Path(record).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


@pytest.fixture
def watch() -> Any:
    """Called before every input of a campaign: the time it may take starts again."""

    def start() -> None:
        if CAMPAIGN:
            signal.alarm(_MOST_SECONDS)

    yield start
    signal.alarm(0)
