"""The .npz batch: many instances of one variant and one size in stacked arrays, depots first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacevrp.formats.archive import Archive, write_archive
from spacevrp.formats.building import build, measured, neutral_value, tabled, warn_unnamed
from spacevrp.formats.files import fail, shown, warn_left_out
from spacevrp.problems.conversion import as_array
from spacevrp.problems.distances import Array, Metric
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError, VariantError
from spacevrp.problems.features import Features
from spacevrp.problems.problem import Problem
from spacevrp.problems.relations import present_relations
from spacevrp.problems.variants import Variant, flags_of, name_features, parse_variant

# Keys that start so are results or notes of the file's author: not part of the instances.
IGNORED_PREFIX = "ref_"


@dataclass(frozen=True)
class _Key:
    """One array: its shape in letters (B instances, N nodes), and the field of Problem it is."""

    shape: str
    field: str | None = None
    may_be_infinite: bool = False
    needed_by: tuple[str, ...] = ()  # features that cannot do without it


_PRIZES = ("orienteering", "prize_collecting")
_KEYS = {
    "coords": _Key("BN2"),
    "matrix": _Key("BNN", may_be_infinite=True),
    "demand": _Key("BN", "demand", needed_by=("capacity",)),
    "capacity": _Key("B", "capacity", may_be_infinite=True, needed_by=("capacity",)),
    "max_length": _Key("B", "max_length", may_be_infinite=True, needed_by=("length_limit",)),
    "tw": _Key("BN2", "windows", may_be_infinite=True, needed_by=("time_windows",)),
    "service": _Key("BN", "service"),
    "prize": _Key("BN", "prize", needed_by=_PRIZES),
    "penalty": _Key("BN", "penalty", may_be_infinite=True, needed_by=("prize_collecting",)),
    "min_prize": _Key("B", "min_prize", needed_by=("prize_collecting",)),
    "revealed_prize": _Key("BN", "revealed_prize"),
}
_FIELDS = {key: one.field for key, one in _KEYS.items() if one.field is not None}


def _required(features: Features) -> tuple[str, ...]:
    """The keys that a variant cannot do without, beside the distances."""
    return tuple(
        key for key, one in _KEYS.items() if any(getattr(features, flag) for flag in one.needed_by)
    )


# ---------------------------------------------------------------------------------------- reading


def load_arrays(path: str | Path, *, variant: str | None = None) -> dict[str, Any]:
    """The arrays of a batch, shapes, types and numbers checked.

    Returns ``variant`` (str), ``num_depots`` (int) and float64 arrays under the keys of the file;
    scalars that hold for the whole batch come back as (B,). ``variant`` replaces the file's own.
    """
    arrays = _shaped_arrays(Path(path), variant)
    _check_numbers(Path(path), arrays)
    return arrays


def _shaped_arrays(path: Path, variant: str | None) -> dict[str, Any]:
    """The same where single instances may hold what is no number."""
    with Archive(path) as archive:
        legal = {"variant", "num_depots", *_KEYS}
        unknown = [key for key in archive.keys if key not in legal]
        unknown = [key for key in unknown if not key.startswith(IGNORED_PREFIX)]
        warn_left_out(path, [f"unknown key {shown(key)}" for key in unknown])
        archive.check_numbers(key for key in archive.keys if key in legal)
        resolved = _variant(archive, variant)
        num_depots = _num_depots(archive, resolved.features)
        held = {key: _numbers(archive, key) for key in _KEYS if key in archive.keys}
    arrays: dict[str, Any] = {"variant": resolved.name, "num_depots": num_depots}
    return arrays | _checked(path, resolved, held)


def _variant(archive: Archive, override: str | None) -> Variant:
    path = archive.path
    name = override
    if name is None:
        if "variant" not in archive.keys:
            raise fail(path, "key variant", "a name such as CVRPTW", "no such key")
        held = archive["variant"]
        if held.size != 1 or held.dtype.kind not in "US":
            received = f"shape {held.shape} of type {held.dtype}"
            raise fail(path, "key variant", "one string", received)
        value = held.reshape(-1)[0]
        name = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    try:
        return parse_variant(name)
    except VariantError as error:
        raise FormatError(f"{path}: key variant: {error}") from None


def _num_depots(archive: Archive, features: Features) -> int:
    if "num_depots" not in archive.keys:
        raise fail(archive.path, "key num_depots", "a whole number", "no such key")
    held = archive["num_depots"]
    if held.dtype.kind not in "iu" or held.size == 0 or (held != held.reshape(-1)[0]).any():
        received = f"shape {held.shape} of type {held.dtype}"
        raise fail(archive.path, "key num_depots", "one whole number", received)
    count = int(held.reshape(-1)[0])
    if count < 0 or (count > 0) != features.depot:
        expected = "at least 1" if features.depot else "0 where the variant has no depot"
        raise fail(archive.path, "key num_depots", expected, count)
    return count


def _numbers(archive: Archive, key: str) -> Array:
    held = archive[key]
    if held.dtype.kind not in "iuf":
        raise fail(archive.path, f"key {key}", "numbers", f"values of type {held.dtype}")
    try:
        return as_array(f"key {key}", held)
    except ProblemError as error:
        raise FormatError(f"{archive.path}: {error}") from None


def _checked(path: Path, variant: Variant, held: dict[str, Array]) -> dict[str, Array]:
    """The arrays with agreeing shapes, without NaN, and with everything the variant needs."""
    sources = [key for key in ("coords", "matrix") if key in held]
    if len(sources) != 1:
        received = "both" if sources else "neither"
        raise fail(path, "", "either key coords or key matrix", received)
    for key in _required(variant.features):
        if key not in held:
            raise fail(path, f"key {key}", f"an array, as {variant.name} needs it", "no such key")
    source = held[sources[0]]
    if source.ndim != 3 or 0 in source.shape:
        letters = ", ".join(_KEYS[sources[0]].shape)
        raise fail(path, f"key {sources[0]}", f"shape ({letters})", f"{source.shape}")
    lengths = {"B": source.shape[0], "N": source.shape[1], "2": 2}
    for key, array in held.items():
        shape = tuple(lengths[letter] for letter in _KEYS[key].shape)
        if len(shape) == 1 and array.ndim == 0:
            held[key] = np.full(shape, array)  # one value for the whole batch
        elif array.shape != shape:
            raise fail(path, f"key {key}", f"shape {shape}", f"shape {array.shape}")
    return held


def _check_numbers(path: Path, arrays: dict[str, Any], index: int | None = None) -> None:
    """Refuse what is no number, in one instance or in all."""
    first, rows = (0, slice(None)) if index is None else (index, slice(index, index + 1))
    for key, kind in _KEYS.items():
        if key not in arrays:
            continue
        array = arrays[key][rows]
        bad = np.isnan(array) if kind.may_be_infinite else ~np.isfinite(array)
        if bad.any():
            position = tuple(int(place) for place in np.argwhere(bad)[0])
            node = f", node {position[1]}" if len(position) > 1 else ""
            expected = "a number" if kind.may_be_infinite else "a finite number"
            place = f"instance {first + position[0]}: key {key}{node}"
            raise fail(path, place, expected, str(array[position]))


def read_npz(
    path: str | Path, *, rounding: str | None = None, variant: str | None = None
) -> list[Problem]:
    """All instances of a batch, as problems of the variant the file (or the caller) names."""
    batch = NpzBatch(path, rounding=rounding, variant=variant)
    _check_numbers(batch.path, batch.arrays)
    return [batch.instance(index) for index in range(len(batch))]


class NpzBatch:
    """The instances of a batch, each made and checked when it is asked for.

    The shapes are checked at once: a file in which they disagree holds no instances at all.
    """

    def __init__(
        self, path: str | Path, *, rounding: str | None = None, variant: str | None = None
    ) -> None:
        self.path, self._rounding = Path(path), rounding
        self.arrays = _shaped_arrays(self.path, variant)
        features = parse_variant(self.arrays["variant"]).features
        depots = tuple(range(self.arrays["num_depots"]))
        way = "coords" if "coords" in self.arrays else "matrix"
        self._source: Array = self.arrays[way]  # (B, N, 2 or N)
        self._shared = {
            "variant": self.arrays["variant"],
            "depots": depots,
            "pairs": _pairs(self.path, features, depots, self._source.shape[1]),
        }

    def __len__(self) -> int:
        return len(self._source)

    def instance(self, index: int) -> Problem:
        """One instance, or the error that names it."""
        path, arrays, where = self.path, self.arrays, f"instance {index}"
        _check_numbers(path, arrays, index)
        fields = {field: arrays[key][index] for key, field in _FIELDS.items() if key in arrays}
        point = self._source[index]
        if "coords" in arrays:
            fields["distances"] = measured(path, point, Metric(), self._rounding)
        else:
            fields["distances"] = tabled(path, point, self._rounding, field=f"{where}: matrix")
        fields |= self._shared | {"name": f"{path.stem}[{index}]"}
        return build(path, fields, variant=None, where=where)


def _pairs(
    path: Path, features: Features, depots: tuple[int, ...], size: int
) -> tuple[tuple[int, int], ...]:
    """Pickup and delivery of a paired variant: the first half of the customers, then the second."""
    if not features.pickup_delivery:
        return ()
    customers = size - len(depots)
    if customers % 2:
        raise fail(path, "", "as many pickups as deliveries", f"{customers} nodes")
    half = customers // 2
    return tuple((node, node + half) for node in range(len(depots), len(depots) + half))


# ---------------------------------------------------------------------------------------- writing


def write_npz(path: str | Path, problems: Sequence[Problem]) -> None:
    """Write instances of one variant, one size and one number of depots as a batch.

    Depots come first in the file, in the order of ``Problem.depots``, then the customers in their
    own order; routes for the file use that numbering. What the batch cannot hold is refused with
    :class:`UnsupportedError`.
    """
    path = Path(path)
    if not problems:
        raise UnsupportedError(f"{path}: a batch needs at least one instance")
    names = [_batch_variant(path, index, problem) for index, problem in enumerate(problems)]
    kinds = {
        (name, p.size, len(p.depots), p.distances.coordinates is None, p.revealed_prize is None)
        for name, p in zip(names, problems, strict=True)
    }
    if len(kinds) > 1:
        first, second = sorted(kinds)[:2]
        raise UnsupportedError(
            f"{path}: a batch holds one (variant, size, depots, matrix or not, prizes revealed or "
            f"not); received {first} and {second}"
        )
    variant = parse_variant(names[0])
    orders = [np.array([*problem.depots, *problem.customers]) for problem in problems]  # (N,) each
    for index, (problem, order) in enumerate(zip(problems, orders, strict=True)):
        _refuse_unheld(f"{path}: instance {index}", problem, order, variant.features)
        warn_unnamed(Path(path), problem)
    write_archive(path, _stacked(problems, orders, variant))


def _batch_variant(path: Path, index: int, problem: Problem) -> str:
    name = problem.variant or name_features(problem.features)
    if name is None:
        raise UnsupportedError(
            f"{path}: instance {index}: {problem.variant_name} is none of the named variants, "
            "which is all that a batch can hold; write it as .json"
        )
    return name


def _refuse_unheld(
    where: str, problem: Problem, order: NDArray[np.intp], features: Features
) -> None:
    """Refuse what the keys of the batch cannot say."""
    flags = flags_of(features)
    # Elsewhere all load rules mean the same.
    mixes_loads = features.backhaul and not features.backhaul_last
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    pairs = {(int(rank[pickup]), int(rank[delivery])) for pickup, delivery in problem.pairs}
    customers = len(problem.customers)
    first = len(problem.depots)
    regular = {(node, node + customers // 2) for node in range(first, first + customers // 2)}
    unheld = {
        "vehicles": problem.vehicles is not None,
        "kinds of load": problem.kinds_of_load > 1,
        "durations": not problem.durations.same_as(problem.distances),
        "rules of routes": problem.has_route_rules,
        "metric": problem.distances.metric != Metric(),
        "load_rule": mixes_loads and problem.load_rule != flags["load_rule"],
        "pairs": features.pickup_delivery and pairs != regular,
        **{name: getattr(problem, name) != flags[name] for name in flags if name != "load_rule"},
        **dict.fromkeys(present_relations(problem), True),
    }
    for field, is_unheld in unheld.items():
        if is_unheld:
            raise UnsupportedError(
                f"{where}: a batch of its variant cannot hold its {field}; write it as .json"
            )


def _stacked(
    problems: Sequence[Problem], orders: list[NDArray[np.intp]], variant: Variant
) -> dict[str, NDArray[Any]]:
    """The arrays of the file, each only where it says something."""
    arrays: dict[str, NDArray[Any]] = {
        "variant": np.array(variant.name),
        "num_depots": np.array(len(problems[0].depots), dtype=np.int64),
    }
    reordered = [
        problem.distances.reordered(order) for problem, order in zip(problems, orders, strict=True)
    ]
    if reordered[0].coordinates is not None:
        arrays["coords"] = np.stack([distances.coordinates for distances in reordered])  # type: ignore[misc]
    else:
        arrays["matrix"] = np.stack([distances.matrix() for distances in reordered])
    required = _required(variant.features)
    for key, field in _FIELDS.items():
        rows, is_neutral = [], key not in required
        for problem, order in zip(problems, orders, strict=True):
            value, revealed = getattr(problem, field), field == "revealed_prize"
            # What the file holds for a problem that says nothing.
            plain = problem.prize if revealed else neutral_value(problem, field)
            is_said = value is not None and (revealed or bool((np.asarray(value) != plain).any()))
            is_neutral = is_neutral and not is_said
            row = np.asarray(plain if value is None else value, dtype=np.float64)
            rows.append(row[order] if row.ndim else row)
        if not is_neutral:
            arrays[key] = np.stack(rows)
    if "penalty" in arrays:
        arrays["penalty"][:, : len(problems[0].depots)] = 0.0  # a depot is never skipped
    return arrays
