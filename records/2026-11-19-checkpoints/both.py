"""Default `solve` in one second with either bundled checkpoint, in turns on each instance.

    python both.py DATA INSTANCES PART PARTS > rows.csv

DATA holds the public sets, in folders `vrptw` and `pyvrp`; of all variants there are so many
INSTANCES. Every PARTS-th instance is solved, from number PART on.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from spacevrp import Problem, SolveParams, Solver, generate, read
from spacevrp.bench.suite_days import build_day
from spacevrp.problems.variants import VARIANTS

WEIGHTS = ("space-110-v3", "space-100-v12")
FILES = {"vrptw": "*.txt", **dict.fromkeys(("CVRP", "HFVRP", "MDVRPTW", "SDVRPTW"), "*.vrp")}
DAYS = ("streets", "skills", "pairs", "mixed", "optional", "overloaded")
MOST = 400  # customers: beyond, the search begins without the network


def instances(data: Path, count: int) -> Iterator[tuple[str, str, Callable[[], Problem]]]:
    """Set, instance, and how to make it."""
    for variant in VARIANTS:
        for number in range(count):
            made = partial(generate, variant, 100, 1, seed=4242, first=number)
            yield variant, str(number), lambda made=made: made()[0]
    for folder, pattern in FILES.items():
        place = data / folder if folder == "vrptw" else data / "pyvrp" / folder
        for path in sorted(place.glob(pattern)):
            if path.stem != "toy":
                yield folder, path.stem, partial(read, path)
    for kind in DAYS:
        for number in range(4):
            day = partial(build_day, kind, 100, number, 7)
            yield kind, str(number), lambda day=day: day().problem


def main() -> None:
    warnings.simplefilter("ignore")
    data, count, part, parts = Path(sys.argv[1]), *map(int, sys.argv[2:])
    solvers = {name: Solver(name, "cpu", threads=1) for name in WEIGHTS}
    for solver in solvers.values():
        solver.solve(generate("CVRP", 100, 1)[0])  # loads the weights
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["set", "instance", *WEIGHTS, *(f"unserved, {name}" for name in WEIGHTS)])
    for number, (name, instance, make) in enumerate(instances(data, count)):
        if number % parts != part:
            continue
        problem = make()
        if len(problem.customers) > MOST:
            continue
        order = WEIGHTS if number // parts % 2 else WEIGHTS[::-1]
        found = {
            one: solvers[one].solve(problem, SolveParams(seed=1), time=1.0, partial=True)
            for one in order
        }
        costs = [repr(float(found[one].cost)) for one in WEIGHTS]
        rows.writerow([name, instance, *costs, *(len(found[one].unserved) for one in WEIGHTS)])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
