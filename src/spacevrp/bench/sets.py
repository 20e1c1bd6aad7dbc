"""Test sets: instances of one variant, generated or from a file, and what others paid for them."""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spacevrp.bench import paper, references
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.variants import Variant, parse_variant

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem

GENERATED = "generated"
REFERENCE_PREFIX = "ref_"
BEST_KNOWN = "best known"  # of the references that come with the package


@dataclass(frozen=True)
class TestSet:
    """Instances of one variant, and what another solver paid for each."""

    variant: Variant
    place: str  # where the instances come from
    problems: list[Problem]
    reference: NDArray[np.float64] | None = None  # (B,) costs; minus the prize for OP; nan: unknown
    reference_name: str | None = None
    # (B,) costs by the kind of oracle that the paper compares with; nan: unknown
    oracle: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """A set that is loaded when its turn comes."""

    variant: Variant
    place: str
    key: Mapping[str, Any]  # what tells its instances from those of all other sets
    make: Callable[[], TestSet]

    @property
    def asymmetric(self) -> bool:
        """Whether its distances are."""
        return self.variant.features.asymmetric

    def load(self) -> TestSet:
        """The set; the one that was loaded last is at hand."""
        return _load(self)


@lru_cache(maxsize=1)  # a set that is solved several times is made once
def _load(source: Source) -> TestSet:
    return source.make()


def generated(variant: Variant, size: int, count: int, seed: int) -> Source:
    """The first instances of a series; a size that the variant cannot have is found at once."""
    from spacevrp.generators import recipe

    recipe.check_size(variant.features, size)
    return Source(
        variant,
        GENERATED,
        {"variant": variant.name, "size": size, "count": count, "seed": seed},
        lambda: _generate(variant, size, count, seed),
    )


def _generate(variant: Variant, size: int, count: int, seed: int) -> TestSet:
    """The instances, with the best known costs and the oracle's of those that have them."""
    from spacevrp.generators import generate

    problems = generate(variant, size, count, seed)
    best = _costs(references.best(variant, count, size, seed))
    oracle = _costs(references.paper_kind(variant, count, size, seed))
    name = None if best is None else BEST_KNOWN
    return TestSet(variant, GENERATED, problems, best, name, oracle)


def _costs(known: Sequence[references.Reference | None]) -> NDArray[np.float64] | None:
    if not any(known):
        return None
    return np.array([np.nan if one is None else one.cost for one in known])


def from_file(variant: Variant, path: Path, count: int) -> Source:
    """The first ``count`` instances of a batch (0: all)."""
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    return Source(
        variant,
        path.parent.name,
        {"variant": variant.name, "file_sha256": content, "count": count},
        lambda: read_set(path, count),
    )


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
    """The first ``count`` instances of a batch (0: all) with the reference to compare with.

    Of several references the one that the paper compares with is taken, or else the cheapest.
    """
    from spacevrp.formats import read_npz
    from spacevrp.formats.archive import Archive

    problems = read_npz(path)
    variant = parse_variant(problems[0].variant_name)
    with Archive(path) as archive:
        held = {key: archive[key] for key in archive.keys if key.startswith(REFERENCE_PREFIX)}
    found = {}
    for key, values in held.items():
        if values.shape != (len(problems),) or values.dtype.kind not in "iuf":
            raise FormatError(
                f"{path}: key {key}: expected {len(problems)} numbers, received shape "
                f"{values.shape} of type {values.dtype}"
            )
        cost = np.array(values, dtype=np.float64)
        found[key] = -np.abs(cost) if variant.features.orienteering else cost
    count = count or len(problems)
    problems = problems[:count]
    if not found:
        return TestSet(variant, path.parent.name, problems)
    found = {key: costs[:count] for key, costs in found.items()}
    name = paper.reference_key(variant.name)
    oracle = found.get(name)
    if oracle is None:
        name = min(found, key=lambda key: float(found[key].mean()))
    return TestSet(variant, path.parent.name, problems, found[name], name, oracle)


def variant_names(text: str) -> tuple[str, ...]:
    """Names separated by commas, for ``type=`` of an argument."""
    try:
        return tuple(dict.fromkeys(parse_variant(name.strip()).name for name in text.split(",")))
    except SpacevrpError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
