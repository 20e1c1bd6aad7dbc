"""One runner for all tables of solved instances: models, cases, and a row for each."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.bench.solving import Outcome, solve_set, warm_up
from spacevrp.bench.tables import Report, settings_key
from spacevrp.bench.weights import load_model
from spacevrp.problems.errors import SpacevrpError

if TYPE_CHECKING:
    from spacevrp.model import ModelConfig
    from spacevrp.problems.problem import Problem
    from spacevrp.solver import Solver


@dataclass(frozen=True)
class Model:
    """A model that solves, and what is told of it."""

    solver: Solver
    told: dict[str, Any]
    config: ModelConfig
    label: str
    heads: float | None = None  # strength of the policy heads; None for the protocol's


def load_models(args: argparse.Namespace) -> list[Model]:
    """The models asked for, all on the device at once: they are small."""
    from spacevrp.solver import Solver

    several = isinstance(args.weights, list)
    protocol = getattr(args, "protocol", None)
    asked = args.weights if several else [args.weights]
    loaded = [load_model(one, protocol) for one in asked]
    labels = label_models([told for _, told in loaded])
    heads = getattr(args, "policy_heads", None)
    return [
        Model(Solver(model, args.device, threads=None), told, model.config, label, heads)
        for (model, told), label in zip(loaded, labels, strict=True)
    ]


def label_models(told: Sequence[dict[str, Any]]) -> list[str]:
    """Short names of models: the last part of what was given, unless two have the same."""
    names = [Path(one["given"]).name or one["given"] for one in told]
    for name, times in Counter(one["given"] for one in told).items():
        if times > 1:
            raise SpacevrpError(f"--weights: expected different models, received {name} twice")
    return [
        one["given"] if names.count(name) > 1 else name
        for one, name in zip(told, names, strict=True)
    ]


@dataclass(frozen=True)
class Case:
    """Instances that one model solves together in one way: a row."""

    label: str
    key: Mapping[str, Any]  # what tells its instances from all others
    load: Callable[[], Sequence[Problem]]
    row: Callable[[Outcome], Any]
    model: Model
    augmentations: int
    protocol: str
    options: Mapping[str, Any] = field(default_factory=dict)  # further ones of the solver

    def solve(self, *, show: bool) -> Outcome:
        """Solve them, after a warm-up."""
        problems = self.load()
        warm_up(self.model.solver, problems, self.protocol)
        return self.solve_once(problems, show=show)

    def solve_once(self, problems: Sequence[Problem], *, show: bool) -> Outcome:
        """Solve them."""
        told = {**self.options, "protocol": self.protocol, "heads": self.model.heads, "show": show}
        return solve_set(self.model.solver, problems, self.augmentations, **told)


def run_cases(report: Report, cases: Sequence[Case], *, keep: bool = True) -> int:
    """Solve what is not solved already, and report row by row.

    ``keep`` says whether what is solved is kept for the next time when all is done.
    """
    from tqdm import tqdm

    store, show = report.store(), not report.args.quiet
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
