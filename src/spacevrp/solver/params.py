"""What a call may choose, in one place: checked, from code, from a command line or from TOML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from spacevrp.problems.conversion import as_number, as_whole, show
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.keywords import nearest
from spacevrp.solver.protocol import DEFAULT, protocol_named

# Older names of fields, which are taken as well.
ALIASES = {
    "augment": "augmentations",
    "starts": "start_nodes",
    "sample": "num_samples",
    "lean": "policy_heads",
    "improve": "search",
}
# What a call takes beside the fields.
OPTIONS = ("time", "start", "callback", "progress", "partial")
# Whole numbers -> the least that they may be.
_LEAST = {
    **dict.fromkeys(("augmentations", "start_nodes", "candidates", "batch_memory"), 1),
    **dict.fromkeys(("num_samples", "beam_width", "iterations", "seed"), 0),
}
# What a time decides.
_BY_TIME = ("augmentations", "num_samples", "beam_width", "iterations")


@dataclass(frozen=True)
class SolveParams:
    """How a problem is solved. None stands for what the protocol, the size or the time decides.

    Parameters
    ----------
    protocol
        ``paper``, ``network`` or ``default`` (see ``docs/concepts/protocols.md``). What contradicts
        it is an error.
    augmentations
        Augmentations of each instance, each with its own pivots and policy head. None for 8, and
        with ``paper`` for 128 where distances are asymmetric; 1 where the search follows.
    start_nodes
        Of each augmentation, the likeliest ones (beyond 200 customers, spread evenly). None for as
        many as suit ``num_samples`` or, beyond 200 customers, for a number that falls with the
        size.
    num_samples
        Sampled rollouts from every start node of every augmentation, beside the greedy one. None
        for three from a quarter of the customers that can come first, so that an augmentation has
        as many plans as there are customers; for none with ``start_nodes``, for tours without a
        depot, for fleets, and beyond 200 customers. 0 for greedy rollouts alone, as in the paper.
    beam_width
        Plans of each augmentation that a beam search goes on with (see
        ``docs/concepts/augmentations.md``). None for 16 with ``network``, else for 0: no beam
        search. Fleets, prizes that visits reveal and more than 200 customers have none.
    candidates
        The nearest customers that a move chooses from. None for all or, beyond 200 customers, for
        32 (64 where directions or windows count). See ``docs/concepts/large.md``.
    policy_heads
        Strength of the policy heads; 0 for the base policy in every augmentation, as in the paper.
        None for 0.25, or what the protocol has.
    network
        Whether the network constructs plans. None for yes, but up to 50 customers, beyond 400,
        for a tour whose order is free, and in some times (see ``docs/how-to/anytime.md``) only
        where the search does not follow or something is said of the network's plans.
    search
        Whether the compiled search improves the plans. None for what the protocol has.
    iterations
        Of the search, for each problem. None for a number that grows with the size.
    seed
        Of augmentations, samples and the search. Without a time the plan of an instance does not
        depend on what is solved beside it, unless moves are sampled for fleets or beyond 200
        customers.
    batch_memory
        Bytes that the network's working set may take. None for 80% of what is free on a GPU, and
        512 MiB (2 GiB beyond 200 customers, or a quarter of the machine's memory) on a CPU.
    """

    protocol: str = DEFAULT
    augmentations: int | None = None
    start_nodes: int | None = None
    num_samples: int | None = None
    beam_width: int | None = None
    candidates: int | None = None
    policy_heads: float | None = None
    network: bool | None = None
    search: bool | None = None
    iterations: int | None = None
    seed: int = 0
    batch_memory: int | None = None

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None:
                expected = f"a whole number of at least {least}"
                number = as_whole(name, value, expected)
                if number < least:
                    raise SpacevrpError(f"{name}: expected {expected}, received {number}")
                object.__setattr__(self, name, number)
        for name in ("network", "search"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, bool):
                raise SpacevrpError(f"{name}: expected true or false, received {show(value)}")
        if self.policy_heads is not None:
            strength = as_number("policy_heads", self.policy_heads)
            if not 0 <= strength < math.inf:
                expected = "a number of at least 0"
                raise SpacevrpError(f"policy_heads: expected {expected}, received {strength!r}")
        if self.seed is None:
            raise SpacevrpError("seed: expected a whole number of at least 0, received None")
        ruled = protocol_named(self.protocol)
        ruled.check(start_nodes=self.start_nodes, candidates=self.candidates)
        for name in ("num_samples", "beam_width", "search", "policy_heads"):
            ruled.decide(name, getattr(self, name), None)

    def changed(self, **changes: Any) -> SolveParams:
        """The same with other values. Older names of fields are taken; others are an error."""
        known = [field.name for field in fields(self)]
        resolved = {}
        for name, value in changes.items():
            field = ALIASES.get(name, name)
            if field not in known:
                likely = nearest(name, [*known, *ALIASES, *OPTIONS])
                expected = f"known arguments (the nearest is {likely!r})"
                raise SpacevrpError(f"solve: expected {expected}, received {show(name)}")
            if field == "protocol" and value is None:
                value = DEFAULT
            resolved[field] = value
        return replace(self, **resolved)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SolveParams:
        """From a table of values, as in a TOML file."""
        return cls().changed(**{str(name): value for name, value in values.items()})

    @classmethod
    def from_toml(cls, path: str | Path) -> SolveParams:
        """From a TOML file of fields."""
        import tomllib

        try:
            values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FormatError(f"{path}: expected TOML: {error}") from None
        try:
            return cls.from_dict(values)
        except SpacevrpError as error:
            raise FormatError(f"{path}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """The fields that are set, as plain values."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def asks_for_network(self) -> bool:
        """Whether something is said of the network's plans, which are made then at any size."""
        said = (self.augmentations, self.start_nodes, self.num_samples, self.beam_width)
        return bool(self.network) or any(value is not None for value in (*said, self.candidates))

    def check_time(self) -> None:
        """Raise for what a time decides, and was said all the same."""
        for name in _BY_TIME:
            if getattr(self, name) is not None:
                raise SpacevrpError(f"{name}: expected none with a time, which decides it")
        if self.protocol != DEFAULT:
            raise SpacevrpError(
                f"protocol: expected {DEFAULT} with a time, received {self.protocol}"
            )
