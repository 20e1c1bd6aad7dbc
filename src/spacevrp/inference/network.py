"""The weights of the network, laid out for products of rows: x (T, inputs) @ W (inputs, outputs).

The bias networks have no activation between their two layers, so each is one linear function of
the problem representation. The adapted projections of the decoder depend on nothing but that
representation and are kept once computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.inference.config import ModelConfig
from spacevrp.inference.weights import DEFAULT_WEIGHTS, find_weights, read_card, read_tensors

Array = np.ndarray[Any, Any]

# Keeps the direction of an adapter finite where its row is zero.
_EPSILON = 1e-8
# Problem representations whose projections are kept.
_KEPT = 32


@dataclass(frozen=True)
class Layer:
    """One layer of the encoder; d channels, f hidden ones."""

    distance_in: Array  # (d, 6d) query, key, value of outgoing arcs, then of incoming ones
    relation_in: Array  # (d, 3d) query, key, value of pairs
    distance_out: Array  # (2d, d)
    relation_out: Array  # (d, d)
    mixed_scale: Array  # (d,) of the first normalisation
    mixed_shift: Array  # (d,)
    feed_in: Array  # (d, f)
    feed_in_bias: Array  # (f,)
    feed_out: Array  # (f, d)
    feed_out_bias: Array  # (d,)
    feed_scale: Array  # (d,) of the second normalisation
    feed_shift: Array  # (d,)


@dataclass(frozen=True)
class Projections:
    """What the decoder's tables are computed with, for one problem representation."""

    key: Array  # (d, d)
    value: Array  # (d, d)
    query_first: Array  # (d, d)
    query_last: Array  # (d, d)
    state_weight: Array  # (S, d) what each signal adds to queries


@dataclass(frozen=True)
class PolicyHeads:
    """What the policy heads numbered from 1 on add to the base policy, number 0."""

    first: Array  # (H, d, d) to the projection of the first node of a route
    last: Array  # (H, d, d) to the projection of the last node so far
    shift: Array  # (H, d) to all queries, in their deviation
    shift_of_attributes: Array  # (H, 10, d) the same for each attribute of the problem


@dataclass(frozen=True)
class Network:
    """A network that is ready to be used. Arrays are float32 and contiguous."""

    config: ModelConfig
    tensors: dict[str, Array] = field(repr=False)  # as they are in the file
    _projections: dict[bytes, Projections] = field(default_factory=dict, repr=False)

    @cached_property
    def embed_position(self) -> Array:
        """Of shape (positions, d)."""
        return _turned(self.tensors["embed_position"])

    @cached_property
    def embed_features(self) -> Array:
        """(13, d): of the attributes of nodes, then of their types."""
        parts = [self.tensors["embed_attributes"], self.tensors["embed_types"]]
        return _turned(np.concatenate(parts, axis=1))

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layers of the encoder."""
        return tuple(self._layer(number) for number in range(self.config.layers))

    def _layer(self, number: int) -> Layer:
        def own(name: str) -> Array:
            return self.tensors[f"encoder.layers.{number}.{name}"]

        width = self.config.width
        return Layer(
            distance_in=_turned(own("qkv")[: 6 * width]),
            relation_in=_turned(own("qkv")[6 * width :]),
            distance_out=_turned(own("out")[:, : 2 * width]),
            relation_out=_turned(own("out")[:, 2 * width :]),
            mixed_scale=own("norm_mixed.weight"),
            mixed_shift=own("norm_mixed.bias"),
            feed_in=_turned(own("feed_in.weight")),
            feed_in_bias=own("feed_in.bias"),
            feed_out=_turned(own("feed_out.weight")),
            feed_out_bias=own("feed_out.bias"),
            feed_scale=own("norm_feed.weight"),
            feed_shift=own("norm_feed.bias"),
        )

    @cached_property
    def _bias(self) -> tuple[Array, Array]:
        """Of every bias network the factors (10, count) of the attributes, and the constant."""
        out = self.tensors["bias.weight_out"].astype(np.float64)
        factors = np.einsum("caw,cw->ac", self.tensors["bias.weight_in"], out)
        constant = (self.tensors["bias.bias_in"] * out).sum(axis=1) + self.tensors["bias.bias_out"]
        return factors, constant

    def alphas(self, attributes: Array) -> Array:
        """How strongly distances count, (3 layers + 2,), for a problem representation (10,)."""
        factors, constant = self._bias
        return np.maximum(attributes.astype(np.float64) @ factors + constant, 0.0)

    def projections(self, attributes: Array) -> Projections:
        """The decoder's projections for a problem representation (10,)."""
        key = attributes.astype(np.float32).tobytes()
        found = self._projections.get(key)
        if found is None:
            if len(self._projections) >= _KEPT:
                self._projections.clear()
            share = attributes / max(float(attributes.sum()), 1.0)
            found = self._projections[key] = Projections(
                key=_turned(self._adapted("key", attributes, share)),
                value=_turned(self._adapted("value", attributes, share)),
                query_first=_turned(self._adapted("query_first", attributes, share)),
                query_last=_turned(self._adapted("query_last", attributes, share)),
                state_weight=self._state_weight(attributes, share),
            )
        return found

    def _state_weight(self, attributes: Array, share: Array) -> Array:
        weight = self._adapted("state", attributes, share)  # (d, 1)
        if self.config.signals > 1:
            more = np.tensordot(share, self.tensors["more_signals.of_attributes"], axes=1)
            weight = np.concatenate([weight, self.tensors["more_signals.base"] + more], axis=1)
        return _turned(weight)

    def _adapted(self, name: str, attributes: Array, share: Array) -> Array:
        """One projection (outputs, inputs); see ``model/adapters.py``."""
        own = {
            key.removeprefix(f"{name}."): value
            for key, value in self.tensors.items()
            if key.startswith(f"{name}.")
        }
        if self.config.projections == "hypernetwork":
            hidden = own["hidden.weight"] @ attributes.astype(np.float32) + own["hidden.bias"]
            flat = own["generate.weight"] @ np.maximum(hidden, 0.0) + own["generate.bias"]
            return np.asarray(flat.reshape(self.config.width, -1))
        weight = own["base"].copy()
        for attribute in share.nonzero()[0]:
            direction = own["up"][attribute] @ own["down"][attribute]  # (heads, outputs, inputs)
            length = np.sqrt(np.square(direction).sum(axis=-1, keepdims=True)) + _EPSILON
            adapter = (own["magnitude"][attribute][..., None] * direction / length).sum(axis=0)
            weight += np.float32(share[attribute]) * adapter
        return weight

    def move_weights(self, attributes: Array) -> tuple[Array, Array]:
        """What facts of moves weigh: for queries (d, K), and for the problem itself (K,)."""
        of_query = self.tensors["moves.query"].T / np.float32(math.sqrt(self.config.width))
        share = (attributes / max(float(attributes.sum()), 1.0)).astype(np.float32)
        own = self.tensors["moves.base"] + share @ self.tensors["moves.of_attributes"]
        return np.ascontiguousarray(of_query, dtype=np.float32), own.astype(np.float32)

    @cached_property
    def heads(self) -> PolicyHeads | None:
        """What was learned for policy heads; None where nothing was."""
        if not self.config.policy_heads:
            return None
        names = ("first", "last", "shift", "shift_of_attributes")
        return PolicyHeads(*(self.tensors[f"policy_heads.{name}"] for name in names))


def load_network(name_or_path: str | Path = DEFAULT_WEIGHTS) -> tuple[Network, dict[str, Any]]:
    """The network and its card, from a bundled name or a file.

    Raises
    ------
    FormatError
        As ``find_weights``, ``read_card`` and ``read_tensors`` do.
    """
    path = find_weights(name_or_path)
    card = read_card(path)
    config = card["config"]
    card["config"] = config.to_dict()
    return Network(config, read_tensors(path, config)), card


def _turned(weight: Array) -> Array:
    return np.ascontiguousarray(weight.T, dtype=np.float32)
