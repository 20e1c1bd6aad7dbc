"""Everything about a training run, loadable from TOML; unknown keys are an error."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from spacevrp.generators import recipe, variety
from spacevrp.inference.config import (
    ModelConfig,
    check_choices,
    require_number,
    require_whole,
    wrong,
)
from spacevrp.inference.old_names import with_new_keys
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import LoadRule
from spacevrp.problems.variants import SEEN_NAMES, parse_variant

Optimizer = Literal["muon", "adamw"]
Schedule = Literal["cosine", "constant-then-decay", "step"]
Advantage = Literal["none", "problem", "instance"]
Baseline = Literal["mean", "state"]
Precision = Literal["bfloat16", "float32", "float64"]
Moments = Literal["exact", "bfloat16"]

# The distances of one instance alone take 400 MB there.
_MOST_CUSTOMERS = 10_000
_TUPLES = ("variants", "extra", "sizes", "betas")


@dataclass(frozen=True)
class TrainConfig:
    """A training run.

    Attributes
    ----------
    variants
        The problems trained on.
    extra
        Problems of that list that come up once more in every round, as often as they are named
        here: those that need it most.
    size, sizes
        Customers of every instance; or, where given, a list from which each step draws the size of
        all its instances. ``batch``, ``trajectories`` and ``max_moves`` are those of ``size``:
        other instances have trajectories and moves in proportion to their size, and larger ones
        come in smaller batches, in proportion to its square, but not below a round of all problems
        where ``batch`` holds one.
    batch, shards
        Instances of a step, and into how many equal parts they are drawn and processed. A step is
        the same whatever number of processes shares the shards.
    mixed
        All problems in every batch, one row after the other in turn, or one problem a batch drawn
        at random. A mixed batch with fewer instances than problems goes on where the last ended.
    varied
        Share of the instances, in every batch and of every problem, that leave the recipe: from 20
        customers up to the size of the step, some of them in clusters or along streets, with
        demands, limits, windows, penalties and durations of their own; with a limited fleet where
        the network is told of it.
    trajectories
        Solutions of each instance, at least 2; 0 for one a customer.
    augmentations
        Augmentations of each instance, each with its policy head (see ``model/policy_heads.py``).
        Only the heads are trained: a trajectory is worth by how much it beats those of the other
        heads, whatever ``advantage``, ``leader`` and ``baseline`` say. 1 for a run
        that trains the network and no policy heads.
    rivals
        Trajectories of each other augmentation that one competes with, neighbours in the order of
        their start nodes; 0 for all. (Plans are judged by the best of all.)
    max_moves
        Moves after which the fused rollout gives a solution up; 0 for as many as any may need.
    load_rule
        The load rule of problems with backhauls.
    steps
        Length of the run, which the schedule refers to.
    optimizer
        ``muon`` for the hidden matrices and AdamW for the rest, or ``adamw`` for all.
    learning_rate, muon_rate
        Rates of AdamW and of Muon.
    bias_rate
        Rate of the bias networks beside AdamW's. All of a network's weights push its one number the
        same way, so that at 1 every step moves how strongly distances count by some hundredths.
    bias_recovery
        Whether a bias network whose output is 0 gets the gradients that would raise it. With the
        paper's plain ReLU (false) it stays at 0 for the rest of the run.
    momentum, betas, weight_decay, clip
        Of Muon, of AdamW, of both (decoupled), and the largest norm of the gradient (0: none).
    muon_decay
        Decoupled decay of Muon's matrices, beside the other. Its steps have one size whatever the
        gradient: without a decay noise alone lets these matrices grow for ever.
    instance_clip
        How many times the gradient of an instance within the encoder may be as large as those of
        its shard in the geometric mean (0: any). Few instances would outweigh all others.
    schedule, warmup, decay_share, decay_factor
        Shape of the rates over the steps: they rise for ``warmup`` steps, but for at most half of
        the run, so that they can fall; ``cosine`` to zero; ``constant-then-decay`` linearly to zero
        over the last share of the steps; ``step`` multiplies by the factor for that share.
    advantage
        What advantages are divided by: nothing, the standard deviation of their problem in the
        shard, or that of their instance.
    leader
        What the advantage of an instance's best trajectory is multiplied with. Plans are judged by
        the best of many, training by the mean: more than 1 moves the aim from the one to the other.
    baseline
        What a decision's advantage is measured from: the ``mean`` of the instance, or the ``state``
        its trajectory was in, by a regression on what was known then. The latter is quieter.
    sure
        Decisions whose likeliest move has at least this chance are not learned from: most are, and
        their gradients are next to nothing. 1 to learn from all.
    depot_temperature
        At which depots are drawn where there are several (see ``decode/depot_choices.py``); the
        lower it is, the more often the surest. At 0 that is always taken, as in decoding, and no
        gradient knows of the choice.
    average
        Decay of the running average of the weights (0: none).
    precision
        Type of the matrix products; with ``float64`` everything is. The fused kernels, which a GPU
        uses for up to 256 nodes (128 on an A100) unless it is ``float64``, always multiply in
        bfloat16.
    seed
        Of everything random.
    checkpoint_seconds, log_steps
        How often the state is saved and the log written.
    moments
        How checkpoints hold the optimizer's moments. ``bfloat16`` makes them smaller, but every
        save then rounds the live moments too, so that going on and resuming stay the same.
    model
        The network.
    """

    variants: tuple[str, ...] = SEEN_NAMES
    extra: tuple[str, ...] = ()
    size: int = 100
    sizes: tuple[int, ...] = ()
    batch: int = 128
    shards: int = 1
    mixed: bool = True
    varied: float = 0.0
    trajectories: int = 0
    augmentations: int = 1
    rivals: int = 1
    max_moves: int = 0
    load_rule: LoadRule = "single"
    steps: int = 100_000
    optimizer: Optimizer = "muon"
    learning_rate: float = 4e-4
    muon_rate: float = 1e-3
    bias_rate: float = 1.0
    bias_recovery: bool = True
    momentum: float = 0.95
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.0
    muon_decay: float = 0.0
    clip: float = 1.0
    instance_clip: float = 0.0
    schedule: Schedule = "constant-then-decay"
    warmup: int = 200
    decay_share: float = 0.2
    decay_factor: float = 0.1
    advantage: Advantage = "instance"
    leader: float = 1.0
    baseline: Baseline = "mean"
    sure: float = 1.0
    depot_temperature: float = 1.0
    average: float = 0.999
    precision: Precision = "bfloat16"
    seed: int = 1
    checkpoint_seconds: float = 45.0
    log_steps: int = 50
    moments: Moments = "exact"
    model: ModelConfig = field(default_factory=ModelConfig)

    def __post_init__(self) -> None:
        for name in _TUPLES:
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        self._check_types()
        self._check_ranges()
        features = [parse_variant(name).features for name in self.variants]
        for one in features:
            for size in self.all_sizes:
                recipe.check_size(one, size)
        if self.batch % self.shards:
            raise wrong("shards", f"a divisor of the batch {self.batch}", self.shards)
        for size in self.sizes:
            self.at(size)  # which checks it as a run of its own
        fewest = self.cycle * self.batch // (len(self.turns) if self.mixed else 1)
        smallest = variety.smallest_share(fewest)
        if 0 < self.varied < smallest:
            expected = f"0, or at least {smallest:.2g} for batches of {self.batch} instances"
            raise wrong("varied", f"{expected} with {self.size} customers", self.varied)

    def _check_types(self) -> None:
        for name, kind in (
            ("variants", str),
            ("extra", str),
            ("sizes", int),
            ("betas", (int, float)),
        ):
            values = getattr(self, name)
            fine = isinstance(values, tuple) and all(
                isinstance(v, kind) and not isinstance(v, bool) for v in values
            )
            if not fine:
                words = "names" if kind is str else "whole numbers" if kind is int else "numbers"
                raise wrong(name, f"a list of {words}", values)
        if not isinstance(self.model, ModelConfig):
            raise wrong("model", "a ModelConfig", self.model)
        check_choices(self)

    def _check_ranges(self) -> None:
        for name in ("size", "batch", "shards", "augmentations", "steps", "log_steps"):
            require_whole(name, getattr(self, name), 1)
        for name, size in (("size", self.size), *(("sizes", one) for one in self.sizes)):
            if not recipe.MIN_SIZE <= size <= _MOST_CUSTOMERS:
                raise wrong(name, f"{recipe.MIN_SIZE} to {_MOST_CUSTOMERS:,} customers", size)
        for name in ("trajectories", "rivals", "warmup", "max_moves", "seed"):
            require_whole(name, getattr(self, name), 0)
        for name in ("learning_rate", "muon_rate", "bias_rate", "checkpoint_seconds"):
            require_number(name, getattr(self, name), lambda v: v > 0, "more than 0")
        for name in ("weight_decay", "muon_decay", "clip", "instance_clip", "depot_temperature"):
            require_number(name, getattr(self, name), lambda v: v >= 0, "of at least 0")
        require_number("leader", self.leader, lambda v: v >= 1, "of at least 1")
        for name in ("momentum", "average"):
            require_number(name, getattr(self, name), lambda v: 0 <= v < 1, "from 0 to below 1")
        for name in ("decay_share", "decay_factor", "varied"):
            require_number(name, getattr(self, name), lambda v: 0 <= v <= 1, "from 0 to 1")
        require_number("sure", self.sure, lambda v: 0.5 <= v <= 1, "from 0.5 to 1")
        if self.trajectories == 1 and not self.trains_heads:
            raise wrong("trajectories", "0, or 2 and more that can be compared", 1)
        if not self.variants:
            raise wrong("variants", "at least one variant", self.variants)
        if len(set(self.variants)) < len(self.variants):
            raise wrong("variants", "each variant once", self.variants)
        for name in self.extra:
            if name not in self.variants:
                raise wrong("extra", f"some of {', '.join(self.variants)}", name)
        if self.augmentations > 1 and self.augmentations != self.model.policy_heads + 1:
            raise wrong(
                "augmentations",
                f"1, or {self.model.policy_heads + 1}, one more than policy_heads",
                self.augmentations,
            )
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise wrong("betas", "two numbers from 0 to below 1", self.betas)

    @property
    def cycle(self) -> int:
        """Steps after which a batch begins with the first problem again.

        More than one only where a mixed batch holds fewer instances than there are problems.
        """
        if not self.mixed or self.batch >= len(self.turns):
            return 1
        return math.lcm(self.batch, len(self.turns)) // self.batch

    @property
    def turns(self) -> tuple[int, ...]:
        """Positions in ``variants`` of the problems of a round, one after the other."""
        again = (self.variants.index(name) for name in self.extra)
        return (*range(len(self.variants)), *again)

    @property
    def num_depots(self) -> int:
        """Depots of the instances with most of them, and at least one."""
        found = [recipe.num_depots(parse_variant(name).features) for name in self.variants]
        return max(1, *found)

    @property
    def all_sizes(self) -> tuple[int, ...]:
        """The sizes that steps draw from."""
        return self.sizes or (self.size,)

    def at(self, size: int) -> TrainConfig:
        """The run as steps have it whose instances have so many customers."""
        if size == self.size:
            return replace(self, sizes=()) if self.sizes else self
        share = size / self.size
        # Batches that do not hold a round come to other mixes step by step, each with its sampler.
        whole = self.mixed and self.batch >= len(self.turns)
        least = math.ceil(len(self.turns) / self.shards) if whole else 1
        fewer = max(least, round(self.batch / self.shards / max(1.0, share) ** 2)) * self.shards
        return replace(
            self,
            size=size,
            sizes=(),
            batch=fewer,
            trajectories=max(min(2, self.trajectories), round(self.trajectories * share)),
            max_moves=-(-self.max_moves * size // self.size),  # rounded up
        )

    @property
    def num_nodes(self) -> int:
        """Nodes of instances with ``size`` customers, depots and padding included."""
        features = (parse_variant(name).features for name in self.variants)
        return max(recipe.num_nodes(one, self.size) for one in features)

    @property
    def trains_heads(self) -> bool:
        """Whether policy heads are trained, and nothing else."""
        return self.augmentations > 1

    @property
    def rising_steps(self) -> int:
        """Steps of the warm-up, which leaves a short run time for its rates to fall."""
        return min(self.warmup, self.steps // 2)

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
        for name, value in with_new_keys(values).items():
            if name not in known:
                close = difflib.get_close_matches(str(name), known, n=1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                raise SpacevrpError(f"{name}: no key of a training run{hint}")
            if name == "model":
                if not isinstance(value, dict):
                    raise wrong("model", "a table", value)
                try:
                    value = ModelConfig.from_dict({**base.model.to_dict(), **with_new_keys(value)})
                except TypeError as error:
                    raise SpacevrpError(f"model: wrong type: {error}") from None
            changes[name] = value
        return replace(base, **changes)

    @classmethod
    def read(
        cls, path: str | Path, base: TrainConfig | None = None, network: ModelConfig | None = None
    ) -> TrainConfig:
        """A run from a TOML file.

        It starts from ``base``, else from the preset that the file's own key ``preset`` names, else
        from ``fast``; where a ``network`` is given, with that instead of the preset's.
        """
        try:
            values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SpacevrpError(f"{path}: expected TOML, received: {error}") from None
        try:
            preset = values.pop("preset", None)
            if preset is not None:
                own = get_preset(preset)
                if base is not None and base != own:
                    raise wrong("preset", "the preset asked for, or none", preset)
                base = own
            base = base or get_preset(DEFAULT_PRESET)
            if network is not None:
                base = replace(base, model=network)
            return cls.from_dict(values, base)
        except SpacevrpError as error:
            raise SpacevrpError(f"{path}: {error}") from None

    def changed(self, settings: Iterable[str]) -> TrainConfig:
        """The run with settings such as ``steps=500`` or ``model.layers=6`` applied.

        Values are TOML; words need no quotes, and lists no brackets.
        """
        values: dict[str, Any] = {}
        for setting in settings:
            name, equals, text = setting.partition("=")
            if not equals or not name.strip():
                raise SpacevrpError(f"--set: expected KEY=VALUE, received {setting!r}")
            outer, dot, inner = name.strip().partition(".")
            value = _value_of(outer, text.strip())
            if dot and outer != "model":
                raise SpacevrpError(
                    f"--set: {outer}: expected no key below it, received {setting!r}"
                )
            if dot:
                value = {**values.get(outer, {}), inner: value}
            values[outer] = value
        return self.from_dict(values, self)


def _value_of(name: str, text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    if name in _TUPLES and not isinstance(value, list):
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return [_value_of("", part) for part in parts]
    return value


DEFAULT_PRESET = "fast"
PRESETS = {
    # The paper's recipe: 500 epochs of 2,000 batches, one problem a batch, AdamW, rate divided by
    # ten for the last 50 epochs.
    "paper": TrainConfig(
        mixed=False,
        steps=1_000_000,
        optimizer="adamw",
        learning_rate=1e-4,
        bias_recovery=False,
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
    # Ours (reasons in LOG.md). Logits that start away from saturation learn from the first step.
    "fast": TrainConfig(
        muon_decay=0.03,
        instance_clip=1.0,
        baseline="state",
        sure=0.999,
        model=ModelConfig(match_start=0.15),
    ),
}


def get_preset(name: str) -> TrainConfig:
    """A preset by name."""
    if name not in list(PRESETS):
        raise wrong("preset", f"one of {', '.join(PRESETS)}", name)
    return PRESETS[name]
