"""What a plan is to make small: its cost, or vehicles, makespan and balance beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spacevrp.problems.conversion import as_number, show
from spacevrp.problems.errors import ProblemError

# What a plan can be measured by.
TERMS = ("cost", "vehicles", "makespan", "balance")


@dataclass(frozen=True)
class Objective:
    """What is minimised: the terms in ``first`` one after the other, then a weighted sum.

    The terms are ``cost``, ``vehicles`` (the number of routes), ``makespan`` (the longest duration
    of a route) and ``balance`` (the longest less the shortest). Of two plans that are equal in
    all of it, the cheaper one is better.

    Parameters
    ----------
    first
        Terms that come before everything else: a plan with less of the first is better, whatever
        the others are.
    weights
        Term -> what a unit of it counts in the sum that comes after them, as a table; the cost
        alone by default.
    """

    first: tuple[str, ...] = ()
    weights: Any = (("cost", 1.0),)  # kept as pairs, so that objectives can be compared

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", _as_terms(self.first))
        object.__setattr__(self, "weights", _as_weights(self.weights))
        for term, _ in self.weights:
            if term in self.first:
                expected = "each term once, in first or in weights"
                raise ProblemError("objective", expected, f"{term} in both")

    @property
    def is_cost(self) -> bool:
        """Whether nothing but the cost counts."""
        return not self.first and [term for term, _ in self.weights] == ["cost"]

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms that count."""
        return (*self.first, *(term for term, _ in self.weights))

    def values(self, terms: Mapping[str, float]) -> tuple[float, ...]:
        """What is compared, from the terms of a plan: the first ones, then the weighted sum."""
        total = 0.0
        for term, weight in self.weights:
            total += weight * terms[term]
        return (*(terms[term] for term in self.first), *([total] if self.weights else []))


def as_objective(value: Any) -> Objective:
    """An objective, from one, from terms in their order, or from weights by term."""
    if value is None:
        return Objective()
    if isinstance(value, Objective):
        return value
    if isinstance(value, str):
        value = (value,)
    if isinstance(value, Mapping):
        if set(value) & {"first", "weights"}:
            unknown = [key for key in value if key not in ("first", "weights")]
            if unknown:
                raise ProblemError("objective", "first and weights", show(unknown[0]))
            return Objective(**value)
        return Objective((), tuple(value.items()))
    *first, last = _as_terms(value) or ("cost",)
    return Objective(tuple(first), ((last, 1.0),))


def _as_terms(terms: Any) -> tuple[str, ...]:
    if isinstance(terms, str):
        terms = (terms,)
    expected = f"some of {', '.join(TERMS)}"
    if not isinstance(terms, Sequence):
        raise ProblemError("objective", expected, show(terms))
    for term in terms:
        if not isinstance(term, str) or term not in TERMS:
            raise ProblemError("objective", expected, show(term))
    if len(set(terms)) != len(terms):
        raise ProblemError("objective", "each term once", show(list(terms)))
    return tuple(terms)


def _as_weights(weights: Any) -> tuple[tuple[str, float], ...]:
    try:
        entries = dict(weights)
    except (TypeError, ValueError):
        raise ProblemError("objective", "a weight for each term", show(weights)) from None
    for term in _as_terms(tuple(entries)):
        number = as_number(f"objective, {term}", entries[term])
        if not 0 < number < np.inf:
            raise ProblemError(f"objective, {term}", "a weight of more than 0", show(number))
        entries[term] = number
    return tuple((term, entries[term]) for term in TERMS if term in entries)
