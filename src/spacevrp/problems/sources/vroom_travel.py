"""Travel in a VROOM problem: its matrices, its places, and what an hour and a kilometre cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.conversion import Array, as_array, as_number, show
from spacevrp.problems.distances import great_circle
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.sources.entries import list_of, refuse_unknown, table_of
from spacevrp.problems.sources.vroom_fleet import (
    NOT_MODELLED,
    PER_HOUR,
    as_row,
    costs_of,
    speeds_of,
)


def read_travel(
    matrices: dict[str, Array] | None,
    stops: Sequence[Mapping[str, Any]],
    speed_kmh: float | None,
    factor: float,
) -> dict[str, Any]:
    """What travelling costs and how long it takes; all drive so much faster than that."""
    places = _read_places(stops)
    if matrices is None:
        durations = _crow_flies(places, speed_kmh) / factor
        costs = None
    else:
        size = len(matrices["durations"])
        order = [as_row(f"{one['where']}, location_index", one["index"], size) for one in stops]
        picked = {key: matrix[np.ix_(order, order)] for key, matrix in matrices.items()}
        durations = picked["durations"] / factor
        costs = picked.get("costs")
    fields: dict[str, Any] = {"matrix": durations}
    if costs is not None:
        fields = {"matrix": costs, "durations": durations}
    if places is not None:
        fields |= {"places": places, "geographic": True}
    return fields


def _read_places(stops: Sequence[Mapping[str, Any]]) -> list[list[float]] | None:
    places = []
    for stop in stops:
        if stop["location"] is None:
            return None
        pair = as_array(f"{stop['where']}, location", list_of(stop["where"], stop["location"]))
        if pair.shape != (2,):
            raise ProblemError(
                f"{stop['where']}, location", "[longitude, latitude]", show(stop["location"])
            )
        places.append([float(pair[0]), float(pair[1])])
    return places


def read_matrices(
    document: Mapping[str, Any], vehicle: Mapping[str, Any]
) -> dict[str, Array] | None:
    """The matrices of the vehicles' profile, None where a routing engine would be asked."""
    if document.get("matrix") is not None and document.get("matrices") is not None:
        raise ProblemError("matrix", "none beside matrices", "both")
    profile = vehicle.get("profile") or "car"
    tables: Mapping[str, Any]
    if document.get("matrix") is not None:  # before version 1.8
        tables, where = {"durations": document["matrix"]}, "matrix"
    elif document.get("matrices") is not None:
        profiles, where = table_of("matrices", document["matrices"]), f"matrices, {show(profile)}"
        if not isinstance(profile, str) or profile not in profiles:
            raise ProblemError("matrices", f"profile {show(profile)}", "none")
        tables = table_of(where, profiles[profile])
    else:
        return None
    refuse_unknown(where, tables, ("durations", "distances", "costs"))
    read = {
        key: as_array(f"{where}, {key}", table, absent=np.inf)
        for key, table in tables.items()
        if table is not None
    }
    if "durations" not in read:
        raise ProblemError(where, "durations", "none")
    size = len(read["durations"]) if read["durations"].ndim else 0
    for key, matrix in read.items():
        if matrix.shape != (size, size) or not size:
            raise ProblemError(f"{where}, {key}", "a square matrix", f"shape {matrix.shape}")
    return read


def _crow_flies(places: list[list[float]] | None, speed_kmh: float | None) -> Array:
    if speed_kmh is None:
        raise ProblemError(
            "matrices",
            "durations between all places (VROOM would ask a routing engine for them), or "
            "speed_kmh to travel as the crow flies",
            "neither",
        )
    speed = as_number("speed_kmh", speed_kmh)
    if not 0 < speed < np.inf:
        raise ProblemError("speed_kmh", "more than 0", str(speed))
    if places is None:
        raise ProblemError("location", "[longitude, latitude]", "none")
    return great_circle(np.array(places)) / (speed / 3.6)


def rates_of(
    vehicles: Sequence[Mapping[str, Any]], matrices: dict[str, Array] | None, *, own_costs: bool
) -> list[float] | None:
    """What a second of travel costs, of each vehicle.

    None where kilometres cost, too: then the matrices have ``costs`` of both.
    """
    costs = costs_of(vehicles)
    per_km = any(kilometre for _, kilometre in costs)
    if own_costs and (per_km or any(hour != PER_HOUR for hour, _ in costs)):
        raise ProblemError("vehicles, costs", "no per_hour or per_km beside a matrix costs", "both")
    if not per_km:
        return [hour / PER_HOUR for hour, _ in costs]
    if len(set(costs)) > 1 or len(set(speeds_of(vehicles))) > 1:
        raise UnsupportedError(f"vehicles, costs, per_km: of vehicles that differ {NOT_MODELLED}")
    if matrices is None or "distances" not in matrices:
        raise ProblemError("matrices", "distances beside per_km", "none")
    (hour, kilometre), factor = costs[0], speeds_of(vehicles)[0]
    matrices["costs"] = (
        hour / PER_HOUR * matrices["durations"] / factor + kilometre / 1000 * matrices["distances"]
    )
    return None
