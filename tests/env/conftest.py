"""A vehicle driven by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from spacevrp.env import Environment, State
from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack


class Drive:
    """One instance and one partial solution, with plain numbers to look at."""

    def __init__(self, problem: Problem, start: int) -> None:
        self.problem = problem
        self.environment = Environment(stack([problem], dtype=torch.float64))
        self.state: State = self.environment.begin(torch.tensor([[start]]))

    def __call__(self, *nodes: int) -> Drive:
        """Move to the nodes in turn, each of which must be legal."""
        for node in nodes:
            assert node in self.legal, (node, self.legal)
            self.state = self.environment.step(self.state, torch.tensor([[node]]))
        return self

    @property
    def legal(self) -> list[int]:
        """Nodes that the mask allows."""
        return torch.nonzero(self.environment.mask(self.state)[0, 0]).flatten().tolist()

    @property
    def cost(self) -> float:
        """Cost in the user's units."""
        unit = 1.0 if self.problem.maximise_prize else self.problem.unit
        return float(self.environment.cost(self.state)) * unit

    def number(self, name: str) -> float:
        """A field of the state; lengths and times in the user's units."""
        value = float(getattr(self.state, name))
        units = {
            "clock": self.problem.unit_of_time,
            "length": self.problem.unit,
            "travelled": self.problem.unit,
        }
        return value * units.get(name, 1.0)


@pytest.fixture
def drive() -> Callable[[Problem, int], Drive]:
    """Starts a vehicle: ``drive(problem, first_customer)``."""
    return Drive
