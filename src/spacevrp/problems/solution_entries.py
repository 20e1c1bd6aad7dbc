"""What files say of one solved instance."""

from __future__ import annotations

from typing import Any

from spacevrp.problems.explanation.documents import unserved_document
from spacevrp.problems.plan_documents import solution_document
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution


def name_rounding(problem: Problem) -> str | None:
    """The rounding of distances that follow from coordinates; None where nothing is rounded."""
    rounding = problem.distances.metric.rounding
    return rounding if problem.distances.coordinates is not None and rounding != "none" else None


def solution_entry(problem: Problem, solution: Solution) -> dict[str, Any]:
    """Cost, routes and verdict of a plan; who is left out of a partial one, and why."""
    entry: dict[str, Any] = solution_document(None, [solution])["instances"][0]
    if (rounding := name_rounding(problem)) is not None:
        entry["rounding"] = rounding
    if not solution.feasible:
        entry["unserved"] = unserved_document(problem, solution.unserved)
    return entry
