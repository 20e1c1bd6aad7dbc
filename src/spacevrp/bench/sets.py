"""Test sets: instances of one variant, what others paid for them, and the gaps to that."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spacevrp.bench import paper, references
from spacevrp.bench.references import Reference
from spacevrp.problems.errors import FormatError
from spacevrp.problems.variants import Variant, parse_variant

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem

GENERATED = "generated"
REFERENCE_PREFIX = "ref_"
Costs = Sequence[Reference | None]  # (B,); minus the prize for OP; None where none is known


@dataclass(frozen=True)
class TestSet:
    """Instances of one variant, and what other solvers paid for each."""

    problems: list[Problem]
    best: Costs  # the best known
    oracle: Costs  # of the paper-protocol oracle


@dataclass(frozen=True, eq=False)
class Source:
    """A set that is loaded when its turn comes."""

    variant: Variant
    place: str
    key: Mapping[str, Any]  # what tells its instances from those of all other sets
    make: Callable[[], TestSet]
    known: Callable[[], tuple[Costs, Costs]] | None = None  # where the instances are not needed

    @property
    def asymmetric(self) -> bool:
        """Whether its distances are."""
        return self.variant.features.asymmetric

    @property
    def size(self) -> int:
        """Customers."""
        return self.key["size"] if "size" in self.key else len(self.load().problems[0].customers)

    def load(self) -> TestSet:
        """The set; the one that was loaded last is at hand."""
        return _load(self)

    def references(self) -> tuple[Costs, Costs]:
        """The best known costs, and those of the paper-protocol oracle."""
        return (self.load().best, self.load().oracle) if self.known is None else self.known()


@lru_cache(maxsize=1)  # a set that is solved several times is made once
def _load(source: Source) -> TestSet:
    return source.make()


def generated(variant: Variant, size: int, count: int, seed: int) -> Source:
    """The first instances of a series; a size that the variant cannot have is found at once."""
    from spacevrp.generators import generate, recipe

    recipe.check_size(variant.features, size)

    def known() -> tuple[Costs, Costs]:
        which = (variant.name, count, size, seed)
        return references.best(*which), references.paper_kind(*which)

    key = {"variant": variant.name, "size": size, "count": count, "seed": seed}
    make = lambda: TestSet(generate(variant, size, count, seed), *known())  # noqa: E731
    return Source(variant, GENERATED, key, make, known)


def from_folder(folder: Path, count: int, place: str) -> list[Source]:
    """The first ``count`` instances (0: all) of every batch in a folder, called ``place``."""
    if not folder.is_dir():
        raise FormatError(f"{folder}: expected a folder of .npz batches, found none")
    paths = sorted(folder.glob("*.npz"))
    if not paths:
        raise FormatError(f"{folder}: expected .npz batches, found none")
    sources = []
    for path in paths:
        variant, content = variant_of(path), hashlib.sha256(path.read_bytes()).hexdigest()
        key = {"variant": variant.name, "file_sha256": content, "count": count}
        sources.append(Source(variant, place, key, partial(read_set, path, count)))
    return sources


def data_folder(name: str) -> Path | None:
    """A folder of public data below the one that SPACEVRP_DATA names; None where there is none."""
    base = os.environ.get("SPACEVRP_DATA")
    folder = Path(base) / name if base else None
    return folder if folder is not None and folder.is_dir() else None


def variant_of(path: Path) -> Variant:
    """The variant that a batch says it is of."""
    from spacevrp.formats.archive import Archive

    with Archive(path) as archive:
        if "variant" not in archive.keys:
            raise FormatError(f"{path}: key variant: expected a name, received no such key")
        return parse_variant(str(archive["variant"].reshape(-1)[0]))


def read_set(path: Path, count: int = 0) -> TestSet:
    """The first ``count`` instances of a batch (0: all) with the references that it holds.

    The best is the one that the paper compares with, or else the cheapest.
    """
    from spacevrp.formats import read_npz
    from spacevrp.formats.archive import Archive

    problems = read_npz(path)
    count = count or len(problems)
    variant = parse_variant(problems[0].variant_name)
    found: dict[str, list[Reference]] = {}
    with Archive(path) as archive:
        for key in archive.keys:
            if not key.startswith(REFERENCE_PREFIX):
                continue
            values = archive[key]
            if values.shape != (len(problems),) or values.dtype.kind not in "iuf":
                raise FormatError(
                    f"{path}: key {key}: expected {len(problems)} numbers, received shape "
                    f"{values.shape} of type {values.dtype}"
                )
            cost = np.array(values[:count], dtype=np.float64)
            cost = -np.abs(cost) if variant.features.orienteering else cost
            name = key.removeprefix(REFERENCE_PREFIX)
            found[key] = [Reference(float(one), name, "", 0.0) for one in cost]
    problems = problems[:count]
    none: Costs = [None] * len(problems)
    oracle = found.get(paper.reference_key(variant.name), none)
    cheapest = min(found.values(), key=lambda each: sum(r.cost for r in each), default=none)
    return TestSet(problems, oracle if any(oracle) else cheapest, oracle)


def judged_cost(path: Path, problem: Problem) -> float:
    """What the plan of a .sol file costs by the referee."""
    from spacevrp.formats import read_solution
    from spacevrp.problems.solution import Solution

    (held,) = read_solution(path, problem).instances
    plan = Solution.judged(problem, held.routes, held.vehicles)
    if not plan.feasible:
        raise FormatError(f"{path}: the plan breaks a rule: {plan.violations[0].message}")
    return plan.cost


# -------------------------------------------------------------------------------------------- gaps


def gaps(
    cost: NDArray[np.float64], reference: NDArray[np.float64]
) -> tuple[float | None, float | None]:
    """Percent above the reference: mean of the instances' gaps, and gap of the means.

    Costs may be negative (minus a prize): the gap is in proportion to the reference's size, so that
    less cost, or more prize, is always a lower gap.
    """
    if len(cost) == 0 or bool((reference == 0).any()):
        return None, None
    each = (cost - reference) / np.abs(reference)
    whole = (cost.mean() - reference.mean()) / abs(reference.mean())
    return 100.0 * float(each.mean()), 100.0 * float(whole)


@dataclass(frozen=True)
class Comparison:
    """A set beside its references, over the instances that have both a plan and a reference."""

    solvers: str  # who found the references, the most frequent first
    instances: int
    cost: float | None  # mean of the references
    gap: float | None  # percent; mean of the instances' gaps
    gap_of_means: float | None  # percent


def compare(costs: Sequence[float | None], references: Sequence[Reference | None]) -> Comparison:
    """The gap to references that some instances may lack."""
    pairs = [
        (cost, reference)
        for cost, reference in zip(costs, references, strict=True)
        if cost is not None and reference is not None
    ]
    names = [reference.solver for _, reference in pairs]
    # Of equal frequency, in the order of the alphabet.
    by_frequency = sorted(set(names), key=lambda name: (-names.count(name), name))
    theirs = np.array([reference.cost for _, reference in pairs], dtype=np.float64)
    ours = np.array([cost for cost, _ in pairs], dtype=np.float64)
    mean = float(theirs.mean()) if pairs else None
    return Comparison("+".join(by_frequency), len(pairs), mean, *gaps(ours, theirs))
