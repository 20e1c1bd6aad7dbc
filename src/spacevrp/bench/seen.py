"""``spacevrp bench seen``: costs and gaps on the problems trained on, the paper's beside ours."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from spacevrp.arguments import add_sample_option, at_least
from spacevrp.bench import gap_table, paper
from spacevrp.bench.gap_table import GapRow, GapTable, generated_sets, hindsight_text
from spacevrp.bench.runner import Model
from spacevrp.bench.sets import Source, data_folder, from_file, variant_of
from spacevrp.bench.tables import number
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.variants import SEEN_NAMES

_DATA_FOLDER = "uniform100"  # below the folder that SPACEVRP_DATA names
_NOTES = """\
Each set is solved with one augmentation and with all. "gap of means %" is the gap of the mean cost
to the mean of the best. In a file, the oracle is the reference that the paper compares with. "paper
%" stands beside the paper's number of augmentations only.
"""


@dataclass(frozen=True, kw_only=True)
class SeenRow(GapRow):
    """A set with one number of augmentations; beside the best known, their mean cost."""

    ORDER: ClassVar[tuple[str, ...]] = (
        *(
            "problem",
            "set",
            "instances",
            "augmentations",
            "cost",
            "best",
            "best_gap",
            "gap_of_means",
        ),
        *GapRow.ORDER[4:6],
        *GapRow.ORDER[8:],
    )

    def text(self, name: str, form: Any) -> str:
        """The reference with its cost, and of how many instances, where it is not of all."""
        if name != "best":
            return super().text(name, form)
        some = f" ({self.best_instances})" if 0 < self.best_instances < self.instances else ""
        return f"{self.best} {number(self.best_cost, 4)}".rstrip() + some


@dataclass(frozen=True)
class SeenTable(GapTable):
    """Generated sets and files, each with one augmentation and with all."""

    row_type: ClassVar[type[GapRow]] = SeenRow
    keep: ClassVar[bool] = False
    left: ClassVar[int] = 2
    noun: ClassVar[str] = "sets"
    solver_options: ClassVar[tuple[str, ...]] = ("sample", "beam_width")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        add_sample_option(parser)

    def sources(self, args: argparse.Namespace) -> list[Source]:
        """Every set asked for; what cannot be right is found before the work begins."""
        wanted = args.problems
        sources = generated_sets(wanted or SEEN_NAMES, args) if args.count > 0 else []
        for folder in data_folders(args.data):
            paths = sorted(folder.glob("*.npz"))
            if not paths:
                raise FormatError(f"{folder}: expected .npz batches, found none")
            for path in paths:
                variant = variant_of(path)
                if wanted is None or variant.name in wanted:
                    sources.append(from_file(variant, path, args.count))
        if not sources:
            raise SpacevrpError("nothing to measure: --count is 0, and no file has these problems")
        return sources

    def augmentations(self, source: Source, device: str, args: argparse.Namespace) -> list[int]:
        """One, and all."""
        most = args.augment_asymmetric if source.asymmetric else args.augment_symmetric
        return sorted({1, most})

    def paper_gap(self, source: Source, model: Model, augmentations: int) -> float | None:
        """The paper prints no figures for other numbers of augmentations."""
        alike = augmentations == paper.augmentations(asymmetric=source.asymmetric)
        return super().paper_gap(source, model, augmentations) if alike else None

    def averages(self, rows: Sequence[Any]) -> Sequence[GapRow]:
        """Rows of one problem with other augmentations are no average."""
        return ()

    def below(self, rows: Sequence[Any], args: argparse.Namespace) -> str:
        """What else the page says."""
        return hindsight_text(rows)


def data_folders(asked: list[Path] | None) -> list[Path]:
    """Those asked for, or the usual one."""
    for folder in asked or ():
        if not folder.is_dir():
            raise FormatError(f"{folder}: expected a folder of .npz batches, found none")
    usual = data_folder(_DATA_FOLDER)
    return asked if asked is not None else [] if usual is None else [usual]


SEEN = SeenTable(
    "seen",
    "Problems trained on",
    SEEN_NAMES,
    count=1000,
    notes=gap_table.NOTES + _NOTES,
    options={
        "count": {
            "default": 1000,
            "type": at_least(0),
            "help": "generated instances of each problem (0: none), and at most so many of a file",
        },
        "augment_asymmetric": {"default": 128, "help": "the same where they are not"},
        "problems": {
            "help": "only these, such as CVRP,TSP; default: the twelve, and what files hold"
        },
        "data": {
            "action": "append",
            "help": "also every .npz batch here, with the references (ref_...) it holds; may be "
            f"given several times; default: {_DATA_FOLDER} in the folder SPACEVRP_DATA, where "
            "there is one",
        },
    },
)
