"""What is on board of a vehicle, from stop to stop."""

from __future__ import annotations

from itertools import accumulate, pairwise

from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import Problem

LOAD_DUST = 1e-12


def loads_on_way(
    problem: Problem, nodes: tuple[int, ...], kind: int, terms: Terms | None = None
) -> list[float]:
    """On board after each stop. With one commodity, the least start that never runs out."""
    amounts = problem.loads[:, kind]
    demand = [0.0 if node in problem.depots else float(amounts[node]) for node in nodes]
    if not problem.depots:
        demand[-1] = 0.0  # the first node again
    on_board = None if terms is None else terms.on_board
    places = range(1, len(nodes) - 1) if terms is not None and terms.may_reload else ()
    cuts = [0, *(place for place in places if nodes[place] in problem.depots), len(nodes)]
    loads: list[float] = []
    for begin, end in pairwise(cuts):
        trip = demand[begin:end]
        kept = 0.0
        if on_board is not None and begin == 0:
            kept = sum(float(amounts[node]) for node in on_board if node not in nodes[:end])
        loads += _loads_of_trip(problem, nodes[begin:end], trip, kind, kept)
    return loads


def _loads_of_trip(
    problem: Problem, nodes: tuple[int, ...], demand: list[float], kind: int, kept: float
) -> list[float]:
    """The same from one depot to the next, of which ``kept`` stays on board."""
    if problem.pairs or problem.load_rule == "separate":
        paired = {node for pair in problem.pairs for node in pair}
        on_board = zip(nodes, demand, strict=True)
        load = sum(max(amount, 0.0) for node, amount in on_board if node not in paired)
    else:
        load = max(accumulate(demand, initial=0.0))
    loads, most = [], load
    for node, amount in zip(nodes, demand, strict=True):
        load += float(problem.pickups[node, kind]) - amount
        most = max(most, load)
        # What is left after adding and taking away the same floats is nothing.
        loads.append(kept + (0.0 if abs(load) <= LOAD_DUST * most else load))
    return loads
