"""From the fields of a file to a problem, and back: variants, fleets, what a format can hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.formats.files import warn
from spacevrp.problems.distances import Distances, Metric
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError, VariantError
from spacevrp.problems.fleet import UNSAID, Vehicle, group_vehicles
from spacevrp.problems.problem import Problem
from spacevrp.problems.relations import present_relations
from spacevrp.problems.variants import flags_of, parse_variant


def read_as(variant: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of one instance with the flags of the variant the caller asks for.

    A limit on the number of routes that the file states stays where the variant has several routes.
    """
    flags = flags_of(parse_variant(variant).features)
    if flags["max_routes"] is None:
        del flags["max_routes"]
    return {**fields, **flags, "variant": variant}


def build(
    path: Path,
    fields: dict[str, Any],
    *,
    variant: str | None,
    where: str = "",
    labels: Sequence[int] = (),
    make: Callable[..., Problem] = Problem,
) -> Problem:
    """The problem, or one error that names the file.

    ``labels`` are the numbers that the file itself gives to the nodes, where they differ from ours.
    """
    try:
        return make(**(read_as(variant, fields) if variant is not None else fields))
    except (ProblemError, VariantError) as error:
        place = f"{path}: {where}" if where else str(path)
        node = error.node if isinstance(error, ProblemError) else None
        label = "" if node is None or not labels else f" (number {labels[node]} in the file)"
        raise FormatError(f"{place}: {error}{label}") from error


def measured(
    path: Path,
    coordinates: Any,
    metric: Metric,
    rounding: str | None,
    field: str | None = None,
) -> Distances:
    """Distances from coordinates, with the caller's rounding policy in place of the file's."""
    if rounding is not None:
        metric = Metric(metric.geometry, rounding)
    try:
        return Distances(coordinates=coordinates, metric=metric, field=field)
    except ProblemError as error:
        raise FormatError(f"{path}: {error}") from error


def tabled(path: Path, matrix: Any, rounding: str | None, *, field: str) -> Distances:
    """Distances from a matrix, to which no rounding policy applies."""
    if rounding is not None:
        raise UnsupportedError(
            f"{path}: rounding {rounding!r} applies to coordinates, and the file holds a matrix"
        )
    try:
        return Distances(matrix=matrix, field=field)
    except ProblemError as error:
        raise FormatError(f"{path}: {error}") from error


def warn_unnamed(path: Path, problem: Problem) -> None:
    """Say that a format without a place for them leaves out what nodes and times are called."""
    held = {
        "ids": problem.ids is not None,
        "places": problem.places is not None,
        "dates": problem.clock is not None,
    }
    left_out = [name for name, is_held in held.items() if is_held]
    if left_out:
        warn(path, f"{' and '.join(left_out)} left out: the format has no place for them")


def neutral_value(problem: Problem, field: str) -> Any:
    """What a field of the problem holds where the feature is absent; None for nothing."""
    if field == "windows":
        return np.tile([0.0, np.inf], (problem.size, 1))
    if field in ("demand", "service", "prize", "penalty"):
        is_dear = field == "penalty" and not problem.maximise_prize
        return np.full(problem.size, np.inf if is_dear else 0.0)
    return _NEUTRAL.get(field)


_NEUTRAL: dict[str, Any] = {
    **dict.fromkeys(("capacity", "max_length"), np.inf),
    **dict.fromkeys(("lifo", "geographic"), False),
    **{"min_prize": 0.0, "name": "", "time_unit": "s"},
}


def exact(value: float) -> str:
    """The shortest decimal that reads back as the same number."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(float(value))


def _timed(problem: Problem) -> bool:
    return problem.inferred_features.time_windows


# What messages call it -> whether a problem has it.
FEATURES: dict[str, Callable[[Problem], bool]] = {
    "vehicles": lambda p: p.vehicles is not None,
    "several kinds of load": lambda p: p.kinds_of_load > 1,
    "durations": lambda p: not p.durations.same_as(p.distances),
    "a matrix": lambda p: p.distances.coordinates is None,
    "missing arcs": lambda p: p.distances.has_missing_arcs,
    "problems without a depot": lambda p: not p.depots,
    "several depots": lambda p: len(p.depots) > 1,
    "a depot that is not the first node": lambda p: bool(p.depots) and p.depots[0] != 0,
    "infinite capacity": lambda p: bool(p.depots) and not np.isfinite(p.capacity),
    "capacity without a depot": lambda p: not p.depots and bool(np.isfinite(p.capacity)),
    "service without a depot": lambda p: not p.depots and bool(p.service.any()),
    "pairs": lambda p: bool(p.pairs),
    "pickups": lambda p: not p.pairs and bool((p.loads < 0).any()),
    "backhaul_last": lambda p: p.backhaul_last,
    "open_routes": lambda p: p.open_routes,
    "windows that never close": lambda p: _timed(p) and not np.isfinite(p.windows[:, 1]).all(),
    "problems without windows": lambda p: not _timed(p),
    "max_length": lambda p: bool(np.isfinite(p.max_length)),
    "prize": lambda p: bool(p.prize.any()) or p.revealed_prize is not None,
    "min_prize": lambda p: p.min_prize != 0,
    "maximise_prize": lambda p: p.maximise_prize,
    "penalty": lambda p: not p.maximise_prize and bool(np.isfinite(p.penalty).any()),
}


def refuse_unheld(
    path: Path,
    kind: str,
    problem: Problem,
    features: Iterable[str],
    held: Iterable[str] = (),
    **others: bool,
) -> None:
    """Raise for the first of these features that the problem has, and that the format cannot hold.

    ``others`` are features of which the writer itself has found out whether they are there,
    ``held`` the rules of routes and relations of customers that the format can hold.
    """
    rules = [*problem.route_rules, *present_relations(problem)]
    found = {name: FEATURES[name](problem) for name in features} | others
    found |= {rule: rule not in held for rule in rules}
    for name, is_there in found.items():
        if is_there:
            raise UnsupportedError(f"{path}: {kind} cannot hold {name}; write it as .json")


_LONGEST_NAME = 24


def fleet_fields(
    count: int | None, terms: Mapping[str, Any], fields: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields of a Problem that say what its vehicles are; ``count`` is None for any number.

    ``terms`` has None, one value for all or a list with one for each by the field of a Vehicle;
    ``fields`` what is known of the problem: depots, demand, and windows where it has any. Where no
    window limits anything, a limit on the duration of a route is when its depot closes, or when the
    shift of its vehicle ends.
    """
    said = {
        term: value for term, value in terms.items() if value is not None and value != UNSAID[term]
    }
    kinds = np.shape(fields["demand"])[1] if np.ndim(fields["demand"]) == 2 else 1
    if kinds > 1 and isinstance(said.get("capacity"), float):
        said["capacity"] = (said["capacity"],) * kinds
    if isinstance(lists := said.get("reload_depots"), list) and not any(lists):
        said.pop("reload_depots")
    if "reload_depots" not in said:
        said.pop("max_reloads", None)  # of none
    elif "max_reloads" in said:
        said["max_reloads"] = _whole(said["max_reloads"])
    closing = said.pop("max_duration", None) if "windows" not in fields else None
    differ = any(isinstance(value, list) for value in (*said.values(), closing))
    priced = any(term in said for term in ("fixed_cost", "unit_distance_cost", "max_duration"))
    if differ or priced or (closing is not None and fields.get("open_routes")):
        if isinstance(closing, list):
            said["window"] = [(0.0, limit) for limit in closing]
        elif closing is not None:
            said["window"] = (0.0, closing)
        return _types(count, said, fields["depots"])
    alike: dict[str, Any] = {"capacity": np.inf, **said, "max_routes": count}
    if closing is not None:
        size = len(fields["demand"])
        alike["windows"] = np.tile([0.0, np.inf], (size, 1))
        alike["windows"][list(fields["depots"])] = (0.0, closing)
    return alike


def _whole(value: Any) -> Any:
    """Numbers of times, as whole as they are."""
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if float(value).is_integer() else value


def _types(count: int | None, said: dict[str, Any], depots: tuple[int, ...]) -> dict[str, Any]:
    """Vehicles with the same terms are of one type; its name says which they are."""
    if len(depots) > 1:
        said.setdefault("start", depots[0])
    if not any(isinstance(value, list) for value in said.values()):
        return {"vehicles": [Vehicle(count=count, **said)]}
    total = max(len(value) for value in said.values() if isinstance(value, list))
    columns = [value if isinstance(value, list) else [value] * total for value in said.values()]
    rows = (dict(zip(said, row, strict=True)) for row in zip(*columns, strict=True))
    named = {
        _name([n + 1 for n in numbers]): (row, numbers) for row, numbers in group_vehicles(rows)
    }
    return {
        "vehicles": [Vehicle(name, len(numbers), **row) for name, (row, numbers) in named.items()],
        "vehicle_ids": {name: [n + 1 for n in numbers] for name, (_, numbers) in named.items()},
    }


def _name(numbers: list[int]) -> str:
    """Such as ``1-4,7``; no two types have the same, as each begins with another number."""
    parts: list[str] = []
    first = last = numbers[0]
    for number in [*numbers[1:], 0]:
        if number != last + 1:
            parts.append(str(first) if first == last else f"{first}-{last}")
            first = number
        last = number
    text = ",".join(parts)
    return text if len(text) <= _LONGEST_NAME else f"{parts[0]},..."
