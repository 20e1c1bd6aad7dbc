"""The min-plus closure: a fixed point, and the same on every path."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from spacevrp.generators.closure import close_by_rows, min_plus_closure
from spacevrp.generators.testsets import _close


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
