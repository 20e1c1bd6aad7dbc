"""Entries of foreign documents, each with its type checked and its place named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.conversion import plain_array, show
from spacevrp.problems.errors import ProblemError, UnsupportedError


def list_of(where: str, value: Any) -> list[Any]:
    """A list, a tuple, an array or a column; text and tables are none."""
    if hasattr(value, "tolist") and not isinstance(value, np.generic):
        value = value.tolist()
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise ProblemError(where, "a list", show(value))
    return list(value)


def table_of(where: str, value: Any) -> Mapping[str, Any]:
    """A table of keys."""
    if not isinstance(value, Mapping):
        raise ProblemError(where, "a table of keys", show(value))
    return value


def plain_document(value: Any, depth: int = 8) -> Any:
    """A document as JSON would hold it: arrays and columns as lists, tables as plain ones.

    What lies deeper than any document does is left as it is.
    """
    if isinstance(value, Mapping) and depth:
        return {key: plain_document(entry, depth - 1) for key, entry in value.items()}
    if isinstance(value, list | tuple) and depth:
        return [plain_document(entry, depth - 1) for entry in value]
    if type(value).__name__ == "NAType":
        return None
    value = plain_array(value)
    return value.tolist() if hasattr(value, "tolist") else value


def refuse_unknown(where: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse keys that mean nothing to us: they might mean something to the problem."""
    allowed = set(known)
    for key in table:
        if key not in allowed:
            raise UnsupportedError(f"{where}: the key {show(key)} is not known here")


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same, be they arrays or missing values of pandas."""
    try:
        return bool(left == right)
    except ValueError:  # arrays compare entry by entry
        return bool(np.array_equal(left, right))
    except TypeError:  # pandas' NA is neither equal nor different
        return left is right
