"""Which rollouts the network makes of a problem, by either engine, and where the time goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spacevrp.inference.heads import STRENGTH
from spacevrp.problems.deadline import NEVER, Deadline

#: By default one of so many parts of the start nodes is used, the likeliest, each so many times.
PARTS = 4
#: But not fewer starts than these, if there are as many.
FEWEST = 16
# Temperatures of the second attempt: 1, 2, 4, ... up to where all moves are about as likely.
_DEGREES = 8


@dataclass(frozen=True)
class Settings:
    """Which rollouts the network makes of a problem."""

    augmentations: int = 1  # augmentations of an instance: a pivot set and a policy head each
    starts: int | None = None  # start nodes of each, the likeliest; None for all that can start
    samples: int | None = None  # sampled rollouts from every start node; None by default
    beam_width: int = 0  # plans of each augmentation that a beam search goes on with; 0 for none
    seed: int = 0
    choices: int | None = None  # nearest customers that a move chooses from; None by the size
    direct_return: bool = True  # serve only who has a direct way home (see Environment)
    heads: float = STRENGTH  # strength of the policy heads (see inference/heads.py)
    first_augmentation: int = 0  # the number of the first one
    pruned: bool = True  # large instances: fewer starts, near customers, adjusted distances
    deadline: Deadline = NEVER  # when it is over, the best plans so far are taken
    compiled: bool = True  # torch on a CPU: rollouts by the compiled network where it is installed
    threads: int = 1  # of the network without torch

    @property
    def parted(self) -> bool:
        """Whether a part of the starts is used, and each so much the more: the default."""
        return self.starts is None and self.samples is None

    @property
    def draws(self) -> int:
        """Rounds that draw their moves, after a greedy one."""
        return PARTS - 1 if self.parted else self.samples or 0

    def used(self, starts: int) -> int:
        """Start nodes that are used of so many."""
        if self.parted:
            return max(-(-starts // PARTS), min(starts, FEWEST))
        return starts if self.starts is None else min(starts, self.starts)

    def rollouts(self, starts: int) -> int:
        """Of an augmentation with so many start nodes."""
        return self.used(starts) * (1 + self.draws)

    @property
    def rounds(self) -> int:
        """Rollouts from every start where nothing is drawn by default: fleets, large instances."""
        return 1 + (self.samples or 0)

    @property
    def numbers(self) -> range:
        """The numbers of the augmentations."""
        return self.numbered(0, self.augmentations)

    @property
    def look(self) -> Callable[[], None] | None:
        """What is called now and then to look at the deadline; None where there is none."""
        return None if self.deadline is NEVER else self.deadline.check

    def numbered(self, first: int, count: int) -> range:
        """The numbers of so many augmentations from the first of this round on."""
        return range(self.first_augmentation + first, self.first_augmentation + first + count)

    def temperature(self, number: int) -> float:
        """Of the draws of a round: 1, or where plans are hard to find ever hotter in turn."""
        if self.direct_return or not number:
            return 1.0
        return 2.0 ** ((number - 1) % _DEGREES)


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
