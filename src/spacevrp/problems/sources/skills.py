"""Skills in tables: a stop is served only by vehicles that have all the skills it asks for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from spacevrp.problems.conversion import NodeNumber, show
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.fleet import Vehicle, blame_vehicle
from spacevrp.problems.labels import resolve_nodes
from spacevrp.problems.sources.columns import whole_cell

Skills = frozenset[str]
NO_SKILLS: Skills = frozenset()


def skills_of(entry: Any) -> Skills:
    """The words of a cell, with blanks, commas or semicolons between them; numbers are words, too.

    Raises
    ------
    ProblemError
        Anything but words and whole numbers.
    """
    if entry is None:
        return NO_SKILLS
    if isinstance(entry, str):
        return frozenset(entry.replace(";", " ").replace(",", " ").split())
    listed = list(entry) if isinstance(entry, list | tuple | set | frozenset) else [entry]
    words = []
    for one in listed:
        one = whole_cell(one)
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise ProblemError("skills", "words or whole numbers", show(one))
        words.append(str(one).strip())
    return frozenset(words)


def without_unskilled(
    vehicles: Any, needed: Sequence[Skills], ids: Sequence[Hashable] | None
) -> Any:
    """The vehicles without ``skills``; customers that ask for others are forbidden to them.

    ``needed`` has the skills that each node asks for, and nothing where there are none.
    """
    asking = [NodeNumber(node) for node, skills in enumerate(needed) if skills]
    if vehicles is None and asking:
        expected = "vehicles beside them, which have skills"
        raise ProblemError("skills", expected, "none", node=asking[0])
    if isinstance(vehicles, Vehicle | Mapping):
        vehicles = [vehicles]
    if not isinstance(vehicles, list | tuple):
        return vehicles  # which is refused elsewhere
    resolved = []
    for number, given in enumerate(vehicles):
        held = given.get("skills") if isinstance(given, Mapping) else None
        try:
            has = skills_of(held)
            barred = [node for node in asking if not has.issuperset(needed[node])]
            resolved.append(_barring(given, barred, ids))
        except ProblemError as error:
            raise blame_vehicle(error, number) from None
    return resolved


def _barring(given: Any, barred: Sequence[NodeNumber], ids: Sequence[Hashable] | None) -> Any:
    """A vehicle without skills, that may not serve these customers either."""
    told = {}
    if isinstance(given, Mapping):
        given = told = {field: value for field, value in given.items() if field != "skills"}
    if not barred:
        return given
    if isinstance(given, Vehicle):
        told = {"allowed": given.allowed, "forbidden": given.forbidden}
    listed = {
        field: resolve_nodes(told[field], ids, field)
        for field in ("allowed", "forbidden")
        if told.get(field) is not None
    }
    if "allowed" in listed:
        changed: dict[str, Any] = {
            "allowed": [node for node in listed["allowed"] if node not in barred]
        }
    else:
        changed = {"forbidden": list(dict.fromkeys([*listed.get("forbidden", ()), *barred]))}
    return replace(given, **changed) if isinstance(given, Vehicle) else {**told, **changed}
