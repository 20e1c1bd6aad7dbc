"""``spacevrp generate``: a reproducible set of random instances as an ``.npz`` batch."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.arguments import at_least
from spacevrp.problems.errors import FormatError
from spacevrp.writing import check_target, replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUFFIX = ".npz"
# The progress bar moves this often; larger pieces are generated a little faster.
_STEPS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp generate``."""
    parser.epilog = (
        "The same variant, size, seed and number of an instance give the same instance on every "
        "machine, bit by bit. An existing FILE is replaced."
    )
    parser.add_argument("variant", metavar="VARIANT", help="one of the 110 names, such as CVRPTW")
    parser.add_argument(
        "-n",
        "--size",
        metavar="N",
        type=at_least(4),
        default=100,
        help="customers in each instance, depots not counted; default: 100",
    )
    parser.add_argument(
        "--count", metavar="COUNT", type=at_least(1), default=1000, help="default: 1000"
    )
    parser.add_argument("--seed", metavar="SEED", type=at_least(0), default=1, help="default: 1")
    parser.add_argument(
        "--first",
        metavar="INDEX",
        type=at_least(0),
        default=0,
        help="number of the first instance within the series of its seed; default: 0",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, required=True, help="the .npz file to write"
    )


def run(args: argparse.Namespace) -> int:
    """Generate and write."""
    # Imported here, so that help stays instant.
    from spacevrp.formats.archive import write_archive
    from spacevrp.generators import recipe
    from spacevrp.generators.testsets import check_series
    from spacevrp.problems.plan_text import count
    from spacevrp.problems.variants import parse_variant

    # Everything that can be wrong is found before the work begins.
    variant = parse_variant(args.variant)
    recipe.check_size(variant.features, args.size)
    check_series(args.count, args.seed, args.first)
    if args.output.suffix != SUFFIX:
        raise FormatError(f"{args.output}: expected a file name that ends in {SUFFIX}")
    check_target(args.output)
    arrays = _generate(variant.name, args.size, args.count, args.seed, args.first)
    with replacing(args.output) as temporary:
        write_archive(temporary, arrays)
    nodes = recipe.num_nodes(variant.features, args.size)
    instances = count(args.count, "instance")
    print(f"{args.output}: {instances} of {variant.name}, {nodes} nodes each")
    return 0


def _generate(
    variant: str, size: int, count: int, seed: int, first: int
) -> dict[str, NDArray[Any]]:
    """All instances, piece by piece, with a progress bar on a terminal."""
    import numpy as np
    from tqdm import tqdm

    from spacevrp.generators import generate_arrays

    step = max(1, count // _STEPS)
    pieces = []
    # `disable=None` shows the bar on a terminal only, and a quick run is over before the delay.
    with tqdm(total=count, unit=" instances", leave=False, disable=None, delay=1.0) as progress:
        for start in range(0, count, step):
            some = min(step, count - start)
            pieces.append(generate_arrays(variant, size, some, seed, first + start))
            progress.update(some)
    return {
        key: np.concatenate([piece[key] for piece in pieces]) if value.ndim else value
        for key, value in pieces[0].items()
    }
