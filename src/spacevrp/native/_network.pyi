"""The interface of the compiled network; ``network/*_bindings.cpp`` have the other end.

B instances, or views of I instances, of N nodes each: depots first, then customers, then padding. P
trajectories an instance, d the width of the network, S signals (1 to 7), F facts of a move (5), K
depots of the instance with most of them. Arrays of other types, or that are not in a row, are
copied.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float32]
_Integers = NDArray[np.int64]
# A matrix of float32 with the entries of a row side by side; rows may be part of longer ones.
_Rows = np.ndarray[Any, Any]

#: Rows of the node table and of the instance table, as ``decode/packing.py`` fills them.
NODE_ROWS: tuple[str, ...]
INSTANCE_ROWS: tuple[str, ...]

class Fleet(TypedDict):
    """K types of vehicles, D kinds of load, Q pins; what each trajectory prefers."""

    depot: _Integers  # (B, K)
    count: _Integers  # (B, K)
    pinned: _Integers  # (B, K, Q); -1 behind the last
    max_routes: _Integers  # (B,)
    is_open: NDArray[np.bool_]  # (B, K)
    may_serve: NDArray[np.bool_]  # (B, K, N)
    capacity: _Floats  # (B, K, D)
    load_tolerance: _Floats  # (B, K, D)
    fixed_cost: _Floats  # (B, K)
    max_length: _Floats  # (B, K)
    leaves_from: _Floats  # (B, K)
    back_by: _Floats  # (B, K)
    loads: _Floats  # (B, N, D)
    penalty: _Floats  # (B, N)
    seen_capacity: _Floats  # (B, D)
    vehicle: _Floats  # (B, P, R, K) the higher, the earlier, for the first R routes
    nearest: NDArray[np.bool_]  # (B, P)
    stays_out: NDArray[np.bool_]  # (B, P)
    owed_first: NDArray[np.bool_]  # (B, P)

class Lists(TypedDict):
    """Candidate lists of W nodes, and how distances are seen; see ``decode/pruned.py``."""

    near: NDArray[np.int32]  # (I, N, W) the nearest customers of every node, the nearest first
    limits: _Integers  # (2,) how many of them a move chooses from, and reads out
    bonus: _Floats  # (I, N) added to scores at a depot
    scale: _Floats  # (I, 4) of distances: mean, deviation, what no arc looks like, depot weight
    nearness: _Floats  # (B,) what distances weigh in the choice from a list

def instruction_sets() -> list[str]:
    """Those that this processor has, the widest first: avx512, avx2, plain."""

def rollout(
    *,
    embedding: _Floats,  # (B, N, d)
    keyed: _Floats,  # (B, N, 2d) [exp(K) * V | exp(K)]
    query_first: _Floats,  # (B, N, d)
    query_last: _Floats,  # (B, N, d)
    state_weight: _Floats,  # (I, S, d)
    zscore: _Floats | None = None,  # (I, N, N); none with lists
    distance: _Floats,  # (I, N, N); inf where there is no arc
    duration: _Floats,  # (I, N, N); may be the same array
    home_distance: _Floats,  # (I, K, N) the way from every node to each depot; inf without
    home_duration: _Floats,  # (I, K, N)
    node_table: _Floats,  # (I, len(NODE_ROWS), N)
    instance_table: _Floats,  # (I, len(INSTANCE_ROWS))
    starts: _Integers,  # (B, P)
    origins: _Integers | None = None,  # (B, P) the first depot; without depots, the start
    keys: _Integers | None = None,  # (B, P) of what is drawn; below 0 for the likeliest
    temperature: _Floats | None = None,  # (P,) above 0
    max_steps: int,  # T; a solution that needs more counts as stuck
    tolerance: float,  # that rules forgive, in units of the tables
    clipping: float,
    direct: bool = True,  # a vehicle that may go on can always go straight home
    threads: int = 1,  # the result is the same for any number
    instructions: str = "",  # one of instruction_sets(); the widest where empty
    look: Callable[[], None] | None = None,  # called now and then; what it raises ends the call
    fleet: Mapping[str, Any] | None = None,  # a Fleet, where vehicles differ: then no origins
    views: int = 1,  # so many of the B in a row see the same of the I = B / views instances
    lists: Mapping[str, Any] | None = None,  # Lists, for large instances; nothing is drawn then
    move_first: _Floats | None = None,  # (B, N, F) what facts of moves weigh; all three or none,
    move_last: _Floats | None = None,  # (B, N, F) and 7 signals with them
    move_state: _Floats | None = None,  # (I, S, F)
    plan: NDArray[np.int32] | None = None,  # (B, P, T) moves that are made until the turn; all
    turn: NDArray[np.int32] | None = None,  # (B, P) three or none, and neither fleet nor lists
    rank: NDArray[np.int32] | None = None,  # (B, P) of the other move then: decode/deviation.py
    unlikely: float = 0.0,  # no move is tried that is so far below the likeliest; above 0 with them
) -> tuple[NDArray[np.int32], NDArray[np.int32], _Floats, _Integers]:
    """Moves (B, P, T), how many of them (B, P), costs (B, P), and origins (B, P).

    Moves are those after the start; of fleets all, and the start comes first where it may.

    Moves behind the last are 0. Costs are in units of distance (minus the prize for orienteering),
    and inf where a solution is stuck.
    """

# ------------------------------------------------------------------------------------- encoder
#
# Rows are the nodes of segments, one after the other: ``segments`` holds where each begins, and at
# last the number of rows. Arrays of other types or shapes are refused.

def exponentials(lengths: _Rows, factor: float, out: _Rows) -> None:
    """out (R, C) = exp(-factor * lengths)."""

def keyed_values(key: _Rows, value: _Rows, segments: Sequence[int], out: _Rows) -> None:
    """out (T, 2d) = [exp(K) * V | exp(K)] of key and value (T, d).

    The largest exponent of a channel in a segment is 0: any constant cancels in the ratio.
    """

def gated_ratio(query: _Rows, sums: _Rows, out: _Rows) -> None:
    """out (T, d) = sigmoid(query) times the ratio of the two halves of the sums (T, 2d)."""

def relation(
    query: _Rows,
    key: _Rows,
    value: _Rows,
    partner: Sequence[int] | _Rows,
    weight: float,
    segments: Sequence[int],
    out: _Rows,
) -> None:
    """Attention among the nodes of each segment that sees nothing but pairs.

    ``partner`` (N,) has the number of every node's partner, its own where it has none; all
    segments have N rows.
    """

def add_and_normalise(
    x: _Rows,
    added: _Rows,
    bias: _Rows | None,
    scale: _Rows,
    shift: _Rows,
    epsilon: float,
    segments: Sequence[int],
) -> None:
    """x (T, d) = normalised(x + added + bias) * scale + shift, each channel over each segment."""

def add_and_rectify(x: _Rows, bias: _Rows) -> None:
    """x = max(x + bias, 0)."""

def survey(lengths: _Rows) -> dict[str, float]:
    """What is known of the lengths (N, N) of all arcs; inf where there is none.

    ``mean``, ``deviation`` (missing arcs counted as the longest), ``longest``, ``total``, number of
    ``arcs``, ``change`` (the sum of all differences to the way back), ``missing``.
    """
