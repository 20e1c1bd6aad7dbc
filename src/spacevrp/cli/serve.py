"""``spacevrp serve``: problems in and plans out over HTTP."""

from __future__ import annotations

import argparse
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from spacevrp import __version__
from spacevrp.arguments import at_least, not_negative, parse_duration
from spacevrp.problems.errors import SpacevrpError

_NEEDED = ("fastapi", "uvicorn")
_TOKEN = "SPACEVRP_TOKEN"
_HOST = re.compile(r"[a-z0-9.-]+(:\d+)?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp serve``."""
    parser.epilog = (
        "POST / takes VROOM's body and answers as VROOM does; /openapi.json describes the rest, "
        "and docs/how-to/serve.md how it is run. Without --data, jobs end with the server."
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on; default: 127.0.0.1")
    add("--port", metavar="PORT", type=at_least(0), default=8080, help="default: 8080")
    add("--token", metavar="T", help=f"ask for this bearer token; default: the variable {_TOKEN}")
    add("--data", metavar="DIR", type=Path, help="keep jobs and results here over a restart")
    add(
        "--engine",
        metavar="ENGINE",
        default="local",
        help="local: threads of this process; ray: actors of the Ray cluster that runs here, or of "
        "one of this machine alone; ray://HOST:10001: of one elsewhere; default: local",
    )
    add(
        "--workers",
        metavar="N",
        type=at_least(1),
        help="problems solved at once; default: cores, or as the cluster has room",
    )
    add("--queue", metavar="N", type=at_least(1), help="problems that may wait; default: 256")
    add("--max-body", metavar="MB", type=at_least(1), help="of a request; default: 32")
    add("--max-customers", metavar="N", type=at_least(1), help="of a problem; default: 5000")
    add("--max-time", metavar="TIME", type=parse_duration, help="for a problem; default: 60s")
    add("--keep", metavar="TIME", type=parse_duration, help="forget results after; default: 7d")
    add("--keep-jobs", metavar="N", type=at_least(1), help="finished jobs kept; default: 10000")
    add("--keep-mb", metavar="MB", type=at_least(1), help="of finished jobs; default: 1024")
    add(
        "--batch",
        metavar="MS",
        type=not_negative,
        help="wait so long for small problems to solve together; default: 5 on a GPU, 0 on a CPU",
    )
    add(
        "--speed-kmh",
        metavar="KMH",
        type=not_negative,
        help="travel as the crow flies where a VROOM problem has no matrix; default: refuse it",
    )
    add(
        "--tiles",
        metavar="URL",
        type=parse_tiles,
        help="a map for the page, such as https://tiles.example/{z}/{x}/{y}.png; default: a grid",
    )
    add("--tiles-credit", metavar="TEXT", default="", help="whom the page thanks for the map")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto")
    add("--weights", metavar="NAME|PATH", help="bundled weights by name, or a .safetensors file")


def parse_tiles(text: str) -> str:
    """The address of a map's tiles, which the page's policy then names."""
    address = urlsplit(text)
    host = address.netloc.lower().removeprefix("{s}.")
    named = all(f"{{{part}}}" in address.path for part in "zxy")
    if address.scheme not in ("http", "https") or not _HOST.fullmatch(host) or not named:
        raise argparse.ArgumentTypeError(
            f"expected such as https://tiles.example/{{z}}/{{x}}/{{y}}.png, received {text!r}"
        )
    return text


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    absent = [name for name in _NEEDED if find_spec(name) is None]
    if absent:
        raise SpacevrpError(f"{' and '.join(absent)} not installed: pip install 'spacevrp[serve]'")
    # Imported here, so that help stays instant.
    from spacevrp.serve.server import listen, serve
    from spacevrp.serve.settings import Settings

    token = args.token or os.environ.get(_TOKEN) or None
    given = {
        "workers": args.workers,
        "max_queue": args.queue,
        "max_body": None if args.max_body is None else args.max_body * 2**20,
        "max_customers": args.max_customers,
        "max_time": args.max_time,
        "keep_seconds": args.keep,
        "keep_jobs": args.keep_jobs,
        "keep_bytes": None if args.keep_mb is None else args.keep_mb * 2**20,
        "batch_seconds": None if args.batch is None else args.batch / 1000.0,
        "speed_kmh": args.speed_kmh,
        "tiles": args.tiles,
        "weights": args.weights,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = Settings(
        host=args.host,
        port=args.port,
        token=token,
        data=args.data,
        engine=args.engine,
        tiles_credit=args.tiles_credit,
        device=args.device,
        version=__version__,
        **chosen,
    )
    if token is None and not settings.is_local:
        print(
            "spacevrp: warning: no --token: all who reach this address can use it", file=sys.stderr
        )
    kept = f"jobs in {args.data}" if args.data else "jobs in memory only (see --data)"
    listening = listen(settings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{listening.getsockname()[1]}/"
    return serve(settings, listening, f"spacevrp: {address} ({kept})")
