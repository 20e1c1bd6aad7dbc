"""What it means where no opening is given: vehicles may leave as early as anybody needs them to.

Minus infinity stands for it here. A problem holds numbers that have the same effect.
"""

from __future__ import annotations

import numpy as np

from spacevrp.problems.conversion import Array
from spacevrp.problems.distances import Distances
from spacevrp.problems.scales import longest_of


def fill_openings(
    windows: Array,
    shifts: Array,
    depots: tuple[int, ...],
    durations: Distances,
    service: Array,
    *,
    day: float,
    midnight: float | None = None,
) -> Array:
    """Windows (N, 2) with a number for every opening that is -inf.

    A depot opens so early that each customer can be reached when he opens, as the first of a route:
    to leave any earlier makes no difference to whatever comes after. Where no customer opens or
    closes, it opens with the first shift. Before customers without an opening no vehicle waits, so
    that a vehicle may serve any number of them before a window closes, or a shift ends that has no
    beginning. It leaves early enough for all of them then, though no earlier than at midnight, or a
    day before the first closing where the windows are no times of day.

    Parameters
    ----------
    shifts
        (K, 2) of the vehicles; infinite where there is no limit.
    day, midnight
        The length of a day, and a midnight, in the numbers of the windows.
    """
    absent = np.isneginf(windows[:, 0])
    if not absent.any():
        return windows
    resolved = windows.copy()
    at_depot = np.zeros(len(windows), dtype=bool)
    at_depot[list(depots)] = True
    of_customers, served = windows[~at_depot], service[~at_depot]
    unopened = np.isneginf(of_customers[:, 0])
    # Where no customer opens, one is to be reached when it closes.
    reached = np.where(unopened, of_customers[:, 1], of_customers[:, 0]).min(initial=np.inf)
    begins = np.append(shifts[:, 0], windows[~absent, 0])
    ends = np.append(of_customers[:, 1], shifts[np.isneginf(shifts[:, 0]), 1])
    first_end = float(ends.min(initial=np.inf))
    for depot in np.flatnonzero(absent & at_depot):
        opening = float(reached) - longest_of(durations.from_node(int(depot))[~at_depot])
        if np.isinf(opening):  # no customer opens or closes
            opening = float(begins[np.isfinite(begins)].min(initial=np.inf))
        if unopened.any() and np.isfinite(first_end):
            stops = int(unopened.sum())
            takes = (stops + 1) * durations.extent + float(served[unopened].sum())
            early = first_end - day if midnight is None else midnight
            opening = min(opening, max(first_end - takes, early))
        resolved[depot, 0] = min(opening if np.isfinite(opening) else 0.0, windows[depot, 1])
    departure = float(resolved[at_depot, 0].min(initial=np.inf))
    if np.isinf(departure):
        departure = 0.0
    never_waits = absent & ~at_depot
    resolved[never_waits, 0] = np.minimum(departure, windows[never_waits, 1])
    return resolved
