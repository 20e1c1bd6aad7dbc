"""What a problem may have that a text format has no place for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from spacevrp.formats.building import same_distances
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.relations import present_relations


def _timed(problem: Problem) -> bool:
    return problem.inferred_features.time_windows


# What messages call it -> whether a problem has it.
FEATURES: dict[str, Callable[[Problem], bool]] = {
    "vehicles": lambda p: p.vehicles is not None,
    "several kinds of load": lambda p: p.kinds_of_load > 1,
    "durations": lambda p: not same_distances(p.durations, p.distances),
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
