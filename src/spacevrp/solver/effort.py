"""How much work a call without a time does: the numbers to tune, in one place."""

from __future__ import annotations

import math

from spacevrp import native
from spacevrp.problems.problem import Problem
from spacevrp.problems.recourse import can_plan_ahead
from spacevrp.search import Stop

# Augmentations of each instance where the search follows: further augmentations and other forms of
# the problem buy no more than the same time of search (records/2026-11-17-one-augmentation).
SEARCHED_AUGMENTATIONS = 1
# Iterations of the search: reproducible, unlike seconds. Each of a hundred customers gets so many;
# those of a small problem need fewer for the same plans, those of a large one up to twice as many.
ITERATIONS_PER_CUSTOMER, FEWEST_ITERATIONS = 800, 2_000
_GROWTH_BELOW, _GROWTH, _TIMES_AT_MOST = 0.8, 0.6, 2.0
# More than these take minutes: a call that wants them says how much time it has.
MOST_ITERATIONS = 20_000_000
# Customers from which on and up to which the network's plans are worth their time as a start for
# the search.
LEAST_FOR_NETWORK, MOST_FOR_NETWORK = 51, 400
# With pairs and less time than this, it takes more customers. From so many seconds a customer on,
# the network's start is no better where the two ways of an arc differ
# (records/2026-11-19-network-or-not).
SHORT_WITH_PAIRS, LEAST_WITH_PAIRS, LONG_IF_ASYMMETRIC = 0.5, 121, 0.02
# A search of so many iterations a customer, or of about as many seconds, begins with several plans.
LONG_PER_CUSTOMER, LONG_SECONDS_A_CUSTOMER = 700, 3e-3
# A problem with no other features is one tour, whose order the search improves best alone
# (records/2026-11-18-tours).
_OF_A_TOUR = {"asymmetric", "depot", "open_routes"}
# What a note on that says.
BY_DESIGN = "begun without the network"


def can_search(problem: Problem) -> bool:
    """Whether the search may plan: not where prizes show only on the visit and rules limit these.

    How many visits are needed is known in the end alone, and then there may be no way to them.
    """
    return native.available() and can_plan_ahead(problem)


def usual_stop(problem: Problem) -> Stop:
    """When the search ends in a call without a time."""
    customers = len(problem.customers)
    growth = _GROWTH_BELOW if customers < 100 else _GROWTH
    times = min((customers / 100) ** growth, _TIMES_AT_MOST)
    iterations = max(FEWEST_ITERATIONS, round(ITERATIONS_PER_CUSTOMER * customers * times))
    return Stop(iterations=min(iterations, MOST_ITERATIONS))


def is_long(problem: Problem, iterations: int | None, seconds: float) -> bool:
    """Whether a search pays that begins with several plans, given its limits."""
    customers = len(problem.customers)
    if seconds < math.inf:
        return seconds >= LONG_SECONDS_A_CUSTOMER * customers
    planned = usual_stop(problem).iterations if iterations is None else iterations
    return planned is not None and planned >= LONG_PER_CUSTOMER * customers


def needs_no_network(problem: Problem, seconds: float = math.inf) -> bool:
    """Whether the search does better alone in a time: small problems, tours, and some others.

    Not where visits reveal prizes.
    """
    features, customers = problem.features, len(problem.customers)
    if _OF_A_TOUR.issuperset(features.active):
        return True
    if problem.has_unknown_prizes:
        return False
    if features.asymmetric and LONG_IF_ASYMMETRIC * customers <= seconds < math.inf:
        return True
    is_short = features.pickup_delivery and seconds < SHORT_WITH_PAIRS
    return customers < (LEAST_WITH_PAIRS if is_short else LEAST_FOR_NETWORK)


def pays_network(problem: Problem) -> bool:
    """Whether a problem is not so large that the network takes more time than its plans save."""
    return len(problem.customers) <= MOST_FOR_NETWORK


def unlearned_by_network(problem: Problem, term: str) -> str:
    """That the network does not know something of a problem, in a line."""
    return f"{_label(problem)}: {BY_DESIGN}, which does not know {term}"


def without_network(problem: Problem) -> str:
    """That the plans of a problem are begun without the network, in a line."""
    return (
        f"{_label(problem)}: {len(problem.customers)} customers, {BY_DESIGN}, which does not pay "
        f"beyond {MOST_FOR_NETWORK} (network=true asks for it)"
    )


def _label(problem: Problem) -> str:
    return f"{problem.name!r}" if problem.name else "an instance"
