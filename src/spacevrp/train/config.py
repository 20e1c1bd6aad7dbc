"""Everything about a training run, loadable from TOML; unknown keys are an error."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from spacevrp.model.config import ModelConfig
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import LOAD_RULES
from spacevrp.problems.variants import SEEN_NAMES, parse_variant

Optimizer = Literal["muon", "adamw"]
Schedule = Literal["cosine", "constant-then-decay", "step"]
Advantage = Literal["none", "problem", "instance"]
Precision = Literal["bfloat16", "float32", "float64"]


@dataclass(frozen=True)
class TrainConfig:
    """A training run.

    Attributes
    ----------
    variants
        The problems trained on.
    size
        Customers of every instance.
    batch, shards
        Instances of a step, and into how many equal parts they are drawn and processed. A step is
        the same whatever number of processes shares the shards.
    mixed
        All problems in every batch, or one problem a batch drawn at random.
    trajectories
        Solutions of each instance; 0 for one a customer.
    load_rule
        The load rule of problems with backhauls.
    steps
        Length of the run, which the schedule refers to.
    optimizer
        ``muon`` for the hidden matrices and AdamW for the rest, or ``adamw`` for all.
    learning_rate, muon_rate
        Rates of AdamW and of Muon.
    momentum, betas, weight_decay, clip
        Of Muon, of AdamW, of both (decoupled), and the largest norm of the gradient (0: none).
    schedule, warmup, decay_share, decay_factor
        Shape of the rates over the steps: ``cosine`` to zero; ``constant-then-decay`` linearly to
        zero over the last share of the steps; ``step`` multiplies by the factor for that share.
    advantage
        What advantages are divided by: nothing, the standard deviation of their problem in the
        batch, or that of their instance.
    average
        Decay of the running average of the weights (0: none).
    precision
        Type of the matrix products.
    seed
        Of everything random.
    checkpoint_seconds, log_steps
        How often the state is saved and the log written.
    """

    variants: tuple[str, ...] = SEEN_NAMES
    size: int = 100
    batch: int = 128
    shards: int = 1
    mixed: bool = True
    trajectories: int = 0
    max_moves: int = 0
    load_rule: str = "single"
    steps: int = 100_000
    optimizer: Optimizer = "muon"
    learning_rate: float = 4e-4
    muon_rate: float = 1e-3
    momentum: float = 0.95
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.0
    clip: float = 1.0
    schedule: Schedule = "constant-then-decay"
    warmup: int = 200
    decay_share: float = 0.2
    decay_factor: float = 0.1
    advantage: Advantage = "instance"
    average: float = 0.999
    precision: Precision = "bfloat16"
    seed: int = 1
    checkpoint_seconds: float = 45.0
    log_steps: int = 50
    model: ModelConfig = field(default_factory=ModelConfig)

    def __post_init__(self) -> None:
        for name in self.variants:
            parse_variant(name)
        if not self.variants:
            raise _wrong("variants", "at least one variant", self.variants)
        for name in ("size", "batch", "shards", "steps", "log_steps"):
            _require(name, getattr(self, name), lambda v: isinstance(v, int) and v >= 1, ">= 1")
        for name in ("trajectories", "warmup", "max_moves"):
            _require(name, getattr(self, name), lambda v: isinstance(v, int) and v >= 0, ">= 0")
        if self.batch % self.shards:
            raise _wrong("shards", f"a divisor of the batch {self.batch}", self.shards)
        choices: dict[str, tuple[Any, ...]] = {
            "load_rule": LOAD_RULES,
            "optimizer": get_args(Optimizer),
            "schedule": get_args(Schedule),
            "advantage": get_args(Advantage),
            "precision": get_args(Precision),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise _wrong(name, f"one of {', '.join(allowed)}", getattr(self, name))
        for name in ("learning_rate", "muon_rate", "checkpoint_seconds"):
            _require(name, getattr(self, name), lambda v: v > 0, "more than 0")
        for name in ("momentum", "average", "decay_share", "decay_factor"):
            _require(name, getattr(self, name), lambda v: 0 <= v <= 1, "between 0 and 1")

    @property
    def starts(self) -> int:
        """Trajectories of each instance."""
        return self.trajectories or self.size

    def to_dict(self) -> dict[str, Any]:
        """The run as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any], base: TrainConfig | None = None) -> TrainConfig:
        """A run from plain data, starting from ``base``; unknown keys are an error."""
        base = base or cls()
        known = {f.name for f in fields(cls)}
        changes: dict[str, Any] = {}
        for name, value in values.items():
            if name not in known:
                close = ", ".join(sorted(known))
                raise SpacevrpError(f"{name}: unknown key of a training run; known are {close}")
            if name == "model":
                value = ModelConfig.from_dict({**base.model.to_dict(), **value})
            elif isinstance(value, list):
                value = tuple(value)
            changes[name] = value
        return replace(base, **changes)

    @classmethod
    def read(cls, path: str | Path, base: TrainConfig | None = None) -> TrainConfig:
        """A run from a TOML file. A key ``preset`` names the preset it starts from."""
        try:
            values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SpacevrpError(f"{path}: expected TOML, received: {error}") from None
        preset = values.pop("preset", None)
        if preset is not None:
            base = get_preset(preset)
        try:
            return cls.from_dict(values, base)
        except (SpacevrpError, TypeError) as error:
            raise SpacevrpError(f"{path}: {error}") from None


def _wrong(name: str, expected: str, received: object) -> SpacevrpError:
    return SpacevrpError(f"{name}: expected {expected}, received {received!r}")


def _require(name: str, value: Any, holds: Any, expected: str) -> None:
    try:
        fine = not isinstance(value, bool) and bool(holds(value))
    except TypeError:
        fine = False
    if not fine:
        raise _wrong(name, expected, value)


PRESETS = {
    # The paper's recipe: 500 epochs of 2,000 batches, one problem a batch, AdamW, rate divided by
    # ten for the last 50 epochs.
    "paper": TrainConfig(
        mixed=False,
        steps=1_000_000,
        optimizer="adamw",
        learning_rate=1e-4,
        betas=(0.9, 0.999),
        weight_decay=1e-6,
        clip=0.0,
        schedule="step",
        warmup=0,
        decay_share=0.1,
        decay_factor=0.1,
        advantage="none",
        average=0.0,
        precision="float32",
        load_rule="paper",
    ),
    "fast": TrainConfig(),
}


def get_preset(name: str) -> TrainConfig:
    """A preset by name."""
    if name not in PRESETS:
        raise _wrong("preset", f"one of {', '.join(PRESETS)}", name)
    return PRESETS[name]
