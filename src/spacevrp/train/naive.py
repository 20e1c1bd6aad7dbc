"""The gradient as the formula says: automatic differentiation through a rollout by single steps.

The slow twin of :meth:`TrainStep.accumulate`. With the same random state it draws the same
solutions and arrives at the same gradient; it needs memory for every step of every trajectory.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spacevrp.decode.rollout import choose
from spacevrp.decode.signal import problem_signal
from spacevrp.env import Environment, start_nodes
from spacevrp.model import random_seeds
from spacevrp.model.decoder import logits
from spacevrp.tensors import Batch
from spacevrp.train.step import TrainStep, coefficients

# As often as the rollout asks, for it must draw as many random numbers.
_STEPS_BETWEEN_QUESTIONS = 8


def naive_accumulate(
    step: TrainStep, batch: Batch, problem_of: Tensor, trajectories: int
) -> Tensor:
    """Add the gradient of one shard; returns the costs (B, P)."""
    environment = Environment(batch, num_depots=1)
    starts = start_nodes(environment, trajectories)
    tables = step.model(batch, random_seeds(batch, step.model.config), step.dtype)
    state = environment.begin(starts)
    log_chance = batch.distance.new_zeros(starts.shape)  # (B, P) of whole trajectories
    for number in range(environment.max_steps):
        if number % _STEPS_BETWEEN_QUESTIONS == 0 and bool(state.done.all()):
            break
        allowed = environment.mask(state)
        signal = problem_signal(batch, state)
        scores = logits(tables, state.origin, state.current, signal, allowed, step.dtype)
        action = choose(scores.detach(), sample=True)
        chance = scores.log_softmax(dim=-1).gather(2, action.unsqueeze(-1)).squeeze(-1)
        log_chance = log_chance + torch.where(state.done, 0.0, chance)
        state = environment.step(state, action)
    cost = torch.where(state.done, environment.cost(state), torch.inf)
    coefficient, _ = coefficients(cost, step.config, problem_of)
    (coefficient * log_chance).sum().backward()
    return cost
