"""Several solvers on the same instances: what `frontier` and `anytime` have in common."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.arguments import at_least
from spacevrp.bench import references
from spacevrp.bench.sets import variant_names
from spacevrp.bench.solving import Outcome, gaps
from spacevrp.bench.tables import Report
from spacevrp.problems.errors import UnsupportedError


def add_contest_options(
    parser: argparse.ArgumentParser,
    table: str,
    *,
    problems: Sequence[str],
    count: int,
    seconds_of: str,
    solvers: Sequence[str],
    beside: str = "",
) -> None:
    """Declare what both commands ask: who is compared, on how many instances, in what time."""
    parser.epilog = (
        "A solver that cannot model a problem exactly is left out there, which is said. With -o, "
        f"{table}.png is drawn, too. Exit code 0: the model found a plan for every instance; 1: "
        "not so; 2: bad usage, or a solver that is not installed."
    )
    parser.add_argument(
        "--problems",
        metavar="NAMES",
        type=variant_names,
        default=tuple(problems),
        help=f"default: {','.join(problems)}",
    )
    parser.add_argument(
        "--count", metavar="N", type=at_least(1), default=count, help=f"instances; default: {count}"
    )
    parser.add_argument("--seed", metavar="SEED", type=at_least(0), default=1, help="default: 1")
    parser.add_argument(
        "--seconds",
        metavar="NUMBERS",
        type=limits,
        default=(0.1, 1.0, 10.0),
        help=f"{seconds_of}; default: 0.1,1,10",
    )
    parser.add_argument(
        "--solvers",
        metavar="NAMES",
        type=solver_names(solvers),
        default=tuple(solvers),
        help=f"{beside}default: {','.join(solvers)}",
    )


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Have the model use so many threads of a CPU."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def best_costs(
    variant: str, size: int, seed: int, outcomes: Sequence[Outcome]
) -> list[float | None]:
    """The best cost of each instance, be it from these outcomes or from the references."""
    held = references.best(variant, len(outcomes[0].costs), size=size, seed=seed)
    best = []
    for index, reference in enumerate(held):
        costs = [outcome.costs[index] for outcome in outcomes]
        costs.append(None if reference is None else reference.cost)
        best.append(min((cost for cost in costs if cost is not None), default=None))
    return best


def compare(outcome: Outcome, best: Sequence[float | None]) -> tuple[int, float | None]:
    """How many instances have a plan, and the mean of their gaps to the best in percent."""
    pairs = [(c, b) for c, b in zip(outcome.costs, best, strict=True) if c is not None]
    gap, _ = gaps(
        np.array([cost for cost, _ in pairs], dtype=np.float64),
        np.array([known for _, known in pairs], dtype=np.float64),
    )
    return len(pairs), gap


def draw(
    folder: Path | None, report: Report, save: Callable[[Path, list[Mapping[str, Any]]], None]
) -> None:
    """Write the picture of a table beside it, or say why there is none."""
    if folder is None:
        return
    from spacevrp.plots import require_matplotlib
    from spacevrp.writing import replacing

    try:
        require_matplotlib()
    except UnsupportedError as error:
        print(f"no picture: {error}", file=sys.stderr)
        return
    with replacing(folder / f"{report.layout.name}.png") as draft:
        save(draft, [asdict(row) for row in report.rows])


# ---------------------------------------------------------------------- for ``type=`` of arguments


def limits(text: str) -> tuple[float, ...]:
    """Seconds separated by commas."""
    found = set()
    for item in text.split(","):
        try:
            value = float(item)
        except ValueError:
            value = 0.0
        if not (value > 0 and math.isfinite(value)):
            raise argparse.ArgumentTypeError(f"expected seconds above 0, received {item[:40]!r}")
        found.add(value)
    return tuple(sorted(found))


def solver_names(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Names of solvers, out of the known ones, separated by commas."""

    def names(text: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"expected names out of {', '.join(known)}, received {name[:40]!r}"
                )
        return found

    return names
