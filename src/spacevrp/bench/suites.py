"""Suites of ``spacevrp bench suite``, as data: instances, limits, seeds, and who is compared."""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from spacevrp.bench import paper, references
from spacevrp.bench.sets import TestSet, judged_cost, read_set
from spacevrp.bench.suite_days import build_day
from spacevrp.bench.suite_methods import (
    FROM_BEST_OF_EIGHT,
    FROM_INSERTION,
    FROM_NETWORK,
    FROM_SAVINGS,
    OURS,
    PYVRP,
    PYVRP_AFTER_NETWORK,
    SEARCH,
    Item,
)
from spacevrp.oracles import APPROXIMATE, BY_STRENGTH
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.variants import VARIANTS, parse_variant

_SEED = references.SEED  # of all generated instances


@dataclass(frozen=True)
class Instance:
    """An instance that is loaded where it is solved."""

    problem_class: str  # the line of the table that it belongs to
    name: str
    customers: int
    load: Callable[[], Item]
    size: int | None = None  # customers of all in its line, where they are the same
    rules: Callable[[], Item] | None = None  # one like it, to ask who can model such problems


# Who takes part, each with limits of its own or None: the first that can model the problem.
Line = Mapping[str, str | None]


def _each(*names: str) -> tuple[Line, ...]:
    return tuple({name: None} for name in names)


@dataclass(frozen=True)
class Suite:
    """What is measured by one command."""

    title: str
    instances: Callable[[argparse.Namespace], Iterator[Instance]]
    limits: tuple[str, ...]  # seconds, or seconds a customer with an n
    lines: Sequence[Line] | Callable[[str], Sequence[Line]]  # for all classes, or by name
    count: int = 1  # of the instances of a line that are generated
    seeds: int = 1
    whole: bool = True  # limits are for whole calls, and not for the search alone
    public: bool = False  # files, which may come with a plan
    keeps: bool = False  # every plan, to be merged into the references

    @property
    def fixed(self) -> bool:
        """Whether gaps are to the plans that are stored, better or worse."""
        return self.public or self.keeps

    def lines_of(self, problem_class: str) -> Sequence[Line]:
        """Who takes part in a class."""
        return self.lines(problem_class) if callable(self.lines) else self.lines


# ----------------------------------------------------------------------------- generated instances


# A variant, or a kind of day, and how many customers, stops or pairs.
Cases = Sequence[tuple[str, int]]


def _generated(cases: Cases, args: argparse.Namespace) -> Iterator[Instance]:
    """Of variants; several sizes of one are the same where ``--size`` names it."""
    for name, size in dict.fromkeys((name, args.size or usual) for name, usual in cases):
        rules = partial(_example, name)
        for index in range(args.count):
            load = partial(_generated_item, name, size, index)
            yield Instance(name, f"{name}-n{size}-i{index}", size, load, size, rules)


@lru_cache(maxsize=2)
def _generated_item(name: str, size: int, index: int) -> Item:
    from spacevrp.generators import generate

    (problem,) = generate(name, size, 1, _SEED, first=index)
    known = references.best(name, index + 1, size, _SEED)[index]
    return Item(problem, None if known is None else known.cost)


@lru_cache(maxsize=len(VARIANTS))
def _example(name: str) -> Item:
    from spacevrp.generators import generate

    return Item(generate(name, 10, 1)[0])


_OF_SMALL = ("CVRP", "CVRPTW", "OCVRPTW", "MDCVRP", "PDCVRP", "ACVRPTW", "CVRPL", "TSP")
_SMALLEST, _LARGEST = 8, 25


def _small(args: argparse.Namespace) -> Iterator[Instance]:
    """Sizes and variants in turn; pairs need an even number."""
    for number in range(args.count):
        name = _OF_SMALL[number % len(_OF_SMALL)]
        size = _SMALLEST + number % (_LARGEST - _SMALLEST + 1)
        size -= size % 2 if parse_variant(name).features.pickup_delivery else 0
        load = partial(_generated_item, name, size, number)
        yield Instance("small", f"{name}-n{size}-i{number}", size, load)


def _days(cases: Cases, args: argparse.Namespace) -> Iterator[Instance]:
    """Of kinds of days."""
    for kind, size in cases:
        rules = partial(build_day, kind, 20, 0, _SEED)
        for number in range(args.count):
            load = partial(build_day, kind, size, number, _SEED)
            yield Instance(kind, f"{kind}-n{size}-i{number}", size, load, size, rules)


# -------------------------------------------------------------------------------------------- files


def _files(
    pattern: str, class_of: Callable[[Path], str], args: argparse.Namespace
) -> Iterator[Instance]:
    """Public data below the folder ``--data``, small files first."""
    paths = sorted(_data_of(args).glob(pattern), key=lambda path: path.stat().st_size)
    if not paths:
        where = f"{args.data}/{pattern}"
        raise SpacevrpError(f"{args.suite}: expected files {where}, found none")
    for path in paths:
        load = partial(read_file, path)
        yield Instance(class_of(path), path.stem, _count_customers(path), load)


def _batch(file: str, args: argparse.Namespace) -> Iterator[Instance]:
    """The first instances of a public batch below the folder ``--data``."""
    path = _data_of(args) / file
    held = _read_batch(path)
    for index, problem in enumerate(held.problems[: args.count]):
        customers = len(problem.customers)
        yield Instance(
            path.stem, f"{path.stem}-{index}", customers, partial(_in_batch, path, index)
        )


@lru_cache(maxsize=1)
def _read_batch(path: Path) -> TestSet:
    return read_set(path)


def _in_batch(path: Path, index: int) -> Item:
    held, known = _read_batch(path), _read_batch(path).best[index]
    return Item(held.problems[index], None if known is None else known.cost)


@lru_cache(maxsize=2)
def read_file(path: Path) -> Item:
    """The instance, with its best known cost."""
    from spacevrp.formats import read

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = read(path)
    assert not isinstance(problem, list)
    beside = path.with_suffix(".sol")
    known = judged_cost(beside, problem) if beside.exists() else None
    return Item(problem, known, path=path)


def _count_customers(path: Path) -> int:
    """By what a file says of its size, or else by the number of its last customer."""
    text = path.read_text(encoding="utf-8", errors="replace")
    size = re.search(r"DIMENSION\s*:\s*(\d+)", text)
    if size is not None:
        return int(size[1]) - 1
    numbers = re.findall(r"^\s*(\d+)\s", text, re.MULTILINE)
    return int(numbers[-1]) if numbers else 0  # reading the file says what is wrong with it


def _data_of(args: argparse.Namespace) -> Path:
    if args.data is None:
        raise SpacevrpError(f"{args.suite}: expected --data or SPACEVRP_DATA, received neither")
    return Path(args.data)


def _solomon_class(path: Path) -> str:
    """Such as C1: where customers are, and how long the day is."""
    found = re.match(r"[A-Za-z]+\d", path.stem)
    return path.stem if found is None else found[0].upper()


def _cvrplib_class(path: Path) -> str:
    """The set, and how many customers: the paper has two of the four."""
    if path.name.startswith("X-"):
        return "X 500-1000" if _count_customers(path) >= 500 else "X 100-499"
    return "XXL 3000-7000" if _count_customers(path) <= 7000 else "XXL 10000-30000"


def _public(title: str, pattern: str, class_of: Callable[[Path], str]) -> Suite:
    """By PyVRP's protocol."""
    instances = partial(_files, pattern, class_of)
    return Suite(title, instances, ("2.4n",), _each(OURS, PYVRP), seeds=10, public=True)


# ------------------------------------------------------------------------------------------- suites

_VARIANTS = [(name, references.SIZE) for name in VARIANTS]
_OF_FRONTIER = ("CVRP", "CVRPTW", "ACVRP", "ATSP", "OCVRP", "CVRPB", "MDCVRP", "PDCVRP", "OP")
_FRONTIER = [*((name, 100) for name in _OF_FRONTIER), ("CVRP", 500), ("ACVRPTW", 500)]
_OF_STARTS = ("CVRP", "CVRPTW", "ACVRP", "OCVRP", "MDCVRP", "PDCVRP")
_STARTS = [(name, size) for name in _OF_STARTS for size in (50, 100, 200, 500, 1000, 3000)]
_DAYS = [
    *(("several depots", 100), ("skills", 80), ("pairs", 50), ("dial-a-ride", 40)),
    *(("optional", 120), ("mixed", 120), ("pinned", 100), ("trips", 60), ("trips", 100)),
    *(("overloaded", size) for size in (60, 100, 200)),
]
_STREETS = [("streets", size) for size in (200, 500, 900)]
_MODELLED: Line = {PYVRP: None, "ortools": "10"}
_STRONGEST: Line = dict.fromkeys(BY_STRENGTH)


SUITES: dict[str, Suite] = {
    "pyvrp": _public("PyVRP's collection", "pyvrp/*/*.vrp", lambda path: path.parent.name),
    "vrptw": _public("Solomon and Gehring-Homberger", "vrptw/*[0-9].txt", _solomon_class),
    "pdptw": _public("Li and Lim", "pdptw/*.txt", _solomon_class),
    "cvrplib": _public("CVRPLIB, X and XXL", "cvrplib/*.vrp", _cvrplib_class),
    "first-plans": Suite(
        "From first plans, the search alone",
        partial(_batch, "uniform100/CVRP.npz"),
        ("0.01", "0.1", "1", "5"),
        _each(FROM_NETWORK, FROM_BEST_OF_EIGHT, FROM_SAVINGS, PYVRP),
        count=100,
        whole=False,
        public=True,
    ),
    "equal-time": Suite(
        "Whole calls at equal time",
        partial(_generated, _VARIANTS),
        ("1", "5"),
        (*_each(SEARCH, FROM_NETWORK), _MODELLED),
        count=16,
    ),
    "frontier": Suite(
        "Gap against seconds",
        partial(_generated, _FRONTIER),
        ("0.03", "0.1", "0.3", "1", "3", "10", "30"),
        _each(OURS, SEARCH, PYVRP, "vroom", "ortools", "lkh"),
        count=8,
    ),
    "days": Suite(
        "Days as people have them",
        partial(_days, _DAYS),
        ("2",),
        (*_each(SEARCH), _MODELLED),
        count=4,
    ),
    "roads": Suite(
        "Streets and small fleets",
        partial(_days, _STREETS),
        ("2",),
        _each(OURS, SEARCH, PYVRP),
        count=6,
    ),
    "small": Suite(
        "Many small problems", _small, ("0.01", "0.02"), _each(SEARCH, OURS, PYVRP), count=200
    ),
    "starts": Suite(
        "What a start is worth",
        partial(_generated, _STARTS),
        ("0.1", "0.3", "1", "3", "10"),
        _each(FROM_NETWORK, FROM_SAVINGS, FROM_INSERTION, PYVRP, PYVRP_AFTER_NETWORK),
        count=2,
        whole=False,
    ),
    "references": Suite(
        "Reference costs",
        partial(_generated, _VARIANTS),
        ("10",),
        (_STRONGEST, *_each(*APPROXIMATE)),
        count=32,
        keeps=True,
    ),
    "paper-oracles": Suite(
        "Costs by the paper-protocol oracles",
        partial(_generated, _VARIANTS),
        (f"{references.PAPER_SECONDS:g}",),
        lambda name: [dict.fromkeys(paper.stand_ins(name))],
        count=32,
        keeps=True,
    ),
}
