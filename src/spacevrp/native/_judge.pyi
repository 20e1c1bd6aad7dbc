"""The interface of the compiled referee; ``judge/bindings.cpp`` has the other end.

N nodes, depots included, in the caller's numbering; D kinds of load. The arrays are not copied.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
# start (-1 for any depot), end (-1 for the last customer), capacity (D), slack of that (D), fixed
# cost, largest length, earliest departure, latest return, number of vehicles (-1 for any),
# forbidden customers, pinned customers
_Terms = tuple[
    int,
    int,
    Sequence[float],
    Sequence[float],
    float,
    float,
    float,
    float,
    int,
    Sequence[int],
    Sequence[int],
]

class Sheet:
    """A problem as the referee reads it."""

    def __init__(
        self,
        *,
        distances: _Floats,  # (N, N), or (N, 2) with a metric
        metric: tuple[str, str] | None,  # geometry and rounding
        durations: _Floats | None,  # None for the distances
        duration_metric: tuple[str, str] | None,
        depots: Sequence[int],
        loads: _Floats,  # (N, D)
        load_rule: str,  # single, separate or pairs
        windows: _Floats,  # (N, 2)
        service: _Floats,  # (N,)
        penalty: _Floats,  # (N,); inf where a visit is compulsory
        prize: _Floats,  # (N,)
        real_prize: _Floats,  # (N,); what a visit yields
        min_prize: float,
        prize_slack: float,
        maximise_prize: bool,
        open_routes: bool,
        backhaul_last: bool,
        max_routes: int,  # -1 for any number
        length_slack: float,
        time_slack: float,
        pairs: Sequence[tuple[int, int]],
        uniform: bool,  # all vehicles are alike
        types: Sequence[_Terms],
    ) -> None: ...

def judge(sheets: list[Sheet], plans: list[object], types: list[object]) -> _Floats:
    """The cost (P,) of each plan; NaN where it breaks a rule or is not a plain list of routes.

    ``types`` has for each plan the number of a vehicle type for each route, or None where there
    is one type only.
    """
