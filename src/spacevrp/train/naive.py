"""The gradient as the formula says: automatic differentiation through a rollout by single steps.

The slow twin of :meth:`TrainStep.accumulate`. With the same random state it draws the same
solutions and arrives at the same gradient; it needs memory for every step of every trajectory.
"""

from __future__ import annotations

from itertools import product

import torch
from torch import Tensor

from spacevrp.decode.random_numbers import random_keys, uniform
from spacevrp.decode.rollout import Drawn, choose, look_ahead
from spacevrp.decode.signal import problem_signals
from spacevrp.env import Environment, start_nodes
from spacevrp.env.rules import at
from spacevrp.model import HEAD_STRENGTH, random_seeds
from spacevrp.model.decoder import logits
from spacevrp.tensors import Batch
from spacevrp.tensors.lengths import between
from spacevrp.train.advantage import coefficients, with_failures
from spacevrp.train.credit import NEW, SPREAD
from spacevrp.train.step import TrainStep

# As often as the rollout asks, for it must draw as many random numbers.
_STEPS_BETWEEN_QUESTIONS = 8


def naive_accumulate(
    step: TrainStep, batch: Batch, problem_of: Tensor, trajectories: int
) -> Tensor:
    """Add the gradient of one shard; returns the costs (B, P), of all augmentations."""
    augmentations = step.config.augmentations
    batch = batch.repeat_interleave(augmentations)
    environment = Environment(batch, num_depots=step.config.num_depots)
    starts = start_nodes(environment, trajectories)
    tables = step.model(batch, random_seeds(batch, step.model.config), step.dtype)
    if augmentations > 1:
        tables = step.model.apply_heads(
            tables.map(torch.Tensor.detach), batch, range(augmentations), HEAD_STRENGTH
        )
    keys = random_keys(starts.shape, starts.device)
    state = environment.begin(starts)
    chances, moving, facts = [], [], []  # of every step: (B, P), (B, P) bool and (B, P, F)
    way = between(batch.distance, state.origin, starts)
    worth, served = at(batch.revealed_prize + batch.penalty, starts), torch.ones_like(way)
    for number in range(environment.max_steps):
        if number % _STEPS_BETWEEN_QUESTIONS == 0 and bool(state.done.all()):
            break
        allowed = environment.mask(state)
        signals = problem_signals(batch, state, tables.num_signals)
        scores = logits(tables, state.origin, state.current, signals, allowed, step.dtype)
        drawn = uniform(keys, number)
        action = choose(scores.detach(), drawn)
        learned = ~state.done
        of_depot: Tensor | float = 0.0
        if environment.num_depots > 1:
            # At a depot the choice is of a depot first, then among what can be served from there,
            # or of none at all before a switch.
            temperature = step.config.depot_temperature
            of_depots = uniform(keys, -1 - number) if temperature > 0 else None
            numbers = Drawn(drawn, depots=of_depots, depot_temperature=temperature or 1.0)
            ahead = look_ahead(environment, tables, state, action, numbers, step.dtype)
            action = ahead.action
            allowed = torch.where(ahead.decides.unsqueeze(-1), ahead.allowed, allowed)
            scores = logits(tables, state.origin, state.current, signals, allowed, step.dtype)
            if temperature > 0:
                odds = torch.where(ahead.decides.unsqueeze(1), ahead.grounds[0], 0.0)  # (B, K, P)
                chances_of = (odds / temperature).log_softmax(dim=1)
                of_depot = chances_of.gather(1, ahead.chosen.unsqueeze(1)).squeeze(1)
                of_depot = torch.where(ahead.decides, of_depot, 0.0)
        chance = scores.log_softmax(dim=-1).gather(2, action.unsqueeze(-1)).squeeze(-1) + of_depot
        if step.config.sure < 1:
            likeliest = scores.softmax(dim=-1).amax(dim=-1)
            if environment.num_depots > 1:
                likeliest = torch.where(ahead.decides, ahead.likeliest, likeliest)
            learned = learned & (likeliest < step.config.sure)
        chances.append(torch.where(learned, chance, 0.0))
        moving.append(~state.done)
        home = between(batch.distance, state.current, state.origin)
        facts.append(torch.stack([way, worth, served, signals[..., 0], home], dim=-1))
        switch = at(batch.is_depot, state.current) & at(batch.is_depot, action)
        way = way + torch.where(switch, 0.0, between(batch.distance, state.current, action))
        worth = worth + at(batch.revealed_prize + batch.penalty, action)
        served = served + at((~batch.is_depot).to(way.dtype), action)
        state = environment.step(state, action)
    cost = torch.where(state.done, environment.cost(state), torch.inf)
    if augmentations > 1:
        coefficient = ahead_of_rivals(cost, augmentations, step.config.rivals) / step.config.batch
    else:
        coefficient, _ = coefficients(with_failures(cost, batch), step.config, problem_of)
    if augmentations == 1 and step.config.baseline == "state":
        blends = [unexplained(coefficient, *one) for one in zip(facts, moving, strict=True)]
    else:
        blends = [coefficient] * len(chances)
    torch.stack([(b * c).sum() for b, c in zip(blends, chances, strict=True)]).sum().backward()
    return cost


def ahead_of_rivals(cost: Tensor, augmentations: int, rivals: int) -> Tensor:
    """By how much each trajectory (B, P) is below the best of its rivals, at most 0.

    In the standard deviation of its instance, and over the number of trajectories.
    """
    ahead = torch.zeros_like(cost)
    count = cost.shape[1]
    width = rivals or count
    for row, trajectory in product(range(len(cost)), range(count)):
        first_augmentation = row - row % augmentations
        all_augmentations = cost[first_augmentation : first_augmentation + augmentations]
        block = slice(trajectory // width * width, (trajectory // width + 1) * width)
        others = [
            all_augmentations[v, block]
            for v in range(augmentations)
            if first_augmentation + v != row
        ]
        best = torch.cat(others).min()
        if cost[row, trajectory] < best < torch.inf:
            finished = all_augmentations[torch.isfinite(all_augmentations)]
            spread = finished.std(correction=0) + 1e-8
            ahead[row, trajectory] = (cost[row, trajectory] - best) / spread / count
    return ahead


def unexplained(coefficient: Tensor, facts: Tensor, moving: Tensor) -> Tensor:
    """What the best linear function of the facts (B, P, F) of those that move leaves over."""
    rest = torch.zeros_like(coefficient)
    for row in range(len(coefficient)):
        some = moving[row]
        if not some.any():
            continue
        y = coefficient[row, some] - coefficient[row, some].mean()
        kept = y.new_zeros((len(y), 0))
        for fact in facts[row, some].T:
            x = fact - fact.mean()
            new = x - fitted(kept, x)
            # A fact that hardly varies, or hardly says more than those before it, says nothing.
            if new @ new > NEW * (x @ x) and x @ x > SPREAD * (fact @ fact):
                kept = torch.cat([kept, x.unsqueeze(1)], dim=1)
        rest[row, some] = y - fitted(kept, y)
    return rest


def fitted(columns: Tensor, target: Tensor) -> Tensor:
    """The combination of the columns (P, k) that is nearest to the target (P,)."""
    return columns @ torch.linalg.pinv(columns) @ target
