"""The record of a rollout: what was decided, and all that is needed to compute it again."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.decode.depot_choices import DepotChoices


@dataclass(frozen=True)
class Trace:
    """Finished solutions. Histories are time-major."""

    starts: Tensor  # (B, P) int64
    origin: Tensor  # (B, P) int64; the first depot; without depots, the start
    action: Tensor  # (B, T, P) int32; moves after the start
    steps: Tensor  # (B, P) int32; moves until the solution was finished
    cost: Tensor  # (B, P) in units of distance; inf where stuck
    signals: Tensor | None = None  # (B, T, P, S)
    allowed: Tensor | None = None  # (B, T, P, N) int8
    likeliest: Tensor | None = None  # (B, T, P) chance of the likeliest move
    # Where instances may have several depots: that of the running route before each move
    depot: Tensor | None = None  # (B, T, P) int32
    num_depots: int = 1  # of the instance with most of them, and at least one
    choices: DepotChoices | None = None  # where depots were drawn

    @property
    def first(self) -> Tensor:
        """The depot of the running route before each move, or else the start, (B, T, P) int64."""
        if self.depot is not None:
            return self.depot.long()
        return self.origin.unsqueeze(1).expand(-1, self.action.shape[1], -1)

    @property
    def current(self) -> Tensor:
        """The node at which each move was decided, (B, T, P) int64."""
        return torch.cat([self.starts.unsqueeze(1), self.action[:, :-1].long()], dim=1)

    @property
    def active(self) -> Tensor:
        """Which moves there were before the solution was finished, (B, T, P) bool."""
        time = torch.arange(self.action.shape[1], device=self.action.device)
        return time[None, :, None] < self.steps.unsqueeze(1)

    @property
    def switches(self) -> Tensor:
        """Which moves led from one depot to another, (B, T, P) bool."""
        found = torch.zeros_like(self.action, dtype=torch.bool)
        if self.depot is not None:
            changes = self.depot[:, 1:] != self.depot[:, :-1]
            found[:, :-1] = changes & self.active[:, 1:]
        return found

    def sequences(self) -> Tensor:
        """Origin, start and moves, (B, P, T + 2); finished solutions rest where they stopped."""
        written = self.active.transpose(1, 2)  # (B, P, T)
        moves = self.action.transpose(1, 2).long()
        last = moves.gather(2, (self.steps.long() - 1).clamp(min=0).unsqueeze(-1))
        rest = torch.where(self.steps.unsqueeze(-1) > 0, last, self.starts.unsqueeze(-1))
        moves = torch.where(written, moves, rest)
        return torch.cat([self.origin.unsqueeze(-1), self.starts.unsqueeze(-1), moves], dim=-1)
