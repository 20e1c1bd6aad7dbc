"""What VROOM calls tasks and vehicles, and what we call them: there and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from spacevrp.problems.conversion import show
from spacevrp.problems.errors import ProblemError

# What VROOM calls the two of a pair; it counts each of them on its own.
PAIR = ("pickup", "delivery")


def name_task(kind: str, number: int) -> str:
    """The id, among all nodes, of a task of a shipment: two of them may have the same number."""
    return f"{kind} {number}"


def number_task(kind: str, name: Hashable) -> Hashable:
    """The number that :func:`name_task` gave a name to; any other id is what it is."""
    word, _, number = name.partition(" ") if isinstance(name, str) else ("", "", "")
    if word == kind and number.isascii() and number.removeprefix("-").isdigit():
        return int(number)
    return name


def as_vehicle_ids(ids: Any) -> dict[str, tuple[int | str, ...]] | None:
    """Name of a type of vehicles -> the ids of its vehicles, each a text or a whole number."""
    if ids is None:
        return None
    if not isinstance(ids, Mapping):
        expected = "names of types of vehicles, each with a list of ids"
        raise ProblemError("vehicle_ids", expected, show(ids))
    resolved: dict[str, tuple[int | str, ...]] = {}
    for name, listed in ids.items():
        named: list[Any] = list(listed) if isinstance(listed, list | tuple) else [None]
        if not isinstance(name, str) or not all(type(one) in (int, str) for one in named):
            expected = "a list of ids, texts or whole numbers, for the name of each type"
            raise ProblemError("vehicle_ids", expected, f"{show(listed)} for {show(name)}")
        resolved[name] = tuple(named)
    return resolved


class Drivers:
    """The vehicles of a problem's routes, by the ids that the program which stated it gave them.

    ``ids`` is ``vehicle_ids`` of a problem. Vehicles of one type leave in the order of their ids.
    """

    def __init__(self, ids: Mapping[str, Sequence[int | str]] | None) -> None:
        self._ids = ids or {}
        self._gone: Counter[str] = Counter()
        self._routes = 0

    def next(self, name: str) -> tuple[Any, bool]:
        """The id of the next vehicle of a type, and whether it is the only one of that type.

        Where the vehicles of the type have no ids, routes are counted from 0. None where all
        vehicles of the type have left already.
        """
        self._routes += 1
        listed = self._ids.get(name)
        if listed is None:
            return self._routes - 1, True
        gone = self._gone[name]
        self._gone[name] += 1
        return (listed[gone] if gone < len(listed) else None), len(listed) == 1
