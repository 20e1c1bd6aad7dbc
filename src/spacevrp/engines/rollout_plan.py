"""From which starts an augmentation is searched, how often, and whether moves are drawn.

By default one of four parts of all start nodes is used, the likeliest, and each of them four times:
once greedily, else with draws. So an augmentation has as many rollouts as there are starts, and
those that begin with a customer whom no good plan serves first are spent better. Tours without a
depot visit every node, so that no start is better than another: they begin greedily at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.env import Environment
from spacevrp.env.starts import can_start
from spacevrp.inference.keys import LIKELIEST, numbered_keys
from spacevrp.inference.settings import FEWEST, PARTS, Settings


@dataclass(frozen=True)
class RolloutPlan:
    """The rollouts of an augmentation of each instance, in rounds of which the first is greedy.

    R is what the instance with the most starts needs; the others repeat some of theirs.
    """

    start: Tensor  # (I, R) which of the start nodes, the likeliest of which is 0
    draw: Tensor  # (I, R) how many have been drawn from it with this one; 0 for a greedy one
    rounds: Tensor  # (R,) the round of each
    draws: int  # from each start

    @classmethod
    def of(cls, environment: Environment, wanted: Settings) -> RolloutPlan:
        """For the instances of an environment."""
        every = can_start(environment).sum(dim=1, keepdim=True).clamp(min=1)  # (I, 1)
        used = every
        if wanted.parted:
            used = ((every + PARTS - 1) // PARTS).maximum(every.clamp(max=FEWEST))
        elif wanted.starts is not None:
            used = every.clamp(max=wanted.starts)
        most = int(used.max())
        place = torch.arange(most * (1 + wanted.draws), device=used.device)  # (R,)
        rounds = place // most
        start, draw = place % most % used, rounds.expand(len(used), -1)
        if wanted.parted:
            has_depot = environment.batch.has_depot.unsqueeze(1)
            start = torch.where(has_depot, start, place % every)
            draw = torch.where(has_depot, draw, 0)
        return cls(start, draw, rounds, wanted.draws)

    def keys(self, seed: int, augmentations: range) -> Tensor | None:
        """Of the random numbers of some augmentations, (I v, R); None where nothing is drawn.

        They depend on the augmentation, the start and the draw alone, not on what is solved beside.
        """
        if not self.draws:
            return None
        place = torch.where(self.draw > 0, self.start * self.draws + self.draw - 1, 0)  # (I, R)
        count = int(place.max()) + 1
        table = torch.from_numpy(numbered_keys(seed, augmentations, count)).to(place.device)
        shape = (len(place), len(augmentations), -1)  # of (v, count)
        own = table.expand(*shape).gather(2, place.unsqueeze(1).expand(*shape))  # (I, v, R)
        return torch.where(self.draw.unsqueeze(1) > 0, own, LIKELIEST).flatten(0, 1)
