"""Runs over many instances, with workers and whole runs killed on the way: is each solved once?

    python many.py FOLDER COUNT FEWER      writes FOLDER/many.json and FOLDER/many.csv

COUNT instances for the first two rows, FEWER, the first of them, for the others.

Ray is a cluster of this machine that the command itself starts.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import spacevrp
from spacevrp.formats.npz import NpzBatch

ITERATIONS, WORKERS, SEED = 100, 4, 7


def command(batch: Path, out: Path, engine: str) -> list[str]:
    settings = ["--set", "network=false", "--set", f"iterations={ITERATIONS}"]
    where = ["--engine", engine, "--workers", str(WORKERS), "--device", "cpu"]
    verb = [sys.executable, "-m", "spacevrp", "solve", str(batch), "-o", str(out)]
    return [*verb, *where, *settings]


def processes() -> list[tuple[int, int, str]]:
    """(pid, parent, command) of every process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        found.append((int(folder.name), parent, line))
    return found


def workers_of(driver: int) -> list[int]:
    """The processes below a run that solve."""
    listed, below = processes(), {driver}
    for _ in range(3):  # Ray's are grandchildren
        below |= {pid for pid, parent, _ in listed if parent in below}
    names = ("ray::MapWorker", "spawn_main")
    return [p for p, _, line in listed if p in below and any(name in line for name in names)]


def parts(out: Path) -> int:
    return len(list(out.glob("part-*")))


def wait_for(out: Path, number: int, process: subprocess.Popen[str]) -> None:
    while parts(out) < number and process.poll() is None:
        time.sleep(0.1)


def run(name: str, batch: Path, out: Path, engine: str, kill: str, count: int) -> dict[str, object]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    loads, began, killed = [os.getloadavg()[0]], time.monotonic(), []
    total = -(-count // 32)
    said = ""
    for attempt in range(2):
        with subprocess.Popen(
            command(batch, out, engine), env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            if kill and attempt == 0:
                wait_for(out, total * 2 // 5, process)
                victim = process.pid if kill == "run" else workers_of(process.pid)[0]
                there = parts(out)
                os.kill(victim, signal.SIGKILL)
                killed.append({"what": kill, "parts": there})
            assert process.stdout is not None
            lines = process.stdout.read().splitlines()
            said = lines[-1].partition(": ")[2] if lines else said
        if process.returncode != -signal.SIGKILL:
            break
    seconds = time.monotonic() - began
    loads.append(os.getloadavg()[0])
    rows = [json.loads(line) for path in sorted(out.glob("part-*")) for line in path.open()]
    numbers = [row["index"] for row in rows]
    row = {
        "run": name,
        "engine": engine,
        "workers": WORKERS,
        "killed": killed,
        "exit": process.returncode,
        "instances": count,
        "rows": len(numbers),
        "each_once": sorted(numbers) == list(range(count)),
        "solved": sum(one["status"] == "solved" for one in rows),
        "mean_cost": sum(one["cost"] for one in rows) / count,
        "seconds": round(seconds, 1),
        "per_second": round(count / seconds, 1),
        "said": said,
        "load": [round(load, 1) for load in loads],
    }
    print(json.dumps(row), flush=True)
    return row


def plans_of(out: Path) -> list[list[list[int]]]:
    lines = [line for path in sorted(out.glob("part-*")) for line in path.open()]
    return [json.loads(line)["routes"] for line in lines]


def judge_all(batch: Path, out: Path) -> int:
    """How many plans the referee passes at the cost that is stated."""
    held, passed = NpzBatch(batch), 0
    for path in sorted(out.glob("part-*")):
        for line in path.open():
            row = json.loads(line)
            verdict = spacevrp.judge(held.instance(row["index"]), row["routes"])
            passed += verdict.feasible and abs(verdict.cost - row["cost"]) < 1e-9
    return passed


def main() -> None:
    folder, count, fewer = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    for name, engine, kill, number in (
        ("ray-worker-killed", "ray", "worker", count),
        ("local", "local", "", count),
        ("ray-fewer", "ray", "", fewer),
        ("local-fewer", "local", "", fewer),
        ("local-worker-killed", "local", "worker", fewer),
        ("local-run-killed", "local", "run", fewer),
    ):
        batch = folder / f"batch-{number}.npz"
        if not batch.exists():
            spacevrp.write(spacevrp.generate("CVRP", 100, number, seed=SEED), batch)
        row = run(name, batch, folder / name, engine, kill, number)
        row["passed_by_referee"] = judge_all(batch, folder / name)
        first = plans_of(folder / "ray-worker-killed")[:number]
        row["same_plans"] = plans_of(folder / name) == first
        rows.append(row)
        write(folder, rows)


def write(folder: Path, rows: list[dict[str, object]]) -> None:
    (folder / "many.json").write_text(json.dumps(rows, indent=1) + "\n")
    columns = ["run", "instances", "rows", "each_once", "solved", "passed_by_referee"]
    columns += ["mean_cost", "seconds", "per_second", "same_plans"]
    with (folder / "many.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
