"""Every choice about the network, the paper's ablations included, in one place."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from spacevrp.inference.old_names import with_new_keys
from spacevrp.problems.errors import SpacevrpError

Representation = Literal["bidirectional", "averaged", "identifiers"]
PivotChoice = Literal["furthest", "random"]
Projections = Literal["wdad", "hypernetwork"]

# Numbers that the decoder can be told of a partial solution; see ``decode/signal.py``.
MAX_SIGNALS = 7
# What trained weights can be given later, and what a network without it says.
LEARNED_LATER = {
    "policy_heads": 0,
    "constraint_aware": False,
    "problem_bits": False,
    "singular_vectors": 0,
}
# What can be raised later: weights of what is added begin at 0.
GROWS = ("signals",)
# Facts of a possible next move: waiting, slack, room, what is left of the length, the way home.
MOVE_FACTS = 5


@dataclass(frozen=True)
class ModelConfig:
    """Hyperparameters of the network; the defaults are the paper's model.

    Attributes
    ----------
    width, layers, feedforward
        Embedding width, number of encoder layers, hidden width of their feed-forward part.
    pivots
        Number of pivots M.
    representation
        ``bidirectional``: distances to and from the pivots; ``averaged``: their mean over the two
        directions; ``identifiers``: no pivots, random numbers tell nodes apart and geometry comes
        from the distance biases alone.
    pivot_choice
        ``furthest`` pivot sampling, or ``random`` pivots.
    depot_seed
        Whether the depots are the first pivots.
    projections
        Decoder projections by weight-decomposed adapters (``wdad``) or generated from the problem
        representation as a whole (``hypernetwork``).
    rank, heads
        Rank and number of adapter heads of each attribute. (The paper's single-head ablation keeps
        the total rank: ``rank=96, heads=1``.)
    match_start
        Where the weight of distances in the compatibility starts.
    clipping
        Logits lie between plus and minus this number.
    signals
        How much the decoder is told of a partial solution: what is left of the one resource that
        matters (1, as in the paper), the time (2), the load collected on the way (3), the share
        of customers to come (4), what is left of the length limit (5), whether the route has
        served a backhaul (6), and the share of pairs on board (7).
    constraint_aware
        Whether the logits count facts of every possible next move (see ``model/moves.py``). It
        takes all signals.
    problem_bits
        Whether nodes are told what the ten attributes leave out (see ``model/features.py``).
    policy_heads
        Learned policies beside the base policy (see ``model/policy_heads.py``); 0 for none.
    singular_vectors
        Leading singular vectors of the distances that nodes are told of beside the pivots, in
        either direction (see ``model/singular.py``); 0 for none.
    """

    width: int = 128
    layers: int = 12
    feedforward: int = 512
    pivots: int = 8
    representation: Representation = "bidirectional"
    pivot_choice: PivotChoice = "furthest"
    depot_seed: bool = True
    projections: Projections = "wdad"
    rank: int = 32
    heads: int = 3
    match_start: float = 1.0
    clipping: float = 50.0
    signals: int = 1
    policy_heads: int = 0
    constraint_aware: bool = False
    problem_bits: bool = False
    singular_vectors: int = 0

    def __post_init__(self) -> None:
        counts = ("width", "layers", "feedforward", "pivots", "rank", "heads", "signals")
        later = ("policy_heads", "singular_vectors")
        for name in (*counts, *later):
            value, least = getattr(self, name), 0 if name in later else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise SpacevrpError(
                    f"model.{name}: expected a whole number >= {least}, received {value!r}"
                )
        if self.signals > MAX_SIGNALS:
            raise SpacevrpError(
                f"model.signals: expected at most {MAX_SIGNALS}, received {self.signals}"
            )
        for name in ("constraint_aware", "problem_bits"):
            if not isinstance(getattr(self, name), bool):
                raise SpacevrpError(
                    f"model.{name}: expected true or false, received {getattr(self, name)!r}"
                )
        if self.constraint_aware and self.signals < MAX_SIGNALS:
            raise SpacevrpError(
                f"model.signals: expected {MAX_SIGNALS} where constraint_aware is true, "
                f"received {self.signals}"
            )
        choices = {
            "representation": get_args(Representation),
            "pivot_choice": get_args(PivotChoice),
            "projections": get_args(Projections),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                received = getattr(self, name)
                raise SpacevrpError(
                    f"model.{name}: expected one of {allowed}, received {received!r}"
                )
        for name in ("clipping", "match_start"):
            if not getattr(self, name) > 0:
                received = getattr(self, name)
                raise SpacevrpError(f"model.{name}: expected more than 0, received {received!r}")

    @property
    def position_width(self) -> int:
        """Numbers that say where a node is."""
        return self.pivots if self.representation == "averaged" else 2 * self.pivots

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ModelConfig:
        """The inverse of :meth:`to_dict`; unknown keys are an error."""
        known = {field.name for field in fields(cls)}
        values = with_new_keys(values)
        for name in values:
            if name not in known:
                raise SpacevrpError(
                    f"model.{name}: unknown key; known are {', '.join(sorted(known))}"
                )
        return cls(**values)
