"""Random moves, meant for a build with sanitizers: python tests/native/moves.py COUNT [FIRST].

Moves are sampled from plans of all variants, of random problems and of some with limits on rides
beside rules of routes, and each is compared with the model's own evaluation; the referee judges one
in twenty. Then the plan is searched on, so that the search itself runs under the sanitizers, too.
`make sanitize` shows how to build with them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

_AT_A_TIME, _JUDGED = 400, 20


def sample(seed: int) -> int:
    """Moves of one problem; how many there were."""
    from agreement import close, faults, scale_of
    from random_problems import FEATURES, RULES, build
    from related_problems import ride

    from spacevrp.generators import generate
    from spacevrp.problems.variants import VARIANTS
    from spacevrp.search.model import native_model

    rng = np.random.default_rng(seed)
    if seed % 2:
        name = list(VARIANTS)[seed // 2 % len(VARIANTS)]
        problem = generate(name, int(2 * rng.integers(3, 30)), 1, seed)[0].as_expected()
    elif seed % 4:
        features = rng.choice([*FEATURES, *RULES], int(rng.integers(1, 9)), replace=False).tolist()
        problem = ride(features, seed, int(rng.integers(2, 20)))
    else:
        features = rng.choice(FEATURES, int(rng.integers(0, 12)), replace=False).tolist()
        problem = build(features, seed, int(rng.integers(1, 30)))
    native = native_model(problem)
    model = native.model
    method = "savings" if rng.random() < 0.5 else "insertion"
    plan = model.construct(method, seed)
    done = 0
    for turn in range(3):
        before = native.solution(*plan)
        if not faults(before):
            slack = 1e-9 * (scale_of(problem) + abs(before.cost))
            moves = model.sample_moves(*plan, seed + turn, _AT_A_TIME)
            for number, (name, predicted, routes, types) in enumerate(moves):
                told = model.evaluate(routes, types)
                assert abs(told["cost"] - before.cost - predicted) <= slack, (seed, name)
                if number % _JUDGED == 0:
                    after = native.solution(routes, types)
                    assert not set(faults(after)) - {"prize"}, (seed, name, after.violations)
                    assert after.cost == close(problem, told["cost"]), (seed, name)
            done += len(moves)
        found = model.search(*plan, seed=seed, iterations=60, threads=1 + turn % 2)
        plan = found.routes, found.types
    return done


def main(count: int, first: int = 0) -> None:
    """So many moves in all."""
    done, seed, told = 0, first, 0
    while done < count:
        done += sample(seed)
        seed += 1
        if done - told >= 50_000:
            told = done
            print(f"{done} moves, {seed - first} problems", flush=True)
    print(f"{done} moves of {seed - first} problems, no finding")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
