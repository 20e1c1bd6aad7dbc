"""What instances are, in a few letters: the same content gives the same digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.problems.distances import Distances
from spacevrp.problems.problem import Problem

# Hexadecimal digits: chance finds two alike among many millions of instances hardly ever.
_DIGITS = 32


def file_digest(path: Path) -> str:
    """Of the bytes of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:_DIGITS]


def problem_digest(problem: Problem, *more: Any) -> str:
    """Of every field of a problem, so that one that is added later counts as well.

    ``more`` counts, too.
    """
    digest = hashlib.sha256()
    for piece in (part for value in (problem, *more) for part in _pieces(value)):
        digest.update(len(piece).to_bytes(8, "little") + piece)
    return digest.hexdigest()[:_DIGITS]


def _pieces(value: Any) -> Iterator[bytes]:
    if isinstance(value, Distances):
        held = value.coordinates if value.coordinates is not None else value.matrix()
        yield repr(value.metric).encode()
        yield from _pieces(held)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype.str} {value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield field.name.encode()
            yield from _pieces(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key in value:
            yield repr(key).encode()
            yield from _pieces(value[key])
    elif isinstance(value, tuple | list | np.ndarray):
        yield f"{len(value)} entries".encode()
        for entry in value:
            yield from _pieces(entry)
    else:
        yield repr(value).encode()
