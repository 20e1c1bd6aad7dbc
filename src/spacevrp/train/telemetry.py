"""The log of a run: a CSV file, TensorBoard where it is installed, and a progress line."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm


class Telemetry:
    """Writes one row a log interval.

    Parameters
    ----------
    folder
        Where ``log.csv`` and the TensorBoard files go; None for a process that does not log.
    total, done
        Steps of the run, and those already taken.
    progress
        Whether to show the progress line.
    """

    def __init__(self, folder: Path | None, total: int, done: int, *, progress: bool) -> None:
        self._folder = folder
        self._bar = tqdm(
            total=total,
            initial=done,
            unit="step",
            disable=not progress or folder is None,
            file=sys.stderr,
            dynamic_ncols=True,
        )
        self._board: Any = None
        if folder is not None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                pass  # an optional extra; the CSV file holds the same numbers
            else:
                self._board = SummaryWriter(str(folder / "tensorboard"))

    def write(self, row: dict[str, float]) -> None:
        """Append a row; its keys must be the same every time."""
        self._bar.update(int(row["step"]) - self._bar.n)
        if self._folder is None:
            return
        path = self._folder / "log.csv"
        fresh = not path.exists()
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(row))
            if fresh:
                writer.writeheader()
            writer.writerow({name: f"{value:.6g}" for name, value in row.items()})
        if self._board is not None:
            for name, value in row.items():
                self._board.add_scalar(name, value, int(row["step"]))
        costs = [f"{name[5:]} {value:.3g}" for name, value in row.items() if name[:5] == "cost/"]
        self._bar.set_postfix_str(
            f"{row['instances_per_second']:.0f} inst/s, norm {row['gradient_norm']:.2f}, "
            + " ".join(costs)
        )

    def close(self) -> None:
        """Finish the line and the files."""
        self._bar.close()
        if self._board is not None:
            self._board.close()
