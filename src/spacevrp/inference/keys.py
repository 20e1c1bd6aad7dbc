"""Keys of random numbers, one for every sampled trajectory (see decode/random_numbers.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

NUM_KEYS = 2**31
# In the place of a key: take the likeliest move, and draw nothing.
LIKELIEST = -1


def numbered_keys(seed: int, augmentations: range, count: int) -> np.ndarray[Any, Any]:
    """Keys of the first ``count`` trajectories of some augmentations, (V, count) int64.

    They follow from the seed, the number of the augmentation and that of the trajectory.
    """
    rows = [
        # Philox draws one after the other: the first of many are those of few.
        np.random.Generator(
            np.random.Philox(np.random.SeedSequence([seed, augmentation]))
        ).integers(NUM_KEYS, size=count, dtype=np.int64)
        for augmentation in augmentations
    ]
    return np.array(rows, dtype=np.int64).reshape(len(augmentations), count)


def random_state(seed: int, place: tuple[int, ...]) -> int:
    """Random numbers of their own for every piece of work."""
    state = np.random.SeedSequence([seed, *place]).generate_state(1, np.uint64)[0]
    return int(state >> np.uint64(1))


class Mersenne:
    """The generator that torch has on a CPU, number by number: both paths draw alike."""

    def __init__(self, state: int) -> None:
        self._source = np.random.RandomState(state & 0xFFFFFFFF)

    def _words(self, count: int) -> np.ndarray[Any, Any]:
        return self._source.randint(0, 2**32, size=count, dtype=np.uint32)

    def uniform(self, *shape: int) -> np.ndarray[Any, Any]:
        """Numbers from 0 up to 1 in multiples of 2^-24, float32."""
        words = self._words(int(np.prod(shape)))
        return ((words & 0xFFFFFF).astype(np.float32) * np.float32(2.0**-24)).reshape(shape)

    def keys(self, *shape: int) -> np.ndarray[Any, Any]:
        """Keys of trajectories, int64."""
        words = self._words(2 * int(np.prod(shape))).astype(np.uint64)
        whole = (words[0::2] << np.uint64(32)) | words[1::2]
        return (whole % np.uint64(NUM_KEYS)).astype(np.int64).reshape(shape)
