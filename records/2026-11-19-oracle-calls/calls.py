"""OR-Tools called in several ways: what its plans cost, next to the way of `spacevrp oracle`.

    python calls.py SECONDS INSTANCES WAY,WAY,... VARIANT,VARIANT,... > rows.csv

The ways differ in nothing that a plan must keep to:

- adaptor: as `spacevrp oracle` and `spacevrp bench` call it: few vehicles at first, matrices, and
  the first plan by cheapest arcs (of pairs: by insertion).
- arcs: a vehicle for each customer (or pair), as public scripts of the field have it, and as in the
  examples of OR-Tools lengths and demands asked of Python functions, the first plan by cheapest
  arcs.
- insertion: the same with parallel cheapest insertion, as those scripts begin.
- span: as `arcs`, and 100 times the length of the longest route counts, too, as in the example for
  pickups and deliveries. Costs here are without it.
"""

from __future__ import annotations

import csv
import sys
from typing import Any

import numpy as np

from spacevrp import Problem, generate
from spacevrp.oracles.base import most_routes
from spacevrp.oracles.ortools import OrToolsOracle
from spacevrp.oracles.ortools_model import Best, Model
from spacevrp.oracles.scaling import Routes, WholeProblem

STRATEGIES = {"arcs": "PATH_CHEAPEST_ARC", "insertion": "PARALLEL_CHEAPEST_INSERTION"}


class ByCallbacks(Model):
    """A model that asks Python for every length and every demand."""

    def __init__(self, problem: Problem, whole: WholeProblem, fleet: int, way: str) -> None:
        super().__init__(problem, whole, fleet, None)
        self.strategy = STRATEGIES.get(way, "PATH_CHEAPEST_ARC")
        self.counts_span = way == "span"
        if self.counts_span:
            longest = int(whole.cost.max()) * (len(whole.stops) + 1)
            self.routing.AddDimension(self._matrix(whole.cost), 0, longest, True, "span")
            self.routing.GetDimensionOrDie("span").SetGlobalSpanCostCoefficient(100)

    def _matrix(self, matrix: np.ndarray) -> int:
        wide = np.zeros((self.places, self.places), dtype=np.int64)
        wide[: self.whole.size, : self.whole.size] = matrix
        rows, node = wide.tolist(), self.manager.IndexToNode
        evaluator: int = self.routing.RegisterTransitCallback(lambda i, j: rows[node(i)][node(j)])
        return evaluator

    def _vector(self, values: np.ndarray) -> int:
        wide = [*values.tolist(), *[0] * (self.places - self.whole.size)]
        node = self.manager.IndexToNode
        evaluator: int = self.routing.RegisterUnaryTransitCallback(lambda i: wide[node(i)])
        return evaluator

    def _read(self, assignment: Any) -> Best | None:
        """Without what the objective holds beside the cost."""
        found = super()._read(assignment)
        if found is None or not self.counts_span:
            return found
        span = self.routing.GetDimensionOrDie("span")
        ends = [assignment.Value(span.CumulVar(self.routing.End(k))) for k in self.vehicles]
        return Best(found.objective - 100 * max(ends), found.routes)


class Called(OrToolsOracle):
    """OR-Tools called in a way."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self._way = way

    def _build(self, problem: Problem, whole: WholeProblem, fleet: int) -> Model:
        return ByCallbacks(problem, whole, fleet, self._way)

    def _model(
        self, problem: Problem, whole: WholeProblem, seconds: float, start: Routes | None
    ) -> Model:
        return self._build(problem, whole, most_routes(problem, whole))


def main() -> None:
    seconds, count, ways, variants = sys.argv[1:]
    oracles = {way: OrToolsOracle() if way == "adaptor" else Called(way) for way in ways.split(",")}
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["variant", "instance", "way", "cost"])
    for variant in variants.split(","):
        for number, problem in enumerate(generate(variant, 100, count=int(count), seed=1)):
            for way, oracle in oracles.items():
                try:
                    cost = f"{oracle.solve(problem, float(seconds)).solution.cost:.6f}"
                except Exception as error:  # no plan in time is a result, too
                    cost = type(error).__name__
                rows.writerow([variant, number, way, cost])
                sys.stdout.flush()


if __name__ == "__main__":
    main()
