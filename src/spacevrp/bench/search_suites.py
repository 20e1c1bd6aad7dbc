"""The suites of ``spacevrp bench search``, as data: instances, limits, and who is compared."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.bench.search_days import build_day
from spacevrp.bench.search_methods import (
    FROM_INSERTION,
    FROM_NETWORK,
    FROM_SAVINGS,
    PYVRP_AFTER_NETWORK,
    SEARCH,
    SOLVE,
    TIMED,
    Item,
    Network,
)
from spacevrp.bench.sets import data_folder, from_file, generated
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.judging import judge_all
from spacevrp.problems.solution import Solution
from spacevrp.problems.variants import VARIANTS, parse_variant
from spacevrp.writing import write_whole

# Who takes part: of several in a line the first that can model the problem. Limits of their own
# come with a name.
Line = tuple[str | tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Case:
    """Instances that make one row for each way and limit."""

    name: str
    size: int
    key: Mapping[str, Any]  # what tells its instances from all others
    make: Callable[[], list[Item]]
    count: int = 1
    small: Callable[[], Item] | None = None  # an instance that is quickly made, for its rules

    def example(self) -> Item:
        """An instance, to ask who can model such problems."""
        return self.items()[0] if self.small is None else self.small()

    def items(self) -> list[Item]:
        """The instances; those that were loaded last are at hand."""
        return _items(self)


@lru_cache(maxsize=1)
def _items(case: Case) -> list[Item]:
    return case.make()


@dataclass(frozen=True)
class Suite:
    """What is measured by one command."""

    title: str
    cases: Callable[[argparse.Namespace, Network], Iterator[Case]]
    count: int
    limits: tuple[float, ...]
    lines: tuple[Line, ...]
    whole: bool = True  # limits are for whole calls, and not for the search alone
    plot: bool = False


# --------------------------------------------------------------------------------- generated cases


def _generated(name: str, size: int, args: argparse.Namespace, count: int | None = None) -> Case:
    """So many instances of a variant; None for as many as were asked for."""
    count = args.count if count is None else count
    source = generated(parse_variant(name), size, count, args.seed)

    def make() -> list[Item]:
        test_set = source.load()
        known = test_set.reference
        return [
            Item(problem, known=None if known is None else _finite(known[index]))
            for index, problem in enumerate(test_set.problems)
        ]

    return Case(name, size, source.key, make, count, small=partial(_example, name))


def _example(name: str) -> Item:
    from spacevrp.generators import generate

    return Item(generate(name, 10, 1)[0])


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _variants(args: argparse.Namespace, network: Network) -> Iterator[Case]:
    yield from (_generated(name, 100, args) for name in VARIANTS)


def _without_pyvrp(args: argparse.Namespace, network: Network) -> Iterator[Case]:
    """The variants that PyVRP does not model exactly."""
    from spacevrp.oracles import make_oracle

    pyvrp = make_oracle("pyvrp")
    for name in VARIANTS:
        if pyvrp.supports(_example(name).problem) is not None:
            yield _generated(name, 100, args)


_OF_FRONTIER = ("CVRP", "CVRPTW", "ACVRP", "ATSP", "OCVRP", "CVRPB", "MDCVRP", "PDCVRP", "OP")
_LARGER_OF_FRONTIER = ("CVRP", "ACVRPTW")
_MANY = 500  # customers from which on half as many instances are taken


def _frontier(args: argparse.Namespace, network: Network) -> Iterator[Case]:
    yield from (_generated(name, 100, args) for name in _OF_FRONTIER)
    for name in _LARGER_OF_FRONTIER:
        yield _generated(name, _MANY, args, _half(args.count))


def _half(count: int) -> int:
    return max(1, count // 2)


_SIZES = (50, 100, 200, 500, 1000, 3000)
_OF_STARTS = ("CVRP", "CVRPTW", "ACVRP", "OCVRP", "MDCVRP", "PDCVRP")


def _starts(args: argparse.Namespace, network: Network) -> Iterator[Case]:
    for name in _OF_STARTS:
        for size in _SIZES:
            count = args.count if size < _MANY else _half(args.count)
            yield _generated(name, size, args, count)


_OF_SMALL = ("CVRP", "CVRPTW", "OCVRPTW", "MDCVRP", "PDCVRP", "ACVRPTW", "CVRPL", "TSP")
_SMALLEST, _LARGEST = 8, 25


def _small(args: argparse.Namespace, network: Network) -> Iterator[Case]:
    """Sizes and variants in turn; pairs need an even number."""
    from spacevrp.generators import generate

    def make() -> list[Item]:
        items = []
        for number in range(args.count):
            variant = parse_variant(_OF_SMALL[number % len(_OF_SMALL)])
            size = _SMALLEST + number % (_LARGEST - _SMALLEST + 1)
            size -= size % 2 if variant.features.pickup_delivery else 0
            items += [Item(one) for one in generate(variant, size, 1, args.seed, first=number)]
        return items

    yield Case("small", _LARGEST, {"count": args.count, "seed": args.seed}, make, args.count)


# --------------------------------------------------------------------------------------------- days

_DAYS = (
    ("several depots", 100),
    ("skills", 80),
    ("pairs", 50),
    ("dial-a-ride", 40),
    ("optional", 120),
    ("mixed", 120),
    ("pinned", 100),
    ("overloaded", 60),
    ("overloaded", 100),
    ("overloaded", 200),
)


def _days(args: argparse.Namespace, network: Network) -> Iterator[Case]:
    for kind, size in _DAYS:
        key = {"day": kind, "size": size, "count": args.count, "seed": args.seed}
        make = partial(_each_day, kind, size, range(args.count), args.seed)
        yield Case(kind, size, key, make, args.count)


_STREET_SIZES = (200, 500, 900)


def _roads(args: argparse.Namespace, network: Network) -> Iterator[Case]:
    """One-way streets, windows, and fleets from roomy to tight."""
    for size in _STREET_SIZES:
        key = {"day": "streets", "size": size, "count": args.count, "seed": args.seed}
        make = partial(_each_day, "streets", size, range(args.count), args.seed)
        small = partial(build_day, "streets", 20, 0, args.seed)
        yield Case("streets", size, key, make, args.count, small=small)


def _each_day(kind: str, size: int, numbers: Sequence[int], seed: int) -> list[Item]:
    return [build_day(kind, size, number, seed) for number in numbers]


# -------------------------------------------------------------------------------------------- files


def _folder(name: str) -> Path:
    folder = data_folder(name)
    if folder is None:
        raise SpacevrpError(
            f"{name}: expected SPACEVRP_DATA to name a folder with {name} in it, found none"
        )
    return folder


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _first_plans(args: argparse.Namespace, network: Network) -> Iterator[Case]:
    path = _folder("uniform100") / "CVRP.npz"
    source = from_file(parse_variant("CVRP"), path, args.count)
    plans = args.plans

    def make() -> list[Item]:
        test_set = source.load()
        if plans is None or not plans.exists():
            made = [network.plan(Item(problem)) for problem in test_set.problems]
            starts = [plan for plan, _ in made]
            if plans is not None:
                document = {
                    "routes": [[list(map(int, route)) for route in plan.routes] for plan in starts],
                    "cost": [plan.cost for plan in starts],
                    "seconds": [seconds for _, seconds in made],
                }
                write_whole(plans, json.dumps(document).encode())
        else:
            starts = _read_plans(plans, test_set.problems)
        known = test_set.reference
        assert known is not None
        return [
            Item(problem, start=start, known=float(cost))
            for problem, start, cost in zip(test_set.problems, starts, known, strict=True)
        ]

    stored = None if plans is None or not plans.exists() else _digest(plans)
    yield Case("CVRP public", 100, {**source.key, "plans": stored}, make, args.count)


def _read_plans(path: Path, problems: Sequence[Any]) -> list[Solution]:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))["routes"][: len(problems)]
        plans = judge_all(problems, held)
    except (OSError, ValueError, KeyError, TypeError, SpacevrpError) as error:
        raise FormatError(
            f"{path}: expected routes of {len(problems)} plans of these instances: {error!r}"
        ) from None
    if not all(plan.feasible for plan in plans):
        raise FormatError(f"{path}: expected plans that keep the rules of these instances")
    return plans


# ------------------------------------------------------------------------------------------- suites

_MODELLED: Line = ("pyvrp", ("ortools", 10.0))
SUITES: dict[str, Suite] = {
    "first-plans": Suite(
        "From first plans, the search alone",
        _first_plans,
        100,
        (0.01, 0.1, 1.0, 5.0),
        ((FROM_NETWORK,), (FROM_SAVINGS,), (FROM_INSERTION,), ("pyvrp",), (PYVRP_AFTER_NETWORK,)),
        whole=False,
    ),
    "equal-time": Suite(
        "Whole calls at equal time",
        _variants,
        16,
        (1.0, 5.0),
        ((SEARCH,), (FROM_NETWORK,), _MODELLED),
    ),
    "frontier": Suite(
        "Gap against seconds",
        _frontier,
        8,
        (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
        ((TIMED,), (SEARCH,), ("pyvrp",), ("vroom",), ("ortools",), ("lkh",)),
        plot=True,
    ),
    "ortools": Suite(
        "Beside OR-Tools, where PyVRP has no model",
        _without_pyvrp,
        4,
        (1.0, 10.0),
        ((TIMED,), ((SEARCH, 1.0),), (("ortools", 10.0),)),
    ),
    "variants": Suite("All variants", _variants, 32, (1.0,), ((SEARCH,),)),
    "days": Suite("Days as people have them", _days, 4, (2.0,), ((SEARCH,), _MODELLED)),
    "roads": Suite("Streets and small fleets", _roads, 6, (2.0,), ((TIMED,), (SEARCH,), _MODELLED)),
    "small": Suite(
        "Many small problems", _small, 200, (0.01, 0.02), ((SEARCH,), (SOLVE,), ("pyvrp",))
    ),
    "starts": Suite(
        "What a start is worth",
        _starts,
        2,
        (0.1, 0.3, 1.0, 3.0, 10.0),
        ((FROM_NETWORK,), (FROM_SAVINGS,), (FROM_INSERTION,), ("pyvrp",)),
        whole=False,
        plot=True,
    ),
}
