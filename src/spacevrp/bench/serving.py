"""``spacevrp bench serve``: requests a second, how long they take, and the server's memory.

The server is a process of its own, ``POST /`` of ``spacevrp serve`` or pyvroom behind the same
stack (FastAPI on uvicorn); clients are connections that send the next request when they have the
answer to the last. Pyvroom keeps Python's lock while it solves, so that threads would wait for each
other and so would the server: it solves in processes, as many as spacevrp has threads.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.arguments import at_least, parse_duration
from spacevrp.bench.options import add_options, add_report_options, names_out_of, numbers
from spacevrp.bench.records import command_line, machine
from spacevrp.bench.suite_methods import own_version
from spacevrp.bench.tables import Report, TableRow, column
from spacevrp.problems.errors import SpacevrpError

_SERVERS = ("spacevrp", "pyvroom")
_CAPACITY = {20: 30, 50: 40, 100: 50}
_DIFFERENT = 16  # problems of each size, sent in turn
_EXPLORATION = 5  # VROOM's own default
_NOTES = f"""\
Random CVRP in the plane, distances rounded to whole numbers, as VROOM's JSON with a matrix,
{_DIFFERENT} of each size in turn. "cost" is the mean over the problems that were answered, whose
number is "problems": compare costs where it is the same. "memory" is what the server's process, and
those that it started, hold at the end of the row. With fewer than a hundred requests p99 is hardly
less than the slowest. Pyvroom solves with exploration level {_EXPLORATION}, VROOM's own, and one
thread, in as many processes as spacevrp has threads. The load comes from the same machine.
"""


@dataclass(frozen=True, kw_only=True)
class ServeRow(TableRow):
    """A server under one load."""

    server: str = column("server", 8)
    part: str = column("part", 6)
    customers: int = column("customers", 9)
    clients: int = column("clients", 7)
    requests: int = column("requests", 8)
    refused: int = column("refused", 7)
    per_second: float = column("requests/s", 10, ".4g")
    p50: float = column("p50 s", 8, ".4g")
    p99: float = column("p99 s", 8, ".4g")
    problems: int = column("problems", 8)
    cost: float = column("cost", 8, ".4g")
    memory: float | None = column("memory MiB", 10, ".4g")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench serve``."""
    add_options(
        parser,
        sizes=(20, 50, 100),
        clients={
            "metavar": "NUMBERS",
            "type": numbers(1),
            "default": (1, 8, 64),
            "help": "at the same time",
        },
        seconds={"metavar": "TIME", "type": parse_duration, "default": 10.0, "help": "for a row"},
        memory_rows={
            "metavar": "N",
            "type": at_least(0),
            "default": 0,
            "help": "further rows of spacevrp with the smallest size and 8 clients, for growth of "
            "memory",
        },
        servers={
            "metavar": "NAMES",
            "type": names_out_of(*_SERVERS),
            "default": _SERVERS,
            "help": f"of {', '.join(_SERVERS)}",
        },
        workers={"metavar": "N", "type": at_least(1), "default": 2, "help": "threads that solve"},
        seed=1,
    )
    add_report_options(parser, "serve", kept=False)


def run(args: argparse.Namespace) -> int:
    """Measure, print and record; what is measured is recorded at once."""
    others = ("fastapi", "uvicorn", *(name for name in args.servers if name == "pyvroom"))
    record: dict[str, Any] = {
        "benchmark": "serve",
        "command": command_line(),
        "machine": machine("cpu"),
        "versions": [f"spacevrp {own_version()}", *(f"{name} {version(name)}" for name in others)],
        "seconds": args.seconds,
        "workers": args.workers,
        "seed": args.seed,
    }
    report = Report("serve", "Serving", ServeRow, _NOTES, record, args)
    for row in _measured(args):
        report.add(row)
    return report.finish()


def _measured(args: argparse.Namespace) -> Iterator[ServeRow]:
    """Rows, one after the other."""
    for server in args.servers:
        process, port = _start(server, args.workers)
        try:
            cases = [("load", size, clients) for size in args.sizes for clients in args.clients]
            if server == _SERVERS[0]:
                cases += [("memory", args.sizes[0], 8)] * args.memory_rows
            for part, size, clients in cases:
                bodies = requests_of(size, args.seed)
                asyncio.run(load(port, bodies[:1], 1, 1.0))  # warm
                told = asyncio.run(load(port, bodies, clients, args.seconds))
                about = {"server": server, "part": part, "customers": size, "clients": clients}
                yield ServeRow(**about, **told, memory=_memory(process.pid))
        finally:
            process.terminate()
            process.wait()


# ----------------------------------------------------------------------------------------- requests


def requests_of(size: int, seed: int) -> list[bytes]:
    """Random problems as VROOM's JSON."""
    draw = np.random.default_rng([seed, size])
    bodies = []
    for _ in range(_DIFFERENT):
        places = draw.uniform(0.0, 10_000.0, (size + 1, 2))
        lengths = np.linalg.norm(places[:, None] - places[None], axis=2).round().astype(int)
        demand, capacity = draw.integers(1, 10, size), _CAPACITY.get(size, 30 + size // 5)
        vehicles = -(-int(demand.sum()) // capacity) + 3
        document = {
            "vehicles": [
                {"id": one, "start_index": 0, "end_index": 0, "capacity": [capacity]}
                for one in range(vehicles)
            ],
            "jobs": [
                {"id": row + 1, "location_index": row + 1, "delivery": [int(amount)]}
                for row, amount in enumerate(demand)
            ],
            "matrices": {"car": {"durations": lengths.tolist()}},
        }
        bodies.append(json.dumps(document).encode())
    return bodies


async def load(port: int, bodies: Sequence[bytes], clients: int, seconds: float) -> dict[str, Any]:
    """Keep a server busy for so long; what came of it."""
    end = time.perf_counter() + seconds
    spent: list[float] = []
    costs: dict[int, float] = {}  # by the number of the problem
    refused = 0

    async def client(number: int) -> None:
        nonlocal refused
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        turn = number
        while time.perf_counter() < end:
            place = turn % len(bodies)
            body = bodies[place]
            turn += 1
            began = time.perf_counter()
            writer.write(
                b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body)
            )
            writer.write(body)
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            length = next(line for line in lines if line.startswith(b"content-length:"))
            answer = json.loads(await reader.readexactly(int(length.partition(b":")[2])))
            if answer["code"]:
                refused += 1
                await asyncio.sleep(0.05)
                continue
            spent.append(time.perf_counter() - began)
            costs[place] = answer["summary"]["cost"]
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    if not spent:
        raise SpacevrpError("bench serve: expected answers, received none")
    return {
        "requests": len(spent),
        "refused": refused,
        "per_second": len(spent) / (time.perf_counter() - began),
        "p50": float(np.quantile(spent, 0.5)),
        "p99": float(np.quantile(spent, 0.99)),
        "problems": len(costs),
        "cost": float(np.mean(list(costs.values()))),
    }


# ------------------------------------------------------------------------------------------ servers


def _start(server: str, workers: int) -> tuple[subprocess.Popen[bytes], int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    options = ["--port", str(port), "--workers", str(workers)]
    command = ["-m", "spacevrp", "serve", "--device", "cpu", *options]
    if server == "pyvroom":
        command = ["-m", "spacevrp.bench.pyvroom_server"]
        command += map(str, (port, workers, _EXPLORATION))
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.1)
        else:
            return process, port
    raise SpacevrpError(f"{server}: the server did not start")


def _memory(process: int) -> float | None:
    """MiB that a process and those that it started hold."""
    folder = Path(f"/proc/{process}")
    try:
        text = (folder / "status").read_text(encoding="utf-8")
        below = [one.read_text() for one in folder.glob("task/*/children")]
    except OSError:
        return None
    line = next((line for line in text.splitlines() if line.startswith("VmRSS:")), "VmRSS: 0 kB")
    others = [_memory(int(child)) for children in below for child in children.split()]
    return int(line.split()[1]) / 1024 + sum(one for one in others if one is not None)
