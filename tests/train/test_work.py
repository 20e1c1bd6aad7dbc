"""Captured work does what eager work does, whatever a graph is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from spacevrp.train import work
from spacevrp.train.work import CapturedWork, EagerWork, Shards

CPU = torch.device("cpu")


class Again:
    """In place of a graph: what was captured, done again on the same tensors."""

    def __init__(self, piece: Callable[[], None]) -> None:
        self.replay = piece


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"batch": 12, "shards": 2},
        {"batch": 8, "shards": 2},
        {"batch": 6, "mixed": False},
        {"batch": 13, "size": 24, "varied": 0.4, "trajectories": 3},
    ],
    ids=["one mix", "two shards", "a small batch", "one problem a batch", "varied"],
)
def test_captured_pieces_add_up_to_the_eager_step(tiny, new_step, monkeypatch, changes):
    """The batch that a graph reads is one and the same; every draw must fill all of it."""
    monkeypatch.setattr(work, "_capture", lambda piece, pool=None: Again(piece))
    config = tiny(precision="float64", **changes)
    found = []
    for kind in (EagerWork, CapturedWork):
        torch.manual_seed(1)
        step = new_step(config)
        pieces = kind(step, Shards(config, CPU))
        for number in range(4):
            for shard in range(config.shards):
                torch.manual_seed(10 * number + shard)
                pieces.gradient(number, shard)
            pieces.update()
        found.append([parameter.detach().clone() for parameter in step.model.parameters()])
    for eager, captured in zip(*found, strict=True):
        assert torch.allclose(eager, captured, rtol=1e-9, atol=1e-12)
