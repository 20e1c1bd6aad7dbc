"""Pruned rollouts on a GPU as a CUDA graph: a step is captured once and then replayed.

A step is some hundred launches of small kernels, and to launch them takes longer than to run them.
The graph needs its tensors in place, so what a step computes is copied to where the next one looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from spacevrp.decode.pruned import Walk
from spacevrp.env.state import State

# Before it is captured, a step is taken this often, so that libraries have what they allocate once.
_WARM_UPS = 3


class GraphedWalk(Walk):
    """The same walk with its steps replayed. Moves cannot be drawn: replays draw the same again."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # Some of the state may be augmentations of one number for all, which cannot be written to.
        names = [field.name for field in fields(State)]
        self.state = State(**{name: getattr(self.state, name).clone() for name in names})
        self._fixed = self._tensors()
        self._replay: Callable[[], None] | None = None

    def step(self) -> None:
        """A replay of the captured step."""
        if self._replay is None:
            kept = {name: tensor.clone() for name, tensor in self._fixed.items()}
            kept["sequence"] = self.sequence.clone()
            self._replay = capture(self._step_in_place)
            self._restore(kept)  # what the warm-up has changed
            self.sequence.copy_(kept["sequence"])
        self._replay()

    def look_at_all(self) -> None:
        """As ever, but the state stays where it is."""
        super().look_at_all()
        self._restore(self._tensors())

    def _step_in_place(self) -> None:
        super().step()
        self._restore(self._tensors())

    def _tensors(self) -> dict[str, Tensor]:
        """All that a step changes, but for the sequence, which it writes to in place."""
        state = {field.name: getattr(self.state, field.name) for field in fields(State)}
        return {**state, "place": self.place, "waits": self.waits}

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        """Copy them to where the next step looks."""
        for name, fixed in self._fixed.items():
            if tensors[name] is not fixed:
                fixed.copy_(tensors[name])
        self.state = State(**{field.name: self._fixed[field.name] for field in fields(State)})
        self.place, self.waits = self._fixed["place"], self._fixed["waits"]


def walk_for(device: torch.device) -> type[Walk]:
    """How steps are taken fastest where nothing is drawn."""
    return GraphedWalk if device.type == "cuda" else Walk


def capture(work: Callable[[], None], pool: Any = None) -> Callable[[], None]:
    """Work on the current CUDA device as a graph, and what replays it; see ``record``."""
    warm_up(work)
    return record(work, pool)


def warm_up(work: Callable[[], None]) -> None:
    """Take work some times beside the current stream, so that all is compiled and allocated."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(_WARM_UPS):
            work()
    torch.cuda.current_stream().wait_stream(side)


def record(work: Callable[[], None], pool: Any = None) -> Callable[[], None]:
    """What replays work that is warm; its memory is of the ``pool``, where one is given."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        work()
    return graph.replay
