"""How well the kernels agree with their slow twins on instances that are drawn for training."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from spacevrp.decode.fused import FusedOptions, fused_rollout
from spacevrp.decode.fused_replay import fused_replay_gradients
from spacevrp.decode.launch import Launch
from spacevrp.decode.random_numbers import random_keys
from spacevrp.decode.replay import decisions, replay_gradients
from spacevrp.decode.rollout import rollout
from spacevrp.decode.trace import Trace
from spacevrp.env import Environment, start_nodes
from spacevrp.model import SpaceModel, random_seeds
from spacevrp.model.decoder import DecoderTables, logits
from spacevrp.tensors import Batch
from spacevrp.train.advantage import coefficients
from spacevrp.train.config import TrainConfig
from spacevrp.train.work import Shards

_CHUNK = 8  # steps scored at once; only memory depends on it
_SEED = 7
# Fresh weights are too tame a test: adapters that start at zero would hide a wrong gradient.
_NOISE = 0.2


def measure_agreement(
    config: TrainConfig,
    device: torch.device,
    model: SpaceModel | None = None,
    launch: Launch | None = None,
) -> dict[str, Any]:
    """Shares of equal decisions, mean costs, and relative errors of the gradients.

    Without a ``model``, one with random weights is used. ``launch`` is that of both
    kernels where given.
    """
    torch.manual_seed(_SEED)
    if model is None:
        model = SpaceModel(config.model)
        with torch.no_grad():
            for parameter in model.parameters():
                size = parameter.abs().mean() or 1.0
                parameter.add_(_NOISE * size * torch.randn_like(parameter))
    model = model.to(device)
    shards = Shards(config, device)
    batch, problem_of = shards.samplers[0].draw(None), shards.problems[0]
    environment = Environment(batch, num_depots=config.num_depots)
    starts = start_nodes(environment, shards.trajectories)
    live = model(batch, random_seeds(batch, model.config), torch.float32)
    tables = live.map(Tensor.detach)
    greedy = fused_rollout(environment, tables, starts, None, FusedOptions(record=True), launch)
    twin = rollout(environment, tables, starts)
    keys = random_keys(starts.shape, starts.device)
    sampled = fused_rollout(environment, tables, starts, keys, FusedOptions(record=True), launch)
    sampled_twin = rollout(environment, tables, starts, keys=keys)
    coefficient, _ = coefficients(sampled.cost, config, problem_of)
    expected = replay_gradients(tables, sampled, coefficient, chunk=_CHUNK)
    received = fused_replay_gradients(tables, sampled, coefficient, launch)
    return {
        "batch": config.batch,
        "equal_greedy_choices": _equal_choices(tables, greedy, batch),
        "mean_cost_kernel": _mean(greedy.cost),
        "mean_cost_twin": _mean(twin.cost),
        "mean_sampled_cost_kernel": _mean(sampled.cost),
        "mean_sampled_cost_twin": _mean(sampled_twin.cost),
        "unfinished_kernel": int((~torch.isfinite(greedy.cost)).sum()),
        "unfinished_twin": int((~torch.isfinite(twin.cost)).sum()),
        "gradient_errors": {
            name: _error(received[name], value) for name, value in expected.items()
        },
        "gradient_error": _error(
            _through_encoder(model, live, received), _through_encoder(model, live, expected)
        ),
    }


def _error(received: Tensor, expected: Tensor) -> float:
    """Relative, in the Euclidean norm: of numbers whose squares may be beyond float32."""
    received, expected = received.double(), expected.double()
    return float((received - expected).norm() / expected.norm().clamp(min=1e-12))


def _through_encoder(
    model: SpaceModel, tables: DecoderTables, gradients: dict[str, Tensor]
) -> Tensor:
    """The gradient of all parameters, as one vector: what an update is made of.

    Tables that hold exponentials far below 1 have enormous gradients that the encoder makes small
    again, so errors in the tables alone say little.
    """
    found = torch.autograd.grad(
        [getattr(tables, name) for name in gradients],
        list(model.parameters()),
        list(gradients.values()),
        retain_graph=True,
        allow_unused=True,
    )
    return torch.cat([part.flatten() for part in found if part is not None])


def _equal_choices(tables: DecoderTables, trace: Trace, batch: Batch) -> float:
    """Share of the kernel's choices that the twin would have made in the same place."""
    first, current, signals, allowed, action, active = decisions(trace)
    equal = total = 0
    for begin in range(0, action.shape[1], _CHUNK):
        part = slice(begin, begin + _CHUNK)
        keep = active[:, part]
        legal = allowed[:, part] | ~keep.unsqueeze(-1)
        scores = logits(
            tables,
            first[:, part].flatten(1),
            torch.where(keep, current[:, part], 0).flatten(1),
            signals[:, part].flatten(1, 2),
            legal.flatten(1, 2),
        ).view(*legal.shape)
        equal += int(((scores.argmax(dim=-1) == action[:, part]) & keep).sum())
        total += int(keep.sum())
    return equal / total


def _mean(cost: Tensor) -> float:
    finished = torch.isfinite(cost)
    return float(torch.where(finished, cost, 0.0).sum() / finished.sum())
