"""Draws that leave the recipe: maps, demands, limits, windows, penalties, durations and fleets.

The recipe makes uniform customers, demands of 1 to 9 and about ten customers a route, as the
benchmarks of the field do. Real days, and the sets of CVRPLIB, do not look like that. These draws
follow the classes of CVRPLIB's set X and of Solomon's files. As everything in ``sampler``, they
wait for no device and no shape depends on what is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from spacevrp.problems.variants import Variant

# Bounds of the demands of an instance; each pair comes up equally often.
DEMANDS = ((1, 9), (1, 1), (5, 10), (1, 100), (50, 100))
# Customers a route, between these; short routes come up more often than long ones.
SHORTEST_ROUTE, LONGEST_ROUTE = 3, 60
# Penalties are multiplied with a number between these; each octave comes up equally often.
LOWEST_PENALTIES, HIGHEST_PENALTIES = 0.5, 8.0
MOST_CLUSTERS = 8
CLUSTER_WIDTH = 0.07  # standard deviation, in a square of side 1
# The most that a street map adds to the way between two points: of their difference in height, and
# the share by which one direction may be longer than a straight line.
HIGHEST_CLIMB, LONGEST_DETOUR = 0.3, 1.0
# What distances, services and widths of windows are multiplied with; each octave comes up equally
# often. Smaller maps have longer routes under the same limits.
SMALLEST_MAP, SHORTEST_SERVICE = 0.3, 0.05
NARROWEST_WINDOWS, WIDEST_WINDOWS = 0.25, 3.0
FEWEST_WINDOWS = 0.25  # share of the customers that have one, where not all have
# How much sooner than the slowest vehicle one may arrive: by so much of the time on the longest way
# of a map, and by so much on any way for reasons of its own.
FASTER_ON_LONG_WAYS, FASTER_ANYHOW = 0.4, 0.3
# What the fewest vehicles that could hold all goods are multiplied with, where fleets have a limit.
SMALLEST_FLEET, LARGEST_FLEET = 1.05, 1.4
SMALLEST = 20  # customers
MOST_TURNS = 24  # a captured draw is kept for each
# Multiples of it, modulo 1, fill the interval evenly from the first few on.
_GOLDEN = 0.6180339887498949


def spread(
    variants: Sequence[Variant], size: int, share: float
) -> list[tuple[list[int], list[bool]]]:
    """For each instance of a batch its number of customers, and whether it leaves the recipe.

    A batch seldom holds so many instances of each variant that the share comes out even. So
    batches take turns, for which this is a list, and what one gives a variant too little the next
    ones make up for. In each turn the share of the whole batch does leave the recipe, to the
    nearest instance, and over all turns the same share of every variant. The sizes of these
    instances fill the range up to ``size`` evenly; they are even, for pairs.
    """
    rows: dict[str, list[int]] = {}
    for row, variant in enumerate(variants):
        rows.setdefault(variant.name, []).append(row)
    counts = [len(own) for own in rows.values()]
    turns = []
    number = 0  # of varied instances so far
    for quotas in _quotas(counts, share):
        sizes, varied = [size] * len(variants), [False] * len(variants)
        for own, quota in zip(rows.values(), quotas, strict=True):
            for place in range(quota):
                varied[own[int((place + 0.5) * len(own) / quota)]] = True  # evenly spread
        for row in range(len(variants)):
            number += varied[row]
            part = number * _GOLDEN % 1.0
            smaller = 2 * round((SMALLEST + part * (size - SMALLEST)) / 2)
            if varied[row] and size > SMALLEST:
                sizes[row] = min(size, smaller)
        turns.append((sizes, varied))
    return turns


def smallest_share(count: int) -> float:
    """The smallest share above 0 that varies each variant at all, of ``count`` instances each."""
    return 1.0 / (MOST_TURNS * count)


def _quotas(counts: Sequence[int], share: float) -> list[list[int]]:
    """For each turn how many instances of every variant leave the recipe.

    ``counts`` are the instances of each. The turns are those, up to the most, after which the
    shares are nearest to the one asked for.
    """

    def error(turns: int) -> float:
        wanted = [count * turns * share for count in counts]
        return round(max(abs(w - round(w)) for w in wanted) / turns, 9)

    turns = min(range(1, MOST_TURNS + 1), key=error)
    given = [0] * len(counts)
    quotas = []
    for turn in range(1, turns + 1):
        # What each variant is still owed; rounded, so that equal debts count as equal.
        owed = [round(n * share * turn - g, 9) for n, g in zip(counts, given, strict=True)]
        own = [min(int(max(debt, 0.0)), n) for debt, n in zip(owed, counts, strict=True)]
        left = round(sum(counts) * share * turn) - sum(given) - sum(own)
        for _ in range(left):
            open_ones = [v for v, n in enumerate(counts) if own[v] < n]
            own[max(open_ones, key=lambda v: owed[v] - own[v])] += 1
        for _ in range(-left):  # others have had theirs early
            some = [v for v in range(len(counts)) if own[v] > 0]
            own[min(some, key=lambda v: owed[v] - own[v])] -= 1
        given = [g + o for g, o in zip(given, own, strict=True)]
        quotas.append(own)
    return quotas


def _uniform(like: Tensor, generator: torch.Generator | None, *shape: int) -> Tensor:
    """Numbers from 0 to 1 on the device and in the type of another tensor."""
    return torch.rand(shape, generator=generator, device=like.device, dtype=like.dtype)


def cluster(points: Tensor, is_depot: Tensor, generator: torch.Generator | None) -> Tensor:
    """Move some customers of each instance to clusters; depots stay.

    Points (B, N, 2) are uniform in the unit square. Half of the instances keep them; in the others
    each customer moves with a probability drawn for the instance.
    """
    count, nodes, _ = points.shape
    uniform = partial(_uniform, points, generator)
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

    ``bounds`` are ``DEMANDS`` on the device, in the type of the draws.
    """
    uniform = partial(_uniform, bounds, generator)
    low, high = bounds[(uniform(count) * len(bounds)).long()].unbind(dim=1)  # (count,) each
    demand = low[:, None] + (uniform(count, nodes) * (high - low + 1)[:, None]).floor()
    route = SHORTEST_ROUTE + (LONGEST_ROUTE - SHORTEST_ROUTE) * uniform(count) ** 3
    capacity = (route * (low + high) / 2).ceil()
    return demand, torch.maximum(capacity, high)


def street_distances(points: Tensor, generator: torch.Generator | None) -> Tensor:
    """Ways through one-way streets between points (B, N, 2), uphill and downhill, (B, N, N).

    How hilly a map is, and how long its detours are, is drawn for each. Ways over other points may
    be shorter still: close the distances afterwards.
    """
    count, nodes, _ = points.shape
    uniform = partial(_uniform, points, generator)
    height = HIGHEST_CLIMB * uniform(count, 1) * uniform(count, nodes)  # (B, N)
    longest = LONGEST_DETOUR * uniform(count, 1, 1)
    gaps = (points[:, :, None] - points[:, None]).square().sum(dim=3).sqrt()  # (B, N, N)
    climb = (height[:, None, :] - height[:, :, None]).clamp(min=0.0)
    return (gaps + climb) * (1.0 + longest * uniform(count, nodes, nodes))


def draw_durations(
    distance: Tensor, symmetric: Tensor, generator: torch.Generator | None
) -> Tensor:
    """How long ways (B, N, N) take, (B, N, N): never longer than they are.

    In half of the instances as long as they are. In the others long ways are faster, and each way
    is by a number of its own, in ``symmetric`` instances (B,) the same for both directions; how
    much of all that is drawn for each instance.
    """
    count, nodes, _ = distance.shape
    uniform = partial(_uniform, distance, generator)
    part = (2 * uniform(count, 1, 1) - 1.0).clamp(min=0.0)  # 0 in half of the instances
    own = uniform(count, nodes, nodes)
    own = torch.where(symmetric[:, None, None], (own + own.transpose(1, 2)) / 2, own)
    longest = distance.amax(dim=(1, 2), keepdim=True)
    by_length = FASTER_ON_LONG_WAYS * distance / torch.where(longest > 0, longest, 1.0)
    return distance * (1.0 - part * (FASTER_ANYHOW * own + by_length))


def draw_fleets(
    demand: Tensor, capacity: Tensor, no_limit: Tensor, generator: torch.Generator | None
) -> Tensor:
    """Vehicles of each instance, (B,) int64; in half of the instances ``no_limit`` (B,).

    In the others some more than the fewest that could hold all deliveries, or all goods collected,
    of signed demands (B, N), and at least two.
    """
    uniform = partial(_uniform, demand, generator)
    deliveries, collected = demand.clamp(min=0).sum(dim=1), (-demand).clamp(min=0).sum(dim=1)
    fewest = torch.maximum(deliveries, collected) / capacity
    factor = SMALLEST_FLEET + (LARGEST_FLEET - SMALLEST_FLEET) * uniform(len(demand))
    fleet = (fewest * factor).ceil().clamp(min=2.0).to(no_limit.dtype)
    return torch.where(uniform(len(demand)) < 0.5, no_limit, fleet)


def draw_map_scales(count: int, like: Tensor, generator: torch.Generator | None) -> Tensor:
    """What the distances of each instance are multiplied with, (count,)."""
    return _by_octaves(SMALLEST_MAP, 1.0, _uniform(like, generator, count))


def draw_services(count: int, like: Tensor, generator: torch.Generator | None) -> Tensor:
    """What the services of each instance are multiplied with, (count, 1)."""
    return _by_octaves(SHORTEST_SERVICE, 1.0, _uniform(like, generator, count, 1))


def draw_windows(
    count: int, nodes: int, like: Tensor, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """What the widths of each instance are multiplied with (count, 1); who has a window.

    In half of the instances all customers have, in the others a share that is drawn.
    """
    uniform = partial(_uniform, like, generator)
    factor = _by_octaves(NARROWEST_WINDOWS, WIDEST_WINDOWS, uniform(count, 1))
    share = FEWEST_WINDOWS + 2.0 * (1.0 - FEWEST_WINDOWS) * uniform(count, 1)  # half above 1
    return factor, uniform(count, nodes) < share


def draw_penalties(count: int, like: Tensor, generator: torch.Generator | None) -> Tensor:
    """What the penalties of each instance are multiplied with, (count, 1)."""
    part = _uniform(like, generator, count, 1)
    return _by_octaves(LOWEST_PENALTIES, HIGHEST_PENALTIES, part)


def _by_octaves(low: float, high: float, part: Tensor) -> Tensor:
    """Numbers from ``low`` to ``high`` for parts from 0 to 1, each octave with as large a part."""
    return low * (high / low) ** part
