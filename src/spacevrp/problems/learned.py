"""What the search knows of a problem, and the network does not."""

from __future__ import annotations

from spacevrp.problems.fleet import unlearned_terms
from spacevrp.problems.problem import Problem
from spacevrp.problems.relations import unlearned_relations


def unlearned(problem: Problem) -> str | None:
    """A rule of the problem that the network has not learned, as messages call it; or None."""
    term = unlearned_terms(problem.fleet)
    return unlearned_relations(problem) if term is None else f"{term} of vehicles"
