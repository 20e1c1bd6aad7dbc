"""Every choice about the network, the paper's ablations included, in one place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

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

    def __post_init__(self) -> None:
        check_choices(self, "model.")
        for name in ("width", "layers", "feedforward", "pivots", "rank", "heads", "signals"):
            require_whole(f"model.{name}", getattr(self, name), 1)
        require_whole("model.policy_heads", self.policy_heads, 0)
        if self.signals > MAX_SIGNALS:
            raise wrong("model.signals", f"at most {MAX_SIGNALS}", self.signals)
        if self.constraint_aware and self.signals < MAX_SIGNALS:
            expected = f"{MAX_SIGNALS} where constraint_aware is true"
            raise wrong("model.signals", expected, self.signals)
        for name in ("clipping", "match_start"):
            require_number(f"model.{name}", getattr(self, name), lambda v: v > 0, "more than 0")

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


# ------------------------------------------------------- checks of what a configuration may hold


def wrong(name: str, expected: str, received: object) -> SpacevrpError:
    """The error of a key."""
    return SpacevrpError(f"{name}: expected {expected}, received {received!r}")


def check_choices(config: Any, prefix: str = "") -> None:
    """Raise for the first flag of a configuration that is none, or value that is no choice."""
    for name, hint in get_type_hints(type(config)).items():
        value = getattr(config, name)
        if hint is bool and not isinstance(value, bool):
            raise wrong(prefix + name, "true or false", value)
        if get_origin(hint) is Literal and value not in get_args(hint):
            raise wrong(prefix + name, f"one of {', '.join(get_args(hint))}", value)


def require_whole(name: str, value: Any, lowest: int) -> None:
    """Raise for what is no whole number from ``lowest`` on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
        raise wrong(name, f"a whole number of at least {lowest}", value)


def require_number(name: str, value: Any, holds: Callable[[float], bool], which: str) -> None:
    """Raise for what is no finite number, or not one ``which`` is said of."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not holds(value):
        raise wrong(name, f"a number {which}", value)
