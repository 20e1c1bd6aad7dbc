"""Tables of small networks, and what the compiled one is called with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from spacevrp import native
from spacevrp.env.candidates import CandidateEnvironment
from spacevrp.model import DecoderTables, ModelConfig, SpaceModel, augmentation_seeds
from spacevrp.model.candidates import NodeTables
from spacevrp.model.streaming import survey
from spacevrp.problems.problem import Problem
from spacevrp.tensors import Batch, stack


@pytest.fixture
def arguments_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """``arguments_of(function, *arguments)``: those that it calls the compiled rollout with."""

    def noted(function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        taken: dict[str, Any] = {}
        real = native.network.rollout

        def note(**given: Any) -> Any:
            taken.update(given)
            return real(**given)

        with monkeypatch.context() as patch:
            patch.setattr(native.network, "rollout", note)
            function(*arguments)
        return taken

    return noted


def refuse_wrong_arrays(taken: dict[str, Any], table: str, more: Callable[..., list[Any]]) -> None:
    """Every array of a table of arguments: of other shapes, no array, with NaN, or missing."""
    for name, value in taken[table].items():
        rest = {key: entry for key, entry in taken[table].items() if key != name}
        wrong: list[Any] = [value[..., :-1], value[None], value[:0], "words"]
        if value.dtype == np.float32:
            wrong.append(np.full_like(value, np.nan))
        for one in wrong + more(name, value):
            if name in ("near", "pinned") and one is wrong[0]:
                continue  # shorter lists are lists: then the limits are wrong
            with pytest.raises(ValueError, match="expected"):
                native.network.rollout(**taken | {table: rest | {name: one}})
        with pytest.raises(ValueError, match=f"expected an array {name}"):
            native.network.rollout(**taken | {table: rest})


def small_tables(
    batch: Batch, *, noise: float = 0.05, bias: float | None = None, **changes: Any
) -> DecoderTables:
    """Of a network that is far from certain; its width fills no vector."""
    small = {"width": 20, "layers": 1, "feedforward": 16, "rank": 2, "heads": 1, "clipping": 10.0}
    config = ModelConfig(**{**small, **changes})
    torch.manual_seed(0)
    model = SpaceModel(config).to(batch.opening.dtype)
    with torch.no_grad():
        if bias is not None:
            model.bias.bias_out[-1] = bias
        for parameter in model.parameters():
            parameter.add_(noise * torch.randn_like(parameter))
        tables = model(batch, augmentation_seeds(batch, config, 1, 0)[:, 0])
    return replace(tables, clipping=config.clipping)


def distance_tables(problem: Problem, pull: float = 0.0) -> tuple[CandidateEnvironment, NodeTables]:
    """Tables by which distances decide, the nearest first, and a pull towards the last node."""
    batch = stack([problem], dtype=torch.float64, on_the_fly=True)
    flat = torch.zeros(1, 1, problem.size, 2, dtype=torch.float64)
    embedding = flat.clone()
    embedding[..., -1, 0] = pull * math.sqrt(2)
    values, one = torch.ones_like(flat), torch.ones(1, dtype=torch.float64)
    # sigmoid(0) * 1 is the context: half of the pull reaches the score.
    keyed = torch.cat([values, values], dim=-1)
    state = torch.zeros(1, 1, 2, dtype=torch.float64)
    tables = NodeTables(embedding, keyed, flat, flat, state, one, one, survey(batch).scale, 50.0)
    return CandidateEnvironment(batch), tables
