"""One runner for all tables of solved instances: models, cases, and a row for each.

What was solved stays solved: one line a set, so that a run goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from spacevrp.bench.neighbours import Neighbours
from spacevrp.bench.options import SUFFIX, distinct_names
from spacevrp.bench.records import checksum, settings_key
from spacevrp.bench.tables import Report, TableRow, column
from spacevrp.writing import append_line, read_lines

if TYPE_CHECKING:
    from spacevrp.engines.choosing import EngineName
    from spacevrp.model import ModelConfig, SpaceModel
    from spacevrp.problems.problem import Problem
    from spacevrp.solver import Outcome as Solved
    from spacevrp.solver import Solver

# ------------------------------------------------------------------------------------------ models

# What is told of weights in a file, and of a checkpoint.
_TOLD = ("name", "sha256", "step", "group", "train_seconds")


def load_model(
    weights: str | None, protocol: str | None = None
) -> tuple[SpaceModel, dict[str, Any]]:
    """A model and what is to be told of it, from bundled weights, a file or a training run.

    None for the weights that belong to a protocol.
    """
    from spacevrp.model.weights import load_weights
    from spacevrp.solver import protocol_named

    name = protocol_named(protocol).weights if weights is None else weights
    model, card = load_weights(name)
    told = {key: card[key] for key in _TOLD if key in card}
    return model, {"given": str(name), **told, "tensors_sha256": checksum(model)}


@dataclass(frozen=True)
class Model:
    """A model that solves, and what is told of it."""

    solver: Solver
    told: dict[str, Any]
    config: ModelConfig
    label: str
    heads: float | None = None  # strength of the policy heads; None for the protocol's


def load_models(
    args: argparse.Namespace, threads: int | None = None, engine: EngineName = "auto"
) -> list[Model]:
    """The models asked for, all on the device at once: they are small.

    They are run as `solve` runs them, by the compiled network on a CPU, unless ``engine`` differs.
    """
    from spacevrp.solver import Solver

    protocol = getattr(args, "protocol", None)
    asked = args.weights if isinstance(args.weights, list) else [args.weights]
    loaded = [load_model(one, protocol) for one in asked]
    labels = distinct_names("--weights", "models", [told["given"] for _, told in loaded])
    heads = getattr(args, "policy_heads", None)
    models = []
    for (model, told), label in zip(loaded, labels, strict=True):
        # A run that goes on may have a newer checkpoint by now.
        weights = model if Path(told["given"]).is_dir() else told["given"]
        solver = Solver(weights, args.device, threads=threads, engine=engine)
        models.append(Model(solver, told, model.config, label, heads))
    return models


# ----------------------------------------------------------------------------------------- solving


@dataclass(frozen=True)
class Outcome:
    """What came of a set. Rows are made from it and from references, which may come later."""

    costs: tuple[float | None, ...]  # the referee's; None where there is no plan
    seconds_host: float  # from problems to tensors
    seconds_model: float  # encoding and decoding
    seconds_referee: float
    violations: int  # rules broken by the plans that are reported, and instances without a plan
    refused: int = 0  # plans that the search proposed and the referee refused
    note: str = ""  # why an instance has no plan
    others: float | None = None  # cores busy with other processes meanwhile
    seconds_search: float = 0.0  # local search
    # Where visits reveal prizes: the best costs had they been known; None where nothing is unknown.
    hindsight: tuple[float | None, ...] = ()
    seconds_total: float = 0.0  # by the clock: on a GPU the stages overlap
    seconds_least: float | None = None  # of the shortest of several repeats; the others are medians

    @property
    def found(self) -> NDArray[np.float64]:
        """Costs of the instances that have a plan."""
        return np.array([cost for cost in self.costs if cost is not None], dtype=np.float64)

    @property
    def mean(self) -> float | None:
        """Their mean; None where no instance has a plan."""
        return float(self.found.mean()) if len(self.found) else None


def warm_up(solver: Solver, problems: Sequence[Problem], protocol: str = "network") -> None:
    """On a GPU, compile the kernels before anything is timed."""
    if solver.device.type == "cuda":
        solver.run(problems[:2], augmentations=1, protocol=protocol)


def solve_set(
    solver: Solver,
    problems: Sequence[Problem],
    augmentations: int | None,
    *,
    show: bool = False,
    protocol: str = "network",
    **options: Any,
) -> Outcome:
    """Solve the instances of a set together; ``options`` are those of the solver."""
    neighbours = Neighbours()
    attempt = solver.run(
        problems, augmentations=augmentations, progress=show, protocol=protocol, **options
    )
    plans = [plan for plan in attempt.solutions if plan is not None]
    return Outcome(
        costs=tuple(None if plan is None else plan.cost for plan in attempt.solutions),
        seconds_host=attempt.seconds.preparing,
        seconds_model=attempt.seconds.searching,
        seconds_referee=attempt.seconds.judging,
        seconds_search=attempt.seconds.improving,
        hindsight=_hindsight(attempt),
        violations=sum(len(plan.violations) for plan in plans) + len(attempt.reasons),
        refused=attempt.refused,
        note=next(iter(attempt.reasons.values()), ""),
        others=neighbours.busy(),
        seconds_total=attempt.spent,
    )


def _hindsight(outcome: Solved) -> tuple[float | None, ...]:
    found = tuple(one.hindsight for one in outcome.results)
    return found if any(one is not None for one in found) else ()


# -------------------------------------------------------------------------------------------- rows


@dataclass(frozen=True, kw_only=True)
class SolvedRow(TableRow):
    """What every row of instances that were solved says."""

    TIMES: ClassVar = ("seconds_host", "seconds_model", "seconds_referee", "seconds_search")

    seconds_host: float = column("host s", 8, ".4f", over=sum)
    seconds_model: float = column("model s", 9, ".4f", over=sum)
    seconds_referee: float = column("referee s", 9, ".4f", over=sum)
    seconds_search: float = column("search s", 9, ".4f", over=sum)
    violations: int = column("violations", 10, over=sum)
    refused: int = column(over=sum)  # plans that the search proposed and the referee refused
    note: str = column("note", 4, default="")  # why an instance has no plan

    @staticmethod
    def told(outcome: Outcome) -> dict[str, Any]:
        """These fields, from what came of the instances."""
        return {each.name: getattr(outcome, each.name) for each in fields(SolvedRow)}


NOTES_ON_TIMES = """\
"host s" is the time from problems to tensors, "model s" encoding and decoding, "referee s" the
judging, "search s" local search. "violations" counts rules broken by the plans that are reported,
and instances without a plan.
"""


def conclusion(rows: Sequence[Any], *first: str) -> str:
    """One line: how the rows compare with the paper, what they took."""
    points = [p for row in rows if (p := getattr(row, "difference", None)) is not None]
    parts = [*first]
    if points:
        better = sum(p <= 0 for p in points)
        parts.append(
            f"at least as good as the paper on {better} of {len(points)}, mean difference "
            f"{sum(points) / len(points):+.3f} points"
        )
    words = zip(("host", "model", "referee", "local search"), SolvedRow.TIMES, strict=True)
    seconds = [f"{word} {sum(getattr(row, name) for row in rows):.1f} s" for word, name in words]
    return "; ".join([*parts, ", ".join(seconds), f"{sum(r.violations for r in rows)} violations"])


# ------------------------------------------------------------------------------------------- store


class Store:
    """Outcomes by what they depend on, in a file of lines; without a file nothing is kept.

    A line that was cut off at the end of the file by an interruption is left out.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        held = [] if path is None else read_lines(path, _parse, "the outcome of a set")
        self._known = {_digest(key): outcome for key, outcome in held}

    def get(self, key: Mapping[str, Any]) -> Outcome | None:
        """The outcome that was kept under the same settings."""
        return self._known.get(_digest(key))

    def keep(self, key: Mapping[str, Any], outcome: Outcome) -> None:
        """Add a line."""
        self._known[_digest(key)] = outcome
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        append_line(self._path, {"key": dict(key), "outcome": asdict(outcome)})

    def discard(self) -> None:
        """Remove the file: all is done, and written elsewhere."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _digest(key: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()


def _parse(line: dict[str, Any]) -> tuple[dict[str, Any], Outcome]:
    held = line["outcome"]
    tuples = {name: tuple(held[name]) for name in ("costs", "hindsight")}
    return dict(line["key"]), Outcome(**{**held, **tuples})


# ------------------------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class Case:
    """Instances that one model solves together in one way: a row."""

    label: str
    key: Mapping[str, Any]  # what tells its instances from all others
    load: Callable[[], Sequence[Problem]]
    row: Callable[[Outcome], Any]
    model: Model
    augmentations: int | None  # None: as solve has it
    protocol: str
    options: Mapping[str, Any] = field(default_factory=dict)  # further ones of the solver

    def solve(self, *, show: bool) -> Outcome:
        """Solve them, after a warm-up."""
        problems = self.load()
        warm_up(self.model.solver, problems, self.protocol)
        return self.solve_once(problems, show=show)

    def solve_once(self, problems: Sequence[Problem], *, show: bool) -> Outcome:
        """Solve them."""
        told = {**self.options, "protocol": self.protocol, "policy_heads": self.model.heads}
        return solve_set(self.model.solver, problems, self.augmentations, show=show, **told)


def run_cases(report: Report, cases: Sequence[Case], *, keep: bool = True) -> int:
    """Solve what is not solved already, and report row by row.

    ``keep`` says whether what is solved is kept for the next time when all is done.
    """
    from tqdm import tqdm

    folder, show = report.args.output, not report.args.quiet
    store = Store(None if folder is None else folder / f"{report.name}{SUFFIX}")
    # None: tqdm looks whether stderr is a terminal.
    with tqdm(total=len(cases), unit=" sets", disable=None if show else True, leave=False) as bar:
        for case in cases:
            bar.set_description(case.label)
            key = settings_key(
                report.record,
                case.model.told,
                **case.key,
                augmentations=case.augmentations,
                **case.options,
            )
            outcome = store.get(key)
            if outcome is None:
                outcome = case.solve(show=show)
                if len(outcome.found):  # what failed altogether is tried again
                    store.keep(key, outcome)
            bar.update()
            report.add(case.row(outcome))
    code = report.finish()
    if not keep:
        store.discard()
    return code
