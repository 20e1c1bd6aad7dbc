"""What the search knows of a problem, and the network does not."""

from __future__ import annotations

from spacevrp.problems.problem import Problem
from spacevrp.problems.relations import unlearned_relations
from spacevrp.problems.route_rules import unlearned_rule


def unlearned(problem: Problem) -> str | None:
    """A rule of the problem that the network has not learned, as messages call it; or None."""
    return unlearned_rule(problem) or unlearned_relations(problem)
