"""The fast network and its slow twin agree, padded and mixed as the fast one may be."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch

from spacevrp.decode.signal import problem_signals
from spacevrp.env import Environment, start_nodes
from spacevrp.generators.testsets import generate
from spacevrp.model import augmentation_seeds
from spacevrp.model.decoder import logits
from spacevrp.tensors import stack

# Together these have every flag, set and not.
VARIANTS = (
    *("TSP", "ATSP", "CVRP", "AOP", "PCTSP", "ASPCTSP", "PDTSP", "APDCVRP", "OPDCVRP", "CVRPB"),
    *("OCVRPTW", "ACVRPBTW", "MDCVRPBPLTW", "AMDOCVRPL"),
)
STEPS = 5


class Pair:
    """What the fast network and the slow one say of the same mixed, padded batch."""

    def __init__(self, twin, model, dtype):
        self.problems = [generate(name, 8, 1, 5)[0] for name in VARIANTS]
        self.twin, self.model = twin, model
        self.weights = {
            name: value.double().numpy().copy() for name, value in model.state_dict().items()
        }
        self.batch = stack(self.problems, 13, dtype=dtype)
        self.config = model.config
        self.seeds = augmentation_seeds(self.batch, self.config, 1, 3)[:, 0]
        with torch.no_grad():
            self.tables = model(self.batch, self.seeds)

    def slow_embedding(self, row):
        return self.twin.encode(
            self.problems[row], self.weights, self.seeds[row].tolist(), self.config.pivots
        )

    def moments(self):
        """States on the way, by the fast network's own greedy choices."""
        environment = Environment(self.batch)
        state = environment.begin(start_nodes(environment, 2))
        for _ in range(STEPS):
            allowed = environment.mask(state)
            signals = problem_signals(self.batch, state, self.config.signals)
            scores = logits(self.tables, state.origin, state.current, signals, allowed)
            yield state, signals, allowed, scores
            state = environment.step(state, scores.argmax(dim=-1))


@pytest.fixture(scope="module")
def double(slow_twin, make_model):
    return Pair(slow_twin, make_model(), torch.float64)


@pytest.mark.parametrize("row", range(len(VARIANTS)), ids=VARIANTS)
def test_logits(double, row):
    problem = double.problems[row]
    embedding = double.slow_embedding(row)
    received = double.tables.embedding[row, : len(embedding)]
    assert (received - torch.from_numpy(embedding)).abs().max() < 1e-9
    seen = set()
    for state, signals, allowed, scores in double.moments():
        for start in range(2):
            expected = double.twin.decode(
                problem,
                double.weights,
                embedding,
                int(state.origin[row, start]),
                int(state.current[row, start]),
                signals[row, start].tolist(),
                allowed[row, start].tolist(),
                double.config.clipping,
            )
            received = scores[row, start]
            for node in range(len(received)):
                if node in expected:
                    assert float(received[node]) == pytest.approx(expected[node], abs=1e-8)
                    seen.add(round(expected[node], 6))
                else:
                    assert received[node] == -torch.inf
    assert len(seen) > 8  # not all clipped to the same number


def test_float32_is_as_close_as_it_can_be(double):
    batch = stack(double.problems, 13)
    with torch.no_grad():
        found = deepcopy(double.model).float()(batch, double.seeds)
    for name, bound in (("embedding", 2e-5), ("query_first", 1e-4), ("query_last", 1e-4)):
        received, expected = getattr(found, name), getattr(double.tables, name)
        assert received.dtype == torch.float32
        difference = (received.double() - expected)[batch.is_node]
        assert difference.abs().max() < bound * max(1.0, float(expected.abs().max())), name


def test_the_twin_is_sensitive_to_every_parameter(double):
    # A parameter that neither side used would be a silent gap in the comparison.
    untouched = []
    paired = VARIANTS.index("APDCVRP")
    with_prizes = VARIANTS.index("PCTSP")
    timed = VARIANTS.index("ACVRPBTW")
    baseline = {}
    for row in (paired, with_prizes, timed):
        baseline[row] = _answers(double, row, double.weights)
    for name, value in double.weights.items():
        changed = {**double.weights, name: value + 0.1}
        rows = (paired, with_prizes, timed)
        if all(abs(_answers(double, row, changed) - baseline[row]) < 1e-9 for row in rows):
            untouched.append(name)
    # What a layer adds to all nodes alike, its last normalisation takes away again.
    assert untouched == [f"encoder.layers.{layer}.feed_out.bias" for layer in range(2)]


def _answers(pair, row, weights):
    """One number that depends on everything the network computes."""
    problem = pair.problems[row]
    embedding = pair.twin.encode(problem, weights, pair.seeds[row].tolist(), pair.config.pivots)
    allowed, told = [True] * problem.size, [0.4, 0.3, 0.2, 0.1]
    logits = pair.twin.decode(problem, weights, embedding, 0, 1, told, allowed, 50.0)
    return sum((node + 1) * value for node, value in logits.items())
