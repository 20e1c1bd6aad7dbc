"""Entries of foreign documents, each with its type checked and its place named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.conversion import show
from spacevrp.problems.errors import ProblemError, UnsupportedError


def list_of(where: str, value: Any) -> list[Any]:
    """A list, a tuple, an array or a column; text and tables are none."""
    if hasattr(value, "tolist") and not isinstance(value, np.generic):
        value = value.tolist()
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise ProblemError(where, expected="a list", received=show(value))
    return list(value)


def table_of(where: str, value: Any) -> Mapping[str, Any]:
    """A table of keys."""
    if not isinstance(value, Mapping):
        raise ProblemError(where, expected="a table of keys", received=show(value))
    return value


def refuse_unknown(where: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse keys that mean nothing to us: they might mean something to the problem."""
    allowed = set(known)
    for key in table:
        if key not in allowed:
            raise UnsupportedError(f"{where}: the key {show(key)} is not known here")


def refuse_present(where: str, table: Mapping[str, Any], keys: Iterable[str], what: str) -> None:
    """Refuse keys we know and cannot model, wherever they say something."""
    for key in keys:
        if key in table and says_something(table[key]):
            raise UnsupportedError(f"{where}, {key}: {what}")


def says_something(value: Any) -> bool:
    """Whether a value is there at all: neither null, nor 0, nor empty."""
    if value is None or value is False:
        return False
    if isinstance(value, int | float):
        return value != 0
    if isinstance(value, str | Sequence | Mapping):
        return len(value) > 0
    return True


def all_alike(where: str, values: Sequence[Any], what: str) -> Any:
    """The one value that all of them have."""
    for number, value in enumerate(values):
        if value != values[0]:
            raise UnsupportedError(
                f"{where}: expected the same {what} everywhere, received {show(values[0])} and, at "
                f"number {number}, {show(value)}"
            )
    return values[0]
