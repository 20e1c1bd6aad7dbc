"""Why a plan leaves customers out, what would let them in, and what limits its routes."""

from spacevrp.problems.explanation.changes import Change, Relaxation
from spacevrp.problems.explanation.explaining import Explanation, explain, is_missing_visit
from spacevrp.problems.explanation.reasons import Unserved
from spacevrp.problems.explanation.routes import Limit, RouteLimits

__all__ = [
    "Change",
    "Explanation",
    "Limit",
    "Relaxation",
    "RouteLimits",
    "Unserved",
    "explain",
    "is_missing_visit",
]
