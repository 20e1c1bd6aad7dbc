"""Distances: from coordinates and a named metric, a matrix, or on the earth as the crow flies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spacevrp.problems.conversion import Array as Array
from spacevrp.problems.conversion import as_array, refuse_nodes, show
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.roundings import ROUNDINGS as ROUNDINGS

# A matrix computed in floats is as symmetric as rounding lets it be.
_SYMMETRY_TOLERANCE = 1e-9

# TSPLIB's constants for GEO: its own pi and the earth's radius in kilometres.
_GEO_PI = 3.141592
_GEO_RADIUS = 6378.388

# Distances computed at a time, so that what lies between coordinates and them stays in the cache.
_BLOCK_ENTRIES = 2**14
# Turning all arcs round changes their lengths by more than this share of the sum in matrices that
# look like generated asymmetric ones (above 0.3) rather than like roads with some one-way streets.
NO_MAP = 0.2

GEOMETRIES = ("euclidean", "manhattan", "chebyshev", "att", "geo")


@dataclass(frozen=True)
class Metric:
    """How coordinates become distances: a geometry, then a rounding policy, both by name.

    ``nearest`` is TSPLIB's ``nint`` (halves go up); ``one-decimal`` truncates to one decimal, as is
    customary for the Solomon instances; ``three-decimals`` rounds to the nearest thousandth.
    """

    geometry: str = "euclidean"
    rounding: str = "none"

    def __post_init__(self) -> None:
        for field, value, known in (
            ("metric", self.geometry, GEOMETRIES),
            ("rounding", self.rounding, ROUNDINGS),
        ):
            if not isinstance(value, str) or value not in known:
                raise ProblemError(field, f"one of {known}", show(value))

    @property
    def obeys_triangle(self) -> bool:
        """Whether no detour is shorter than the direct way; rounding to or down may break that."""
        return self.rounding in ("none", "up")

    def measure(self, origin: Array, target: Array) -> Array:
        """Distances from points (..., 2) to points (..., 2), broadcast against each other."""
        if self.geometry == "geo":
            raw = _geo(origin, target)
        else:
            # One axis after the other: numpy is slow to add up along an axis of length 2.
            across = origin[..., 0] - target[..., 0]
            along = origin[..., 1] - target[..., 1]
            if self.geometry == "manhattan":
                raw = np.abs(across) + np.abs(along)
            elif self.geometry == "chebyshev":
                raw = np.maximum(np.abs(across), np.abs(along))
            else:
                across *= across  # in place: what is new in memory takes longer than to multiply
                along *= along
                across += along
                raw = np.sqrt(across / 10.0 if self.geometry == "att" else across)
        return _ROUNDED[self.rounding](raw)


_ROUNDED: dict[str, Callable[[Array], Array]] = {
    "none": lambda values: values,
    "nearest": lambda values: np.floor(values + 0.5),
    "up": np.ceil,
    "down": np.floor,
    "one-decimal": lambda values: np.floor(values * 10.0) / 10.0,
    "three-decimals": lambda values: np.floor(values * 1000.0 + 0.5) / 1000.0,
}


def _geo(origin: Array, target: Array) -> Array:
    """Great-circle kilometres from DDD.MM coordinates; rounded down they are TSPLIB's GEO."""
    a, b = _radians(origin), _radians(target)
    q1 = np.cos(a[..., 1] - b[..., 1])
    q2 = np.cos(a[..., 0] - b[..., 0])
    q3 = np.cos(a[..., 0] + b[..., 0])
    cosine = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)
    return np.asarray(_GEO_RADIUS * np.arccos(np.clip(cosine, -1.0, 1.0)) + 1.0)


def _geo_extent(low: Array, high: Array) -> float:
    """Kilometres along a meridian and a parallel, at most half around the earth, rounded up."""
    angle = min(float(np.sum(_radians(high) - _radians(low))), np.pi)
    return float(np.ceil(_GEO_RADIUS * angle + 1.0))


def _radians(points: Array) -> Array:
    degrees = np.trunc(points)
    minutes = points - degrees
    return np.asarray(_GEO_PI * (degrees + 5.0 * minutes / 3.0) / 180.0)


# The edge weight types of TSPLIB, each a geometry and a rounding.
TSPLIB_METRICS = {
    "EUC_2D": Metric("euclidean", "nearest"),
    "CEIL_2D": Metric("euclidean", "up"),
    "MAN_2D": Metric("manhattan", "nearest"),
    "MAX_2D": Metric("chebyshev", "nearest"),
    "ATT": Metric("att", "up"),
    "GEO": Metric("geo", "down"),
}


class Distances:
    """All distances of an instance, held as coordinates or as a matrix.

    A matrix entry of infinity means "no arc". The diagonal is never travelled and always reads 0.
    Coordinates stay coordinates: nothing of size N x N is built until :meth:`matrix` is called.
    """

    __slots__ = ("_matrix", "coordinates", "metric")

    def __init__(
        self,
        *,
        coordinates: ArrayLike | None = None,
        matrix: ArrayLike | None = None,
        metric: Metric | None = None,
        field: str | None = None,
    ) -> None:
        if (coordinates is None) == (matrix is None):
            received = "both" if coordinates is not None else "neither"
            raise ProblemError(field or "distances", "either coordinates or a matrix", received)
        self.coordinates: Array | None = None
        self._matrix: Array | None = None
        if not isinstance(metric, Metric | None):
            raise ProblemError("metric", "a Metric or its name", show(metric))
        self.metric = metric or Metric()
        if coordinates is not None:
            self.coordinates = _checked_coordinates(coordinates, field or "coordinates")
        else:
            if metric is not None:
                raise ProblemError(field or "distances", "no metric beside a matrix", str(metric))
            self._matrix = _checked_matrix(matrix, field or "distances")

    @property
    def size(self) -> int:
        """Number of nodes."""
        held = self.coordinates if self.coordinates is not None else self._matrix
        assert held is not None  # one of the two is always there
        return len(held)

    @property
    def is_symmetric(self) -> bool:
        """Whether every distance equals the distance back, but for rounding errors."""
        if self._matrix is None or np.array_equal(self._matrix, self._matrix.T):
            return True
        return bool(np.allclose(self._matrix, self._matrix.T, rtol=_SYMMETRY_TOLERANCE, atol=0.0))

    @property
    def has_missing_arcs(self) -> bool:
        """Whether some arc does not exist."""
        return self._matrix is not None and bool(np.isinf(self._matrix).any())

    @property
    def extent(self) -> float:
        """A bound on the largest distance: across the bounding box, or the largest entry."""
        if self.coordinates is not None:
            low, high = self.coordinates.min(axis=0), self.coordinates.max(axis=0)
            if self.metric.geometry == "geo":  # the ends of the box may be near each other
                return _geo_extent(low, high)
            return float(self.metric.measure(low, high))
        assert self._matrix is not None
        finite = self._matrix[np.isfinite(self._matrix)]
        return float(finite.max(initial=0.0))

    def between(self, origin: int, target: int) -> float:
        """Distance of one arc."""
        if origin == target:
            return 0.0
        if self._matrix is not None:
            return float(self._matrix[origin, target])
        assert self.coordinates is not None
        return float(self.metric.measure(self.coordinates[origin], self.coordinates[target]))

    def from_node(self, origin: int) -> Array:
        """Distances from one node to all, (N,)."""
        if self._matrix is not None:
            return np.array(self._matrix[origin])
        assert self.coordinates is not None
        row: Array = self.metric.measure(self.coordinates[origin], self.coordinates)
        row[origin] = 0.0
        return row

    def to_node(self, target: int) -> Array:
        """Distances from all nodes to one, (N,)."""
        if self._matrix is not None:
            return np.array(self._matrix[:, target])
        return self.from_node(target)  # every metric on coordinates is symmetric

    def matrix(self) -> Array:
        """All distances, (N, N)."""
        if self._matrix is not None:
            return self._matrix
        assert self.coordinates is not None
        points = np.asfortranarray(self.coordinates)  # each axis in one piece
        return _between_all(points, self.metric.measure)

    def same_as(self, other: Distances) -> bool:
        """Whether both hold the same numbers in the same form."""
        if self is other:
            return True
        if self.coordinates is None or other.coordinates is None:
            both = self.coordinates is other.coordinates  # None
            return both and bool(np.array_equal(self.matrix(), other.matrix()))
        same_points = np.array_equal(self.coordinates, other.coordinates)
        return bool(same_points) and self.metric == other.metric

    def reordered(self, order: NDArray[np.intp]) -> Distances:
        """The same distances with node ``order[i]`` renamed to ``i``."""
        if self._matrix is not None:
            return Distances(matrix=self._matrix[np.ix_(order, order)])
        assert self.coordinates is not None
        return Distances(coordinates=self.coordinates[order], metric=self.metric)


def _between_all(points: Array, measure: Callable[[Array, Array], Array]) -> Array:
    """What is measured between all points (N, 2), and 0 on the diagonal, (N, N)."""
    size = len(points)
    whole = np.empty((size, size))
    rows = max(1, _BLOCK_ENTRIES // max(size, 1))
    for first in range(0, size, rows):
        some = points[first : first + rows, None]  # (rows, 1, 2)
        whole[first : first + rows] = measure(some, points)
    np.fill_diagonal(whole, 0.0)
    return whole


def _checked_coordinates(values: ArrayLike, field: str) -> Array:
    points = as_array(field, values)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0:
        raise ProblemError(field, "shape (N, 2)", f"shape {points.shape}")
    refuse_nodes(field, points, ~np.isfinite(points).all(axis=1), "finite numbers")
    points.setflags(write=False)
    return points


def _checked_matrix(values: ArrayLike | None, field: str) -> Array:
    # JSON's null, and None in nested lists, mean "no arc".
    matrix = as_array(field, values, absent=np.inf)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise ProblemError(field, "a square matrix", f"shape {matrix.shape}")
    np.fill_diagonal(matrix, 0.0)
    bad = np.isnan(matrix) | (matrix < 0)
    if bad.any():
        origin, target = (int(index) for index in np.argwhere(bad)[0])
        expected = "distances of at least 0, or inf for no arc"
        received = f"{matrix[origin, target]} on the way to node {target}"
        raise ProblemError(field, expected, received, node=origin)
    matrix.setflags(write=False)
    return matrix


# Mean radius of the earth in metres (IUGG).
EARTH_RADIUS = 6_371_008.8


def great_circle(points: Array) -> Array:
    """Metres between all pairs of (longitude, latitude) in degrees, (N, N), by haversines."""
    return _between_all(np.radians(points), _haversine)


def _haversine(origin: Array, target: Array) -> Array:
    """Metres between (longitude, latitude) in radians."""
    half = 0.5 * (origin - target)
    squared = np.square(np.sin(half[..., 1])) + np.cos(origin[..., 1]) * np.cos(
        target[..., 1]
    ) * np.square(np.sin(half[..., 0]))
    return np.asarray(2.0 * EARTH_RADIUS * np.arcsin(np.sqrt(squared.clip(0, 1))))
