"""Processor time of the two engines for the same instances; other programs hardly change it.

python engines.py FOLDER BATCH.npz ROUNDS      writes FOLDER/engines.json and FOLDER/engines.csv
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from many import ITERATIONS, WORKERS, command, processes

TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds(below: set[int]) -> dict[int, float]:
    """Of each process that is still there."""
    found = {}
    for pid in below:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[pid] = (int(fields[11]) + int(fields[12])) / TICK
    return found


def measure(batch: Path, out: Path, engine: str, count: int) -> dict[str, object]:
    load = os.getloadavg()[0]
    began, spent = time.monotonic(), {}
    with subprocess.Popen(
        command(batch, out, engine),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # a scheduler may give equal shares to sessions
    ) as process:
        below = {process.pid}
        while process.poll() is None:
            listed = processes()
            for _ in range(3):
                below |= {pid for pid, parent, _ in listed if parent in below}
            spent |= processor_seconds(below)
            time.sleep(0.25)
    seconds = time.monotonic() - began
    row = {
        "engine": engine,
        "instances": count,
        "workers": WORKERS,
        "iterations": ITERATIONS,
        "seconds": round(seconds, 1),
        "processor_seconds": round(sum(spent.values()), 1),
        "processor_ms_each": round(1000 * sum(spent.values()) / count, 1),
        "exit": process.returncode,
        "load": round(load, 1),
    }
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    folder, batch, rounds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    count = int(batch.stem.rpartition("-")[2])
    rows = []
    for number in range(rounds):
        for engine in ("local", "ray"):
            rows.append(measure(batch, folder / f"{engine}-{number}", engine, count))
    (folder / "engines.json").write_text(json.dumps(rows, indent=1) + "\n")
    with (folder / "engines.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
