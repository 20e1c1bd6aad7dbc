"""One problem or several, from whatever the caller has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spacevrp.problems.conversion import show
from spacevrp.problems.errors import ProblemError, SpacevrpError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.sources import is_frame

_EXPECTED = "expected a Problem or several"


def as_problems(given: Any) -> tuple[list[Problem], bool]:
    """The problems, and whether one was given rather than a list.

    One is a :class:`Problem`, or what :meth:`Problem.from_data` takes: a data frame, or a table of
    keys. A list may mix them, and their sizes and variants.
    """
    if is_one(given):
        return [_as_problem(given)], True
    if isinstance(given, str | bytes | Path):
        raise SpacevrpError(f"problem: {_EXPECTED}, received {show(given)}; see spacevrp.read")
    try:
        several = list(given)
    except TypeError:
        raise SpacevrpError(f"problem: {_EXPECTED}, received {show(given)}") from None
    problems = []
    for number, entry in enumerate(several):
        if not is_one(entry):
            raise SpacevrpError(f"problem, number {number}: {_EXPECTED}, received {show(entry)}")
        try:
            problems.append(_as_problem(entry))
        except (ProblemError, UnsupportedError) as error:
            raise SpacevrpError(f"problem, number {number}: {error}") from error
    return problems, False


def is_one(given: Any) -> bool:
    """Whether this is one problem, in any form, rather than a list of them."""
    return isinstance(given, Problem | Mapping) or is_frame(given)


def _as_problem(given: Any) -> Problem:
    return given if isinstance(given, Problem) else Problem.from_data(given)
