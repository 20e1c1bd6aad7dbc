"""``spacevrp demo``: solve the bundled instance on the CPU, print its routes and draw them."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from spacevrp.problems.errors import UnsupportedError

INSTANCE = Path(__file__).parents[1] / "bundled" / "demo.json"
PICTURE = Path("demo.png")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp demo``."""
    parser.epilog = (
        f"Writes {PICTURE} to the current folder, in place of an older one, if matplotlib is there."
    )


def run(args: argparse.Namespace) -> int:
    """Solve, print and draw."""
    # Imported here, so that help stays instant.
    from spacevrp.cli.output import describe_routes
    from spacevrp.formats import read_json
    from spacevrp.plots import require_matplotlib, save_picture
    from spacevrp.solver import Solver

    problem = read_json(INSTANCE)
    solver = Solver(device="cpu")
    customers = len(problem.customers)
    print(f"{problem.variant_name}: {customers} customers, capacity {problem.capacity:g}")
    began = time.perf_counter()
    solution = solver.solve(problem)
    seconds = time.perf_counter() - began
    print("\n".join(describe_routes(solution)))
    print(f"cost {solution.cost:.4f}, {len(solution.routes)} routes, {seconds:.2f} s on the CPU")
    try:
        require_matplotlib()
    except UnsupportedError as error:
        print(f"no picture: {error}")
    else:
        save_picture(PICTURE, problem, solution)
        print(f"the routes are drawn in {PICTURE}")
    return 0
