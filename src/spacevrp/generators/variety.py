"""Draws that leave the recipe: clusters, other demands and other capacities.

The recipe makes uniform customers, demands of 1 to 9 and about ten customers a route, as the
benchmarks of the field do. Real days, and the sets of CVRPLIB, do not look like that. These draws
follow the classes of CVRPLIB's set X. As everything in ``sampler``, they wait for no device and no
shape depends on what is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from spacevrp.problems.variants import Variant

# Bounds of the demands of an instance; each pair comes up equally often.
DEMANDS = ((1, 9), (1, 1), (5, 10), (1, 100), (50, 100))
# Customers a route, between these; short routes come up more often than long ones.
SHORTEST_ROUTE, LONGEST_ROUTE = 3, 25
MOST_CLUSTERS = 8
CLUSTER_WIDTH = 0.07  # standard deviation, in a square of side 1
SMALLEST = 20  # customers
# Multiples of it, modulo 1, fill the interval evenly from the first few on.
_GOLDEN = 0.6180339887498949


def spread(variants: Sequence[Variant], size: int, share: float) -> tuple[list[int], list[bool]]:
    """For each instance of a batch its number of customers, and whether it leaves the recipe.

    The same share of every variant does, and their sizes fill the range up to ``size`` evenly.
    Sizes are even, for pairs.
    """
    sizes, varied = [], []
    seen: Counter[str] = Counter()
    for variant in variants:
        turn = seen[variant.name]
        seen[variant.name] += 1
        leaves = int((turn + 1) * share) > int(turn * share)
        varied.append(leaves)
        part = sum(varied) * _GOLDEN % 1.0
        smaller = 2 * round((SMALLEST + part * (size - SMALLEST)) / 2)
        sizes.append(min(size, smaller) if leaves and size > SMALLEST else size)
    return sizes, varied


def cluster(points: Tensor, is_depot: Tensor, generator: torch.Generator | None) -> Tensor:
    """Move some customers of each instance to clusters.

    Parameters
    ----------
    points
        (B, N, 2) uniform in the unit square. Half of the instances keep them; in the others each
        customer moves with a probability drawn for the instance.
    is_depot
        (B, N) depots stay.
    """
    count, nodes, _ = points.shape

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, device=points.device, dtype=points.dtype)

    centres = uniform(count, MOST_CLUSTERS, 2)
    clusters = (uniform(count, 1) * MOST_CLUSTERS).floor() + 1  # (B, 1)
    share = (2 * uniform(count, 1)).clamp(min=1.0) - 1.0  # 0 in half of the instances
    own = (uniform(count, nodes) * clusters).long()  # (B, N)
    noise = torch.randn(points.shape, generator=generator, device=points.device, dtype=points.dtype)
    near = centres.gather(1, own[:, :, None].expand(-1, -1, 2)) + CLUSTER_WIDTH * noise
    moves = (uniform(count, nodes) < share) & ~is_depot
    return torch.where(moves[:, :, None], near.clamp(0.0, 1.0), points)


def draw_loads(
    count: int, nodes: int, bounds: Tensor, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Whole demands (count, nodes), and for each instance a capacity that holds any of them.

    Parameters
    ----------
    bounds
        ``DEMANDS`` on the device, in the type of the draws.
    """

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, device=bounds.device, dtype=bounds.dtype)

    low, high = bounds[(uniform(count) * len(bounds)).long()].unbind(dim=1)  # (count,) each
    demand = low[:, None] + (uniform(count, nodes) * (high - low + 1)[:, None]).floor()
    route = SHORTEST_ROUTE + (LONGEST_ROUTE - SHORTEST_ROUTE) * uniform(count).square()
    capacity = (route * (low + high) / 2).ceil()
    return demand, torch.maximum(capacity, high)
