"""What was solved stays solved: one line a set, so that a run goes on where it was interrupted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from spacevrp.bench.solving import Outcome
from spacevrp.writing import append_line, read_lines

_FIELDS = {field.name for field in fields(Outcome)}
_TUPLES = ("costs", "hindsight")
_REQUIRED = {field.name for field in fields(Outcome) if field.default is MISSING}


class Store:
    """Outcomes by what they depend on, in a file of lines; without a file nothing is kept.

    A line that was cut off at the end of the file by an interruption is left out.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        held = [] if path is None else read_lines(path, _parse, "the outcome of a set")
        self._known = {_digest(key): outcome for key, outcome in held}

    def get(self, key: Mapping[str, Any]) -> Outcome | None:
        """The outcome that was kept under the same settings."""
        return self._known.get(_digest(key))

    def keep(self, key: Mapping[str, Any], outcome: Outcome) -> None:
        """Add a line."""
        self._known[_digest(key)] = outcome
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        append_line(self._path, {"key": dict(key), "outcome": asdict(outcome)})

    def discard(self) -> None:
        """Remove the file: all is done, and written elsewhere."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _digest(key: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()


def _parse(line: dict[str, Any]) -> tuple[dict[str, Any], Outcome]:
    held = line["outcome"]
    if not _REQUIRED <= set(held) <= _FIELDS:
        raise KeyError
    tuples = {name: tuple(held.get(name, ())) for name in _TUPLES}
    return dict(line["key"]), Outcome(**{**held, **tuples})
