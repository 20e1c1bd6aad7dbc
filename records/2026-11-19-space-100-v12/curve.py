"""Costs by the paper's protocol against instances trained on: fits of curve.csv, and curve.png."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from statistics import linear_regression, mean

import matplotlib.pyplot as plt

HERE = Path(__file__).parent


def main() -> None:
    """Print a line for each set, and draw those above the paper's gap."""
    sets: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader((HERE / "curve.csv").open()):
        name = row["problem"] + (", public" if row["set"] == "uniform100" else "")
        sets.setdefault(name, []).append(row)
    seen = [int(row["instances"]) for row in next(iter(sets.values()))]
    doublings = [math.log2(number / seen[-1]) for number in seen]

    def excess(rows: list[dict[str, str]]) -> list[float]:
        """Costs over those of the newest weights, in percent."""
        newest = float(rows[-1]["cost"])
        return [100.0 * (float(row["cost"]) - newest) / abs(newest) for row in rows]

    def fit(values: list[float]) -> tuple[float, float]:
        """Slope a doubling, and its standard error."""
        slope, at_end = linear_regression(doublings, values)
        rest = [y - at_end - slope * x for x, y in zip(doublings, values, strict=True)]
        spread = sum((x - mean(doublings)) ** 2 for x in doublings)
        return slope, math.sqrt(sum(r * r for r in rest) / (len(rest) - 2) / spread)

    every = [mean(values) for values in zip(*map(excess, sets.values()), strict=True)]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    millions = [number / 1e6 for number in seen]
    slope, error = fit(every)
    print(f"mean of {len(sets)} sets: {slope:+.2f} ± {error:.2f}% for each doubling")
    left.plot(millions, every, "o", color="black")
    ends = [doublings[0], 1.0]
    at_end = mean(every) - slope * mean(doublings)
    left.plot([seen[-1] * 2**x / 1e6 for x in ends], [at_end + slope * x for x in ends], "--")
    left.set_title(f"Mean cost of {len(sets)} sets: {slope:+.2f}% for each doubling")
    left.set_ylabel("over space-100-v12 (%)")
    for name, rows in sets.items():
        slope, error = fit(excess(rows))
        above = float(rows[-1]["gap"]) - float(rows[-1]["paper_gap"])
        line = f"{name:16s} {slope:+.2f} ± {error:.2f}"
        if above > 0:
            line += (
                f"  {above:.3f} above the paper: {2 ** (above / -slope):.2f} times the instances"
            )
            gaps = [float(row["gap"]) - float(row["paper_gap"]) for row in rows]
            (drawn,) = right.plot(millions, gaps, "o-", label=name)
            until = above / -slope
            ahead = [millions[-1], millions[-1] * 2**until]
            right.plot(ahead, [above, 0.0], ":", color=drawn.get_color())
        print(line)
    right.axhline(0.0, color="gray", linewidth=0.8)
    right.set_title("Sets above the paper's gap, with fits")
    right.set_ylabel("gap above the paper's (points)")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel("instances trained on (millions)")
        ticks = [64, 100, 125, 250, 500]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "curve.png", dpi=110)


if __name__ == "__main__":
    main()
