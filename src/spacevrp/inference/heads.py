"""Policy heads: augmentations whose queries differ, so that each prefers other plans.

The twin of ``model/policy_heads.py`` for one instance. Head 0 is the base policy. The next heads
are learned, where the weights hold any; further ones go through the learned heads in turn and add
a random vector that depends on the number of the head.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spacevrp.inference.network import Network

Array = np.ndarray[Any, Any]

#: The length of drawn vectors in the queries' own deviation, and the strength at which heads were
#: learned. From twice as much on plans become worse faster than they become different.
STRENGTH = 0.25
_SEED = 0


def drawn_shifts(heads: range, width: int, first: int = 1) -> Array:
    """What each head adds to queries, in their deviation, (V, d) float32; 0 before the first.

    The vector of a head depends on its number alone, not on the seed, which decides its pivots.
    """
    rows = [
        np.random.default_rng([_SEED, head]).standard_normal(width)
        if head >= first
        else np.zeros(width)
        for head in heads
    ]
    return np.array(rows, dtype=np.float32)


class Heads(NamedTuple):
    """The heads of the augmentations, and how strongly they count."""

    numbers: range
    strength: float = STRENGTH


def apply_heads(
    network: Network,
    attributes: Array,
    embedding: Array,
    query_first: Array,
    query_last: Array,
    of: Heads,
) -> None:
    """Change the queries (V, N, d) of first and last nodes in place, each augmentation by its head.

    How large vectors are is measured in the deviation of all numbers of an augmentation's last
    queries.
    """
    heads, strength = of
    if not strength or heads == range(1):
        return
    width = network.config.width
    learned = network.heads
    shift = np.zeros((len(heads), width), dtype=np.float32)
    flat = query_last.reshape(len(heads), -1)
    deviation = flat.std(axis=1, dtype=np.float64).astype(np.float32)  # (V,)
    drawn_from = 1
    if learned is not None:
        drawn_from = len(learned.shift) + 1
        part = np.float32(strength / STRENGTH)
        share = (attributes / max(float(attributes.sum()), 1.0)).astype(np.float32)
        for augmentation, number in enumerate(heads):
            turn = number % drawn_from - 1
            if turn < 0:  # the base policy
                continue
            query_first[augmentation] += part * (embedding[augmentation] @ learned.first[turn].T)
            query_last[augmentation] += part * (embedding[augmentation] @ learned.last[turn].T)
            own = learned.shift[turn] + share @ learned.shift_of_attributes[turn]
            shift[augmentation] = part * own
    if heads.stop > drawn_from:
        shift += np.float32(strength) * drawn_shifts(heads, width, drawn_from)
    query_last += deviation[:, None, None] * shift[:, None, :]
