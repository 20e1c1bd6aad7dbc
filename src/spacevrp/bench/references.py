"""Reference costs: what good solvers pay on the test instances.

An instance is named by (variant, size, seed, index) and generated again wherever it is needed; the
file holds costs only. Two kinds of entry:

- ``best``: the best known cost, by any solver;
- ``paper``: what the paper-protocol oracle finds in the paper's time.

Other benchmarks read them with :func:`best` and :func:`paper_kind`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.variants import VARIANTS, parse_variant
from spacevrp.writing import write_whole

PACKAGED = Path(__file__).with_name("references.json")
SIZE, SEED = 100, 1
# Of the oracles that the paper gives a time to.
PAPER_SECONDS = 20.0
_ABOUT = (
    "Costs, by the referee, on instances 0, 1, ... of spacevrp.generators.generate(variant, size, "
    "seed=seed). best: the best known; paper: by the paper-protocol oracle in its time. An entry "
    "is [cost, number of the solver, seconds it was given]."
)


@dataclass(frozen=True)
class Reference:
    """What a solver paid for an instance, by the referee."""

    cost: float
    solver: str
    version: str
    seconds: float  # that the solver was given
    note: str = ""  # where its model is not exact, or it stands in for another


class SetName(NamedTuple):
    """A series of instances."""

    variant: str
    size: int
    seed: int


@dataclass
class ReferenceSet:
    """What is known of a series, a place an instance; None where nothing is."""

    best: list[Reference | None] = field(default_factory=list)
    paper: list[Reference | None] = field(default_factory=list)

    def known(self, kind: str) -> list[Reference]:
        """Those there are, of kind ``best`` or ``paper``."""
        return [entry for entry in getattr(self, kind) if entry is not None]


class References:
    """A file of references in memory."""

    def __init__(self) -> None:
        self.sets: dict[SetName, ReferenceSet] = {}

    def best(self, name: SetName, count: int) -> list[Reference | None]:
        """The best known of instances 0 to count - 1."""
        return _first(self._held(name).best, count)

    def paper(self, name: SetName, count: int) -> list[Reference | None]:
        """Those of the paper's kind of instances 0 to count - 1."""
        return _first(self._held(name).paper, count)

    def _held(self, name: SetName) -> ReferenceSet:
        return self.sets.get(name, ReferenceSet())

    def offer(
        self, name: SetName, index: int, reference: Reference, *, paper: Reference | None = None
    ) -> bool:
        """Take a result in where it is better; whether it is the best known now.

        ``paper`` is the same result as one of the paper's kind, where it is one.
        """
        held = self.sets.setdefault(name, ReferenceSet())
        _take_better(held.paper, index, paper)
        return _take_better(held.best, index, reference)

    # -------------------------------------------------------------------------------------- files

    @classmethod
    def load(cls, path: Path) -> References:
        """Read a file."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            loaded = cls()
            solvers = [tuple(map(str, row)) for row in document["solvers"]]
            for row in document["sets"]:
                name = SetName(parse_variant(row["variant"]).name, row["size"], row["seed"])
                loaded.sets[name] = ReferenceSet(
                    best=[_entry(values, solvers) for values in row["best"]],
                    paper=[_entry(values, solvers) for values in row["paper"]],
                )
        except OSError as error:
            raise FormatError(f"{path}: cannot be read: {error.strerror}") from None
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise FormatError(f"{path}: expected a file of references: {error!r}") from None
        except SpacevrpError as error:
            raise FormatError(f"{path}: expected a file of references: {error}") from None
        return loaded

    def text(self) -> str:
        """The file, a line a series of instances."""
        numbers: dict[tuple[str, str, str], int] = {}
        rows = []
        for name, held in sorted(self.sets.items(), key=_by_place):
            rows.append(
                {
                    "variant": name.variant,
                    "size": name.size,
                    "seed": name.seed,
                    "best": [_values(entry, numbers) for entry in held.best],
                    "paper": [_values(entry, numbers) for entry in held.paper],
                }
            )
        lines = [f'"about": {json.dumps(_ABOUT)},']
        lines.append(f'"solvers": {json.dumps([list(solver) for solver in numbers])},')
        body = ",\n".join(json.dumps(row, separators=(",", ":"), allow_nan=False) for row in rows)
        lines.append(f'"sets": [\n{body}\n]')
        return "{\n" + "\n".join(lines) + "\n}\n"

    def save(self, path: Path) -> None:
        """Write the file."""
        write_whole(path, self.text().encode())
        packaged.cache_clear()


@cache
def packaged() -> References:
    """The references that come with the package; not to be changed."""
    return References.load(PACKAGED)


def best(variant: str, count: int, size: int = SIZE, seed: int = SEED) -> list[Reference | None]:
    """The best known costs of instances 0 to count - 1; None where none is known."""
    return packaged().best(SetName(parse_variant(variant).name, size, seed), count)


def paper_kind(
    variant: str, count: int, size: int = SIZE, seed: int = SEED
) -> list[Reference | None]:
    """Costs by the paper-protocol oracle in its time; None where none is known."""
    return packaged().paper(SetName(parse_variant(variant).name, size, seed), count)


# ----------------------------------------------------------------------------------------- entries


def _first(held: list[Reference | None], count: int) -> list[Reference | None]:
    return (held + [None] * count)[:count]


def _take_better(held: list[Reference | None], index: int, offered: Reference | None) -> bool:
    if offered is None:
        return False
    held.extend([None] * (index + 1 - len(held)))
    known = held[index]
    if known is not None and known.cost <= offered.cost:
        return False
    held[index] = offered
    return True


def _entry(values: Any, solvers: list[tuple[str, ...]]) -> Reference | None:
    if values is None:
        return None
    cost, number, seconds = values
    if not math.isfinite(cost):
        raise ValueError(f"a cost of {cost}")
    solver, version, note = solvers[number]
    return Reference(float(cost), solver, version, float(seconds), note)


def _values(entry: Reference | None, numbers: dict[tuple[str, str, str], int]) -> Any:
    if entry is None:
        return None
    number = numbers.setdefault((entry.solver, entry.version, entry.note), len(numbers))
    whole = entry.seconds == int(entry.seconds)  # written without a point
    return [entry.cost, number, int(entry.seconds) if whole else entry.seconds]


def _by_place(item: tuple[SetName, ReferenceSet]) -> tuple[int, int, int]:
    """Sizes and seeds apart, variants in the order of the grammar."""
    name = item[0]
    return name.size, name.seed, list(VARIANTS).index(name.variant)
