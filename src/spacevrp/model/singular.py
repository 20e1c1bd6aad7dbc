"""Leading singular vectors of the distances: where nodes are as origins and as destinations.

D ~ U S V^T with k triples; what a node is told are its rows of U sqrt(S) and V sqrt(S). Distances
are in their standard deviation, so these numbers are of order one whatever the unit and the size.

Vectors are found by block power iteration in float64, by operations that neither wait for the
device nor change a shape, so that a captured graph can hold them. It begins with columns of the
matrix itself, chosen as in a pivoted QR decomposition: another order of the nodes changes nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor, library

from spacevrp.inference.geometry import SAME_GAP

# Vectors beyond those asked for; the more, the faster the others converge.
_MORE = 4
_STEPS = 6
_SWEEPS = 3
# What is left of a column beside the longest one counts as rounding below this, and so does a
# singular value beside the largest: distances are float32.
_ROUNDING, _LEAST_VALUE = 1e-10, 1e-6


def singular_features(distance: Tensor, count: int) -> Tensor:
    """Rows of U sqrt(S) and of V sqrt(S) of every node, (B, N, 2 count).

    Distances (B, N, N) are 0 in padding. Of a matrix with fewer triples the rest is 0. A triple
    has the sign with which the cubes of U's entries add up to more than 0.
    """
    if torch.compiler.is_compiling():
        return _operator(distance, count)
    return _features(distance, count)


# A compiled model holds it as it is: there are too many small operations to compile them.
@library.custom_op("spacevrp::singular_features", mutates_args=())
def _operator(distance: Tensor, count: int) -> Tensor:
    return _features(distance, count)


@_operator.register_fake
def _(distance: Tensor, count: int) -> Tensor:
    return distance.new_empty((distance.shape[0], distance.shape[1], 2 * count))


def _features(distance: Tensor, count: int) -> Tensor:
    matrix = distance.double()
    size, nodes = matrix.shape[:2]
    found = min(count, nodes)
    block = min(count + _MORE, nodes)
    basis = _first_basis(matrix, block)
    turned = matrix.transpose(1, 2)
    for _ in range(_STEPS):
        basis = _orthonormal(turned @ (matrix @ basis))
    left, length = _orthogonal_columns(matrix @ basis)  # U S (B, N, block), S (B, block)
    order = length.argsort(dim=1, descending=True, stable=True)[:, :found]
    length = length.gather(1, order).unsqueeze(1)  # (B, 1, found)
    left = left.gather(2, order.unsqueeze(1).expand(-1, nodes, -1))
    real = length > _LEAST_VALUE * length[:, :, :1]
    root = torch.where(real, length, 1.0).sqrt()
    sign = 1.0 - 2.0 * (left.pow(3).sum(dim=1, keepdim=True) < 0).to(left.dtype)
    left = torch.where(real, sign * left / root, 0.0)  # U sqrt(S)
    right = torch.where(real, turned @ left / root.square(), 0.0)  # V sqrt(S)
    features = matrix.new_zeros((size, nodes, 2, count))
    features[:, :, 0, :found] = left
    features[:, :, 1, :found] = right
    return features.flatten(2).to(distance.dtype)


def _first_basis(matrix: Tensor, block: int) -> Tensor:
    """Orthonormal (B, N, block): greedily the row that is furthest from all rows so far."""
    rest = matrix.transpose(1, 2)  # the rows, as columns
    least = _least(rest)
    found = []
    for _ in range(block):
        squares = rest.square().sum(dim=1)  # (B, N)
        furthest = squares >= squares.amax(dim=1, keepdim=True) * (1.0 - SAME_GAP)
        pick = furthest.int().argmax(dim=1)[:, None, None].expand(-1, rest.shape[1], 1)
        found.append(_unit(rest.gather(2, pick), least))
        rest = _without(rest, found[-1])
    return torch.cat(found, dim=2)


def _orthonormal(columns: Tensor) -> Tensor:
    """The columns of (B, N, block) made orthonormal, one after the other."""
    least = _least(columns)
    found = []
    for _ in range(columns.shape[2]):
        found.append(_unit(columns[:, :, :1], least))
        columns = _without(columns[:, :, 1:], found[-1])
    return torch.cat(found, dim=2)


def _least(columns: Tensor) -> Tensor:
    """Squared lengths up to which a column counts as rounding, (B, 1, 1)."""
    return _ROUNDING**2 * columns.square().sum(dim=1, keepdim=True).amax(dim=2, keepdim=True)


def _unit(column: Tensor, least: Tensor) -> Tensor:
    """A column (B, N, 1) of length 1, or 0 where it is no longer than rounding."""
    square = column.square().sum(dim=1, keepdim=True)
    return column * square.masked_fill(square <= least, torch.inf).rsqrt()


def _without(columns: Tensor, unit: Tensor) -> Tensor:
    """What is left of columns (B, N, C) beside a unit vector (B, N, 1)."""
    return torch.baddbmm(columns, unit, unit.transpose(1, 2) @ columns, alpha=-1.0)


def _orthogonal_columns(columns: Tensor) -> tuple[Tensor, Tensor]:
    """The columns of (B, N, block) rotated until they are orthogonal, and their lengths (B, block).

    Jacobi's method: every pair is rotated in turn, as many at a time as have nothing in common.
    """
    block = columns.shape[2]
    place = torch.arange(block, device=columns.device)
    for turn in range(_SWEEPS * block):
        partner = (turn - place) % block  # every two meet once in a sweep
        other = columns[:, :, partner]
        square = columns.square().sum(dim=1)  # (B, block)
        product = (columns * other).sum(dim=1)
        # The first of two gets the longer column; its partner turns the other way.
        ahead = torch.sign(partner - place)  # 0 for a column that has none
        longer = square - square[:, partner]
        # Never -0: both must find the same angle where the two are orthogonal and as long.
        twice = torch.atan2(2 * product, torch.where(ahead < 0, -longer, longer) + 0.0)
        angle = 0.5 * ahead * twice
        columns = columns * angle.cos().unsqueeze(1) + other * angle.sin().unsqueeze(1)
    return columns, columns.square().sum(dim=1).sqrt()
