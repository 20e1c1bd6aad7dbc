"""The network written from its formulas: one instance, plain loops, float64, nothing shifted.

It shares no code with the package and starts from the problem itself. ``weights`` are the
parameters of a model as NumPy arrays, by name. Nodes are positions: depots first, then customers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

EPSILON_NORM = 1e-5
EPSILON_DIRECTION = 1e-8


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


# -------------------------------------------------------------------------------- what goes in


def ordered(problem: Any) -> list[int]:
    return [*problem.depots, *problem.customers]


def zscores(problem: Any) -> np.ndarray:
    """Distances less their mean over all N x N entries, over their standard deviation."""
    order = ordered(problem)
    matrix = np.array([[problem.distances.between(i, j) for j in order] for i in order])
    missing = np.isinf(matrix)
    matrix[missing] = matrix[~missing].max()
    return (matrix - matrix.mean()) / matrix.std()


def pivots_of(distances: np.ndarray, seeds: list[int], count: int) -> list[int]:
    """Furthest pivot sampling on the mean of the two directions."""
    chosen = [seed for seed in seeds if seed >= 0]
    while len(chosen) < count:
        best, best_gap = 0, -math.inf
        for node in range(len(distances)):
            if node in chosen:
                continue
            gap = min((distances[node, p] + distances[p, node]) / 2 for p in chosen)
            if gap * (1.0 - 1e-5) > best_gap:  # of equally far nodes, the first
                best, best_gap = node, gap
        chosen.append(best)
    return chosen


def positions(problem: Any, seeds: list[int], count: int) -> np.ndarray:
    """The bidirectional Frechet representation, (N, 2M)."""
    scores = zscores(problem)
    pivots = pivots_of(scores - scores.min(), seeds, count)
    rows = []
    for node in range(len(scores)):
        row = []
        for pivot in pivots:
            row += [scores[node, pivot], scores[pivot, node]]
        rows.append(np.array(row) / math.sqrt(2 * count))
    return np.array(rows)


def attributes_of(problem: Any) -> np.ndarray:
    """Demand in loads, prize, penalty, and the times in horizons, (N, 6). Generated instances."""
    features = problem.features
    rows = []
    for node in ordered(problem):
        customer = node in problem.customers
        row = [0.0] * 6
        if features.capacity:
            row[0] = problem.demand[node] / problem.capacity
        if customer and features.orienteering:
            row[1] = problem.prize[node]
        if customer and features.prize_collecting:
            row[1] = problem.prize[node]
            row[2] = problem.penalty[node]
        if features.time_windows:
            horizon = problem.windows[problem.depots[0], 1]
            row[3:] = [*(problem.windows[node] / horizon), problem.service[node] / horizon]
        rows.append(row)
    return np.array(rows)


def types_of(problem: Any) -> np.ndarray:
    """Depot, pickup, delivery, backhaul, linehaul, several routes, open routes, (N, 7)."""
    features = problem.features
    pickups = {pickup for pickup, _ in problem.pairs}
    deliveries = {delivery for _, delivery in problem.pairs}
    rows = []
    for node in ordered(problem):
        rows.append(
            [
                node in problem.depots,
                node in pickups,
                node in deliveries,
                not problem.pairs and problem.demand[node] < 0,
                not problem.pairs and problem.demand[node] > 0,
                features.several_routes,
                features.open_routes,
            ]
        )
    return np.array(rows, dtype=float)


def relations(problem: Any) -> np.ndarray | None:
    """0 for the two nodes of a pair, 1 otherwise, (N, N); None where there are no pairs."""
    if not problem.pairs:
        return None
    order = ordered(problem)
    relation = np.ones((len(order), len(order)))
    for pickup, delivery in problem.pairs:
        i, j = order.index(pickup), order.index(delivery)
        relation[i, j] = relation[j, i] = 0.0
    return relation


# ------------------------------------------------------------------------------ building blocks


def bias_weight(weights: dict[str, np.ndarray], attributes: np.ndarray, number: int) -> float:
    """max(0, (lambda W1 + b1) W2 + b2)."""
    hidden = attributes @ weights["bias.weight_in"][number] + weights["bias.bias_in"][number]
    alpha = hidden @ weights["bias.weight_out"][number] + weights["bias.bias_out"][number]
    return max(0.0, float(alpha))


def attention(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """The attention free module for every query row; ``bias`` (queries, keys)."""
    rows = []
    for i in range(len(query)):
        numerator = np.zeros(value.shape[1])
        denominator = np.zeros(value.shape[1])
        for j in range(len(key)):
            weight = math.exp(bias[i, j]) * np.exp(key[j])
            numerator += weight * value[j]
            denominator += weight
        rows.append(sigmoid(query[i]) * numerator / denominator)
    return np.array(rows)


def instance_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    deviation = np.sqrt(((x - x.mean(axis=0)) ** 2).mean(axis=0) + EPSILON_NORM)
    return (x - x.mean(axis=0)) / deviation * weight + bias


def adapted(weights: dict[str, np.ndarray], name: str, attributes: np.ndarray) -> np.ndarray:
    """W0 plus the mean of the active attributes' adapters, (outputs, inputs)."""
    base = weights[f"{name}.base"]
    active = [j for j in range(len(attributes)) if attributes[j] == 1]
    update = np.zeros_like(base)
    for j in active:
        for head in range(weights[f"{name}.up"].shape[1]):
            direction = weights[f"{name}.up"][j, head] @ weights[f"{name}.down"][j, head]
            for row in range(len(base)):
                length = math.sqrt((direction[row] ** 2).sum())
                scale = weights[f"{name}.magnitude"][j, head, row]
                update[row] += scale * direction[row] / (length + EPSILON_DIRECTION)
    return base + update / max(1, len(active))


# ------------------------------------------------------------------------- encoder and decoder


def encode(
    problem: Any, weights: dict[str, np.ndarray], seeds: list[int], pivots: int
) -> np.ndarray:
    """Node embeddings (N, d) after the last layer."""
    scores = zscores(problem)
    relation = relations(problem)
    attributes = np.array(problem.features.attributes, dtype=float)
    scale = math.log2(len(scores))
    x = positions(problem, seeds, pivots) @ weights["embed_position"].T
    x = x + attributes_of(problem) @ weights["embed_attributes"].T
    x = x + types_of(problem) @ weights["embed_types"].T
    layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder."))
    for layer in range(layers):
        mine = {
            name.removeprefix(f"encoder.layers.{layer}."): array
            for name, array in weights.items()
            if name.startswith(f"encoder.layers.{layer}.")
        }
        alphas = [bias_weight(weights, attributes, 3 * layer + branch) for branch in range(3)]
        width = x.shape[1]
        blocks = [mine["qkv"][k * width : (k + 1) * width] for k in range(9)]
        biases = [-alphas[0] * scale * scores, -alphas[1] * scale * scores.T]
        outputs = []
        for branch, bias in enumerate(biases):
            query, key, value = (x @ blocks[3 * branch + k].T for k in range(3))
            outputs.append(attention(query, key, value, bias))
        if relation is None:
            outputs.append(np.zeros_like(x))
        else:
            query, key, value = (x @ blocks[6 + k].T for k in range(3))
            outputs.append(attention(query, key, value, -alphas[2] * relation))
        mixed = np.concatenate(outputs, axis=1) @ mine["out"].T
        x = instance_norm(x + mixed, mine["norm_mixed.weight"], mine["norm_mixed.bias"])
        hidden = np.maximum(0.0, x @ mine["feed_in.weight"].T + mine["feed_in.bias"])
        fed = hidden @ mine["feed_out.weight"].T + mine["feed_out.bias"]
        x = instance_norm(x + fed, mine["norm_feed.weight"], mine["norm_feed.bias"])
    return x


def decode(
    problem: Any,
    weights: dict[str, np.ndarray],
    x: np.ndarray,
    first: int,
    current: int,
    signals: list[float],
    allowed: list[bool],
    clipping: float,
) -> dict[int, float]:
    """Logit of every allowed node."""
    attributes = np.array(problem.features.attributes, dtype=float)
    scores = zscores(problem)
    scale = math.log2(len(scores))
    key = x @ adapted(weights, "key", attributes).T
    value = x @ adapted(weights, "value", attributes).T
    query = x[first] @ adapted(weights, "query_first", attributes).T
    query = query + x[current] @ adapted(weights, "query_last", attributes).T
    query = query + signals[0] * adapted(weights, "state", attributes)[:, 0]
    for number, signal in enumerate(signals[1:]):
        query = query + signal * weights["more_signals.base"][:, number]
        own = weights["more_signals.of_attributes"][:, :, number]
        for attribute in range(len(attributes)):
            share = attributes[attribute] / max(attributes.sum(), 1.0)
            query = query + signal * share * own[attribute]
    count = len(weights["bias.bias_out"])
    read = bias_weight(weights, attributes, count - 2)
    match = bias_weight(weights, attributes, count - 1)
    candidates = [node for node in range(len(x)) if allowed[node]]
    bias = np.array([[-read * scale * scores[current, node] for node in candidates]])
    context = attention(query[None], key[candidates], value[candidates], bias)[0]
    logits = {}
    for node in candidates:
        score = context @ x[node] / math.sqrt(x.shape[1]) - match * scale * scores[current, node]
        logits[node] = clipping * math.tanh(score)
    return logits
