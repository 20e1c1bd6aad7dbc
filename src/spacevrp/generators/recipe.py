"""The recipe of the random instances as data: every constant, by feature and number of customers.

Nothing here draws a number. ``testsets`` and ``sampler`` both follow this page, and
``docs/instances.md`` explains it.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf

from spacevrp.problems.errors import ProblemError
from spacevrp.problems.features import Features

MIN_SIZE = 4

# Asymmetric distances are whole numbers below this, closed under min-plus, then divided by it.
MATRIX_SCALE = 10**6

SMALLEST_DEMAND, LARGEST_DEMAND = 1, 9
PAIRED_CAPACITY = 20
_CAPACITY = {20: 30, 50: 40, 100: 50, 200: 80, 500: 100, 1000: 250}
_BACKHAUL_PART = 5  # one customer in five

_LENGTH_LIMIT = {False: 3.0, True: 0.6}  # by asymmetry
_HORIZON = {False: 3.0, True: 1.0}  # by asymmetry
SERVICE = 0.2
# A window reaches from its centre to both sides by between half the service and this part of T.
_WIDEST_HALF_PART = 3

# Straight lines between the sizes, level outside them.
_ORIENTEERING_LIMIT = ((20, 2.0), (50, 3.0), (100, 4.0))
_ASYMMETRIC_ORIENTEERING_LIMIT = 1.0
PRIZE_STEPS = 99  # prizes of the orienteering problem are (1 .. 1 + PRIZE_STEPS) hundredths
_TOUR_SCALE = ((20, 2.0), (50, 3.0), (100, 4.0))
MIN_PRIZE = 1.0

DEPOTS = 3  # of the multi-depot variants


def check_size(features: Features, size: int) -> None:
    """Refuse a number of customers for which the recipe makes no instance."""
    if isinstance(size, bool) or not isinstance(size, int) or size < MIN_SIZE:
        raise ProblemError(
            "size", expected=f"a whole number of at least {MIN_SIZE}", received=repr(size)
        )
    if features.pickup_delivery and size % 2:
        raise ProblemError(
            "size", expected="an even number, as customers come in pairs", received=str(size)
        )


def num_depots(features: Features) -> int:
    """Number of depots; they come before the customers."""
    if features.multi_depot:
        return DEPOTS
    return 1 if features.depot else 0


def num_nodes(features: Features, size: int) -> int:
    """Number of nodes with ``size`` customers; without a depot all nodes are customers."""
    return num_depots(features) + size


def capacity(features: Features, size: int) -> float:
    """Load a vehicle can carry; infinite where loads do not matter.

    Demands are whole numbers, so the fraction of 30 + n/5 would carry nothing and is dropped.
    """
    if not features.capacity:
        return inf
    if features.pickup_delivery:
        return float(PAIRED_CAPACITY)
    return float(_CAPACITY.get(size, 30 + size // 5))


def num_backhauls(size: int) -> int:
    """How many customers hand goods over, where there are backhauls."""
    return max(1, round(size / _BACKHAUL_PART))


def max_length(features: Features, size: int) -> float:
    """Limit on the length of a route; infinite where there is none."""
    if features.orienteering:
        if features.asymmetric:
            return _ASYMMETRIC_ORIENTEERING_LIMIT
        return _interpolate(_ORIENTEERING_LIMIT, size)
    return _LENGTH_LIMIT[features.asymmetric] if features.length_limit else inf


def horizon(features: Features) -> float:
    """When depots close; infinite without time windows."""
    return _HORIZON[features.asymmetric] if features.time_windows else inf


def half_width(features: Features) -> tuple[float, float]:
    """Bounds of half the width of a time window."""
    return SERVICE / 2, horizon(features) / _WIDEST_HALF_PART


def reach_limit(features: Features, size: int) -> float:
    """The longest way out to a customer and back that an instance may have, over all depots.

    It is what leaves every customer servable by a vehicle of its own. The symmetric orienteering
    problem is left alone: visits are optional there, and its shorter limits put customers out of
    reach on purpose.
    """
    limit = horizon(features) - SERVICE
    if features.asymmetric or not features.orienteering:
        limit = min(limit, max_length(features, size))
    return limit


def largest_prize(size: int) -> float:
    """Bound of the prizes of the prize-collecting problems: together they are worth about 2."""
    return 4 / size


def largest_penalty(size: int) -> float:
    """Bound of the penalties, so that skipping everything costs about as much as a tour."""
    scale = 4 * size / 100 if size > 100 else _interpolate(_TOUR_SCALE, size)
    return 3 * scale / size


def _interpolate(points: tuple[tuple[int, float], ...], size: int) -> float:
    """Straight lines between the points, level outside them."""
    if size <= points[0][0]:
        return points[0][1]
    for (low, value), (high, next_value) in pairwise(points):
        if size <= high:
            return value + (next_value - value) * (size - low) / (high - low)
    return points[-1][1]
