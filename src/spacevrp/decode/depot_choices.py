"""The record of depots that were drawn, and the log probability of each.

At a depot every depot d is asked how sure it is of its next customer, which is c(d), the largest
p(j|d) of all customers j. Decoding takes the surest one. Training draws one by its odds,

    log p(d) = o(d) / temperature - log of the sum of exp(o(k) / temperature) over all depots k,
    o(d) = log(c(d) / (1 - c(d))), at most MOST,

so that the likeliest is the surest. Drawn by c(d) itself, depots that are all but sure would be
drawn alike, and the gradient of log c(d) is next to nothing there; that of o(d) is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# Depots that are surer than that (c = 0.999994) are alike: float32 hardly tells them apart.
MOST = 12.0


@dataclass(frozen=True)
class DepotChoices:
    """Which depots were drawn before routes, and on what grounds.

    A vehicle that leaves a depot serves a customer before it is at one again. So the choice before
    move t is number t // 2 of its trajectory, and L, half of T rounded up, is enough for all.
    """

    temperature: float
    step: Tensor  # (B, L, P) int32; the move before which it was made, -1 where there was none
    chosen: Tensor  # (B, L, P) int32
    odds: Tensor  # (B, L, K, P) o(d); -inf where no customer can be served
    customer: Tensor  # (B, L, K, P) int32; the likeliest from there
    signals: Tensor  # (B, L, K, P, S) as if the vehicle stood there
    allowed: Tensor  # (B, L, K, P, N) int8; customers that can be served from there

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of them, in the order of the fields."""
        return self.step, self.chosen, self.odds, self.customer, self.signals, self.allowed

    def part(self, some: slice) -> DepotChoices:
        """A range of the choices."""
        return DepotChoices(self.temperature, *(values[:, some] for values in self.tensors))

    @property
    def made(self) -> Tensor:
        """Which choices there were, (B, L, P) bool."""
        return self.step >= 0

    @property
    def asked(self) -> Tensor:
        """Depots from which a customer could be served, (B, L, K, P) bool."""
        return torch.isfinite(self.odds) & self.made.unsqueeze(2)

    @property
    def depot(self) -> Tensor:
        """The depot that each entry is about, (B, L, K, P) int64."""
        number = torch.arange(self.odds.shape[2], device=self.odds.device)
        return number[:, None].expand(self.odds.shape)

    def log_probabilities(self, odds: Tensor) -> Tensor:
        """Of the depots that were chosen, (B, L, P), by odds (B, L, K, P); 0 without a choice."""
        scores = torch.where(self.made.unsqueeze(2), self._scores(odds), 0.0)
        chosen = self.chosen.long().unsqueeze(2)
        return torch.where(self.made, scores.log_softmax(dim=2).gather(2, chosen).squeeze(2), 0.0)

    def coefficients(self, each: Tensor) -> Tensor:
        """What choices are multiplied with, (B, L, P), from that of all decisions (B, T, P)."""
        found = each.gather(1, self.step.clamp(min=0).long())
        return torch.where(self.made, found, 0.0)

    def odds_coefficients(self, each: Tensor) -> Tensor:
        """The same for the odds, (B, L, K, P): the derivative of what is summed up.

        That of log p(d) by o(k) is (1 if k is d, else 0) - p(k), over the temperature.
        """
        # Without a choice all scores are -inf, and no chance follows.
        chance = torch.where(self.asked, self._scores(self.odds).softmax(dim=2), 0.0)
        taken = (self.depot == self.chosen.unsqueeze(2)).to(chance)
        weight = (self.coefficients(each) / self.temperature).unsqueeze(2)
        return torch.where(self.asked & (self.odds < MOST), (taken - chance) * weight, 0.0)

    def _scores(self, odds: Tensor) -> Tensor:
        return (odds / self.temperature).masked_fill(~self.asked, -torch.inf)


def log_odds(scores: Tensor, node: Tensor) -> Tensor:
    """Log odds (...) of a node (...) by the scores of all (..., N), at most ``MOST``."""
    nodes = torch.arange(scores.shape[-1], device=scores.device)
    others = scores.masked_fill(nodes == node.unsqueeze(-1), -torch.inf)
    alone = torch.isinf(others).all(dim=-1)
    # Where there is no other node, no gradient may come from a sum of nothing.
    others = others.masked_fill(alone.unsqueeze(-1), 0.0)
    odds = scores.gather(-1, node.unsqueeze(-1)).squeeze(-1) - others.logsumexp(dim=-1)
    return torch.where(alone, MOST, odds.clamp(max=MOST))


class ChoiceRecord:
    """Gathers the choices of depots, step by step."""

    def __init__(self, temperature: float) -> None:
        self._temperature = temperature
        self._kept: list[list[Tensor]] = []

    def add(self, step: int, made: Tensor, chosen: Tensor, of_depots: Sequence[Tensor]) -> None:
        """What was chosen (B, P) before this move by those that had a choice (B, P).

        ``of_depots`` are the other fields, (B, K, P, ...) each.
        """
        new = [torch.where(made, step, -1).int(), chosen.int(), *of_depots]
        if step % 2 == 0:
            self._kept.append(new)
            return
        for number, (value, before) in enumerate(zip(new, self._kept[-1], strict=True)):
            among = made if value.dim() == 2 else made.unsqueeze(1)
            among = among.view(*among.shape, *[1] * (value.dim() - among.dim()))
            self._kept[-1][number] = torch.where(among, value, before)

    def whole(self) -> DepotChoices | None:
        """All choices, where any were recorded."""
        if not self._kept:
            return None
        columns = [torch.stack(column, dim=1) for column in zip(*self._kept, strict=True)]
        return DepotChoices(self._temperature, *columns)
