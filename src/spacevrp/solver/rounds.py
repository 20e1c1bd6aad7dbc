"""Rounds of rollouts within a time: how many each has, and whether there is time for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spacevrp.problems.deadline import Deadline

# Augmentations at the most where there is time for more; then moves are sampled.
MOST_AUGMENTATIONS = 128
_SAMPLES = 7
# A round has at most so many times as many rollouts as the one before.
_GROWTH = 4.0
_SHORTEST = 1e-6  # seconds, where a clock did not move


@dataclass(frozen=True)
class Round:
    """How many rollouts of each problem."""

    augmentations: int
    starts: int  # of each augmentation
    samples: int = 0  # from each of them, beside the greedy one

    @property
    def rollouts(self) -> int:
        """Of one problem."""
        return self.augmentations * self.starts * (1 + self.samples)


def rounds_in_time(deadline: Deadline, few: int, every: int, most: int | None) -> Iterator[Round]:
    """Rounds, each asked for when the last is done, as long as they are expected to end in time.

    A round with k times as many rollouts takes at most k times as long, since all rollouts share
    some of the work. ``few`` start nodes come first, ``every`` one is a full augmentation.
    """
    known: list[tuple[int, float]] = []  # rollouts and seconds
    augmentations, next_ = 0, Round(1, few)
    while True:
        began = deadline.spent
        yield next_
        known.append((next_.rollouts, max(deadline.spent - began, _SHORTEST)))
        augmentations += next_.augmentations
        left = (MOST_AUGMENTATIONS if most is None else most) - augmentations
        if deadline.over or (most is not None and left <= 0):
            return
        rollouts = max(
            (
                math.floor(count * min(_GROWTH, deadline.left / took))
                for count, took in known
                if took <= deadline.left
            ),
            default=0,
        )
        if rollouts < few:
            return  # no fewer than at first
        next_ = _plan_round(rollouts, every, left)


def _plan_round(rollouts: int, starts: int, augmentations: int) -> Round:
    """A round of at most so many rollouts; first ``augmentations``, then samples."""
    if rollouts < starts:
        return Round(1, rollouts)
    whole = rollouts // starts
    if augmentations > 0:
        return Round(min(whole, augmentations), starts)
    samples = min(_SAMPLES, whole - 1)
    return Round(whole // (1 + samples), starts, samples)


def seed_of_round(seed: int, order: int) -> int:
    """The caller's own, and then others that follow from it: other pivots, other samples."""
    if not order:
        return seed
    return int(np.random.SeedSequence([seed, order]).generate_state(1)[0])
