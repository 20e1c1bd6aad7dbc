"""Which vehicle drives which route: as a plan says, or the best that can be made of its routes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.conversion import Array, show
from spacevrp.problems.errors import SolutionError
from spacevrp.problems.problem import Problem


class FleetRoutes(tuple[tuple[int, ...], ...]):
    """Routes that know their vehicles: ``vehicles`` has the number of a type for each route.

    None where it is not said, or where all vehicles are alike.
    """

    vehicles: tuple[int, ...] | None

    def __new__(
        cls, routes: Iterable[Iterable[int]], vehicles: Iterable[int] | None
    ) -> FleetRoutes:
        """The routes with the types of their vehicles."""
        made = super().__new__(cls, tuple(tuple(route) for route in routes))
        made.vehicles = None if vehicles is None else tuple(vehicles)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        """For copies, and for other processes."""
        return tuple(self), self.vehicles


def stated_vehicles(problem: Problem, count: int, vehicles: Any) -> tuple[int, ...] | None:
    """Numbers of the types that a plan with so many routes names; None where it names none.

    Raises
    ------
    SolutionError
        For a type that does not exist, or not one for each route.
    """
    if vehicles is None:
        return None
    if problem.vehicles is None:
        raise SolutionError(
            f"vehicles: expected none, as all are alike, received {show(vehicles)}; a plan made "
            f"with a table of vehicles is judged with that table"
        )
    if isinstance(vehicles, str | bytes) or not isinstance(vehicles, Iterable):
        raise SolutionError(f"vehicles: expected a list, received {show(vehicles)}")
    listed = list(vehicles)
    if len(listed) != count:
        raise SolutionError(
            f"vehicles: expected {count}, one for each route, received {len(listed)}"
        )
    names = {vehicle.name: number for number, vehicle in enumerate(problem.vehicles)}
    numbers = []
    for route, entry in enumerate(listed, start=1):
        number = names.get(entry) if isinstance(entry, str) and entry else entry
        known = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not known or not 0 <= number < len(problem.vehicles):  # type: ignore[operator]
            last = len(problem.vehicles) - 1
            raise SolutionError(
                f"vehicles, route {route}: expected a type from 0 to {last} or its name, received "
                f"{show(entry)}"
            )
        numbers.append(int(number))  # type: ignore[arg-type]
    return tuple(numbers)


def cheapest_vehicles(cost: Array, faults: Array, counts: Sequence[int | None]) -> tuple[int, ...]:
    """For each route the number of a type: the fewest faults in all, then the lowest cost.

    Parameters
    ----------
    cost, faults
        (R, K) of each of the R routes with each of the K types.
    counts
        Vehicles of each type, None for any number. Where there are fewer than routes, the routes
        that are left take what suits them best, and one vehicle counts too many.
    """
    routes, types = cost.shape
    weight = faults * (1.0 + 2.0 * np.abs(cost).sum()) + cost  # (R, K)
    alone = weight.argmin(axis=1)
    used = np.bincount(alone, minlength=types)
    if all(limit is None or n <= limit for n, limit in zip(used, counts, strict=True)):
        return tuple(alone.tolist())
    owners = [
        number
        for number, limit in enumerate(counts)
        for _ in range(routes if limit is None else min(limit, routes))
    ]
    # A vehicle too many is worse than anything else.
    beyond = np.full((routes, routes), 1.0 + routes * (np.abs(weight).max() + 1.0) * 2.0)
    chosen = _assign(np.hstack([weight[:, owners], beyond]))
    return tuple(
        owners[column] if column < len(owners) else int(alone[route])
        for route, column in enumerate(chosen)
    )


def _assign(cost: Array) -> list[int]:
    """The column of each row of (R, C >= R), each column once, at the least sum (Hungarian)."""
    rows, columns = cost.shape
    row_price, column_price = np.zeros(rows + 1), np.zeros(columns + 1)
    row_of = np.zeros(columns + 1, dtype=np.int64)  # of each column, counted from 1; 0 for none
    for row in range(1, rows + 1):
        row_of[0] = row
        column = 0
        slack = np.full(columns + 1, np.inf)
        before = np.zeros(columns + 1, dtype=np.int64)
        seen = np.zeros(columns + 1, dtype=bool)
        while row_of[column] != 0:
            seen[column] = True
            at = int(row_of[column])
            reduced = cost[at - 1] - row_price[at] - column_price[1:]  # (C,)
            better = ~seen[1:] & (reduced < slack[1:])
            slack[1:][better] = reduced[better]
            before[1:][better] = column
            nearest = int(np.where(seen, np.inf, slack).argmin())
            step = slack[nearest]
            row_price[row_of[seen]] += step
            column_price[seen] -= step
            slack[~seen] -= step
            column = nearest
        while column:
            row_of[column] = row_of[before[column]]
            column = int(before[column])
    chosen = [0] * rows
    for column in range(1, columns + 1):
        if row_of[column]:
            chosen[int(row_of[column]) - 1] = column - 1
    return chosen
