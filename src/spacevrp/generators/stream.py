"""Random numbers that are the same on every machine and with every version of NumPy.

NumPy promises that the raw words of PCG64 never change, but not what ``Generator`` makes of them.
So only raw words are used, and everything else is made of them by exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

_WORD = 2**32


class Streams:
    """One independent stream a key; every draw advances all of them alike.

    A draw of some shape returns that shape with the streams in front. What a stream yields depends
    on its own key and its own history only, never on the streams beside it.
    """

    def __init__(self, generators: Sequence[np.random.PCG64]) -> None:
        self._generators = generators

    @classmethod
    def for_instances(cls, name: str, size: int, seed: int, indices: Sequence[int]) -> Streams:
        """The streams of the instances with these numbers."""
        # Every number is one word, except the seed, which is two; the name is a word a letter.
        key = [seed % _WORD, seed // _WORD, size]
        letters = list(name.encode("ascii"))
        return cls(
            [np.random.PCG64(np.random.SeedSequence([*key, index, *letters])) for index in indices]
        )

    def __len__(self) -> int:
        return len(self._generators)

    def only(self, positions: Sequence[int]) -> Streams:
        """Some of the streams; they share their history with these."""
        return Streams([self._generators[position] for position in positions])

    def uniform(self, *shape: int) -> NDArray[np.float64]:
        """Multiples of 2^-53 in [0, 1), (streams, *shape)."""
        count = prod(shape)
        words = np.empty((len(self), count), dtype=np.uint64)
        for row, generator in zip(words, self._generators, strict=True):
            row[:] = generator.random_raw(count)
        high_bits = (words >> np.uint64(11)).astype(np.float64)  # exact: 53 bits
        return np.asarray(high_bits * 2.0**-53).reshape(len(self), *shape)

    def whole(self, low: int, high: int, *shape: int) -> NDArray[np.int64]:
        """Whole numbers from ``low`` to below ``high``, (streams, *shape)."""
        # A product of u < 1 and a bound below 2^53 never rounds up to the bound.
        return low + np.floor(self.uniform(*shape) * (high - low)).astype(np.int64)

    def subset(self, chosen: int, out_of: int) -> NDArray[np.bool_]:
        """Random subsets of a fixed size as masks, (streams, out_of)."""
        keys = self.uniform(out_of)
        order = np.argsort(keys, axis=1, kind="stable")[:, :chosen]
        mask = np.zeros(keys.shape, dtype=bool)
        np.put_along_axis(mask, order, True, axis=1)
        return mask
