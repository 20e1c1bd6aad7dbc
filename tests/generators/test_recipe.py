"""The recipe of instances, its streams of random numbers, and the closure of distances."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from math import inf

import numpy as np
import pytest
import torch

from spacevrp.generators import recipe
from spacevrp.generators.closure import close_by_rows, min_plus_closure
from spacevrp.generators.stream import Streams
from spacevrp.generators.testsets import _close
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.variants import VARIANTS


@pytest.mark.parametrize(
    ("name", "size", "limit"),
    [
        ("CVRPL", 100, 3.0),
        ("AMDCVRPBL", 100, 0.6),
        ("CVRP", 100, inf),
        ("OP", 20, 2.0),
        ("OP", 100, 4.0),
        ("OP", 4, 2.0),
        ("OP", 75, 3.5),
        ("OP", 1000, 4.0),
        ("AOP", 20, 1.0),
    ],
)
def test_length_limits(name: str, size: int, limit: float) -> None:
    assert recipe.max_length(VARIANTS[name].features, size) == pytest.approx(limit, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("CVRP", 3, "size: expected a whole number of at least 4, received 3"),
        ("CVRP", 10.0, "size: expected a whole number of at least 4, received 10.0"),
        ("PDTSP", 7, "size: expected an even number, as customers come in pairs, received 7"),
    ],
)
def test_impossible_sizes_are_refused(name: str, size: int, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        recipe.check_size(VARIANTS[name].features, size)
    assert str(caught.value) == message


# ------------------------------------------------------------------------------------------- stream


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


# ------------------------------------------------------------------------------------------ closure


def close_by_squaring(matrix: np.ndarray) -> np.ndarray:
    """The definition: min-plus squares until nothing changes, (N, N)."""
    while True:
        square = (matrix[:, :, None] + matrix[None]).min(axis=1)
        if (square == matrix).all():
            return matrix
        matrix = square


def random_matrices(count: int, nodes: int) -> np.ndarray:
    matrices = np.random.default_rng(0).integers(0, 10**6, (count, nodes, nodes))
    matrices[:, range(nodes), range(nodes)] = 0
    return matrices


@pytest.mark.parametrize("nodes", [4, 13, 30])
def test_every_path_gives_the_fixed_point_of_squaring(nodes: int) -> None:
    matrices = random_matrices(3, nodes)
    expected = np.stack([close_by_squaring(matrix) for matrix in matrices])
    assert (_close(matrices) == expected).all()
    assert (min_plus_closure(torch.tensor(matrices, dtype=torch.float32)).numpy() == expected).all()
    assert (min_plus_closure(torch.tensor(matrices, dtype=torch.float64)).numpy() == expected).all()


KERNEL_CHECK = """
import torch
from spacevrp.generators.closure import close_by_rows
from spacevrp.generators.closure_triton import close_in_registers

torch.manual_seed(0)
for nodes in (4, 17, 33):
    matrix = torch.randint(10**6, (2, nodes, nodes), dtype=torch.float32)
    matrix[:, :, -1] = torch.inf  # padding
    matrix.diagonal(dim1=1, dim2=2).zero_()
    assert torch.equal(close_in_registers(matrix), close_by_rows(matrix)), nodes
    assert not torch.equal(close_by_rows(matrix), matrix)
assert close_in_registers(matrix[:0]).shape == (0, 33, 33)
print("equal")
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="needs triton")
def test_the_kernel_equals_its_slow_twin_in_the_interpreter() -> None:
    done = subprocess.run(
        [sys.executable, "-c", KERNEL_CHECK],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("equal\n", 0), done.stderr


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("nodes", [4, 33, 101, 128, 150])
def test_the_kernel_equals_its_slow_twin_on_the_device(nodes: int) -> None:
    matrices = torch.tensor(random_matrices(128, nodes), dtype=torch.float32, device="cuda")
    assert torch.equal(min_plus_closure(matrices), close_by_rows(matrices))
