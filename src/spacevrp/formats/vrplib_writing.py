"""TSPLIB and VRPLIB instances, written, as far as the format can say them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from spacevrp.formats.building import same_distances, warn_unnamed
from spacevrp.formats.files import write_bytes
from spacevrp.formats.vrplib import EDGE_METRICS
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem

_TYPE_OF_METRIC = {metric: name for name, metric in EDGE_METRICS.items()}


def write_vrplib(path: str | Path, problem: Problem) -> None:
    """Write a problem of the kind [A][MD][O]CVRP[L][TW], TSP or ATSP.

    Reading the file gives the same numbers; the declared variant and the load rule are not part of
    the format (``read(path, variant=...)`` declares them). The rest is refused by name.
    """
    path = Path(path)
    _refuse_unheld(path, problem)
    warn_unnamed(path, problem)
    write_bytes(path, ("\n".join(_lines(problem)) + "\n").encode())


def _refuse_unheld(path: Path, problem: Problem) -> None:
    closing = problem.windows[:, 1]
    timed = problem.inferred_features.time_windows
    unheld = {
        "vehicles": problem.vehicles is not None,
        "several kinds of load": problem.kinds_of_load > 1,
        "durations": not same_distances(problem.durations, problem.distances),
        "metric": problem.distances.coordinates is not None
        and problem.distances.metric not in _TYPE_OF_METRIC,
        "missing arcs": problem.distances.has_missing_arcs,
        "infinite capacity": bool(problem.depots) and not np.isfinite(problem.capacity),
        "capacity without a depot": not problem.depots and bool(np.isfinite(problem.capacity)),
        "service without a depot": not problem.depots and bool(problem.service.any()),
        "pairs": bool(problem.pairs),
        "pickups": bool((problem.demand < 0).any()),
        "backhaul_last": problem.backhaul_last,
        "windows that never close": timed and not np.isfinite(closing).all(),
        # Without windows the reader would count service in.
        "max_length beside service": bool(np.isfinite(problem.max_length))
        and not timed
        and bool(problem.service.any()),
        "prize": bool(problem.prize.any()) or problem.revealed_prize is not None,
        "min_prize": problem.min_prize != 0,
        "maximise_prize": problem.maximise_prize,
        "penalty": bool(np.isfinite(problem.penalty).any()),
    }
    for feature, is_unheld in unheld.items():
        if is_unheld:
            raise UnsupportedError(f"{path}: VRPLIB files cannot hold {feature}; write it as .json")


def _type(problem: Problem) -> str:
    features = problem.inferred_features
    if not problem.depots:
        return "ATSP" if features.asymmetric else "TSP"
    if problem.open_routes:
        return "OVRP"
    if features.time_windows:
        return "CVRPTW"
    if features.multi_depot:
        return "MDVRP"
    return "ACVRP" if features.asymmetric else "CVRP"


def _lines(problem: Problem) -> Iterator[str]:
    name = "".join(letter for letter in problem.name if letter.isprintable()).strip()
    yield f"NAME : {name or 'instance'}"
    yield f"TYPE : {_type(problem)}"
    yield f"DIMENSION : {problem.size}"
    distances = problem.distances
    if distances.coordinates is None:
        yield "EDGE_WEIGHT_TYPE : EXPLICIT"
        yield "EDGE_WEIGHT_FORMAT : FULL_MATRIX"
    else:
        yield f"EDGE_WEIGHT_TYPE : {_TYPE_OF_METRIC[distances.metric]}"
    if problem.depots:
        yield f"CAPACITY : {_exact(problem.capacity)}"
        if np.isfinite(problem.max_length):
            yield f"DISTANCE : {_exact(problem.max_length)}"
        if problem.max_routes is not None:
            yield f"VEHICLES : {problem.max_routes}"
    if distances.coordinates is None:
        yield "EDGE_WEIGHT_SECTION"
        yield from (_row(row) for row in distances.matrix().tolist())
    else:
        yield "NODE_COORD_SECTION"
        yield from _numbered(distances.coordinates.tolist())
    if problem.depots:
        yield from _vehicle_lines(problem)
    yield "EOF"


def _vehicle_lines(problem: Problem) -> Iterator[str]:
    yield "DEMAND_SECTION"
    yield from _numbered([value] for value in problem.demand.tolist())
    if problem.inferred_features.time_windows:
        yield "TIME_WINDOW_SECTION"
        yield from _numbered(problem.windows.tolist())
    if problem.service.any():
        yield "SERVICE_TIME_SECTION"
        yield from _numbered([value] for value in problem.service.tolist())
    yield "DEPOT_SECTION"
    yield from (f" {depot + 1}" for depot in problem.depots)
    yield " -1"


def _numbered(rows: Iterable[list[float]]) -> Iterator[str]:
    for number, row in enumerate(rows, start=1):
        yield f"{number} {_row(row)}"


def _row(values: Iterable[float]) -> str:
    return " ".join(_exact(value) for value in values)


def _exact(value: float) -> str:
    """The shortest decimal that reads back as the same number."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(float(value))
