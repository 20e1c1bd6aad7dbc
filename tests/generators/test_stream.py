"""The random streams: what they yield, and that they keep out of each other's way."""

from __future__ import annotations

import numpy as np
import pytest

from spacevrp.generators.stream import Streams


def streams(*indices: int, name: str = "CVRP", size: int = 10, seed: int = 1) -> Streams:
    return Streams.for_instances(name, size, seed, indices)


def test_uniform_numbers_are_the_high_bits_of_pcg64() -> None:
    key = [1, 0, 10, 7, *b"CVRP"]  # seed in two words, size, index, letters
    expected = np.random.Generator(np.random.PCG64(np.random.SeedSequence(key))).random(6)
    assert streams(7).uniform(2, 3).tolist() == [expected.reshape(2, 3).tolist()]


def test_a_stream_does_not_see_its_neighbours() -> None:
    many, one = streams(3, 4, 5), streams(4)
    for shape in ((4,), (2, 2)):
        assert (many.uniform(*shape)[1] == one.uniform(*shape)[0]).all()
    some = many.only([1])  # shares its history
    assert (some.uniform(3) == one.uniform(3)).all()


@pytest.mark.parametrize(
    "other",
    [
        streams(0, name="CVRPB"),
        streams(0, size=11),
        streams(0, seed=2),
        streams(0, seed=1 + 2**32),
        streams(1),
    ],
)
def test_every_part_of_the_key_matters(other: Streams) -> None:
    assert not np.isin(other.uniform(20), streams(0).uniform(20)).any()


def test_subsets_have_their_size_and_favour_nobody() -> None:
    chosen = streams(*range(2000)).subset(2, 10)
    assert (chosen.sum(axis=1) == 2).all()
    assert (abs(chosen.sum(axis=0) - 400) < 4.5 * 18).all()
