"""Which rollouts the network makes, and where the time of a call goes."""

from __future__ import annotations

from dataclasses import dataclass

from spacevrp.inference.settings import Settings

__all__ = ["Seconds", "Settings"]


@dataclass
class Seconds:
    """Where the time goes."""

    preparing: float = 0.0  # from problems to tensors, on the host
    searching: float = 0.0  # encoding and decoding, on the device
    judging: float = 0.0  # the referee
    improving: float = 0.0  # the compiled search

    @property
    def total(self) -> float:
        """All of it."""
        return self.preparing + self.searching + self.judging + self.improving
