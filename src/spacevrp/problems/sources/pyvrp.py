"""PyVRP's ``ProblemData``, or the ``Model`` that builds one.

Nodes are its depots, then its clients, then the pickup and the delivery of each shipment, in its
order. Whole numbers stay what they are, so that costs are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacevrp.problems.conversion import show
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.fleet import UNSAID, as_alike

# PyVRP's largest value of a matrix, which it gives to arcs that must not be taken.
_NO_ARC = 2**44
# Its neutral limits are the largest whole numbers.
_NO_LIMIT = 2**62


def fields_from_pyvrp(data: Any) -> dict[str, Any]:
    """Fields of a problem from PyVRP's data; what our model cannot say is refused by name."""
    if hasattr(data, "data") and hasattr(data, "add_client"):  # the builder
        data = data.data()
    if not hasattr(data, "vehicle_types") or not hasattr(data, "distance_matrices"):
        raise ProblemError("data", "PyVRP's ProblemData or Model", show(type(data).__name__))
    steps = [step for one in data.shipments() for step in (one.pickup, one.delivery)]
    stops = [*data.depots(), *data.clients(), *steps]  # what stands at each node
    places = np.array([one.location for one in stops], dtype=int)
    depots = tuple(range(len(data.depots())))
    distances, forbidden = _matrices("distances", data.distance_matrices(), places, len(depots))
    durations, slow = _matrices("durations", data.duration_matrices(), places, len(depots))
    forbidden = [far | late for far, late in zip(forbidden, slow, strict=True)]
    fields: dict[str, Any] = {"matrix": distances, "depots": depots}
    if not np.array_equal(distances, durations):
        fields["durations"] = durations
    fields |= _loads(data, len(depots))
    windows = np.array([[one.tw_early, _limit(one.tw_late)] for one in stops], dtype=float)
    fields |= _fleet(data, forbidden, windows)
    if (windows[:, 0] > 0).any() or np.isfinite(windows[:, 1]).any():
        fields["windows"] = windows
    service = np.array([one.service_duration for one in stops], dtype=float)
    if service.any():
        fields["service"] = service
    fields |= _choices(data, len(depots))
    names = [getattr(one, "name", "") or data.locations()[one.location].name for one in stops]
    if all(names) and len(set(names)) == len(names):
        fields["ids"] = names
    points = np.array([[one.x, one.y] for one in data.locations()], dtype=float)[places]
    if points.any():
        fields["places"] = points
    return fields


def _limit(value: int) -> float:
    return float(value) if value < _NO_LIMIT else np.inf


# ---------------------------------------------------------------------------------------- matrices


def _matrices(
    field: str, matrices: list[Any], places: NDArray[np.int_], depots: int
) -> tuple[NDArray[np.float64], list[frozenset[int]]]:
    """One matrix (N, N) for all profiles, and for each the customers to whom no arc leads.

    An arc that must not be taken is missing.
    """
    read = [np.array(one, dtype=float)[np.ix_(places, places)] for one in matrices]
    for one in read:
        one[one >= _NO_ARC] = np.inf
    size = len(places)
    apart = ~np.eye(size, dtype=bool)
    common = np.minimum.reduce(read)
    forbidden = []
    for number, one in enumerate(read):
        closed = {
            node
            for node in range(depots, size)
            if np.isinf(one[node, apart[node]]).all()
            and np.isinf(one[apart[node], node]).all()
            and not np.isinf(common[node, apart[node]]).all()
        }
        open_ones = [node for node in range(size) if node not in closed]
        part = np.ix_(open_ones, open_ones)
        if not np.array_equal(one[part], common[part]):
            raise UnsupportedError(
                f"profiles: {field} of profile {number} are others than those of the rest; "
                "profiles may only differ in whom they serve"
            )
        forbidden.append(frozenset(closed))
    return common, forbidden


# --------------------------------------------------------------------------------------- customers


def _loads(data: Any, depots: int) -> dict[str, Any]:
    """Demand (N, D), what is collected at stops that also receive, and pairs."""
    kinds = max((len(kind.capacity) for kind in data.vehicle_types()), default=0)
    clients, shipments = data.clients(), data.shipments()
    for client in clients:
        kinds = max(kinds, len(client.delivery), len(client.pickup))
    kinds = max([kinds, *(len(one.amount) for one in shipments)])
    size = depots + len(clients) + 2 * len(shipments)
    given, taken = np.zeros((size, max(kinds, 1))), np.zeros((size, max(kinds, 1)))
    pairs = []
    for node, client in enumerate(clients, start=depots):
        given[node, : len(client.delivery)] = client.delivery
        taken[node, : len(client.pickup)] = client.pickup
    for number, shipment in enumerate(shipments):
        pickup = depots + len(clients) + 2 * number
        pairs.append((pickup, pickup + 1))
        given[pickup + 1, : len(shipment.amount)] = shipment.amount
        taken[pickup, : len(shipment.amount)] = shipment.amount
    fields: dict[str, Any] = {"pairs": pairs} if pairs else {}
    if ((given > 0) & (taken > 0)).any() or ((given > 0).any(1) & (taken > 0).any(1)).any():
        fields |= {"demand": _plain(given), "pickup": _plain(taken)}
        if pairs:
            raise UnsupportedError("shipments: beside clients with both a delivery and a pickup")
    elif kinds:
        fields["demand"] = _plain(given - taken)
    return fields


def _plain(loads: NDArray[np.float64]) -> NDArray[np.float64]:
    return loads[:, 0] if loads.shape[1] == 1 else loads


def _choices(data: Any, depots: int) -> dict[str, Any]:
    """Who must be served, what leaving others out costs, release times and groups."""
    clients, shipments = data.clients(), data.shipments()
    fields: dict[str, Any] = {}
    penalty = [np.inf] * depots
    penalty += [
        np.inf if one.required or one.group is not None else float(one.prize) for one in clients
    ]
    for shipment in shipments:  # left out as a whole, at one price
        price = np.inf if shipment.required else float(shipment.prize)
        penalty += [price, price if shipment.required else 0.0]
    if np.isfinite(penalty[depots:]).any():
        fields["penalty"] = penalty
    if any(one.release_time for one in clients):
        release = [float(one.release_time) or -np.inf for one in clients]
        fields["release"] = [-np.inf] * depots + release + [-np.inf] * (2 * len(shipments))
    for number, one in enumerate(clients):
        if one.release_time and any(one.pickup) and not any(one.delivery):
            raise UnsupportedError(f"client {number}, release_time: of a pickup alone")
        if one.group is not None and one.prize:
            raise UnsupportedError(f"client {number}, prize: of a member of a group")
    groups = [
        {"nodes": [depots + client for client in group.clients], "required": group.required}
        for group in data.groups()
    ]
    return {**fields, "groups": groups} if groups else fields


# ---------------------------------------------------------------------------------------- vehicles


def _uses_depots(data: Any) -> dict[int, set[str]]:
    """Depot -> what vehicles do there."""
    uses: dict[int, set[str]] = {}
    for kind in data.vehicle_types():
        uses.setdefault(kind.start_depot, set()).add("start")
        uses.setdefault(kind.end_depot, set()).add("end")
        for depot in kind.reload_depots:
            uses.setdefault(depot, set()).add("reload")
    return uses


def _fleet(
    data: Any, forbidden: list[frozenset[int]], windows: NDArray[np.float64]
) -> dict[str, Any]:
    """Vehicles, or the fields of a problem where all are alike; these may change its windows."""
    uses = _uses_depots(data)
    for number, depot in enumerate(data.depots()):
        if depot.service_duration and "start" in uses.get(number, ()):
            raise UnsupportedError(
                f"depot {number}, service_duration: of a depot where routes start"
            )
    vehicles = [
        _vehicle(data, number, kind, forbidden[kind.profile])
        for number, kind in enumerate(data.vehicle_types())
    ]
    fields = as_alike(vehicles, len(data.depots()))
    if fields is None:
        return {"vehicles": vehicles}
    hours = fields.pop("window", (0.0, np.inf))
    windows[0] = max(windows[0, 0], hours[0]), min(windows[0, 1], hours[1])
    return fields


def _vehicle(data: Any, number: int, kind: Any, forbidden: frozenset[int]) -> dict[str, Any]:
    """The fields of a Vehicle that say something."""
    where = f"vehicle type {number}"
    if any(kind.initial_load):
        raise UnsupportedError(f"{where}, initial_load: goods that belong to no client")
    start, end = data.depots()[kind.start_depot], data.depots()[kind.end_depot]
    if (
        kind.start_depot != kind.end_depot
        and end.tw_early
        and (kind.unit_duration_cost or _limit(kind.max_duration) < np.inf)
    ):
        raise UnsupportedError(f"{where}: waits for its end depot to open, and its time counts")
    latest = min(_limit(kind.start_late), _limit(start.tw_late))
    told: dict[str, Any] = {
        "name": kind.name,
        "count": int(kind.num_available),
        "start": kind.start_depot if len(data.depots()) > 1 else None,
        "end": kind.end_depot if kind.end_depot != kind.start_depot else None,
        "fixed_cost": float(kind.fixed_cost),
        "unit_distance_cost": float(kind.unit_distance_cost),
        "unit_duration_cost": float(kind.unit_duration_cost),
        "max_overtime": float(kind.max_overtime),
        "overtime_cost": float(kind.unit_overtime_cost),
        "forbidden": tuple(sorted(forbidden)),
        "reload_depots": tuple(int(depot) for depot in kind.reload_depots),
    }
    told = {name: value for name, value in told.items() if value != UNSAID[name]}
    if kind.capacity:
        told["capacity"] = kind.capacity[0] if len(kind.capacity) == 1 else list(kind.capacity)
    back_by = min(_limit(kind.tw_late), _limit(end.tw_late))
    for name, limit in (
        ("max_length", _limit(kind.max_distance)),
        ("max_duration", _limit(kind.shift_duration)),
        # To be back in time is to have left in time.
        ("latest_start", latest if latest < back_by else np.inf),
    ):
        if limit < np.inf:
            told[name] = limit
    if kind.tw_early or _limit(kind.tw_late) < np.inf:
        told["window"] = (float(kind.tw_early), _limit(kind.tw_late))
    if kind.reload_depots and kind.max_reloads < _NO_LIMIT:
        told["max_reloads"] = int(kind.max_reloads)
    return told
