"""JSON read strictly: no repeated keys, no NaN, no infinity, no unbounded nesting."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.formats.files import fail, read_text, shown
from spacevrp.problems.errors import FormatError
from spacevrp.problems.labels import are_ids_numbers
from spacevrp.problems.problem import Problem

# Half of a pair of escapes: JSON's grammar lets it pass, and no encoding can write it.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {shown(key)} stands twice")
            seen.add(key)
    return table


def _no_constants(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON; write null for infinity")


def _refuse_halves(document: object) -> None:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ValueError(f"\\u{ord(half):04x} is half of a character") from None


def parse_object(path: Path) -> dict[str, Any]:
    """The one object a JSON file holds."""
    return parse_text(path, read_text(path))


def parse_text(path: Path, text: str) -> dict[str, Any]:
    """The one object that a text is; ``path`` is what messages call it."""
    try:
        document = json.loads(text, object_pairs_hook=_no_repeats, parse_constant=_no_constants)
        if _SURROGATE.search(text):
            _refuse_halves(document)
    except json.JSONDecodeError as error:
        raise FormatError(f"{path}: line {error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise FormatError(f"{path}: not read: brackets nested too deeply") from None
    except (ValueError, MemoryError) as error:  # also a whole number of thousands of digits
        raise FormatError(f"{path}: not read: {shown(str(error))}") from None
    if not isinstance(document, dict):
        raise fail(path, "", "a JSON object", type(document).__name__)
    return document


def number_at(path: Path, where: str, value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fail(path, where, "a number", as_json(value))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise fail(path, where, "a finite number", as_json(value))
    return number


def whole_at(path: Path, where: str, value: object) -> int:
    """A whole number, not a float that happens to be one."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise fail(path, where, "a whole number", as_json(value))
    return value


def list_at(path: Path, where: str, value: object) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise fail(path, where, "a list", as_json(value))
    return value


def refuse_odd(path: Path, where: str, value: object, depth: int, *, by_node: bool = False) -> None:
    """Refuse what Python would count among the numbers, tables, and lists in too many lists.

    With ``by_node``, the entries of the outermost list are of the nodes.
    """
    if isinstance(value, bool):
        raise fail(path, where, "a number", as_json(value))
    if isinstance(value, float) and math.isinf(value):
        raise fail(path, where, "a finite number", as_json(value))
    if isinstance(value, dict) or (isinstance(value, list) and not depth):
        raise fail(path, where, "values, or lists of them", as_json(value))
    if isinstance(value, list):
        for number, entry in enumerate(value):
            refuse_odd(path, f"{where}, node {number}" if by_node else where, entry, depth - 1)


def as_json(value: object) -> str:
    """A parsed value as it stood in the file, for messages."""
    if isinstance(value, list | dict):
        return f"a {'list' if isinstance(value, list) else 'table'} of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return "a huge whole number"  # printing it may itself be refused
    return json.dumps(value)


def write_value(value: object) -> str:
    """A value as compact JSON; infinity must have become null before."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def named_nodes(problem: Problem, nodes: Any) -> Any:
    """Nodes as the file calls them: by their ids where a number would be taken for one."""
    if isinstance(nodes, tuple):
        return [named_nodes(problem, one) for one in nodes]
    return problem.ids[nodes] if are_ids_numbers(problem.ids) else int(nodes)  # type: ignore[index]


def plain_value(value: Any) -> Any:
    """The value for JSON: infinity as null, whole numbers without a point, every float exactly."""
    if isinstance(value, np.ndarray):
        return [plain_value(item) for item in value.tolist()]
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if isinstance(value, float):
        if math.isinf(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value
