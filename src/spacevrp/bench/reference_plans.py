"""Plans as reference costs: whose they are, and taking in records of plans."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tqdm import tqdm

from spacevrp.bench import paper
from spacevrp.bench.references import PAPER_SECONDS, Reference, References, SetName
from spacevrp.generators import generate
from spacevrp.oracles import APPROXIMATE, OracleResult, make_oracle
from spacevrp.oracles.pool import from_line, read_record
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.variants import VARIANTS

_SAME_SOLVER = {"LKH-3": "lkh", "PyVRP": "pyvrp", "OR-Tools": "ortools"}
_INSTANCE_NAME = re.compile(r"(?P<variant>[A-Z]+)-n(?P<size>\d+)-s(?P<seed>\d+)-i(?P<index>\d+)")
# What a line of a record must hold.
_LINE: dict[str, type | tuple[type, ...]] = {
    "routes": list,
    "budget": (int, float),
    "cost": (int, float),
    "claimed": (int, float),
    "seconds": (int, float),
    "solver": str,
    "version": str,
    "note": str,
}
# Sums of the same numbers on another machine differ by no more.
_SAME_COST = 1e-9
_SMALL = 6  # customers of the instance that solvers are asked about


# ---------------------------------------------------------------------------------------- whose


@cache
def paper_solver(variant: str) -> str:
    """Our solver of the kind that the paper takes for the variant: the first that models it."""
    (example,) = generate(variant, _SMALL, 1)
    able = (n for n in paper.stand_ins(variant) if make_oracle(n).supports(example) is None)
    return next(able)


def note_on(variant: str, solver: str) -> str:
    """What is not exact in a solver's model of the variant."""
    notes = []
    if solver in APPROXIMATE:
        notes.append("approximate: searched over the worth of a prize")
    if VARIANTS[variant].features.stochastic_prizes:
        notes.append("planned with expected prizes")
    return "; ".join(notes)


def paper_note(variant: str, solver: str) -> str:
    """The same, and for whom of the paper's oracles the solver stands in."""
    oracle = paper.oracle(variant)
    stands_in = "" if _SAME_SOLVER.get(oracle) == solver else f"in place of {oracle}"
    return "; ".join(filter(None, [stands_in, note_on(variant, solver)]))


# -------------------------------------------------------------------------------------- taking in


@dataclass
class Merged:
    """What came of records."""

    judged: int = 0
    improved: int = 0
    failures: list[str] = field(default_factory=list)


def merge(paths: Sequence[Path], references: References, *, progress: bool = False) -> Merged:
    """Take in records of plans; every plan is judged again on the generated instance."""
    lines = []
    for path in paths:
        if not path.is_file():
            raise FormatError(f"{path}: expected a record of results, found no such file")
        lines += [(path, line) for line in read_record(path).values()]
    merged = Merged()
    # None: tqdm itself looks whether stderr is a terminal.
    disable = None if progress else True
    for path, line in tqdm(lines, unit=" results", disable=disable, leave=False):
        name, index = _instance_of(path, line)
        (problem,) = generate(name.variant, name.size, 1, name.seed, first=index)
        try:
            result = from_line(problem, line)
        except SpacevrpError as error:
            merged.failures.append(f"{path}: {error}")
            continue
        cost = result.solution.cost
        if not math.isclose(cost, line["cost"], rel_tol=_SAME_COST, abs_tol=_SAME_COST):
            merged.failures.append(
                f"{path}: {line['name']}: expected the recorded cost {line['cost']!r}, the referee "
                f"counts {cost!r}: was it another instance?"
            )
            continue
        merged.judged += 1
        merged.improved += take_in(references, name, index, result, float(line["budget"]))
    return merged


def _instance_of(path: Path, line: dict[str, Any]) -> tuple[SetName, int]:
    """The series and the number of the instance that a line of a record is about."""
    match = _INSTANCE_NAME.fullmatch(str(line.get("name")))
    if match is None or match["variant"] not in VARIANTS:
        raise FormatError(
            f"{path}: expected results on generated instances, such as CVRP-n100-s1-i0, received "
            f"{line.get('name')!r}"
        )
    for key, kind in _LINE.items():
        if not isinstance(line.get(key), kind):
            raise FormatError(f"{path}: {line['name']}: expected {key}, received {line.get(key)!r}")
    return SetName(match["variant"], int(match["size"]), int(match["seed"])), int(match["index"])


def take_in(
    references: References, name: SetName, index: int, result: OracleResult, seconds: float
) -> bool:
    """Offer what a solver found in so many seconds; whether it is the best known now."""
    variant, solver = name.variant, result.solver
    reference = Reference(
        result.solution.cost, solver, result.version, seconds, note_on(variant, solver)
    )
    of_paper = None
    if seconds == PAPER_SECONDS and solver == paper_solver(variant):
        of_paper = replace(reference, note=paper_note(variant, solver))
    return references.offer(name, index, reference, paper=of_paper)
