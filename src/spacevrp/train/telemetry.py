"""The log of a run: a CSV file, TensorBoard where it is installed, and a progress line."""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from spacevrp.writing import write_whole

LOG = "log.csv"
COST, BEST = "cost/", "best/"  # what columns of single problems begin with


class Telemetry:
    """Writes one row a log interval, to ``log.csv`` and TensorBoard files.

    A process without a ``folder`` does not log. Of ``total`` steps some are ``done``: later rows of
    an earlier run are dropped.
    """

    def __init__(
        self, folder: Path | None, total: int, done: int, budget: float | None, *, progress: bool
    ) -> None:
        self._folder, self._budget = folder, budget
        self._bar = tqdm(
            total=total,
            initial=done,
            disable=not progress or folder is None,
            file=sys.stderr,
            dynamic_ncols=True,
            bar_format="{n_fmt}/{total_fmt} steps{postfix}",
        )
        self._board: Any = None
        if folder is None:
            return
        _drop_rows_after(folder / LOG, done)
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            pass  # an optional extra; the CSV file holds the same numbers
        else:
            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=done)

    @property
    def total(self) -> int:
        """Steps of the run."""
        return int(self._bar.total)

    @total.setter
    def total(self, steps: int) -> None:
        self._bar.total = steps

    def write(self, row: dict[str, float], elapsed: float) -> None:
        """Append a row; its keys must be the same every time. ``elapsed`` since this start."""
        if self._folder is None:
            return
        path = self._folder / LOG
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            if not file.tell():
                writer.writeheader()
            writer.writerow({name: f"{value:.8g}" for name, value in row.items()})
        if self._board is not None:
            for name, value in row.items():
                self._board.add_scalar(name, value, int(row["step"]))
        self._bar.set_postfix_str(self._line(row, elapsed), refresh=False)
        self._bar.n = int(row["step"])
        self._bar.refresh()

    def _line(self, row: dict[str, float], elapsed: float) -> str:
        left = (self.total - row["step"]) * row["step_milliseconds"] / 1000
        if self._budget is not None:
            left = min(left, max(self._budget - elapsed, 0.0))
        costs = [
            f"{name.removeprefix(COST)} {value:.4g}"
            for name, value in row.items()
            if name.startswith(COST) and not math.isnan(value)
        ]
        parts = [
            f"{1000 / row['step_milliseconds']:.3g} steps/s",
            f"{row['instances_per_second']:.3g} instances/s",
            f"{tqdm.format_interval(left)} left",
            f"norm {row['gradient_norm']:.2g}",
            " ".join(costs),
        ]
        return ", ".join(parts)

    def close(self) -> None:
        """Finish the line and the files."""
        self._bar.close()
        if self._board is not None:
            self._board.close()


def _drop_rows_after(path: Path, step: int) -> None:
    """Forget what was logged after the checkpoint from which the run goes on."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    width = lines[0].count(",") if lines else 0

    def stays(line: str) -> bool:
        first = line.partition(",")[0]
        whole = line.endswith("\n") and line.count(",") == width
        return whole and first.isdigit() and int(first) <= step

    kept = [line for line in lines[1:] if stays(line)]
    if not kept:
        path.unlink()
        return
    write_whole(path, "".join([lines[0], *kept]).encode())
